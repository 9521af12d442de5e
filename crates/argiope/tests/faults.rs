//! Every step of the order in which a page is stored is made to fail, before and after it has done its work; the power
//! goes; the disk runs full; stores are damaged. Whatever happened, the crawl that follows ends with every page once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

#[path = "faulty/mod.rs"]
mod ports;
#[path = "faulty/power.rs"]
mod power;
mod stored;

use argiope_engine::{Engine, EngineConfig, EngineError, JobOutcome, JobStart, OutputFile, Ports, Session};
use argiope_fetch::{AddressPolicy, FetcherOptions, ResolverOptions, TlsOptions};
use argiope_frontier::Ticket;
use argiope_frontier::state::ShardState;
use argiope_lab::{Lab, LabConfig, PageSize, SiteKind};
use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_local::catalogue::{self, CatalogueSettings, SqliteCatalogue};
use argiope_local::disk::{Disk, DiskFile, LocalDisk};
use argiope_local::frontier::FjallState;
use argiope_local::links::SegmentLinks;
use argiope_model::{FingerprintKey, JobId, JobSpec, Millis, NormalRules, PublicSuffixes, Url};
use argiope_politeness::{PolitenessRules, PolitenessSettings};
use argiope_store::catalogue::{Catalogue, NewJob};
use argiope_store::warc::VisitReader;
use ports::{Fault, FaultyArchive, FaultyCatalogue, FaultyLinks, FaultyState, How, Step, When};
use power::{ForgetfulState, PowerDisk};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use stored::{Asked, LAB_PAUSE, Stored, Wanted, patient, polite, requests, wanted};
use tempfile::TempDir;

const DELAY: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);
const JOB: JobId = JobId(1);

/// Retries after a moment; the rest as usual.
const POLITENESS: &str = r#"{
    "retries": {
        "busy": {"times": 4, "after": "300ms", "growth": 1},
        "server_error": {"times": 2, "after": "300ms", "growth": 1},
        "jitter": 0
    },
    "robots": {"retry_after": ["300ms", "300ms"]},
    "breaker": false,
    "adaptive": false
}"#;

/// A crawl of a small web that is run piece by piece.
struct Trial {
    lab: Lab,
    home: TempDir,
    /// Requests whose answers were lost.
    lost: RefCell<HashSet<Asked>>,
}

impl Trial {
    fn new(kinds: &[SiteKind], pages: u32) -> Trial {
        let config = LabConfig {
            hosts: u32::try_from(kinds.len()).unwrap(),
            pages,
            kinds: kinds.to_vec(),
            page_size: PageSize::Small,
            latency_ms: 1,
            log_capacity: 100_000,
            ..LabConfig::plain()
        };
        let lab = Lab::start_on_thread(config).unwrap();
        Trial { lab, home: tempfile::tempdir().unwrap(), lost: RefCell::default() }
    }

