//! Live figures, counted where things happen and read by whoever shows them.

use argiope_model::SkipReason;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Visits that have ended with an answer, committed or not.
    pub(crate) pages: AtomicU64,
    /// Those that have ended without any.
    pub(crate) failed: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) redirects: AtomicU64,
    skipped: [AtomicU64; SkipReason::ALL.len()],
    /// By class: 1xx to 5xx.
    statuses: [AtomicU64; 6],
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub requests: u64,
    pub bytes: u64,
    pub pages: u64,
    pub failed: u64,
    pub retries: u64,
    pub redirects: u64,
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Final answers by class: `[_, 1xx, 2xx, 3xx, 4xx, 5xx]`.
    pub statuses: [u64; 6],
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Relaxed);
    }

    pub(crate) fn skipped(&self, reason: SkipReason, by: u64) {
        let at = SkipReason::ALL.iter().position(|r| *r == reason);
        if let Some(counter) = at.and_then(|at| self.skipped.get(at)) {
            counter.fetch_add(by, Relaxed);
        }
    }

    pub(crate) fn status(&self, status: u16) {
        if let Some(counter) = self.statuses.get(usize::from(status / 100)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        let skipped = SkipReason::ALL.into_iter().zip(&self.skipped);
        let mut statuses = [0; 6];
        for (to, from) in statuses.iter_mut().zip(&self.statuses) {
            *to = read(from);
        }
        Totals {
            requests: read(&self.requests),
            bytes: read(&self.bytes),
            pages: read(&self.pages),
            failed: read(&self.failed),
            retries: read(&self.retries),
            redirects: read(&self.redirects),
            skipped: skipped.map(|(r, c)| (r, read(c))).filter(|(_, n)| *n > 0).collect(),
            statuses,
        }
    }
}
