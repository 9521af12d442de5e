//! What a crawl looks like at one moment: made by the scheduler a few times a second, read by anyone.

use crate::counters::Totals;
use argiope_frontier::{JobProgress, Notice, Overview};
use argiope_model::{JobId, Millis};

/// Why nothing is being asked for, though there is something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paused {
    NetworkDown {
        since: Millis,
    },
    /// Whoever runs the crawl wants it to wait.
    Held {
        why: String,
    },
    Stopping,
}

#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub at: Millis,
    pub totals: Totals,
    pub overview: Overview,
    pub jobs: Vec<(JobId, JobProgress)>,
    pub paused: Option<Paused>,
    /// The latest things an operator wants to know, oldest first.
    pub notices: Vec<Notice>,
}
