//! One connection, used by one thread that waits for its responses. Every request has a timeout: a server that hangs
//! counts as unreachable.
//!
//! Not for use on a thread that drives a runtime of its own.

use super::address::Database;
use super::connection::{Answer, Connection, Parameters};
use super::error::{DatabaseError, DatabaseErrorKind, Result, failed};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Row, SimpleQueryMessage};

/// The oldest version with the features used here.
const OLDEST_VERSION: u32 = 140_000;

/// How often a request is repeated after the connection broke, and after which pause.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(200), Duration::from_millis(400)];

/// Settings that every connection relies on, whatever the server's configuration. A client that stops in the middle of
/// a transaction holds its locks no longer than this; an acknowledged commit is on disk.
const SETTINGS: &str = "
    SET idle_in_transaction_session_timeout = '20s';
    SET client_connection_check_interval = '2s';
    SET lock_timeout = '15s';
    SET default_transaction_isolation = 'read committed';
    SET timezone = 'UTC';
    SET jit = off;
    SET client_min_messages = warning;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
";

pub struct Session {
    database: Database,
    limit: Duration,
    /// Run on each new connection, after the settings.
    setup: String,
    runtime: Runtime,
    connection: Connection,
}

impl Session {
    pub(super) fn open(database: Database, limit: Duration) -> Result<Session> {
        database.may_be_asked()?;
        let (runtime, connection) = connect(&database, limit, "")?;
        Ok(Session { database, limit, setup: String::new(), runtime, connection })
    }

