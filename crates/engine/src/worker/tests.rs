//! A worker with a fetcher that returns prepared results, on a real archive.

use super::*;
use crate::commit_queue::Load;
use crate::job::JobContext;
use crate::sample::{self, response, visit};
use crate::visit_record::VisitRecord;
use argiope_fetch::{FetchError, FetchFailure, FetchRequest, Fetched, ResolverOptions, TlsOptions};
use argiope_frontier::member::Forever;
use argiope_frontier::queue::OrderKey;
use argiope_frontier::state::{HostKey, QueueAt};
use argiope_frontier::{Completion, RobotsAnswered, RobotsRequest, Ticket};
use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_model::{FetchTimings, JobId, JobSpec, PreviousFetch, Validators, Visit};
use argiope_politeness::{PolitenessRules, RobotsAnswer};
use argiope_store::archive::Archive;
use crossbeam_channel::Receiver;
use std::future::Future;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

type Prepare = Box<dyn Fn(&FetchRequest<'_>) -> Result<Fetched, FetchFailure>>;

struct PreparedFetch(Prepare);

impl Fetch for PreparedFetch {
    async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, Box<FetchError>> {
        (self.0)(&request).map_err(|kind| {
            let (url, timings) = (request.url.clone(), FetchTimings::default());
            Box::new(FetchError { kind, url, address: None, timings, source: None })
        })
    }
}

/// Ends as its test says.
#[derive(Default)]
struct TestLease {
    has_ended: AtomicBool,
    term: AtomicU64,
}

impl Lease for TestLease {
    fn holds(&self) -> bool {
        !self.has_ended.load(SeqCst)
    }

    fn term(&self) -> u64 {
        self.term.load(SeqCst)
    }

    fn ends_in(&self) -> Option<Duration> {
        Some(Duration::from_secs(3600))
    }
}

struct Bench {
    worker: Rc<Worker<PreparedFetch>>,
    reports: Receiver<Vec<Report>>,
    commit_queue: Arc<CommitQueue>,
    archive: FileArchive,
    _directory: tempfile::TempDir,
}

impl Bench {
    fn new(
        job: Arc<JobContext>,
        lease: Arc<dyn Lease>,
        prepare: impl Fn(&FetchRequest<'_>) -> Result<Fetched, FetchFailure> + 'static,
    ) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let archive = FileArchive::open(directory.path(), ArchiveOptions::default()).unwrap();
        let (reports_to, reports) = crossbeam_channel::unbounded();
        let (_orders_to, orders) = mpsc::channel(1);
        let commit_queue = Arc::new(CommitQueue::with_room_for(100));
        let jobs = Arc::new(Jobs::default());
        jobs.insert(job);
        let parts = WorkerParts {
            number: 3,
            name: String::from("worker-3"),
            orders,
            reports: reports_to,
            commit_queue: Arc::clone(&commit_queue),
            jobs,
            counters: Arc::default(),
            key: FingerprintKey::new([1; 16]),
            appender: Some(archive.appender().unwrap()),
            fetcher: FetcherOptions::default(),
            tls: Tls::load(&TlsOptions::default()).unwrap(),
            resolver: Resolver::new(ResolverOptions::default(), tokio::runtime::Handle::current()).unwrap(),
            starts: Arc::default(),
            turns: Arc::new(Semaphore::new(1)),
            lease,
        };
        let (worker, _) = Worker::new(parts, PreparedFetch(Box::new(prepare)));
        Bench { worker: Rc::new(worker), reports, commit_queue, archive, _directory: directory }
    }

    async fn visit(&self, visit: Visit) {
        Rc::clone(&self.worker).carry_out(Order::Visit(Box::new(dispatch(visit)), 0)).await;
    }

    async fn robots(&self) {
        let url = |text| sample::url(text);
        let rules = Arc::new(PolitenessRules::default().for_host("a.test"));
        let dispatch = RobotsDispatch {
            token: TOKEN,
            job: JobId(1),
            request: RobotsRequest {
                url: url("http://a.test/robots.txt"),
                origin: url("http://a.test/"),
                hops: 0,
                job: JobId(1),
            },
            host: 0,
            lane: 0,
            addresses: Arc::from([]),
            delay: Duration::ZERO,
            per_host: NonZeroU32::MIN,
            rules,
        };
        Rc::clone(&self.worker).carry_out(Order::Robots(Box::new(dispatch), 0)).await;
    }

    fn reported(&self) -> Vec<Report> {
        self.worker.send_reports();
        self.reports.try_iter().flatten().collect()
    }

    /// The records that are queued for a commit, after all responses are processed.
    fn records(&self) -> Vec<VisitRecord> {
        self.worker.process_oldest(usize::MAX);
        self.commit_queue.flush();
        self.commit_queue.close();
        let mut load = Load::default();
        self.commit_queue.take(Duration::ZERO, 1, &mut load);
        load.records
    }
}

const TOKEN: Token = Token(9);

fn dispatch(visit: Visit) -> Dispatch {
    let at = QueueAt { job: visit.job, host: HostKey { shard: 0, number: 1 } };
    Dispatch {
        token: TOKEN,
        visit,
        host: 0,
        lane: 0,
        addresses: Arc::from([]),
        rule: None,
        delay: Duration::from_secs(2),
        per_host: NonZeroU32::MIN,
        rules: Arc::new(PolitenessRules::default().for_host("a.test")),
        ticket: Ticket { at, order: OrderKey { rank: 1, depth: 1, sequence: 5 } },
    }
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

fn page(body: &str) -> Fetched {
    response(200, &[("content-type", "text/html")], body)
}

#[test]
fn a_response_is_reported_before_it_is_processed_and_then_archived() {
    run(async {
        let fetch = |_: &FetchRequest<'_>| Ok(page("<title>T</title>"));
        let bench = Bench::new(sample::job(JobSpec::default()), Arc::new(Forever), fetch);
        bench.visit(visit("http://a.test/x")).await;
        let reported = bench.reported();
        assert!(matches!(reported[..], [Report::Answered { token: TOKEN, .. }]));
        let [record] = &bench.records()[..] else { panic!("one record") };
        let row = record.page.as_ref().unwrap();
        let at = row.page.archive.as_ref().unwrap().parse().unwrap();
        assert_eq!(bench.archive.read(&at).unwrap().body, b"<title>T</title>");
        let metadata = bench.archive.read_metadata(&at).unwrap();
        assert_eq!(metadata.ticket.as_deref(), Some("1.0.1.1.1.5"));
        assert_eq!((metadata.required_delay_ms, row.worker_id.as_deref()), (2000, Some("worker-3")));
        let settlement = record.settlement.as_ref().unwrap();
        assert_eq!(
            (settlement.token, &settlement.completion),
            (Some(TOKEN), &Completion::Done { counted: true })
        );
    });
}

#[test]
fn a_recrawl_sends_validators_and_a_304_refers_to_the_previous_copy() {
    run(async {
        let body = "x".repeat(3000);
        let fetched = page(&body);
        let fetch = move |request: &FetchRequest<'_>| {
            Ok(match request.validators.and_then(|validators| validators.etag.as_deref()) {
                Some("\"e\"") => response(304, &[("etag", "\"e\"")], ""),
                _ => fetched.clone(),
            })
        };
        let bench = Bench::new(sample::job(JobSpec::default()), Arc::new(Forever), fetch);
        let url = sample::url("http://a.test/x");
        bench.visit(visit("http://a.test/x")).await;
        bench.worker.process_oldest(1);
        let mut load = Load::default();
        bench.commit_queue.flush();
        bench.commit_queue.take(Duration::ZERO, 1, &mut load);
        let first = load.records[0].page.as_ref().unwrap().page.archive.clone().unwrap().parse().unwrap();
        let positions = bench.archive.sync().unwrap();
        bench.archive.committed(&positions);

        let validators = Validators { etag: Some(String::from("\"e\"")), last_modified: None };
        let previous = PreviousFetch { url, validators, archive: Some(first) };
        let archive = previous.archive.clone();
        bench.visit(Visit { round: 1, previous: Some(Box::new(previous)), ..visit("http://a.test/x") }).await;
        let [record] = &bench.records()[..] else { panic!("one record") };
        let row = record.page.as_ref().unwrap();
        assert_eq!((row.page.status, row.page.duplicate_of.as_ref()), (Some(304), None));
        let at = row.page.archive.as_ref().unwrap().parse().unwrap();
        let stored = bench.archive.read(&at).unwrap();
        assert_eq!((stored.refers_to, stored.body), (archive, body.into_bytes()));
        assert!(stored.head.starts_with(b"HTTP/1.1 304"));
    });
}

#[test]
fn a_failure_is_reported_with_its_record() {
    run(async {
        let fetch = |_: &FetchRequest<'_>| Err(FetchFailure::Reset(String::from("closed")));
        let bench = Bench::new(sample::job(JobSpec::default()), Arc::new(Forever), fetch);
        bench.visit(Visit { attempt: 100, ..visit("http://a.test/x") }).await;
        let reported = bench.reported();
        let [Report::Failed { record, .. }] = &reported[..] else { panic!("a failure") };
        assert_eq!(record.page.as_ref().unwrap().page.status, None);
        assert!(record.error.as_ref().unwrap().dead_letter);
        assert!(record.late.is_some(), "archived once it is known to be the host's failure");
        assert!(bench.records().is_empty(), "the scheduler decides whether it is stored");
    });
}

#[test]
fn a_request_without_a_permit_goes_back_unsent() {
    run(async {
        let lease = Arc::new(TestLease::default());
        lease.has_ended.store(true, SeqCst);
        let fetch = |request: &FetchRequest<'_>| match request.permit.is_held() {
            true => Ok(page("")),
            false => Err(FetchFailure::NoPermit),
        };
        let bench = Bench::new(sample::job(JobSpec::default()), Arc::clone(&lease) as Arc<dyn Lease>, fetch);
        bench.visit(visit("http://a.test/x")).await;
        bench.robots().await;
        let reported = bench.reported();
        assert!(matches!(
            reported[..],
            [Report::TakenBack { sent: false, .. }, Report::TakenBack { sent: false, .. }]
        ));
        lease.has_ended.store(false, SeqCst);
        lease.term.store(1, SeqCst);
        bench.visit(visit("http://a.test/x")).await;
        let reported = bench.reported();
        assert!(matches!(reported[..], [Report::TakenBack { sent: false, .. }]), "of an earlier term");
    });
}

