//! The robots.txt cache: what one worker fetched, the next owner of the host need not fetch again.

use super::Redis;
use crate::server_error::Result;
use argiope_frontier::state::StoredRobots;
use argiope_model::Millis;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Layout of a value: fetched at, expires (8 bytes each), status (2), body.
const HEAD_BYTES: usize = 18;

impl Redis {
    /// The stored robots.txt of the origin; None if it expired or is invalid.
    pub fn robots(&self, origin: &str) -> Result<Option<StoredRobots>> {
        let key = self.robots_key(origin);
        let value: Option<Vec<u8>> =
            self.link.run(|connection| redis::cmd("GET").arg(&key).query(connection))?;
        Ok(value.as_deref().and_then(decoded))
    }

    /// Stores it until it expires.
    pub fn put_robots(&self, origin: &str, robots: &StoredRobots, now: Millis) -> Result<()> {
        let Some(left @ 1..) = robots.expires.0.checked_sub(now.0) else {
            return Ok(());
        };
        let (key, value) = (self.robots_key(origin), encoded(robots));
        self.link
            .run(|connection| redis::cmd("SET").arg(&key).arg(&value).arg("PX").arg(left).query(connection))
    }

    fn robots_key(&self, origin: &str) -> String {
        self.key(format_args!("domain:{origin}:robots"))
    }
}

/// The queue of files to store; when it is full, further ones are dropped.
const WAITING: usize = 1_000;

/// The cache for an owner of shards: looked up for what the state lacks, and never trusted beyond that. A thread stores
/// new files.
pub struct RobotsCache {
    redis: Redis,
    to_keep: Option<SyncSender<(Box<str>, StoredRobots)>>,
    thread: Option<JoinHandle<()>>,
}

impl RobotsCache {
    /// `redis` should be used by nobody else: lookups then do not wait for others.
    pub fn start(redis: Redis) -> std::io::Result<RobotsCache> {
        let (to_keep, kept) = sync_channel::<(Box<str>, StoredRobots)>(WAITING);
        let keeps = redis.clone();
        let thread = std::thread::Builder::new().name(String::from("robots-cache")).spawn(move || {
            for (origin, robots) in kept {
                let now = robots.fetched_at;
                if let Err(error) = keeps.put_robots(&origin, &robots, now) {
                    tracing::debug!(%error, %origin, "robots.txt not cached");
                }
            }
        })?;
        Ok(RobotsCache { redis, to_keep: Some(to_keep), thread: Some(thread) })
    }

    pub(crate) fn keep(&self, origin: &str, robots: &StoredRobots) {
        if let Some(to_keep) = &self.to_keep {
            // A cache may miss.
            let _ = to_keep.try_send((origin.into(), robots.clone()));
        }
    }

    /// None if it is unknown, or if Redis does not respond.
    pub(crate) fn find(&self, origin: &str) -> Option<StoredRobots> {
        self.redis.robots(origin).ok().flatten()
    }
}

impl Drop for RobotsCache {
    fn drop(&mut self) {
        self.to_keep = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn encoded(robots: &StoredRobots) -> Vec<u8> {
    let mut value = Vec::with_capacity(HEAD_BYTES + robots.body.len());
    value.extend_from_slice(&robots.fetched_at.0.to_be_bytes());
    value.extend_from_slice(&robots.expires.0.to_be_bytes());
    value.extend_from_slice(&robots.status.to_be_bytes());
    value.extend_from_slice(&robots.body);
    value
}

/// Others may write to the same Redis: invalid data is a miss.
fn decoded(value: &[u8]) -> Option<StoredRobots> {
    let (fetched_at, rest) = value.split_first_chunk::<8>()?;
    let (expires, rest) = rest.split_first_chunk::<8>()?;
    let (status, body) = rest.split_first_chunk::<2>()?;
    Some(StoredRobots {
        fetched_at: Millis(u64::from_be_bytes(*fetched_at)),
        expires: Millis(u64::from_be_bytes(*expires)),
        status: u16::from_be_bytes(*status),
        body: body.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_it_was_written_and_a_short_one_is_none() {
        for body in [&b""[..], b"User-agent: *\nDisallow: /"] {
            let robots = StoredRobots {
                fetched_at: Millis(7),
                expires: Millis(u64::MAX),
                status: 404,
                body: body.into(),
            };
            let value = encoded(&robots);
            assert_eq!(decoded(&value), Some(robots));
            assert_eq!(decoded(value.get(..17).unwrap()), None);
        }
    }
}
