//! Reads a data directory that no process owns, and compares it with the lab's ground truth.

#![allow(dead_code, reason = "each suite uses its part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a check that cannot be made has failed"
)]

use argiope_frontier::read_job_counts;
use argiope_frontier::state::{HostKey, QueueAt, Restore, ShardState, Shards, StateError};
use argiope_frontier::{QueueCounts, Ticket};
use argiope_lab::{AccessEntry, Expected, Fate, HostRule, check};
use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_local::catalogue::{self, SqliteReader};
use argiope_local::frontier::FjallState;
use argiope_local::links::SegmentLinks;
use argiope_model::{Fingerprint, JobId, Millis};
use argiope_store::archive::{Archive, Position};
use argiope_store::catalogue::{CatalogueReader, FetchRow, Job, PageQuery, PageRow};
use argiope_store::links::Links;
use argiope_store::warc::{VisitMetadata, VisitOutcome, VisitReader};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The texts, each of which may stand there once only.
pub(crate) fn once(what: &str, texts: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts {
        assert!(!found.contains(&text), "{what}: {text} is there twice");
        found.insert(text);
    }
    found
}

/// Reports missing and excess entries, without listing everything.
pub(crate) fn same(what: &str, found: &BTreeSet<String>, wanted: &BTreeSet<String>) {
    let missing: Vec<&String> = wanted.difference(found).collect();
    let extra: Vec<&String> = found.difference(wanted).collect();
    assert!(missing.is_empty() && extra.is_empty(), "{what}: missing {missing:#?}, too much {extra:#?}");
}

/// The URLs a crawl must have stored, with their status where it is known.
pub(crate) type Wanted = BTreeMap<String, Option<u16>>;

pub(crate) fn wanted(expected: &Expected) -> Wanted {
    let status = |fate| match fate {
        Fate::Answered { status } => Some(status),
        _ => None,
    };
    expected.fetched().map(|one| (one.url.clone(), status(one.fate))).collect()
}

/// Requests per URL as the lab saw them.
pub(crate) fn requests(log: &[AccessEntry]) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for entry in log {
        *counts.entry(entry.url()).or_default() += 1;
    }
    counts
}

