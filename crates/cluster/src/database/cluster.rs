//! What was fixed when the cluster was created: its name, the number of shards, the transport, the key of the
//! fingerprints and the Public Suffix List. A worker with other settings is refused, and nothing is changed.

use super::address::Database;
use super::connection::{Answer, Connection};
use super::error::{DatabaseError, DatabaseErrorKind, Result};
use super::migrations;
use super::partitions::Partitions;
use super::session::Session;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// Creating a schema takes longer than a request.
const LIMIT: Duration = Duration::from_secs(60);

/// How links travel between shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    Postgres,
    Kafka,
}

impl TransportKind {
    pub fn as_str(self) -> &'static str {
        match self {
            TransportKind::Postgres => "postgres",
            TransportKind::Kafka => "kafka",
        }
    }

    pub fn parse(word: &str) -> Option<TransportKind> {
        [TransportKind::Postgres, TransportKind::Kafka]
            .into_iter()
            .find(|transport| transport.as_str() == word)
    }
}

/// The configuration's settings of the cluster. Missing ones take the stored value.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// `cluster.name`
    pub name: Option<String>,
    /// `cluster.shards`
    pub shards: Option<u16>,
    /// `cluster.transport`
    pub transport: Option<TransportKind>,
}

/// The settings of a new cluster.
#[derive(Clone, Debug)]
pub struct NewCluster {
    pub name: String,
    pub shards: u16,
    pub transport: TransportKind,
    pub fingerprint_key: [u8; 16],
    pub public_suffixes: String,
}

#[derive(Clone, Debug)]
pub struct Cluster {
    /// Drawn at creation; marks this cluster's data on other servers.
    pub id: String,
    pub name: String,
    pub shards: u16,
    pub transport: TransportKind,
    pub fingerprint_key: [u8; 16],
    pub public_suffixes: String,
}

impl Cluster {
    /// Creates the cluster, or upgrades the schema of the existing one. Safe to call concurrently.
    pub fn init(database: &Database, expected: &Expected, new: &NewCluster) -> Result<Cluster> {
        // Detects a hanging server sooner.
        database.connect(super::LIMIT)?;
        let mut session = database.connect(LIMIT)?;
        let made = session.transaction(async |connection| {
            connection.script(migrations::LOCK).await?;
            let version = migrations::version(connection).await?;
            match version {
                None => {
                    migrations::run(connection, 0).await?;
                    insert(connection, new).await?;
                }
                Some(version) if version <= migrations::CURRENT => {
                    let cluster = read(connection).await?.map(|stored| stored.checked(database, expected));
                    if let Some(Err(refusal)) = cluster {
                        return Ok(Err(refusal));
                    }
                    migrations::run(connection, version).await?;
                    let update = "UPDATE argiope_cluster SET schema_version = $1";
                    connection.execute(update, &[&migrations::CURRENT]).await?;
                }
                Some(version) => return Ok(Err(migrations::too_new(database, version))),
            }
            Ok(Ok(()))
        });
        made.map_err(taken)??;
        let cluster = Cluster::check(&mut session, expected)?;
        Partitions::default().prepare_present(&mut session)?;
        Ok(cluster)
    }

    /// The existing cluster. It must have the current schema version.
    pub fn open(database: &Database, expected: &Expected) -> Result<Cluster> {
        Cluster::check(&mut database.connect(super::LIMIT)?, expected)
    }

    fn check(session: &mut Session, expected: &Expected) -> Result<Cluster> {
        let database = session.database().clone();
        match session.repeat(migrations::version)? {
            Some(migrations::CURRENT) => {}
            Some(version) if version > migrations::CURRENT => {
                return Err(migrations::too_new(&database, version));
            }
            Some(version) => return Err(migrations::too_old(&database, version)),
            None => return Err(no_cluster(&database)),
        }
        session.repeat(read)?.ok_or_else(|| no_cluster(&database))?.checked(&database, expected)
    }
}

fn no_cluster(database: &Database) -> DatabaseError {
    database.error(
        DatabaseErrorKind::NoCluster,
        "there is no cluster in this database yet; run argiope cluster init once",
    )
}

/// A table with our name but without our mark belongs to another program. Nothing has been changed.
fn taken(error: DatabaseError) -> DatabaseError {
    if error.code() != Some(SqlState::DUPLICATE_TABLE.code()) {
        return error;
    }
    let message = format!("another program has its tables here ({}); use a separate database", error.message);
    DatabaseError { kind: DatabaseErrorKind::Foreign, message, ..error }
}

async fn insert(connection: &Connection, new: &NewCluster) -> Answer<()> {
    connection
        .execute(
            "INSERT INTO argiope_cluster
                 (schema_version, id, name, shards, transport, fingerprint_key, public_suffixes)
             VALUES ($1, gen_random_uuid(), $2, $3, $4, $5, $6)",
            &[
                &migrations::CURRENT,
                &new.name,
                &i32::from(new.shards),
                &new.transport.as_str(),
                &new.fingerprint_key.as_slice(),
                &new.public_suffixes,
            ],
        )
        .await?;
    let last = i32::from(new.shards) - 1;
    connection.execute("INSERT INTO shards (shard) SELECT generate_series(0, $1)", &[&last]).await?;
    connection.execute("INSERT INTO inbox_counters (shard) SELECT generate_series(0, $1)", &[&last]).await?;
    Ok(())
}

/// The row as stored, not yet verified.
struct Stored {
    id: String,
    name: String,
    shards: i32,
    transport: String,
    fingerprint_key: Vec<u8>,
    public_suffixes: String,
}

async fn read(connection: &Connection) -> Answer<Option<Stored>> {
    let sql =
        "SELECT id::text, name, shards, transport, fingerprint_key, public_suffixes FROM argiope_cluster";
    let Some(row) = connection.query_opt(sql, &[]).await? else { return Ok(None) };
    Ok(Some(Stored {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        shards: row.try_get(2)?,
        transport: row.try_get(3)?,
        fingerprint_key: row.try_get(4)?,
        public_suffixes: row.try_get(5)?,
    }))
}

impl Stored {
    fn checked(self, database: &Database, expected: &Expected) -> Result<Cluster> {
        let damaged = |what: &str| {
            database.error(
                DatabaseErrorKind::Damaged,
                format!("{what} of the cluster is damaged; restore a backup"),
            )
        };
        let cluster = Cluster {
            shards: u16::try_from(self.shards).map_err(|_| damaged("the number of shards"))?,
            transport: TransportKind::parse(&self.transport).ok_or_else(|| damaged("the transport"))?,
            fingerprint_key: self.fingerprint_key.try_into().map_err(|_| damaged("the fingerprint key"))?,
            id: self.id,
            name: self.name,
            public_suffixes: self.public_suffixes,
        };
        let differs = |setting: &str, wanted: &str, stored: &str| {
            let message = format!(
                "{setting} is {wanted}, but the cluster in this database was created with {stored}; set \
                 {setting} to {stored}, or name another database"
            );
            Err(database.error(DatabaseErrorKind::Foreign, message))
        };
        match expected {
            Expected { name: Some(name), .. } if *name != cluster.name => {
                differs("cluster.name", name, &cluster.name)
            }
            Expected { shards: Some(shards), .. } if *shards != cluster.shards => {
                differs("cluster.shards", &shards.to_string(), &cluster.shards.to_string())
            }
            Expected { transport: Some(transport), .. } if *transport != cluster.transport => {
                differs("cluster.transport", transport.as_str(), cluster.transport.as_str())
            }
            _ => Ok(cluster),
        }
    }
}