    fn plain() -> Trial {
        Trial::new(&[SiteKind::Ordinary; 5], 10)
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn stored(&self) -> Stored {
        Stored::at(&self.data())
    }

    fn output(&self) -> PathBuf {
        self.home.path().join("pages.jsonl")
    }

    fn config(&self) -> EngineConfig {
        let settings: PolitenessSettings = serde_json::from_str(POLITENESS).unwrap();
        EngineConfig {
            is_new: false,
            forget_failures: false,
            retry_failed: false,
            name: String::new(),
            shards: 8,
            workers: 2,
            concurrency: 8,
            politeness: Arc::new(PolitenessRules::compile(&settings).unwrap()),
            fetcher: FetcherOptions {
                addresses: AddressPolicy::allowing_private(),
                ..FetcherOptions::default()
            },
            resolver: ResolverOptions::default(),
            tls: TlsOptions::default(),
            suffixes: Arc::new(PublicSuffixes::bundled()),
            fingerprint_key: FingerprintKey::new([7; 16]),
            batch_age: Duration::from_millis(50),
            batch_size: EngineConfig::BATCH_SIZE,
            window: EngineConfig::WINDOW,
            max_outstanding: EngineConfig::MAX_OUTSTANDING,
            grace: EngineConfig::GRACE,
        }
    }

    fn start(&self) -> JobStart {
        let seeds = self.lab.seeds();
        let seeds = seeds.iter().map(|seed| Url::parse(seed, &NormalRules::default()).unwrap()).collect();
        let spec = JobSpec { delay: Some(DELAY), allow_private: true, ..JobSpec::default() };
        JobStart { id: JOB, spec, seeds, graph: None, session: Session::default() }
    }

    fn catalogue(&self) -> SqliteCatalogue {
        std::fs::create_dir_all(self.data()).unwrap();
        let path = self.data().join(catalogue::FILE_NAME);
        let mut catalogue = SqliteCatalogue::open(&path, CatalogueSettings::default()).unwrap();
        if catalogue.reader().unwrap().job(JOB).unwrap().is_none() {
            let new = NewJob {
                name: None,
                seeds_hash: String::from("seeds"),
                spec: String::from("{}"),
                created_at: Millis(1),
                user: None,
            };
            assert_eq!(catalogue.create_job(&new).unwrap().id, JOB);
        }
        catalogue
    }

    fn archive(&self) -> FileArchive {
        FileArchive::open(&self.data().join("archive"), ArchiveOptions::default()).unwrap()
    }

    fn links(&self) -> SegmentLinks {
        SegmentLinks::open(&self.data().join("links")).unwrap()
    }

    fn state(&self) -> FjallState {
        FjallState::open(&self.data().join("frontier")).unwrap()
    }

    /// As they come.
    fn ports(&self) -> Ports {
        Ports {
            state: Box::new(self.state()),
            catalogue: Box::new(self.catalogue()),
            archive: Some(Arc::new(self.archive())),
            links: Box::new(self.links()),
        }
    }

    fn run(&self, ports: Ports, output: &Path) -> Result<Vec<(JobId, JobOutcome)>, EngineError> {
        let output = OutputFile { job: JOB, path: output.to_owned() };
        let engine = Engine::start(self.config(), ports, vec![self.start()], Some(output))?;
        let deadline = Instant::now() + PATIENCE;
        while !engine.has_ended() {
            assert!(Instant::now() < deadline, "it hangs: {:?}", engine.handle().status());
            std::thread::sleep(Duration::from_millis(2));
        }
        engine.join().map(|ended| ended.jobs)
    }

    /// Runs until the fault has ended it.
    fn run_into(&self, fault: &Arc<Fault>, ports: Ports) -> EngineError {
        let result = self.run(faulty(ports, fault), &self.output());
        assert!(fault.has_happened(), "{fault:?} never happened");
        self.note_lost();
        match result {
            Ok(ended) => panic!("{fault:?}: it went on: {ended:?}"),
            Err(error) => error,
        }
    }

    fn note_lost(&self) {
        self.lost.borrow_mut().extend(self.stored().lost(&self.lab.access_log()));
    }

    /// Visits of the archive that a state has neither ended nor queued.
    fn orphans(&self, state: &dyn ShardState) -> usize {
        let marks: HashMap<Box<str>, u64> = state.marks().unwrap().into_iter().collect();
        let mut count = 0;
        for path in self.stored().archive_files() {
            let name = path.file_name().unwrap().to_str().unwrap();
            let ended = marks.get(&*format!("archive/{name}")).copied().unwrap_or(0);
            let mut visits = VisitReader::new(std::fs::File::open(&path).unwrap(), 0);
            while let Ok(Some(visit)) = visits.next_visit() {
                let ticket = visit.metadata.ticket.and_then(|text| text.parse::<Ticket>().ok());
                let Some(Ticket { at, order }) = ticket.filter(|_| visit.end > ended) else { continue };
                let queued = state.load_queue(at, None, usize::MAX).unwrap();
                count += usize::from(!queued.iter().any(|entry| entry.order == order));
            }
        }
        count
    }

    fn check_patience(&self) {
        patient(&self.lab.access_log(), LAB_PAUSE, &self.lost.borrow());
    }

    /// What the archive has complete, with the requests for it so far.
    fn finished(&self) -> HashMap<String, u32> {
        let counts = requests(&self.lab.access_log());
        let finished = self.stored().finished().into_iter();
        finished.map(|url| (counts.get(&url).copied().unwrap_or(0), url)).map(|(n, url)| (url, n)).collect()
    }

    /// Runs to the end with ports as they come.
    fn finish(&self) {
        let ended = self.run(self.ports(), &self.output()).unwrap();
        assert_eq!(ended, [(JOB, JobOutcome::Done)]);
    }

    fn check_not_fetched_again(&self, finished: &HashMap<String, u32>, what: &dyn std::fmt::Debug) {
        let counts = requests(&self.lab.access_log());
        for (url, count) in finished {
            assert_eq!(counts.get(url), Some(count), "{what:?}: {url} was fetched again");
        }
    }

    fn check(&self) {
        self.stored().check_all(&wanted(&self.lab.expected()), Some(&self.output()));
        polite(&self.lab.access_log(), DELAY);
    }
}

fn faulty(ports: Ports, fault: &Arc<Fault>) -> Ports {
    let Ports { state, catalogue, archive, links } = ports;
    Ports {
        state: Box::new(FaultyState { inner: state, fault: Arc::clone(fault) }),
        catalogue: Box::new(FaultyCatalogue { inner: catalogue, fault: Arc::clone(fault) }),
        archive: archive.map(|inner| {
            Arc::new(FaultyArchive { inner, fault: Arc::clone(fault) })
                as Arc<dyn argiope_store::archive::Archive>
        }),
        links: Box::new(FaultyLinks { inner: links, fault: Arc::clone(fault) }),
    }
}

/// One fault, then a run to the end.
fn survives(step: Step, when: When, how: How, nth: u32) {
    let fault = Fault::new(step, when, how, nth);
    println!("{fault:?}");
    let trial = Trial::plain();
    let error = trial.run_into(&fault, trial.ports());
    if how == How::DiskFull {
        assert!(matches!(error, EngineError::DiskFull(_)), "{fault:?}: {error}");
    }
    let finished = trial.finished();
    trial.finish();
    trial.check();
    trial.check_not_fetched_again(&finished, &fault);
}

fn dies_around(step: Step) {
    for when in [When::Before, When::After] {
        for nth in [1, 4] {
            survives(step, when, How::Dies, nth);
        }
        // A step that cannot fail can only be the last one.
        if step != Step::Committed {
            survives(step, when, How::Fails, 3);
        }
    }
}

#[test]
fn a_death_around_the_append_to_the_archive_costs_nothing() {
    dies_around(Step::ArchiveAppend);
}

#[test]
fn a_death_around_the_sync_of_the_archive_costs_nothing() {
    dies_around(Step::ArchiveSync);
}

#[test]
fn a_death_around_the_append_of_links_costs_nothing() {
    dies_around(Step::LinksAppend);
}

#[test]
fn a_death_around_the_sync_of_links_costs_nothing() {
    dies_around(Step::LinksSync);
}

#[test]
fn a_death_around_the_commit_of_the_catalogue_costs_nothing() {
    dies_around(Step::CatalogueCommit);
}

#[test]
fn a_death_around_the_word_that_all_is_committed_costs_nothing() {
    dies_around(Step::Committed);
}

#[test]
fn a_death_around_a_batch_of_the_frontier_costs_nothing() {
    dies_around(Step::StateApply);
}

#[test]
fn a_death_around_the_sync_of_the_frontier_costs_nothing() {
    dies_around(Step::StateSync);
}

#[test]
fn one_death_after_the_other_costs_nothing() {
    let trial = Trial::plain();
    for step in Step::ALL {
        let fault = Fault::new(step, When::After, How::Dies, 2);
        trial.run_into(&fault, trial.ports());
    }
    trial.finish();
    trial.check();
}

/// Kinds whose visits come in several pieces.
const WINDING: [SiteKind; 6] = [
    SiteKind::Redirects,
    SiteKind::Busy,
    SiteKind::Errors,
    SiteKind::Overloaded,
    SiteKind::RobotsFlaky,
    SiteKind::Ordinary,
];

/// What an undisturbed crawl of a twin of this lab stores.
fn reference(trial: &Trial, kinds: &[SiteKind], pages: u32) -> Wanted {
    let twin = Trial::new(kinds, pages);
    twin.finish();
    let (own, other) = (format!(":{}/", trial.lab.port()), format!(":{}/", twin.lab.port()));
    let pages = twin.stored().pages().into_iter();
    pages.map(|row| (row.page.url.replace(&other, &own), row.page.status)).collect()
}

#[test]
fn redirects_and_retries_survive_deaths_at_every_step() {
    let trial = Trial::new(&WINDING, 14);
    for step in Step::ALL {
        for when in [When::Before, When::After] {
            trial.run_into(&Fault::new(step, when, How::Dies, 2), trial.ports());
        }
    }
    trial.finish();
    trial.stored().check_all(&reference(&trial, &WINDING, 14), Some(&trial.output()));
    polite(&trial.lab.access_log(), DELAY);
    trial.check_patience();
}

/// The frontier forgets what it had not synced, the archive and the links lose more or less of their ends. How many visits
/// were stored whose place in the frontier was lost.
fn power_cuts(kinds: &[SiteKind], pages: u32, cuts: &[(Step, u32)], strict: bool) -> usize {
    let trial = Trial::new(kinds, pages);
    let mut state = ForgetfulState::default();
    let ports = |state: &ForgetfulState, disk: &PowerDisk| {
        let archive = trial.data().join("archive");
        let archive = FileArchive::on_disk(&archive, ArchiveOptions::default(), Box::new(disk.clone()));
        let links = SegmentLinks::on_disk(&trial.data().join("links"), 1 << 20, Box::new(disk.clone()));
        Ports {
            state: Box::new(state.clone()) as Box<dyn ShardState>,
            catalogue: Box::new(trial.catalogue()),
            archive: Some(Arc::new(archive.unwrap())),
            links: Box::new(links.unwrap()),
        }
    };
    let mut chance: u64 = 88_172_645_463_325_252;
    let mut finished = HashMap::new();
    let mut orphans = 0;
    for (step, nth) in cuts {
        // What a former run left was made safe when it was recovered.
        let disk = PowerDisk::default();
        trial.run_into(&Fault::new(*step, When::After, How::Dies, *nth), ports(&state, &disk));
        state = state.after_power_cut();
        disk.cut_power(|| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            match (chance >> 20) % 4 {
                0 => 0,
                1 => chance % 100,
                _ => 100,
            }
        });
        orphans += trial.orphans(&state);
        trial.note_lost();
        finished.extend(trial.finished());
    }
    let ended = trial.run(ports(&state, &PowerDisk::default()), &trial.output()).unwrap();
    assert_eq!(ended, [(JOB, JobOutcome::Done)]);
    stored::frontier_is_empty(&state);
    let stored = trial.stored();
    stored.check_complete(&reference(&trial, kinds, pages), Some(&trial.output()));
    stored.check_links();
    stored.check_archive();
    polite(&trial.lab.access_log(), DELAY);
    trial.check_patience();
    if strict {
        trial.check_not_fetched_again(&finished, &cuts);
    }
    orphans
}

