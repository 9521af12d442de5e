//! The address of the database: the setting as the user wrote it, parsed once. Its password is never shown.

use super::encryption::{Connector, Encryption};
use super::error::{DatabaseError, DatabaseErrorKind, Result, failed};
use super::session::Session;
use crate::breaker::Breaker;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_postgres::Config;
use tokio_postgres::config::{self, Host};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// A peer that disappears silently is noticed after about this time.
const SILENCE_LIMIT: Duration = Duration::from_secs(15);
/// After too many failures in a row a server is not used for this long.
const FAILURES: u32 = 3;
const LEFT_ALONE: Duration = Duration::from_secs(30);

/// The address of a server. Cheap to clone; clones share what is known about its availability.
#[derive(Clone)]
pub struct Database {
    config: Arc<Config>,
    tls: Connector,
    place: Arc<str>,
    breaker: Arc<Mutex<Breaker>>,
    /// Connects even while other users pause.
    watches: bool,
}

impl Database {
    /// `postgres://user:password@host:port/database`, with `sslmode` and `sslrootcert` as libpq understands them.
    pub fn at(url: &str) -> Result<Database> {
        let unusable = |why: &str| {
            let message = format!(
                "{why}; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the \
                 password percent-encoded"
            );
            DatabaseError::new(DatabaseErrorKind::Settings, "", message)
        };
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(unusable("it does not start with postgres://"));
        }
        let (url, encryption) = Encryption::split_off(url).map_err(unusable)?;
        let mut config: Config = url.parse().map_err(|error| {
            let error = failed("", error);
            unusable(&error.message)
        })?;
        // An unencoded @ leaves a part of the password in the host.
        let strange = |host: &Host| matches!(host, Host::Tcp(name) if name.contains(['@', '/', ' ']));
        if config.get_hosts().iter().any(strange) {
            return Err(unusable("the host contains an invalid character"));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(unusable("the host is missing"));
        }
        if config.get_channel_binding() == config::ChannelBinding::Require {
            return Err(unusable("channel_binding=require is not supported; sslmode=verify-full is"));
        }
        if config.get_hosts().is_empty() {
            // Certificates are for names; the name may be that of an address.
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        // A local socket needs no encryption, whatever the setting.
        if config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_))) {
            config.ssl_mode(encryption.client_mode());
        } else {
            config.ssl_mode(config::SslMode::Disable);
        }
        let tls = encryption.connector().map_err(|error| {
            DatabaseError::new(DatabaseErrorKind::Settings, "", format!("sslrootcert: {error}"))
        })?;
        config
            .connect_timeout(CONNECT_LIMIT)
            .tcp_user_timeout(SILENCE_LIMIT)
            .keepalives(true)
            .keepalives_idle(SILENCE_LIMIT / 3)
            .keepalives_interval(SILENCE_LIMIT / 3)
            .keepalives_retries(2);
        if config.get_application_name().is_none() {
            config.application_name("argiope");
        }
        let place = place_of(&config).into();
        let breaker = Arc::new(Mutex::new(Breaker::new(FAILURES, LEFT_ALONE)));
        Ok(Database { config: Arc::new(config), tls, place, breaker, watches: false })
    }

    /// For the thread that keeps trying a server while the others pause: its first response lets them continue.
    pub(crate) fn watching(&self) -> Database {
        Database { watches: true, ..self.clone() }
    }

    /// Checks now whether the server is reachable and accepts the login.
    pub fn answers(&self) -> bool {
        self.answers_within(super::LIMIT)
    }

    pub fn answers_within(&self, limit: Duration) -> bool {
        self.watching().connect(limit).is_ok()
    }

    /// A connection whose requests may take up to `limit` each.
    pub fn connect(&self, limit: Duration) -> Result<Session> {
        Session::open(self.clone(), limit)
    }

    /// `user@host:port/database`: for display, without secrets.
    pub fn place(&self) -> &str {
        &self.place
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checked before an operation, not before each of its attempts.
    pub(crate) fn may_be_asked(&self) -> Result<()> {
        if self.watches || self.breaker().may_try(Instant::now()) {
            return Ok(());
        }
        Err(self.error(
            DatabaseErrorKind::Unreachable,
            "the server failed a moment ago; pausing before the next attempt",
        ))
    }

    /// How an attempt ended. Any response shows that the server is up, even one that ends the connection.
    pub(super) fn tried<T>(&self, outcome: Result<T>) -> Result<T> {
        let is_away =
            |error: &DatabaseError| error.kind == DatabaseErrorKind::Unreachable && error.code().is_none();
        let is_away = outcome.as_ref().is_err_and(is_away);
        let mut breaker = self.breaker();
        let _ = if is_away { breaker.failed(Instant::now()) } else { breaker.succeeded() };
        outcome
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> Connector {
        self.tls.clone()
    }

    pub(crate) fn error(&self, kind: DatabaseErrorKind, message: impl Into<String>) -> DatabaseError {
        DatabaseError::new(kind, &self.place, message)
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.place)
    }
}

fn place_of(config: &Config) -> String {
    let ports = config.get_ports();
    let names: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    let hosts: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(at, name)| format!("{name}:{}", ports.get(at).or(ports.first()).unwrap_or(&5432)))
        .collect();
    let user = config.get_user().map_or(String::new(), |user| format!("{user}@"));
    format!("{user}{}/{}", hosts.join(","), config.get_dbname().or(config.get_user()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_has_no_password() {
        let database = Database::at("postgres://me:secret@db.test:6000/crawl").unwrap();
        assert_eq!(database.place(), "me@db.test:6000/crawl");
        assert!(!format!("{database:?}").contains("secret"));
    }

    #[test]
    fn a_server_that_fails_three_times_in_a_row_is_left_alone_by_all_but_the_one_who_watches() {
        // It accepts connections and closes them.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (counts, counted) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            listener.incoming().for_each(|stream| counts.send(stream.is_ok()).unwrap())
        });
        let database = Database::at(&format!("postgres://me@127.0.0.1:{port}/crawl")).unwrap();
        let connect = |database: &Database| {
            let error = database.connect(Duration::from_secs(60)).err().unwrap();
            assert_eq!(error.kind, DatabaseErrorKind::Unreachable);
            (error.message.contains("pausing before the next attempt"), counted.try_iter().count())
        };
        for _ in 0..FAILURES {
            assert_eq!(connect(&database), (false, 1));
        }
        assert_eq!(connect(&database.clone()), (true, 0));
        assert_eq!(connect(&database.watching()), (false, 1));
        assert_eq!(connect(&database), (true, 0));
        database.tried(Ok(())).unwrap();
        assert_eq!(connect(&database), (false, 1));
    }

    #[test]
    fn what_is_no_address_is_refused_without_showing_a_password() {
        for url in [
            "postgres://me:sec@ret@db.test/crawl",
            "postgres://me:secret",
            "mysql://me:secret@db.test/x",
            "postgres:///secret",
            "postgres://me:secret@db.test:port/x",
            "postgres://me:secret@db.test/x?sslmode=allow",
            "postgres://me:secret@db.test/x?channel_binding=require",
            "postgres://me:secret@db.test/x?sslmode=verify-ca&sslrootcert=/there/is/no/such.pem",
            "host=db.test password=secret",
            "",
        ] {
            let error = Database::at(url).err().unwrap();
            assert_eq!(error.kind, DatabaseErrorKind::Settings, "{url}");
            let text = format!("{error}");
            assert!(text.contains("storage.metadata_db_url") && !text.contains("ret@"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