/// No request came before its host's delay was over, and never two at once.
pub(crate) fn polite(log: &[AccessEntry], delay: Duration) {
    let violations = check(log, |_| HostRule::one_at_a_time(delay));
    let text: Vec<String> = violations.iter().take(10).map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{} requests came early: {text:#?}", violations.len());
}

/// Names a request in the lab's log.
pub(crate) type Asked = (String, u64);

/// A host that asked for a pause is left alone for that time: the lab's 429 and 503 responses ask for `pause`.
/// Responses lost with their process do not count.
pub(crate) fn patient(log: &[AccessEntry], pause: Duration, lost: &HashSet<Asked>) {
    let mut hosts: BTreeMap<&str, Vec<&AccessEntry>> = BTreeMap::new();
    for entry in log {
        hosts.entry(&entry.host).or_default().push(entry);
    }
    for (host, mut entries) in hosts {
        entries.sort_by_key(|entry| entry.started_us);
        for pair in entries.windows(2) {
            let [before, after] = pair else { continue };
            let known = !lost.contains(&(before.host.clone(), before.started_us));
            let asked = matches!(before.status, 429 | 503) && before.path != "/robots.txt" && known;
            let gap = Duration::from_micros(after.started_us.saturating_sub(before.ended_us));
            assert!(
                !asked || gap >= pause,
                "{host}{} came {gap:?} after {} had been answered {}",
                after.path,
                before.path,
                before.status
            );
        }
    }
}

pub(crate) struct Stored {
    pub(crate) directory: PathBuf,
}

impl Stored {
    pub(crate) fn at(directory: &Path) -> Stored {
        Stored { directory: directory.to_owned() }
    }

    pub(crate) fn reader(&self) -> SqliteReader {
        SqliteReader::open(&self.directory.join(catalogue::FILE_NAME)).expect("a catalogue")
    }

    pub(crate) fn has_catalogue(&self) -> bool {
        self.directory.join(catalogue::FILE_NAME).exists()
            && SqliteReader::open(&self.directory.join(catalogue::FILE_NAME)).is_ok()
    }

    pub(crate) fn job(&self) -> Job {
        let jobs = self.reader().jobs().unwrap();
        assert_eq!(jobs.len(), 1, "a resume is no new job: {jobs:#?}");
        jobs.into_iter().next().unwrap()
    }

    pub(crate) fn pages(&self) -> Vec<PageRow> {
        let mut pages = Vec::new();
        let query = PageQuery { include_noindex: true, ..PageQuery::default() };
        let mut keep = |stored: argiope_store::catalogue::StoredPage| {
            pages.push(stored.row);
            Ok(ControlFlow::Continue(()))
        };
        self.reader().pages(&query, &mut keep).unwrap();
        pages
    }

    fn fetches(&self) -> Vec<FetchRow> {
        let mut rows = Vec::new();
        let mut keep = |row: FetchRow| {
            rows.push(row);
            Ok(ControlFlow::Continue(()))
        };
        self.reader().fetches(None, &mut keep).unwrap();
        rows
    }

    /// The page whose links each stored batch holds, as often as it is there.
    pub(crate) fn link_sources(&self) -> Vec<String> {
        let links = SegmentLinks::open(&self.directory.join("links")).unwrap();
        let position = self.reader().links_position().unwrap().unwrap_or_default();
        let mut sources = Vec::new();
        let mut keep = |page: &argiope_store::links::PageLinks<'_>| {
            sources.push(page.source.to_owned());
            Ok(())
        };
        links.read(position, &mut keep).unwrap();
        sources
    }

    pub(crate) fn archive_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.directory.join("archive")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> =
            paths.filter(|path| path.to_string_lossy().ends_with(".warc.gz")).collect();
        files.sort();
        files
    }

    /// What the archive has of complete visits, whatever follows them. Nothing is changed.
    pub(crate) fn archived(&self) -> Vec<VisitMetadata> {
        let mut found = Vec::new();
        for path in self.archive_files() {
            let mut visits = VisitReader::new(File::open(path).unwrap(), 0);
            while let Ok(Some(visit)) = visits.next_visit() {
                found.push(visit.metadata);
            }
        }
        found
    }

    /// The requests of a log that the archive does not have.
    pub(crate) fn lost(&self, log: &[AccessEntry]) -> HashSet<Asked> {
        let mut visits: HashMap<String, Vec<(u64, u64)>> = HashMap::new();
        for found in self.archived() {
            let times = (found.timings.started.0 * 1000, found.timings.ended.0 * 1000);
            visits.entry(found.visit.url.as_str().to_owned()).or_default().push(times);
        }
        // The crawler's times enclose the lab's.
        let kept = |entry: &AccessEntry| {
            let holds = |(from, to): &(u64, u64)| *from <= entry.started_us && entry.ended_us <= *to;
            visits.get(&entry.url()).is_some_and(|times| times.iter().any(holds))
        };
        log.iter().filter(|entry| !kept(entry)).map(|entry| (entry.host.clone(), entry.started_us)).collect()
    }

    /// URLs as scheduled, whose last visit is in the archive.
    pub(crate) fn finished(&self) -> HashSet<String> {
        let last = |found: &VisitMetadata| found.outcome == VisitOutcome::Final;
        self.archived()
            .iter()
            .filter(|found| last(found))
            .map(|found| found.visit.scheduled_url().as_str().to_owned())
            .collect()
    }

    pub(crate) fn check_archive(&self) {
        let archive = FileArchive::open(&self.directory.join("archive"), ArchiveOptions::default()).unwrap();
        for path in self.archive_files() {
            let file = path.file_name().unwrap().to_str().unwrap();
            let position = Position { file: file.into(), length: fs::metadata(&path).unwrap().len() };
            let visits = archive.verify(&position).unwrap();
            assert!(visits > 0, "{file} is empty");
            let index = path.with_file_name(file.replace(".warc.gz", ".cdxj"));
            assert!(index.exists(), "{file} has no index");
        }
        for position in self.reader().archive_positions().unwrap() {
            let length = fs::metadata(self.directory.join("archive").join(&position.file)).unwrap().len();
            assert_eq!(position.length, length, "{} is not as long as the catalogue says", position.file);
        }
    }

    /// Every page leads to its own exchange.
    fn check_references(&self, pages: &[PageRow]) {
        let archive = FileArchive::open(&self.directory.join("archive"), ArchiveOptions::default()).unwrap();
        for row in pages {
            let place = row.page.archive.as_deref();
            let Some(place) = place else {
                // A redirect that ended at a forbidden target is recorded as a hop.
                let refused =
                    row.page.error.as_deref().is_some_and(|error| error.starts_with("redirect: to "));
                assert!(row.page.status.is_none() || refused, "{} is not in the archive", row.page.url);
                continue;
            };
            let found = archive.read_metadata(&place.parse().unwrap()).unwrap();
            assert_eq!(found.visit.scheduled_url().as_str(), row.page.url, "{place}");
            assert_eq!(found.timings, row.timings, "{place}");
        }
    }

    /// Nothing is queued, nothing waits, and the counts agree.
    pub(crate) fn check_frontier_is_empty(&self) {
        let state = FjallState::open(&self.directory.join("frontier")).unwrap();
        frontier_is_empty(&state);
    }

    /// All that holds after a crawl that was interrupted in whatever way and then ran to its end.
    pub(crate) fn check_complete(&self, wanted: &Wanted, output: Option<&Path>) {
        let pages = self.pages();
        let stored = once("catalogue", pages.iter().map(|row| row.page.url.clone()));
        same("catalogue", &stored, &wanted.keys().cloned().collect());
        for row in &pages {
            if let Some(Some(status)) = wanted.get(&row.page.url) {
                assert_eq!(row.page.status, Some(*status), "{}", row.page.url);
            }
        }
        if let Some(output) = output {
            // What asks not to be indexed is not shown.
            let shown: BTreeSet<String> =
                pages.iter().filter(|row| !row.noindex).map(|row| row.page.url.clone()).collect();
            same("output", &once("output", output_urls(output)), &shown);
        }
        let reader = self.reader();
        reader.check().unwrap();
        let job = self.job();
        assert_eq!(job.state.as_str(), "completed", "{job:?}");
        let counts = reader.counts(job.id).unwrap();
        assert_eq!(counts.pages + counts.failed, pages.len() as u64);
        let requests = self.fetches().into_iter().map(|row| {
            format!(
                "{} of {:?} at {} try {} hop {}",
                row.url, row.scheduled_url, row.timings.started.0, row.attempt, row.hop
            )
        });
        once("requests", requests);
    }

    /// The links of every page that has some are stored once.
    pub(crate) fn check_links(&self) {
        let pages = self.pages();
        let with_links = pages.iter().filter(|row| row.page.links.is_some_and(|links| links > 0));
        // Links stand under the URL their page was found at; several may lead to one.
        let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
        for row in with_links {
            let at = row.page.final_url.clone().unwrap_or_else(|| row.page.url.clone());
            *wanted.entry(at).or_default() += 1;
        }
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for source in self.link_sources() {
            *found.entry(source).or_default() += 1;
        }
        let wrong: Vec<String> = wanted
            .keys()
            .chain(found.keys())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .filter(|url| wanted.get(*url) != found.get(*url))
            .map(|url| format!("{url}: {:?}, not {:?}", found.get(url), wanted.get(url)))
            .collect();
        assert!(wrong.is_empty(), "links are stored as often as their pages: {wrong:#?}");
    }

    /// With an archive there is more to hold to.
    pub(crate) fn check_all(&self, wanted: &Wanted, output: Option<&Path>) {
        self.check_complete(wanted, output);
        self.check_links();
        self.check_archive();
        self.check_references(&self.pages());
        self.check_frontier_is_empty();
    }
}