#[test]
fn power_cuts_cost_only_what_no_disk_had() {
    let mut orphans = 0;
    for first in [36, 48] {
        let cuts = [(Step::ArchiveAppend, first), (Step::ArchiveAppend, 15), (Step::CatalogueCommit, 4)];
        orphans += power_cuts(&[SiteKind::Ordinary; 6], 16, &cuts, true);
    }
    assert!(orphans > 0, "no power cut cost the frontier anything");
}

#[test]
fn redirects_and_retries_survive_power_cuts() {
    let mut orphans = 0;
    for first in [25, 45] {
        let cuts = [(Step::ArchiveAppend, first), (Step::ArchiveAppend, 30), (Step::ArchiveAppend, 30)];
        orphans += power_cuts(&WINDING, 8, &cuts, false);
    }
    assert!(orphans > 0, "no power cut cost the frontier anything");
}

/// Lets so many bytes through and is then full; a write that crosses the limit is short.
struct SmallDisk(Arc<AtomicI64>);

struct SmallFile(Box<dyn DiskFile>, Arc<AtomicI64>);

impl Disk for SmallDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SmallFile(LocalDisk.create(path)?, Arc::clone(&self.0))))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SmallFile(LocalDisk.open(path)?, Arc::clone(&self.0))))
    }
}

