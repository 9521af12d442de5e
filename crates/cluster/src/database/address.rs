//! Where the database is: the setting as the user wrote it, read once. Its password is never shown.

use super::error::{DatabaseError, Result, Trouble, failed};
use super::session::Session;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// A peer that has vanished without a word is noticed after about this long.
const SILENCE_LIMIT: Duration = Duration::from_secs(15);

/// A place to connect to. Cheap to clone.
#[derive(Clone)]
pub struct Database {
    config: Arc<Config>,
    place: Arc<str>,
}

impl Database {
    /// `postgres://user:password@host:port/database`.
    pub fn at(url: &str) -> Result<Database> {
        let unusable = |why: &str| {
            let message = format!(
                "{why}; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with what is special in a \
                 password percent-encoded"
            );
            DatabaseError::new(Trouble::Settings, "", message)
        };
        let mut config: Config = url.parse().map_err(|error| {
            let error = failed("", error);
            unusable(&error.message)
        })?;
        // An unencoded @ leaves a part of the password in the host.
        let strange = |host: &Host| matches!(host, Host::Tcp(name) if name.contains(['@', '/', ' ']));
        if config.get_hosts().iter().any(strange) {
            return Err(unusable("the host has characters that no host has"));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(unusable("it names no host"));
        }
        if config.get_ssl_mode() == SslMode::Require {
            return Err(unusable("sslmode=require: encrypted connections are not built in yet"));
        }
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
        Ok(Database { config: Arc::new(config), place })
    }

    /// A connection whose requests may each take up to `limit`.
    pub fn connect(&self, limit: Duration) -> Result<Session> {
        Session::open(self.clone(), limit)
    }

    /// `user@host:port/database`: for people, and free of secrets.
    pub fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn error(&self, trouble: Trouble, message: impl Into<String>) -> DatabaseError {
        DatabaseError::new(trouble, &self.place, message)
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
        .chain(config.get_hostaddrs().iter().map(ToString::to_string))
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
    fn what_is_no_address_is_refused_without_showing_a_password() {
        for url in [
            "postgres://me:sec@ret@db.test/crawl",
            "postgres://me:secret",
            "mysql://me:secret@db.test/x",
            "postgres:///secret",
            "postgres://me:secret@db.test:port/x",
            "",
        ] {
            let error = Database::at(url).err().unwrap();
            assert_eq!(error.trouble, Trouble::Settings, "{url}");
            let text = format!("{error}");
            assert!(text.contains("storage.metadata_db_url") && !text.contains("ret@"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