    /// Runs `script` now, and on every later connection.
    pub(crate) fn set_up(&mut self, script: &str) -> Result<()> {
        self.batch(script)?;
        self.setup.push_str(script);
        Ok(())
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Connects again. The outcome of requests on the old connection is unknown.
    pub(crate) fn reconnect(&mut self) -> Result<()> {
        let (runtime, connection) = connect(&self.database, self.limit, &self.setup)?;
        // The old runtime ends with its connection; nothing in it is waited for.
        std::mem::replace(&mut self.runtime, runtime).shutdown_background();
        self.connection = connection;
        Ok(())
    }

    /// Whether the server responds now; one attempt.
    pub fn ping(&mut self) -> Result<()> {
        if self.is_broken() {
            self.reconnect()?;
        }
        self.run(async |connection| connection.script("SELECT 1").await).map(|_| ())
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.connection.is_closed()
    }

    /// One request, or several that belong together. After an error of the kind `Unreachable` nobody knows whether it
    /// was executed, and the connection is closed.
    pub(crate) fn run<T>(&mut self, work: impl AsyncFnOnce(&Connection) -> Answer<T>) -> Result<T> {
        let (connection, limit) = (&self.connection, self.limit);
        let outcome = self.runtime.block_on(async { tokio::time::timeout(limit, work(connection)).await });
        let done = match outcome {
            Ok(done) => done.map_err(|error| failed(self.database.place(), error)),
            Err(_) => Err(self.give_up()),
        };
        self.database.tried(done)
    }

    /// A request that may be repeated: after the connection broke it is sent again, a few times.
    pub(crate) fn repeat<T>(&mut self, mut work: impl AsyncFnMut(&Connection) -> Answer<T>) -> Result<T> {
        self.database.may_be_asked()?;
        let mut pauses = PAUSES.iter();
        loop {
            let done = if self.is_broken() { self.reconnect() } else { Ok(()) };
            let error = match done.and_then(|()| self.run(&mut work)) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            match pauses.next() {
                Some(pause) if error.is_retryable() => std::thread::sleep(*pause),
                _ => return Err(error),
            }
        }
    }

    pub(crate) fn query(&mut self, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Row>> {
        self.repeat(async |connection| connection.query(sql, parameters).await)
    }

    /// At most one row.
    pub(crate) fn query_opt(&mut self, sql: &str, parameters: Parameters<'_>) -> Result<Option<Row>> {
        self.repeat(async |connection| connection.query_opt(sql, parameters).await)
    }

    /// Exactly one row.
    pub(crate) fn query_one(&mut self, sql: &str, parameters: Parameters<'_>) -> Result<Row> {
        self.repeat(async |connection| connection.query_one(sql, parameters).await)
    }

    /// Everything in `work` happens, or nothing. It may be repeated, and must wait only for the server: its locks are
    /// held until it ends.
    pub(crate) fn transaction<T>(
        &mut self,
        mut work: impl AsyncFnMut(&Connection) -> Answer<T>,
    ) -> Result<T> {
        self.repeat(async |connection| {
            connection.script("BEGIN").await?;
            let done = work(connection).await;
            let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
            let ended = connection.script(end).await;
            let value = done?;
            ended.map(|_| value)
        })
    }

    /// Statements without parameters, in one message: the server runs them to the end even if this process stops.
    pub(crate) fn batch(&mut self, script: &str) -> Result<Vec<SimpleQueryMessage>> {
        self.run(async |connection| connection.script(script).await)
    }

    pub(crate) fn error(&self, error: tokio_postgres::Error) -> DatabaseError {
        failed(self.database.place(), error)
    }

    /// Nobody would receive the response: the connection is closed with the request.
    fn give_up(&mut self) -> DatabaseError {
        let seconds = self.limit.as_secs();
        if let Ok(runtime) = new_runtime(&self.database) {
            std::mem::replace(&mut self.runtime, runtime).shutdown_background();
        }
        self.database
            .error(DatabaseErrorKind::Unreachable, format!("the server did not respond within {seconds} s"))
    }
}

fn new_runtime(database: &Database) -> Result<Runtime> {
    Builder::new_current_thread().enable_io().enable_time().build().map_err(|error| {
        let mut failure =
            database.error(DatabaseErrorKind::Failed, format!("cannot create a runtime: {error}"));
        failure.source = Some(Box::new(error));
        failure
    })
}

fn connect(database: &Database, limit: Duration, setup: &str) -> Result<(Runtime, Connection)> {
    database.tried(connect_once(database, limit, setup))
}

fn connect_once(database: &Database, limit: Duration, setup: &str) -> Result<(Runtime, Connection)> {
    let runtime = new_runtime(database)?;
    let place = database.place();
    let connected = runtime.block_on(async {
        tokio::time::timeout(limit, async {
            let (client, socket) = database.config().connect(database.tls()).await?;
            // Runs during a request.
            tokio::spawn(async {
                if let Err(error) = socket.await {
                    tracing::debug!(%error, "a connection to postgresql ended");
                }
            });
            let connection = Connection::new(client);
            let version: String = connection.query_one("SHOW server_version_num", &[]).await?.try_get(0)?;
            if is_new_enough(&version) {
                connection.script(SETTINGS).await?;
                connection.script(setup).await?;
            }
            Ok((connection, version))
        })
        .await
    });
    let (connection, version) = match connected {
        Ok(done) => done.map_err(|error: tokio_postgres::Error| failed(place, error))?,
        Err(_) => {
            let message = format!("the server did not respond within {} s", limit.as_secs());
            return Err(database.error(DatabaseErrorKind::Unreachable, message));
        }
    };
    if !is_new_enough(&version) {
        let message = format!("PostgreSQL {} or newer is needed", OLDEST_VERSION / 10_000);
        return Err(database.error(DatabaseErrorKind::Settings, message));
    }
    Ok((runtime, connection))
}

fn is_new_enough(version: &str) -> bool {
    version.parse::<u32>().is_ok_and(|version| version >= OLDEST_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_whose_connection_breaks_is_made_four_times_in_all_on_postgres() {
        let Some(url) = argiope_lab::TestServer::Postgres.address() else { return };
        let mut session = Database::at(&url).unwrap().connect(super::super::LIMIT).unwrap();
        let mut made = 0;
        let ended = session.repeat(async |connection| {
            made += 1;
            connection.script("SELECT pg_terminate_backend(pg_backend_pid())").await
        });
        assert_eq!(ended.err().unwrap().kind, DatabaseErrorKind::Unreachable);
        assert_eq!(made, 1 + PAUSES.len());
        // Each broken connection was followed by a new one: the server is up, so retry.
        session.query_one("SELECT 1", &[]).unwrap();
    }
}