#[test]
fn a_response_after_its_term_waits_for_the_scheduler() {
    run(async {
        for is_kept in [true, false] {
            let lease = Arc::new(TestLease::default());
            let ends = Arc::clone(&lease);
            let fetch = move |_: &FetchRequest<'_>| {
                ends.term.store(1, SeqCst);
                Ok(page("x"))
            };
            let bench = Bench::new(sample::job(JobSpec::default()), lease, fetch);
            bench.visit(visit("http://a.test/x")).await;
            assert!(matches!(bench.reported()[..], [Report::Late { worker: 3, token: TOKEN }]));
            Rc::clone(&bench.worker).carry_out(Order::Late { token: TOKEN, is_kept }).await;
            match (is_kept, &bench.reported()[..]) {
                (true, [Report::Answered { .. }]) => assert_eq!(bench.records().len(), 1),
                (false, [Report::TakenBack { sent: true, .. }]) => assert!(bench.records().is_empty()),
                _ => panic!("kept: {is_kept}"),
            }
        }
    });
}

#[test]
fn a_job_that_is_gone_is_not_fetched_for() {
    run(async {
        let fetch = |_: &FetchRequest<'_>| panic!("a request was sent");
        let bench = Bench::new(sample::job(JobSpec::default()), Arc::new(Forever), fetch);
        bench.visit(Visit { job: JobId(2), ..visit("http://a.test/x") }).await;
        assert!(matches!(bench.reported()[..], [Report::NotAsked { token: TOKEN }]));
    });
}

