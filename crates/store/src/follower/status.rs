//! The status of followers, for display.

use super::{Commits, Follower};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The unit of a follower's lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LagUnit {
    Pages,
    Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerStatus {
    pub name: String,
    /// How much is committed and not followed yet.
    pub behind: u64,
    pub unit: LagUnit,
    /// The problem that stops it, if any.
    pub error: Option<String>,
}

/// Counts what is committed and not followed yet. Called by readers of the status, on any thread.
pub type Behind = Box<dyn Fn() -> u64 + Send + Sync>;

/// Shared between a follower's thread and readers of its status.
pub(super) struct Lag {
    pub(super) name: String,
    unit: LagUnit,
    behind: Behind,
    error: Mutex<Option<String>>,
}

impl Lag {
    pub(super) fn new(name: String, unit: LagUnit, behind: Behind) -> Lag {
        Lag { name, unit, behind, error: Mutex::default() }
    }

    pub(super) fn status(&self) -> FollowerStatus {
        FollowerStatus {
            name: self.name.clone(),
            behind: (self.behind)(),
            unit: self.unit,
            error: self.error().clone(),
        }
    }

    pub(super) fn error(&self) -> MutexGuard<'_, Option<String>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The followers of one crawl, and what wakes them.
#[derive(Clone, Default)]
pub struct Followers {
    commits: Arc<Commits>,
    known: Arc<Mutex<Vec<Weak<Lag>>>>,
}

impl Followers {
    pub fn commits(&self) -> &Arc<Commits> {
        &self.commits
    }

    /// Publishes its status, and wakes it after every commit.
    pub fn add(&self, follower: &Follower) {
        self.commits.wakes(follower.waker());
        let mut known = self.known();
        known.retain(|lag| lag.strong_count() > 0);
        known.push(Arc::downgrade(follower.lag()));
    }

    /// Those that still exist, in the order they were added.
    pub fn statuses(&self) -> Vec<FollowerStatus> {
        let known: Vec<Arc<Lag>> = self.known().iter().filter_map(Weak::upgrade).collect();
        known.iter().map(|lag| lag.status()).collect()
    }

    fn known(&self) -> MutexGuard<'_, Vec<Weak<Lag>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
