//! One connection to Redis that never keeps its caller waiting for long: every try has a limit, every operation one over
//! its tries, and a server that keeps failing is left alone for a while.

use super::breaker::{Breaker, Turn};
use crate::server_error::{Result, ServerError, Trouble};
use redis::{Client, Connection, ErrorKind, RedisError, RedisResult};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) const SETTING: &str = "storage.cache_url";

/// Of one try: connecting, or one exchange of messages.
pub(super) const TRY_LIMIT: Duration = Duration::from_millis(300);
const TRIES: u32 = 3;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
/// Of an operation with all its tries.
const OPERATION_LIMIT: Duration = Duration::from_secs(1);

pub(super) struct Link {
    client: Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    breaker: Breaker,
}

impl Link {
    /// `url` is not connected to yet.
    pub(super) fn new(url: &str) -> Result<Link> {
        let client = Client::open(url).map_err(|error| {
            // The address may hold a password: it is not repeated.
            let message = "is not the address of a Redis server; it is written redis://HOST:PORT/NUMBER";
            ServerError::new(Trouble::Wrong, SETTING, message).with_source(error)
        })?;
        Ok(Link { client, state: Mutex::default() })
    }

    /// To the same server, with a connection of its own.
    pub(super) fn apart(&self) -> Link {
        Link { client: self.client.clone(), state: Mutex::default() }
    }

    /// A connection of the caller's own, past the breaker.
    pub(super) fn connect(&self) -> RedisResult<Connection> {
        let connection = self.client.get_connection_with_timeout(TRY_LIMIT)?;
        connection.set_read_timeout(Some(TRY_LIMIT))?;
        connection.set_write_timeout(Some(TRY_LIMIT))?;
        Ok(connection)
    }

    pub(super) fn run<T>(&self, operation: impl Fn(&mut Connection) -> RedisResult<T>) -> Result<T> {
        let mut state = self.lock();
        let begun = Instant::now();
        if !state.breaker.may_try(begun) {
            return Err(ServerError::new(
                Trouble::Away,
                SETTING,
                "Redis failed a moment ago and is left alone",
            ));
        }
        for tried in 1.. {
            let outcome = self.attempt(&mut state, &operation);
            let now = Instant::now();
            let error = match outcome {
                Ok(value) => {
                    if state.breaker.succeeded() == Turn::CameBack {
                        tracing::info!("redis is back");
                    }
                    return Ok(value);
                }
                Err(error) => classified(error),
            };
            state.connection = None;
            if state.breaker.failed(now) == Turn::WentAway {
                tracing::warn!(%error, "redis is away; going on without it");
            }
            let spent = now + BETWEEN_TRIES - begun;
            let again = error.is_retryable()
                && tried < TRIES
                && spent + TRY_LIMIT <= OPERATION_LIMIT + BETWEEN_TRIES
                && state.breaker.may_try_again(now);
            if !again {
                return Err(error);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        Err(ServerError::new(Trouble::Away, SETTING, "Redis did not answer"))
    }

    fn attempt<T>(
        &self,
        state: &mut State,
        operation: &impl Fn(&mut Connection) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let connection = match &mut state.connection {
            Some(connection) => connection,
            none => none.insert(self.connect()?),
        };
        operation(connection)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic within an operation leaves at worst a connection out of step, which the next error drops.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn classified(error: RedisError) -> ServerError {
    let (trouble, message) = match error.kind() {
        ErrorKind::AuthenticationFailed => {
            (Trouble::Refused, "Redis refuses the name or password in this address")
        }
        ErrorKind::Server(redis::ServerErrorKind::NoPerm) => {
            (Trouble::Refused, "Redis does not allow this user what the cluster needs")
        }
        ErrorKind::InvalidClientConfig => (Trouble::Wrong, "this address cannot be used"),
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => {
            (Trouble::Garbled, "what answers there does not speak as Redis does")
        }
        _ if is_about_the_password(&error) => {
            (Trouble::Refused, "Redis wants a password, and this address has none")
        }
        _ => (Trouble::Away, "Redis cannot be reached"),
    };
    ServerError::new(trouble, SETTING, format!("{message} ({error})")).with_source(error)
}

/// Without any password in the address, the first command is what is refused.
fn is_about_the_password(error: &RedisError) -> bool {
    matches!(error.code(), Some("NOAUTH" | "WRONGPASS"))
}
