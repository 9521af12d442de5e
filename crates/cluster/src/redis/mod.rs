//! Redis: what makes a cluster quicker and may be lost at any moment: doorbells, the robots cache, live figures.
//!
//! Nothing here lasts. A Redis that is away, hangs or was wiped costs the crawl a moment, never a page: rings become the
//! listener's word that they are not heard ([`Heard::Away`]), caches miss, figures are missing until the next report.

mod doorbell;
mod link;
mod robots;
mod workers;

pub use doorbell::{Doorbell, Heard, OnHeard};
pub use robots::RobotsCache;
pub use workers::{REPORTED_FOR, WorkerFigures};

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
    pub fn apart(&self) -> Redis {
        Redis { link: Arc::new(self.link.apart()), prefix: Arc::clone(&self.prefix) }
    }

    /// Whether it answers.
    pub fn ping(&self) -> Result<()> {
        self.link.run(|connection| redis::cmd("PING").query(connection))
    }

    fn key(&self, rest: fmt::Arguments<'_>) -> String {
        format!("{}:{rest}", self.prefix)
    }
}
