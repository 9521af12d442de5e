//! A database for one test, gone with it.

use argiope_cluster::database::{Cluster, Database, Expected, NewCluster, TransportKind};
use argiope_lab::TestServer;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

static SERIAL: AtomicU32 = AtomicU32::new(0);

pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct Scratch {
    server: Config,
    name: String,
}

impl Scratch {
    /// `None` if the test is to be skipped.
    pub(crate) fn new() -> Option<Scratch> {
        let url = TestServer::Postgres.address()?;
        let server: Config = url.parse().unwrap();
        let name = format!("test_{}_{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let scratch = Scratch { server, name };
        scratch.on_server(&format!("CREATE DATABASE {}", scratch.name)).unwrap();
        Some(scratch)
    }

    /// With a cluster of eight shards in it.
    pub(crate) fn with_cluster() -> Option<Scratch> {
        let scratch = Scratch::new()?;
        Cluster::init(&scratch.database(), &Expected::default(), &new_cluster(8)).unwrap();
        Some(scratch)
    }

    pub(crate) fn url(&self) -> String {
        self.url_as(self.server.get_user().unwrap(), &self.password())
    }

    pub(crate) fn url_as(&self, user: &str, password: &str) -> String {
        let port = self.server.get_ports()[0];
        format!("postgres://{user}:{password}@127.0.0.1:{port}/{}", self.name)
    }

    pub(crate) fn password(&self) -> String {
        String::from_utf8(self.server.get_password().unwrap().to_vec()).unwrap()
    }

    pub(crate) fn database(&self) -> Database {
        Database::at(&self.url()).unwrap()
    }

    /// What the statements answer, as text, row by row.
    pub(crate) fn ask(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let mut config = self.server.clone();
        ask(config.dbname(&self.name), sql).unwrap()
    }

    /// The one value that the statement answers.
    pub(crate) fn value(&self, sql: &str) -> String {
        self.ask(sql)[0][0].clone().unwrap_or_default()
    }

    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.value(sql).parse().unwrap()
    }

    pub(crate) fn on_server(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, tokio_postgres::Error> {
        ask(&self.server, sql)
    }

    /// Ends the connections to this database, as an operator would.
    pub(crate) fn break_connections(&self) {
        let sql =
            format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'", self.name);
        self.on_server(&sql).unwrap();
    }
}

impl Scratch {
    /// Meanwhile the connections to this database are ended again and again.
    pub(crate) fn while_connections_break(&self, work: impl FnOnce()) {
        /// Tells the breaker to end, also when the work panics.
        struct Ending<'b>(&'b AtomicBool);
        impl Drop for Ending<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for pause in [90, 5, 170, 40, 300, 11, 230].into_iter().cycle() {
                    std::thread::sleep(Duration::from_millis(pause));
                    if ended.load(Ordering::SeqCst) {
                        return;
                    }
                    self.break_connections();
                }
            });
            let _ending = Ending(&ended);
            work();
        });
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = self.on_server(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn ask(config: &Config, sql: &str) -> Result<Vec<Vec<Option<String>>>, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection): (Client, _) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        let rows = client.simple_query(sql).await?.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    })
}

pub(crate) fn new_cluster(shards: u16) -> NewCluster {
    NewCluster {
        name: "argiope".into(),
        shards,
        transport: TransportKind::Postgres,
        fingerprint_key: [7; 16],
        public_suffixes: "com\norg\n".into(),
    }
}