impl DiskFile for SmallFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.1.load(Ordering::SeqCst)).unwrap_or(0);
        if left == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let written = self.0.write_at(bytes.get(..left).unwrap_or(bytes), offset)?;
        self.1.fetch_sub(written as i64, Ordering::SeqCst);
        Ok(written)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// The engine ends for want of room, and goes on when there is some.
fn runs_full(trial: &Trial, ports: Ports) {
    match trial.run(ports, &trial.output()) {
        Err(EngineError::DiskFull(text)) => assert!(text.contains("no space left"), "{text}"),
        Err(error) => panic!("not a full disk: {error}"),
        Ok(ended) => panic!("there was room: {ended:?}"),
    }
    let finished = trial.finished();
    trial.finish();
    trial.check();
    trial.check_not_fetched_again(&finished, &"full disk");
}

#[test]
fn an_archive_that_runs_full_goes_on_when_there_is_room() {
    for bytes in [500, 20_000, 60_000] {
        let trial = Trial::plain();
        let disk = Box::new(SmallDisk(Arc::new(AtomicI64::new(bytes))));
        let archive = FileArchive::on_disk(&trial.data().join("archive"), ArchiveOptions::default(), disk);
        let ports = Ports { archive: Some(Arc::new(archive.unwrap())), ..trial.ports() };
        runs_full(&trial, ports);
    }
}

