//! Records every request as the server saw it, and checks whether a crawler was polite.
//!
//! Times are lenient by construction: a response has "ended" just before its last bytes are passed to the kernel, so
//! that no client can have seen the end earlier. So every violation found here is real.

use crate::error::LabError;
use crate::tls::Handshake;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One request. Times are microseconds since the Unix epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessEntry {
    /// The request had arrived.
    pub started_us: u64,
    /// The first byte of the response was about to be sent.
    pub answered_us: u64,
    /// The last byte was about to be sent, or the client had gone.
    pub ended_us: u64,
    /// Name or address with the port: the host of politeness.
    pub host: String,
    pub site: u32,
    pub connection: u64,
    pub method: String,
    /// Path and query.
    pub path: String,
    /// 0 if no status was sent.
    pub status: u16,
    /// Head and body as sent.
    pub bytes: u64,
    pub user_agent: String,
    /// The client disconnected before the response had ended.
    #[serde(default)]
    pub client_left: bool,
    /// How its connection was secured; none without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Handshake>,
}

impl AccessEntry {
    pub fn url(&self) -> String {
        let scheme = if self.handshake.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{}", self.host, self.path)
    }
}

pub(crate) struct AccessLog {
    capacity: usize,
    entries: Mutex<VecDeque<AccessEntry>>,
    file: Option<(PathBuf, Mutex<BufWriter<File>>)>,
    total: AtomicU64,
}

impl AccessLog {
    pub(crate) fn new(capacity: usize, file: Option<&Path>) -> Result<AccessLog, LabError> {
        let file = match file {
            None => None,
            Some(path) => {
                let opened =
                    File::create(path).map_err(|source| LabError::Log { path: path.to_owned(), source })?;
                Some((path.to_owned(), Mutex::new(BufWriter::with_capacity(1 << 16, opened))))
            }
        };
        Ok(AccessLog { capacity, entries: Mutex::default(), file, total: AtomicU64::new(0) })
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.capacity > 0 || self.file.is_some()
    }

    pub(crate) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    pub(crate) fn count(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// [`AccessLog::flush`] reports a log that cannot be written; no request fails because of it.
    pub(crate) fn add(&self, entry: AccessEntry) {
        if let Some((_, file)) = &self.file
            && let Ok(mut line) = serde_json::to_vec(&entry)
        {
            line.push(b'\n');
            // The writer keeps the error, and flush returns it.
            let _ = locked(file).write_all(&line);
        }
        if self.capacity > 0 {
            let mut entries = locked(&self.entries);
            if entries.len() >= self.capacity {
                entries.pop_front();
            }
            entries.push_back(entry);
        }
    }

    pub(crate) fn flush(&self) -> Result<(), LabError> {
        match &self.file {
            None => Ok(()),
            Some((path, file)) => {
                locked(file).flush().map_err(|source| LabError::Log { path: path.clone(), source })
            }
        }
    }

    pub(crate) fn entries(&self) -> Vec<AccessEntry> {
        locked(&self.entries).iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        locked(&self.entries).clear();
    }
}

/// A poisoned lock still holds whole entries: each is added by a single call.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a log file back. A last line that is still being written is left out.
pub fn read_log(path: &Path) -> Result<Vec<AccessEntry>, LabError> {
    let failed = |source| LabError::Log { path: path.to_owned(), source };
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let mut entries = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line).map_err(failed)?;
        if !line.ends_with('\n') {
            return Ok(entries);
        }
        let entry = serde_json::from_str(&line).map_err(|source| LabError::LogLine {
            path: path.to_owned(),
            line: entries.len() + 1,
            source,
        })?;
        entries.push(entry);
    }
}

/// The politeness rule of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// From the end of a response to the start of the next request; between starts if several are allowed at once.
    pub gap: Duration,
    pub max_concurrent: usize,
}

impl HostRule {
    /// One request at a time with a pause between.
    pub fn one_at_a_time(gap: Duration) -> HostRule {
        HostRule { gap, max_concurrent: 1 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    TooSoon { gap: Duration, wanted: Duration },
    TooMany { concurrent: usize, allowed: usize },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub host: String,
    pub kind: ViolationKind,
    /// The request that came too early, or while too many were in flight.
    pub path: String,
    pub started_us: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} at {}: ", self.host, self.path, self.started_us)?;
        match &self.kind {
            ViolationKind::TooSoon { gap, wanted } => {
                write!(f, "came {gap:?} after the one before, not {wanted:?}")
            }
            ViolationKind::TooMany { concurrent, allowed } => {
                write!(f, "{concurrent} at once, {allowed} allowed")
            }
        }
    }
}

/// The lab notices a disconnect when its thread gets its turn: by then the client's pause may have been running for a
/// while.
const HEARD_LATE_US: u64 = 10_000;

