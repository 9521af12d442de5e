//! Heartbeats and live figures of the workers, for display: who is alive and what it does. Ownership depends on leases
//! only.

use super::Redis;
use crate::server_error::Result;
use argiope_model::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A worker that has not reported for this long is not shown as alive.
pub const REPORT_TTL: Duration = Duration::from_secs(120);

/// What a worker reports every half minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkerFigures {
    pub name: String,
    /// `active`, `idle`, `draining`, `waiting`, as the worker reports it.
    pub state: String,
    /// The URL of the request that has been in flight for longest.
    pub current_url: Option<String>,
    pub shards: u32,
    pub pages: u64,
    pub failures: u64,
    pub bytes: u64,
    pub pages_per_second: f64,
    pub cpu_percent: f64,
    pub memory_bytes: u64,
    pub uptime_seconds: u64,
    pub started_at: Millis,
    pub reported_at: Millis,
}

impl Redis {
    pub fn report(&self, figures: &WorkerFigures) -> Result<()> {
        let (names, key) = (self.names_key(), self.worker_key(&figures.name));
        let value = serde_json::to_string(figures).unwrap_or_default();
        let oldest = oldest(figures.reported_at);
        self.link.run(|connection| {
            redis::pipe()
                .cmd("SET")
                .arg(&key)
                .arg(&value)
                .arg("EX")
                .arg(REPORT_TTL.as_secs())
                .ignore()
                .cmd("ZADD")
                .arg(&names)
                .arg(figures.reported_at.0)
                .arg(&figures.name)
                .ignore()
                .cmd("ZREMRANGEBYSCORE")
                .arg(&names)
                .arg("-inf")
                .arg(format!("({oldest}"))
                .ignore()
                .query(connection)
        })
    }

    /// The workers that reported within [`REPORT_TTL`], by name.
    pub fn workers(&self, now: Millis) -> Result<Vec<WorkerFigures>> {
        let names_key = self.names_key();
        let values: Vec<Option<String>> = self.link.run(|connection| {
            let names: Vec<String> =
                redis::cmd("ZRANGEBYSCORE").arg(&names_key).arg(oldest(now)).arg("+inf").query(connection)?;
            if names.is_empty() {
                return Ok(Vec::new());
            }
            let keys: Vec<String> = names.iter().map(|name| self.worker_key(name)).collect();
            redis::cmd("MGET").arg(keys).query(connection)
        })?;
        let read = |value: Option<String>| serde_json::from_str(&value?).ok();
        let mut workers: Vec<WorkerFigures> = values.into_iter().filter_map(read).collect();
        workers.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(workers)
    }

    /// A worker that ends cleanly is not shown as dead for two minutes.
    pub fn remove_worker(&self, name: &str) -> Result<()> {
        let (names, key) = (self.names_key(), self.worker_key(name));
        self.link.run(|connection| {
            redis::pipe()
                .cmd("DEL")
                .arg(&key)
                .ignore()
                .cmd("ZREM")
                .arg(&names)
                .arg(name)
                .ignore()
                .query(connection)
        })
    }

    fn names_key(&self) -> String {
        self.key(format_args!("active_workers"))
    }

    fn worker_key(&self, name: &str) -> String {
        self.key(format_args!("worker:{name}"))
    }
}

fn oldest(now: Millis) -> u64 {
    now.0.saturating_sub(u64::try_from(REPORT_TTL.as_millis()).unwrap_or(u64::MAX))
}
