//! Redis: what makes a cluster quicker and may be lost at any moment: doorbells, the robots cache, live figures.
//!
//! Nothing here lasts. A Redis that is away, hangs or was wiped costs the crawl a moment, never a page: rings become the
//! listener's word that they are not heard ([`NotifierEvent::Disconnected`]), caches miss, figures are missing until the next report.

mod link;
mod notifier;
mod robots;
mod workers;

pub use notifier::{NotifierEvent, OnNotifierEvent, ShardNotifier};
pub use robots::RobotsCache;
pub use workers::{REPORT_TTL, WorkerFigures};

use crate::server_error::Result;
use link::Link;
use std::fmt;
use std::sync::Arc;

/// Begins every key and channel, unless the cluster has a word of its own.
pub const PREFIX: &str = "crawler";

/// A server and the part of its keys that belongs to this cluster.
#[derive(Clone)]
pub struct Redis {
    link: Arc<Link>,
    prefix: Arc<str>,
}

impl Redis {
    /// Does not connect: a cluster starts without its Redis. `url` is `storage.cache_url`.
    pub fn new(url: &str, prefix: &str) -> Result<Redis> {
        Ok(Redis { link: Arc::new(Link::new(url)?), prefix: prefix.into() })
    }

    /// The same, with a connection of its own: nobody waits for what others do with theirs.
    pub fn with_own_connection(&self) -> Redis {
        Redis { link: Arc::new(self.link.with_own_connection()), prefix: Arc::clone(&self.prefix) }
    }

    /// Whether it answers.
    pub fn ping(&self) -> Result<()> {
        self.link.run(|connection| redis::cmd("PING").query(connection))
    }

    fn key(&self, rest: fmt::Arguments<'_>) -> String {
        format!("{}:{rest}", self.prefix)
    }
}
