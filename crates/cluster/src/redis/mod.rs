//! Redis: what makes a cluster faster and may be lost at any moment: notifications, the robots.txt cache, live figures.
//!
//! Nothing here is durable. A Redis that is down, hangs or was wiped costs the crawl a moment, never a page: the
//! notifier reports [`NotifierEvent::Disconnected`], caches miss, live figures are missing until the next report.

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

/// The prefix of every key and channel, unless the cluster has its own.
pub const PREFIX: &str = "crawler";

/// A server and this cluster's part of its keys.
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

    /// The same with its own connection, so that callers do not wait for each other.
    pub fn with_own_connection(&self) -> Redis {
        Redis { link: Arc::new(self.link.with_own_connection()), prefix: Arc::clone(&self.prefix) }
    }

    /// Whether it responds.
    pub fn ping(&self) -> Result<()> {
        self.link.run(|connection| redis::cmd("PING").query(connection))
    }

    fn key(&self, rest: fmt::Arguments<'_>) -> String {
        format!("{}:{rest}", self.prefix)
    }
}
