//! A database with a cluster in it, for a measurement.

use argiope_cluster::database::{Cluster, Database, Expected, NewCluster, TransportKind};
use tokio_postgres::NoTls;

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// On the server at `ARGIOPE_TEST_POSTGRES`; made for this and dropped again.
pub(crate) fn with_cluster(
    name: &str,
    shards: u16,
    measure: impl FnOnce(&Database) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let url = std::env::var("ARGIOPE_TEST_POSTGRES")
        .map_err(|_| "ARGIOPE_TEST_POSTGRES is not set: see scripts/servers env")?;
    on_server(&url, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
    on_server(&url, &format!("CREATE DATABASE {name}"))?;
    let place = url.rsplit_once('/').ok_or("no database in the address")?.0;
    let database = Database::at(&format!("{place}/{name}"))?;
    let new = NewCluster {
        name: "rate".into(),
        shards,
        transport: TransportKind::Postgres,
        fingerprint_key: [0; 16],
        public_suffixes: String::new(),
    };
    Cluster::init(&database, &Expected::default(), &new)?;
    let outcome = measure(&database);
    on_server(&url, &format!("DROP DATABASE {name} WITH (FORCE)"))?;
    outcome
}

fn on_server(url: &str, sql: &str) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        Ok(client.batch_execute(sql).await?)
    })
}