#[test]
fn a_robots_txt_is_stored_with_its_host() {
    run(async {
        let fetch = |_: &FetchRequest<'_>| Ok(response(200, &[], "Disallow: /x"));
        let bench = Bench::new(sample::job(JobSpec::default()), Arc::new(Forever), fetch);
        bench.robots().await;
        let reported = bench.reported();
        let [Report::Robots { outcome: RobotsAnswered::Final { answer, body }, .. }] = &reported[..] else {
            panic!("a robots.txt")
        };
        assert_eq!((answer, body.as_slice()), (&RobotsAnswer::Status(200), &b"Disallow: /x"[..]));
        let [record] = &bench.records()[..] else { panic!("one record") };
        assert!(record.robots.is_some() && record.host.is_some() && record.settlement.is_none());
        assert!(record.position.is_some(), "it is archived");
    });
}

#[test]
fn a_robots_txt_that_is_redirected_cut_or_missing_has_no_rules() {
    run(async {
        let bench = |fetch: fn(&FetchRequest<'_>) -> Result<Fetched, FetchFailure>| {
            Bench::new(sample::job(JobSpec::default()), Arc::new(Forever), fetch)
        };
        let redirected = bench(|_| Ok(response(301, &[("location", "/r")], "")));
        redirected.robots().await;
        let reported = redirected.reported();
        let [Report::Robots { outcome: RobotsAnswered::Redirect(to), .. }] = &reported[..] else {
            panic!("a redirect")
        };
        assert_eq!(to.as_str(), "http://a.test/r");
        let cut = bench(|_| {
            let truncated = Some(argiope_fetch::TruncationCause::Reset { received: 3 });
            Ok(Fetched { truncated, ..response(200, &[], "Dis") })
        });
        let failed = bench(|_| Err(FetchFailure::Reset(String::from("closed"))));
        for bench in [cut, failed] {
            bench.robots().await;
            let reported = bench.reported();
            let [Report::Robots { outcome, .. }] = &reported[..] else { panic!("a robots.txt") };
            assert!(matches!(outcome, RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, .. }));
            let [record] = &bench.records()[..] else { panic!("one record") };
            assert!(record.robots.is_none() && record.fetch.as_ref().unwrap().error.is_some());
        }
    });
}