pub(crate) fn output_urls(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("the output");
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is whole");
    text.lines()
        .map(|line| {
            let page: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            page.get("url").and_then(Value::as_str).expect("a URL").to_owned()
        })
        .collect()
}

#[derive(Default)]
struct Left {
    jobs: Vec<(JobId, QueueCounts)>,
    hosts: Vec<HostKey>,
}

impl Restore for Left {
    fn job(&mut self, job: JobId, _: u16, record: &[u8]) -> Result<(), StateError> {
        self.jobs.push((job, read_job_counts(record)?));
        Ok(())
    }

    fn host(&mut self, key: HostKey, _: &[u8]) -> Result<(), StateError> {
        self.hosts.push(key);
        Ok(())
    }

    fn seen(&mut self, _: JobId, _: u16, _: &mut dyn Iterator<Item = Fingerprint>) {}

    fn received(&mut self, _: u16, _: u64) {}

    fn next_due(&mut self, due: Option<Millis>) {
        assert_eq!(due, None, "something waits for its time");
    }
}

pub(crate) fn frontier_is_empty(state: &dyn ShardState) {
    let mut left = Left::default();
    state.restore(&Shards::All, &mut left, &|_| false).unwrap();
    assert!(!left.jobs.is_empty());
    for (job, counts) in &left.jobs {
        for host in &left.hosts {
            let at = QueueAt { job: *job, host: *host };
            let queued = state.load_queue(at, None, 10).unwrap();
            let tickets: Vec<String> =
                queued.iter().map(|entry| Ticket { at, order: entry.order }.to_string()).collect();
            assert!(queued.is_empty(), "job {job}: left in the queue: {tickets:?}");
        }
        assert_eq!((counts.queued, counts.delayed), (0, 0), "job {job}: {counts:?}");
    }
    assert!(state.load_due(&Shards::All, Millis::NEVER, 10).unwrap().0.is_empty());
}

/// How long a lab's `Retry-After` is.
pub(crate) const LAB_PAUSE: Duration = Duration::from_secs(1);