#[test]
fn links_that_run_full_go_on_when_there_is_room() {
    for bytes in [100, 1_500] {
        let trial = Trial::plain();
        let disk = Box::new(SmallDisk(Arc::new(AtomicI64::new(bytes))));
        let links = SegmentLinks::on_disk(&trial.data().join("links"), 1 << 20, disk).unwrap();
        let ports = Ports { links: Box::new(links), ..trial.ports() };
        runs_full(&trial, ports);
    }
}

#[test]
fn a_catalogue_that_runs_full_goes_on_when_there_is_room() {
    for more in [1, 6] {
        let trial = Trial::plain();
        let catalogue = trial.catalogue();
        catalogue.checkpoint().unwrap();
        let length = std::fs::metadata(trial.data().join(catalogue::FILE_NAME)).unwrap().len();
        let pages = length / u64::from(CatalogueSettings::default().page_bytes);
        catalogue.limit_size(Some(u32::try_from(pages).unwrap() + more)).unwrap();
        let ports = Ports {
            state: Box::new(trial.state()),
            catalogue: Box::new(catalogue),
            archive: Some(Arc::new(trial.archive())),
            links: Box::new(trial.links()),
        };
        runs_full(&trial, ports);
    }
}

#[test]
fn a_step_on_a_full_disk_ends_the_crawl_with_a_message() {
    for step in Step::ALL.into_iter().filter(|step| *step != Step::Committed) {
        survives(step, When::Before, How::DiskFull, 3);
    }
}

#[test]
fn an_output_that_cannot_be_written_ends_the_crawl_and_costs_nothing() {
    let trial = Trial::plain();
    match trial.run(trial.ports(), Path::new("/dev/full")) {
        Err(EngineError::DiskFull(text)) => assert!(text.contains("/dev/full"), "{text}"),
        other => panic!("{other:?}"),
    }
    let finished = trial.finished();
    assert!(!finished.is_empty());
    trial.finish();
    trial.check();
    trial.check_not_fetched_again(&finished, &"/dev/full");
}

#[test]
fn an_output_that_lost_its_end_or_has_too_much_is_set_right() {
    let trial = Trial::plain();
    let fault = Fault::new(Step::CatalogueCommit, When::After, How::Dies, 6);
    trial.run_into(&fault, trial.ports());
    // What was written after the position that the catalogue knows, as a crash would leave it.
    let mut text = std::fs::read(trial.output()).unwrap();
    text.extend_from_slice(b"{\"url\":\"half a li");
    std::fs::write(trial.output(), &text).unwrap();
    trial.run_into(&Fault::new(Step::CatalogueCommit, When::After, How::Dies, 4), trial.ports());
    // The machine lost it.
    std::fs::write(trial.output(), text.get(..text.len() / 3).unwrap()).unwrap();
    trial.finish();
    trial.check();
}

#[test]
fn an_unread_pipe_holds_up_no_page_and_gets_all_of_them() {
    let trial = Trial::new(&[SiteKind::Ordinary; 5], 60);
    let pipe = trial.home.path().join("pages.pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (begin, may_read) = std::sync::mpsc::channel::<()>();
    let path = pipe.clone();
    let reader = std::thread::spawn(move || {
        let mut from = std::fs::File::open(path).unwrap();
        may_read.recv().unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut from, &mut text).unwrap();
        text
    });
    let output = OutputFile { job: JOB, path: pipe };
    let engine = Engine::start(trial.config(), trial.ports(), vec![trial.start()], Some(output)).unwrap();
    let all = wanted(&trial.lab.expected()).len();
    let deadline = Instant::now() + PATIENCE;
    while trial.stored().pages().len() < all {
        assert!(Instant::now() < deadline, "it hangs: {:?}", engine.handle().status());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Every page is committed. The pipe is full: the crawl waits for its reader only to end.
    let followers = engine.handle().followers().statuses();
    let [output] = followers.as_slice() else { panic!("{followers:?}") };
    assert!(output.behind > 0 && output.error.is_none() && output.name.starts_with("-o "), "{output:?}");
    assert!(!engine.has_ended());
    begin.send(()).unwrap();
    assert_eq!(engine.join().unwrap().jobs, [(JOB, JobOutcome::Done)]);
    let text = reader.join().unwrap();
    let urls: HashSet<&str> = text.lines().collect();
    let shown = trial.stored().pages().iter().filter(|row| !row.noindex).count();
    assert_eq!((text.lines().count(), urls.len()), (shown, shown), "each page once");
}