/// Lists every request that broke the rule of its host, in the order of hosts and times.
pub fn check(entries: &[AccessEntry], rule: impl Fn(&str) -> HostRule) -> Vec<Violation> {
    let mut hosts: BTreeMap<&str, Vec<&AccessEntry>> = BTreeMap::new();
    for entry in entries {
        hosts.entry(&entry.host).or_default().push(entry);
    }
    let mut violations = Vec::new();
    for (host, mut requests) in hosts {
        requests.sort_by_key(|entry| entry.started_us);
        check_host(rule(host), &requests, &mut violations);
    }
    violations
}

fn check_host(rule: HostRule, requests: &[&AccessEntry], violations: &mut Vec<Violation>) {
    let mut before: Option<u64> = None;
    let mut open: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    for entry in requests {
        let mut report = |kind| {
            violations.push(Violation {
                host: entry.host.clone(),
                kind,
                path: entry.path.clone(),
                started_us: entry.started_us,
            });
        };
        while open.peek().is_some_and(|Reverse(end)| *end <= entry.started_us) {
            open.pop();
        }
        open.push(Reverse(entry.ended_us));
        if open.len() > rule.max_concurrent {
            report(ViolationKind::TooMany { concurrent: open.len(), allowed: rule.max_concurrent });
        }
        if let Some(before) = before {
            let gap = Duration::from_micros(entry.started_us.saturating_sub(before));
            if gap < rule.gap {
                report(ViolationKind::TooSoon { gap, wanted: rule.gap });
            }
        }
        let heard_late = if entry.client_left { HEARD_LATE_US } else { 0 };
        let mark = match rule.max_concurrent {
            1 => entry.ended_us.saturating_sub(heard_late),
            _ => entry.started_us,
        };
        before = Some(before.map_or(mark, |before| before.max(mark)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(host: &str, started_ms: u64, ended_ms: u64) -> AccessEntry {
        AccessEntry {
            host: host.to_owned(),
            started_us: started_ms * 1000,
            ended_us: ended_ms * 1000,
            ..AccessEntry::default()
        }
    }

    fn gap(ms: u64) -> impl Fn(&str) -> HostRule {
        move |_| HostRule::one_at_a_time(Duration::from_millis(ms))
    }

    #[test]
    fn the_gap_runs_from_the_end_of_an_answer() {
        let log = [entry("a", 0, 90), entry("b", 10, 20), entry("a", 190, 200), entry("a", 299, 310)];
        let found = check(&log, gap(100));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].host.as_str(), found[0].started_us), ("a", 299_000));
        assert!(
            matches!(found[0].kind, ViolationKind::TooSoon { gap, .. } if gap == Duration::from_millis(99))
        );
        assert!(check(&log, gap(99)).is_empty());
    }

    #[test]
    fn the_end_of_a_request_that_the_client_gave_up_is_heard_late() {
        let left = AccessEntry { client_left: true, ..entry("a", 0, 90) };
        let log = [left, entry("a", 182, 200)];
        assert!(check(&log, gap(100)).is_empty());
        assert_eq!(check(&log, gap(103)).len(), 1);
        assert_eq!(check(&[entry("a", 0, 90), entry("a", 182, 200)], gap(100)).len(), 1);
    }

    #[test]
    fn requests_at_once_are_counted_per_host() {
        let log = [entry("a", 0, 100), entry("a", 10, 50), entry("a", 20, 30), entry("a", 60, 70)];
        let rule = |max_concurrent| move |_: &str| HostRule { gap: Duration::ZERO, max_concurrent };
        assert_eq!(check(&log, rule(3)), []);
        let found = check(&log, rule(2));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind, ViolationKind::TooMany { concurrent: 3, allowed: 2 });
        assert_eq!(check(&log, rule(1)).len(), 3);
    }

    #[test]
    fn with_several_at_once_the_gap_is_between_starts() {
        let rule = |_: &str| HostRule { gap: Duration::from_millis(10), max_concurrent: 4 };
        assert!(check(&[entry("a", 0, 100), entry("a", 10, 120), entry("a", 20, 30)], rule).is_empty());
        assert_eq!(check(&[entry("a", 0, 100), entry("a", 9, 120)], rule).len(), 1);
    }

    #[test]
    fn a_log_is_read_back_from_its_file_and_bounded_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("access.jsonl");
        let log = AccessLog::new(2, Some(&path)).unwrap();
        let entries: Vec<AccessEntry> = (0..3).map(|n| entry("a", n, n + 1)).collect();
        for entry in &entries {
            log.add(entry.clone());
        }
        log.flush().unwrap();
        assert_eq!(read_log(&path).unwrap(), entries);
        assert_eq!(log.entries(), entries[1..]);
        std::fs::write(&path, "nonsense\n").unwrap();
        assert!(matches!(read_log(&path), Err(LabError::LogLine { line: 1, .. })));
    }
}
