//! One connection to Redis that never blocks its caller for long: every attempt has a timeout, every operation one over
//! its attempts, and a server that keeps failing is not used for a while.

use crate::breaker::{Breaker, Turn};
use crate::server_error::{Result, ServerError, ServerErrorKind};
use crate::tls;
use redis::{Client, Connection, ErrorKind, RedisError, RedisResult};
use std::error::Error as StdError;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) const SETTING: &str = "storage.cache_url";

/// For one attempt: connecting, or one exchange of messages.
pub(super) const TRY_LIMIT: Duration = Duration::from_millis(300);
const RETRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
/// For an operation with all its attempts.
const OPERATION_LIMIT: Duration = Duration::from_secs(1);
/// After too many failures in a row a server is not used for this long.
const FAILURES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(10);

pub(super) struct Link {
    client: Client,
    /// Another link to the same server logs outages.
    is_quiet: bool,
    state: Mutex<State>,
}

struct State {
    connection: Option<Connection>,
    breaker: Breaker,
}

impl Default for State {
    fn default() -> State {
        State { connection: None, breaker: Breaker::new(FAILURES, PAUSE) }
    }
}

impl Link {
    /// Does not connect to `url` yet.
    pub(super) fn new(url: &str) -> Result<Link> {
        let client = Client::open(url).map_err(|error| {
            // The address may contain a password, so it is not shown.
            let message =
                "is not the address of a Redis server; write redis://HOST:PORT/NUMBER, or rediss:// for TLS";
            ServerError::new(ServerErrorKind::Misconfigured, SETTING, message).with_source(error)
        })?;
        Ok(Link { client, is_quiet: false, state: Mutex::default() })
    }

    /// To the same server, with its own connection.
    pub(super) fn with_own_connection(&self) -> Link {
        Link { client: self.client.clone(), is_quiet: true, state: Mutex::default() }
    }

    /// A separate connection, without the circuit breaker.
    pub(super) fn connect(&self) -> RedisResult<Connection> {
        self.connect_within(TRY_LIMIT)
    }

    fn connect_within(&self, limit: Duration) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(limit)?;
        set_limit(&connection, limit)?;
        Ok(connection)
    }

    pub(super) fn run<T>(&self, operation: impl Fn(&mut Connection) -> RedisResult<T>) -> Result<T> {
        let mut state = self.lock();
        let begun = Instant::now();
        if !state.breaker.may_try(begun) {
            return Err(ServerError::new(
                ServerErrorKind::Unavailable,
                SETTING,
                "Redis failed a moment ago; pausing before the next attempt",
            ));
        }
        let end = begun + OPERATION_LIMIT;
        for retried in 0.. {
            let left = end.saturating_duration_since(Instant::now());
            let limit = left.clamp(Duration::from_millis(1), TRY_LIMIT);
            let error = match self.attempt(&mut state, limit, &operation) {
                Ok(value) => {
                    if state.breaker.succeeded() == Turn::CameBack && !self.is_quiet {
                        tracing::info!("Redis is reachable again");
                    }
                    return Ok(value);
                }
                Err(error) if is_interrupted(&error) && retried < RETRIES => {
                    state.connection = None;
                    continue;
                }
                Err(error) => classified(error),
            };
            let now = Instant::now();
            state.connection = None;
            if state.breaker.failed(now) == Turn::WentAway && !self.is_quiet {
                tracing::warn!(%error, "Redis is unreachable; continuing without it");
            }
            let again = error.is_retryable()
                && retried < RETRIES
                && now + BETWEEN_TRIES < end
                && state.breaker.may_try_again();
            if !again {
                return Err(error);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        Err(ServerError::new(ServerErrorKind::Unavailable, SETTING, "Redis did not respond"))
    }

    fn attempt<T>(
        &self,
        state: &mut State,
        limit: Duration,
        operation: &impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let connection = match &mut state.connection {
            Some(connection) => {
                set_limit(connection, limit)?;
                connection
            }
            none => none.insert(self.connect_within(limit)?),
        };
        operation(connection)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic within an operation at worst leaves a connection out of step, which the next error drops.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of each exchange.
fn set_limit(connection: &Connection, limit: Duration) -> RedisResult<()> {
    connection.set_read_timeout(Some(limit))?;
    connection.set_write_timeout(Some(limit))
}

pub(super) fn classified(error: RedisError) -> ServerError {
    if let Some(refusal) = refusal(&error) {
        return ServerError::new(ServerErrorKind::Misconfigured, SETTING, refusal).with_source(error);
    }
    let (kind, message) = match error.kind() {
        ErrorKind::AuthenticationFailed => {
            (ServerErrorKind::AccessDenied, "Redis refuses the user name or password in this address")
        }
        ErrorKind::Server(redis::ServerErrorKind::NoPerm) => {
            (ServerErrorKind::AccessDenied, "this Redis user lacks a permission that the cluster needs")
        }
        ErrorKind::InvalidClientConfig => (ServerErrorKind::Misconfigured, "invalid address"),
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => {
            (ServerErrorKind::InvalidResponse, "this server does not speak the Redis protocol")
        }
        _ if is_about_the_password(&error) => {
            (ServerErrorKind::AccessDenied, "Redis requires a password, and this address has none")
        }
        _ => (ServerErrorKind::Unavailable, "Redis is unreachable"),
    };
    ServerError::new(kind, SETTING, format!("{message} ({error})")).with_source(error)
}

fn refusal(error: &RedisError) -> Option<String> {
    tls::refusal(cause(error)?)
}

/// The client shares its causes.
fn cause(error: &RedisError) -> Option<&io::Error> {
    let shared = error.source()?.downcast_ref::<Arc<dyn StdError + Send + Sync>>()?;
    shared.downcast_ref()
}

/// A process that was suspended finds its timeout expired: that says nothing about the server.
pub(super) fn is_interrupted(error: &RedisError) -> bool {
    cause(error).is_some_and(|error| error.kind() == io::ErrorKind::Interrupted)
}

/// Without any password in the address, the first command is refused.
fn is_about_the_password(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_call_is_told_from_a_server_that_is_away() {
        assert!(is_interrupted(&io::Error::from(io::ErrorKind::Interrupted).into()));
        assert!(!is_interrupted(&io::Error::from(io::ErrorKind::ConnectionRefused).into()));
    }

    #[test]
    fn what_cannot_be_reached_may_come_later_and_what_is_no_address_may_not() {
        let link = Link::new("redis://127.0.0.1:1/").unwrap();
        assert!(link.run(|_| Ok(())).unwrap_err().is_retryable());
        assert!(!Link::new("nonsense").err().unwrap().is_retryable());
    }
}
