//! A scheduler without threads: the test carries out its orders and makes its reports.

use super::*;
use crate::commit_queue::Load;
use crate::committer::Stored;
use crate::cookies::Session;
use crate::job::JobStart;
use crate::sample;
use crate::scope::ScopeCompiler;
use crate::status::{JobActivity, Phase};
use crate::visit_record::Settlement;
use argiope_frontier::member::Forever;
use argiope_frontier::memory::MemoryState;
use argiope_frontier::{
    Answer, Completion, Discovery, Dispatch, Found, FrontierConfig, RobotsAnswered, Ticket,
};
use argiope_model::{FailureKind, Hop, JobSpec, PublicSuffixes, RequestKind, Skip, SkipReason, Visit};
use argiope_politeness::{AnswerOutcome, AnswerResult, PolitenessRules, RobotsAnswer};
use argiope_store::archive::Position;
use argiope_store::catalogue::{JobState, JobUpdate};
use crossbeam_channel::{bounded, unbounded};
use std::net::{IpAddr, Ipv4Addr};

const JOB: JobId = JobId(1);
const HOUR: Duration = Duration::from_secs(3600);
/// Longer than any delay, and shorter than a request may take before it is given up.
const MINUTE: Duration = Duration::from_secs(60);

struct Bench {
    scheduler: Scheduler,
    synced: Receiver<u64>,
    at: Millis,
}

/// As if the user had handed it in: pages of a.test, without a robots.txt.
fn start(id: JobId, seeds: &[&str], spec: JobSpec) -> JobStart {
    let seeds = seeds.iter().map(|text| sample::url(text)).collect();
    let spec = JobSpec { respect_robots: false, sitemaps: false, ..spec };
    JobStart { id, spec, seeds, graph: None, session: Session::default() }
}

impl Bench {
    fn new() -> Bench {
        let (suffixes, key) = (Arc::new(PublicSuffixes::bundled()), FingerprintKey::new([1; 16]));
        let politeness = Arc::new(PolitenessRules::default());
        let at = now();
        let config = FrontierConfig { shards: 4, ..FrontierConfig::default() };
        let frontier = Frontier::new(config, Arc::clone(&suffixes), key.clone(), politeness, at);
        let (sync, synced) = bounded(1);
        let (_, reports) = unbounded();
        let scheduler = Scheduler {
            name: String::from("worker-0"),
            frontier,
            state: Box::new(MemoryState::new()),
            sync,
            workers: Vec::new(),
            reports,
            commit_queue: Arc::new(CommitQueue::with_room_for(1000)),
            jobs: Arc::default(),
            key,
            counters: Arc::default(),
            status: Arc::default(),
            followers: Followers::default(),
            grace: Duration::from_secs(5),
            scope: ScopeCompiler::new(&suffixes, Arc::default(), &[]),
            run: RunState::default(),
            member: None,
            lease: Arc::new(Forever),
            shards: MemberState::default(),
        };
        Bench { scheduler, synced, at }
    }

    /// With a job of two pages of one host.
    fn with_job(spec: JobSpec) -> Bench {
        let mut bench = Bench::new();
        bench.add(start(JOB, &["http://a.test/", "http://a.test/2"], spec)).unwrap();
        bench.stored_by_committer();
        bench
    }

    fn add(&mut self, start: JobStart) -> Result<(), CommandError> {
        self.job(|answer| JobCommand::Add { start: Box::new(start), forget_failures: false, answer })
            .expect("an answer")
    }

    /// The answer to a command, if it has one yet.
    fn job(
        &mut self,
        command: impl FnOnce(Sender<Result<(), CommandError>>) -> JobCommand,
    ) -> Option<Result<(), CommandError>> {
        let (answer, answered) = bounded(1);
        self.command(Command::Job(command(answer)));
        answered.try_recv().ok()
    }

    fn command(&mut self, command: Command) {
        self.scheduler.command(command, self.at).unwrap();
    }

    fn later(&mut self, time: Duration) {
        self.at = self.at + time;
    }

    /// The visits that are sent out now. Names are resolved.
    fn dispatched(&mut self) -> Vec<Dispatch> {
        let mut visits = Vec::new();
        loop {
            self.scheduler.dispatch(self.at).unwrap();
            let orders: Vec<Order> = self.scheduler.run.orders.iter_mut().flat_map(std::mem::take).collect();
            if orders.is_empty() {
                return visits;
            }
            for order in orders {
                match order {
                    Order::Visit(dispatch, _) => visits.push(*dispatch),
                    Order::Resolve { host, .. } => {
                        let addresses = Arc::from([IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))]);
                        let result = Ok((addresses, Millis::NEVER));
                        self.scheduler.frontier.resolved(host, result, self.at);
                    }
                    Order::Robots(dispatch, _) => {
                        let outcome =
                            RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() };
                        let answer =
                            self.answer(RequestKind::Robots, AnswerResult::Failed(FailureKind::Reset));
                        let frontier = &mut self.scheduler.frontier;
                        frontier.answered(dispatch.token, &answer, self.at);
                        frontier.robots_answered(dispatch.token, outcome, self.at);
                    }
                    Order::Late { .. } => panic!("nothing comes late"),
                }
            }
        }
    }

    fn answer(&self, request: RequestKind, result: AnswerResult) -> Answer {
        let outcome = AnswerOutcome { request, latency: Duration::ZERO, result, retry_after: None };
        Answer { ended: self.at, outcome }
    }

    /// Its page was fetched.
    fn answered(&mut self, dispatch: &Dispatch) {
        let answer = self.answer(RequestKind::Page, AnswerResult::Status(200));
        self.scheduler.frontier.answered(dispatch.token, &answer, self.at);
    }

    /// Links of its page.
    fn found_on(&self, dispatch: &Dispatch, links: &[&str]) -> Discovery {
        let found = |text: &&str| {
            let url = sample::url(text);
            let fingerprint = self.scheduler.key.of(url.normal(), 0);
            Found { fingerprint, priority: 0, url, kind: RequestKind::Page, previous: None }
        };
        let found = links.iter().map(found).collect();
        let source = Some(dispatch.visit.url.clone());
        Discovery { job: JOB, round: 0, depth: 1, source, found, not_before: None }
    }

    /// The committer has stored these visits.
    fn stored(&mut self, settled: Vec<Settlement>) {
        let positions = vec![Position { file: "one.warc.gz".into(), length: 700 }];
        let stored = Stored { settled, positions, batch: 3, took: Duration::ZERO };
        self.scheduler.stored(stored, self.at);
    }

    /// What waits for the committer, as if it had stored it.
    fn stored_by_committer(&self) -> Load {
        let mut load = Load::default();
        self.scheduler.commit_queue.flush();
        // Somebody has to be there, or it would wait.
        self.scheduler.commit_queue.put(VisitRecord::default());
        assert!(self.scheduler.commit_queue.take(Duration::ZERO, 1, &mut load));
        load.records.pop();
        load
    }

    /// States and messages of the job, as the catalogue will have them.
    fn updates(&self) -> Vec<(Option<JobState>, Option<String>)> {
        let told = |update: JobUpdate| (update.state, update.message);
        std::mem::take(&mut self.stored_by_committer().jobs).into_iter().map(told).collect()
    }

    fn status(&mut self) -> Status {
        self.scheduler.publish(self.at);
        self.scheduler.status.lock().unwrap().clone()
    }

    fn activity(&mut self) -> JobActivity {
        self.status().job(JOB).unwrap().activity
    }

    fn marks(&self) -> Vec<(Box<str>, u64)> {
        let mut marks = self.scheduler.state.marks().unwrap();
        marks.sort();
        marks
    }
}

fn done(dispatch: &Dispatch) -> Settlement {
    settlement(Some(dispatch.token), Some(dispatch.ticket), dispatch.visit.clone())
}

fn settlement(token: Option<Token>, ticket: Option<Ticket>, visit: Visit) -> Settlement {
    Settlement {
        token,
        ticket,
        visit,
        completion: Completion::Done { counted: true },
        discoveries: Vec::new(),
        note: None,
        scope_host: None,
    }
}

fn paused(message: &str) -> (Option<JobState>, Option<String>) {
    (Some(JobState::Paused), Some(message.to_owned()))
}

// ------------------------------------------------------------------------------------------ jobs come and go

#[test]
fn a_job_that_is_added_has_its_seeds_in_the_state_before_the_answer() {
    let mut bench = Bench::new();
    bench.add(start(JOB, &["http://a.test/", "http://b.test/"], JobSpec::default())).unwrap();
    assert!(!bench.scheduler.frontier.has_changes(), "all is written");
    let progress = bench.scheduler.frontier.progress(JOB).unwrap();
    assert_eq!((progress.queued, progress.in_progress), (2, 0));
    assert_eq!(bench.updates(), [(Some(JobState::Running), None)]);
    assert_eq!(bench.activity(), JobActivity::Running);
    // One that is there already is not queued twice.
    let seeds = vec![sample::url("http://a.test/"), sample::url("http://a.test/new")];
    bench.job(|answer| JobCommand::AddSeeds { job: JOB, seeds, answer }).unwrap().unwrap();
    assert_eq!(bench.scheduler.frontier.progress(JOB).unwrap().queued, 3);
}

#[test]
fn a_job_is_added_beside_one_that_runs_and_neither_ends_the_other() {
    let mut bench = Bench::with_job(JobSpec::default());
    bench.add(start(JobId(2), &["http://b.test/"], JobSpec::default())).unwrap();
    bench.job(|answer| JobCommand::Cancel { job: JOB, answer }).unwrap().unwrap();
    assert!(!bench.scheduler.is_over(bench.at), "the second job runs");
    let visits = bench.dispatched();
    assert_eq!(visits.iter().map(|dispatch| dispatch.visit.job).collect::<Vec<_>>(), [JobId(2)]);
}

#[test]
fn a_paused_job_sends_nothing_until_it_is_resumed() {
    let mut bench = Bench::with_job(JobSpec::default());
    bench.job(|answer| JobCommand::Pause { job: JOB, answer }).unwrap().unwrap();
    bench.later(HOUR);
    assert!(bench.dispatched().is_empty());
    assert_eq!(bench.activity(), JobActivity::Paused);
    assert_eq!(bench.updates(), [paused("paused by a user")]);
    assert!(!bench.scheduler.is_over(bench.at), "it waits for its user");
    bench.job(|answer| JobCommand::Resume { job: JOB, answer }).unwrap().unwrap();
    assert_eq!(bench.dispatched().len(), 1);
    assert_eq!(bench.updates(), [(Some(JobState::Running), None)]);
}

#[test]
fn a_job_that_is_stopped_or_cancelled_takes_no_more_commands_and_its_responses_are_stored() {
    for (end, stored) in [
        (JobEnd::Stopped, paused("interrupted")),
        (JobEnd::Cancelled, (Some(JobState::Cancelled), Some(String::from("cancelled by a user")))),
    ] {
        let mut bench = Bench::with_job(JobSpec::default());
        let sent = bench.dispatched();
        let answered = bench.job(|answer| match end {
            JobEnd::Stopped => JobCommand::Stop { job: JOB, answer },
            _ => JobCommand::Cancel { job: JOB, answer },
        });
        assert!(matches!(answered, Some(Ok(()))));
        assert_eq!(bench.updates(), [stored]);
        assert_eq!(bench.activity(), JobActivity::Ended);
        let again = bench.job(|answer| JobCommand::Pause { job: JOB, answer });
        assert!(matches!(again, Some(Err(CommandError::UnknownJob(JOB)))));
        bench.later(MINUTE);
        assert!(bench.dispatched().is_empty());
        assert!(!bench.scheduler.is_over(bench.at), "a request is under way");
        bench.answered(&sent[0]);
        assert!(!bench.scheduler.is_over(bench.at), "its response is not stored");
        bench.stored(sent.iter().map(done).collect());
        bench.scheduler.settle_all().unwrap();
        assert!(bench.scheduler.is_over(bench.at));
        assert_eq!(bench.scheduler.run.ended.get(&JOB), Some(&end));
    }
}

#[test]
fn a_job_that_is_stopped_with_a_request_in_flight_goes_on_with_its_links_and_its_counts() {
    // Added again after the response was stored, or before.
    for is_stored_first in [true, false] {
        let mut bench = Bench::with_job(JobSpec { max_depth: Some(1), ..JobSpec::default() });
        let sent = bench.dispatched();
        bench.job(|answer| JobCommand::Stop { job: JOB, answer }).unwrap().unwrap();
        bench.scheduler.finish_drained().unwrap();
        assert!(bench.scheduler.frontier.progress(JOB).is_some(), "its response is to come");
        let again = || start(JOB, &[], JobSpec { max_depth: Some(1), ..JobSpec::default() });
        if !is_stored_first {
            bench.add(again()).unwrap();
        }
        bench.answered(&sent[0]);
        let discovery = bench.found_on(&sent[0], &["http://a.test/x", "http://a.test/2"]);
        bench.stored(vec![Settlement { discoveries: vec![discovery], ..done(&sent[0]) }]);
        bench.scheduler.settle_all().unwrap();
        bench.scheduler.finish_drained().unwrap();
        assert_eq!(bench.scheduler.frontier.progress(JOB).is_none(), is_stored_first);
        if is_stored_first {
            bench.add(again()).unwrap();
        }
        let progress = bench.scheduler.frontier.progress(JOB).unwrap();
        assert_eq!((progress.queued, progress.in_progress, progress.pages), (2, 0, 1));
        let mut pages = Vec::new();
        for _ in 0..2 {
            bench.later(HOUR);
            let sent = bench.dispatched();
            bench.answered(&sent[0]);
            pages.extend(sent.iter().map(|dispatch| dispatch.visit.url.as_str().to_owned()));
            bench.stored(sent.iter().map(done).collect());
            bench.scheduler.settle_all().unwrap();
        }
        pages.sort();
        assert_eq!(pages, ["http://a.test/2", "http://a.test/x"]);
        assert_eq!(bench.scheduler.end_of(JOB, bench.at), Some(JobEnd::Done));
    }
}

#[test]
fn a_job_is_deleted_when_its_last_request_is_stored() {
    let mut bench = Bench::with_job(JobSpec::default());
    let sent = bench.dispatched();
    let (answer, answered) = bounded(1);
    bench.command(Command::Job(JobCommand::Delete { job: JOB, answer }));
    bench.later(MINUTE);
    bench.scheduler.finish_deletes(bench.at).unwrap();
    assert_eq!(bench.activity(), JobActivity::Deleting);
    assert!(bench.dispatched().is_empty(), "nothing more is sent");
    assert!(!bench.scheduler.is_over(bench.at));
    let added = bench.add(start(JOB, &["http://a.test/"], JobSpec::default()));
    assert!(matches!(added, Err(CommandError::Ending)), "not while it is deleted");
    bench.answered(&sent[0]);
    bench.stored(sent.iter().map(done).collect());
    bench.scheduler.settle_all().unwrap();
    bench.scheduler.finish_deletes(bench.at).unwrap();
    assert!(bench.scheduler.jobs.get(JOB).is_none() && bench.scheduler.frontier.progress(JOB).is_none());
    assert!(bench.scheduler.state.load_queue(sent[0].ticket.at, None, 10).unwrap().is_empty());
    assert!(bench.scheduler.run.deleting.is_empty());
    assert!(answered.is_empty(), "the catalogue has it still: its writer answers");
}

#[test]
fn nothing_is_added_to_a_crawl_that_stops() {
    let mut bench = Bench::with_job(JobSpec::default());
    bench.command(Command::Stop(Stop::Clean));
    let added = bench.add(start(JobId(2), &["http://b.test/"], JobSpec::default()));
    assert!(matches!(added, Err(CommandError::Ending)));
    let unknown = bench.job(|answer| JobCommand::Cancel { job: JobId(7), answer });
    assert!(matches!(unknown, Some(Err(CommandError::UnknownJob(JobId(7))))));
}

// ------------------------------------------------------------------------------------------ ends

#[test]
fn a_job_has_ended_when_nothing_is_queued_and_nothing_under_way() {
    let mut bench = Bench::with_job(JobSpec::default());
    for left in [1, 0] {
        bench.later(HOUR);
        let sent = bench.dispatched();
        assert_eq!(sent.len(), 1, "one at a time of a host");
        bench.answered(&sent[0]);
        assert_eq!(bench.scheduler.end_of(JOB, bench.at), None, "it is not stored");
        bench.stored(sent.iter().map(done).collect());
        bench.scheduler.settle_all().unwrap();
        let end = bench.scheduler.end_of(JOB, bench.at);
        assert_eq!(end, (left == 0).then_some(JobEnd::Done));
    }
    assert!(bench.scheduler.is_over(bench.at));
    assert_eq!(bench.updates(), [(Some(JobState::Completed), None)]);
    // It is told once.
    assert!(bench.scheduler.is_over(bench.at));
    assert_eq!(bench.updates(), []);
}

#[test]
fn a_limit_that_is_reached_or_lowered_ends_a_job_and_a_higher_one_does_not() {
    let mut bench = Bench::with_job(JobSpec { max_pages: Some(1), ..JobSpec::default() });
    let sent = bench.dispatched();
    bench.answered(&sent[0]);
    bench.stored(sent.iter().map(done).collect());
    bench.scheduler.settle_all().unwrap();
    assert_eq!(bench.scheduler.end_of(JOB, bench.at), Some(JobEnd::Limit));
    let spec = Box::new(start(JOB, &[], JobSpec { max_pages: Some(2), ..JobSpec::default() }).spec);
    bench.job(|answer| JobCommand::ChangeSpec { job: JOB, spec, answer }).unwrap().unwrap();
    assert_eq!(bench.scheduler.end_of(JOB, bench.at), None);
    assert!(!bench.scheduler.is_over(bench.at));
    bench.later(HOUR);
    assert_eq!(bench.dispatched().len(), 1);
    let limit = JobEnd::Limit.stored();
    assert_eq!(limit, (Some(JobState::Completed), Some(String::from("max_pages is reached"))));
}

#[test]
fn a_job_whose_hosts_all_wait_for_long_is_paused_with_the_time() {
    let mut bench = Bench::new();
    let polite = start(JOB, &["http://a.test/"], JobSpec::default());
    let polite = JobStart { spec: JobSpec { respect_robots: true, ..polite.spec }, ..polite };
    bench.add(polite).unwrap();
    bench.stored_by_committer();
    // The robots.txt is asked for again and again, then its host waits for an hour.
    let mut end = None;
    for _ in 0..200 {
        assert!(bench.dispatched().is_empty(), "no page without its robots.txt");
        end = bench.scheduler.end_of(JOB, bench.at);
        if end.is_some() {
            break;
        }
        bench.later(Duration::from_secs(10));
    }
    let Some(JobEnd::Blocked { until }) = end else { panic!("{end:?}") };
    assert!(until >= bench.at + BLOCKED, "{until:?}");
    assert!(bench.scheduler.is_over(bench.at));
    let message = format!("remaining URLs are blocked until {}", until.rfc3339());
    assert_eq!(bench.updates(), [paused(&message)]);
}

#[test]
fn a_stop_waits_for_what_is_under_way_but_not_for_ever() {
    let mut bench = Bench::with_job(JobSpec::default());
    let sent = bench.dispatched();
    bench.command(Command::Stop(Stop::Clean));
    bench.later(Duration::from_secs(4));
    assert!(!bench.scheduler.is_over(bench.at));
    assert_eq!(bench.status().phase, Phase::Stopping);
    assert!(bench.dispatched().is_empty());
    bench.later(Duration::from_secs(1));
    assert!(bench.scheduler.is_over(bench.at), "the grace is over");
    let mut bench = Bench::with_job(JobSpec::default());
    let finished = bench.dispatched();
    bench.command(Command::Stop(Stop::Clean));
    bench.answered(&finished[0]);
    bench.stored(finished.iter().map(done).collect());
    assert!(!bench.scheduler.is_over(bench.at), "it is not settled");
    bench.scheduler.settle_all().unwrap();
    assert!(bench.scheduler.is_over(bench.at));
    let mut bench = Bench::with_job(JobSpec::default());
    bench.dispatched();
    bench.command(Command::Stop(Stop::Now));
    assert!(bench.scheduler.is_over(bench.at));
    assert_eq!(sent.len(), 1);
}

// ------------------------------------------------------------------------------------------ holding back

#[test]
fn nothing_is_sent_while_there_is_a_reason_and_all_goes_on_after_it() {
    let mut bench = Bench::with_job(JobSpec::default());
    bench.command(Command::Hold(Some(String::from("the disk is full"))));
    bench.later(HOUR);
    assert!(bench.dispatched().is_empty());
    assert_eq!(bench.status().phase, Phase::Held { reason: String::from("the disk is full") });
    bench.command(Command::Hold(None));
    assert_eq!(bench.dispatched().len(), 1);
}

#[test]
fn nothing_is_sent_while_storing_is_behind() {
    let mut bench = Bench::with_job(JobSpec::default());
    bench.scheduler.commit_queue.put_all((0..1000).map(|_| VisitRecord::default()).collect());
    assert!(bench.dispatched().is_empty());
    bench.stored_by_committer();
    assert_eq!(bench.dispatched().len(), 1);
}

#[test]
fn a_batch_is_closed_early_only_where_its_links_may_be_missing() {
    let mut busy = Bench::with_job(JobSpec::default());
    let sent = busy.dispatched();
    busy.answered(&sent[0]);
    busy.scheduler.flush_if_idle(busy.at, None);
    assert!(!busy.scheduler.run.flushing, "another page is queued: new links are not what is missing");

    let mut bench = Bench::new();
    bench.add(start(JOB, &["http://a.test/"], JobSpec::default())).unwrap();
    bench.scheduler.flush_if_idle(bench.at, None);
    assert!(!bench.scheduler.run.flushing, "nothing waits to be stored");
    let sent = bench.dispatched();
    bench.answered(&sent[0]);
    let soon = bench.at + Duration::from_millis(10);
    bench.scheduler.flush_if_idle(bench.at, Some(soon));
    assert!(!bench.scheduler.run.flushing, "a host is due before the batch would be stored");
    bench.scheduler.flush_if_idle(bench.at, Some(bench.at + HOUR));
    assert!(bench.scheduler.run.flushing);
    bench.stored(sent.iter().map(done).collect());
    assert!(!bench.scheduler.run.flushing, "it has come back");
    bench.scheduler.flush_if_idle(bench.at, None);
    assert!(!bench.scheduler.run.flushing, "its links are about to be offered");
}

// ------------------------------------------------------------------------------------------ settling

#[test]
fn marks_are_set_when_the_whole_batch_is_settled() {
    let mut bench = Bench::with_job(JobSpec::default());
    let before = bench.marks();
    let of = |n: u32| settlement(None, None, sample::visit(&format!("http://a.test/old/{n}")));
    bench.stored((0..100).map(of).collect());
    bench.scheduler.settle_some().unwrap();
    assert_eq!(bench.scheduler.run.settling.len(), 1, "connections wait for reports meanwhile");
    assert_eq!(bench.marks(), before);
    assert!(bench.synced.is_empty());
    bench.scheduler.settle_some().unwrap();
    assert!(bench.scheduler.run.settling.is_empty());
    assert_eq!(bench.marks(), [("archive/one.warc.gz".into(), 700), ("catalogue".into(), 3)]);
    assert_eq!(bench.synced.try_recv(), Ok(bench.scheduler.frontier.batches_taken()));
}

#[test]
fn links_are_queued_with_the_end_of_their_page() {
    let mut bench = Bench::with_job(JobSpec { max_depth: Some(1), ..JobSpec::default() });
    let sent = bench.dispatched();
    bench.answered(&sent[0]);
    // One of them twice, and one that is known already.
    let links = ["http://a.test/x", "http://a.test/y", "http://a.test/x", "http://a.test/2"];
    let discovery = bench.found_on(&sent[0], &links);
    bench.stored(vec![Settlement { discoveries: vec![discovery], ..done(&sent[0]) }]);
    bench.scheduler.settle_all().unwrap();
    let progress = bench.scheduler.frontier.progress(JOB).unwrap();
    assert_eq!((progress.queued, progress.in_progress, progress.pages), (3, 0, 1));
    let stored = bench.scheduler.state.load_queue(sent[0].ticket.at, None, 10).unwrap();
    assert_eq!(stored.len(), 3, "the page has left, its links have come");
    assert!(stored.iter().all(|entry| entry.order != sent[0].ticket.order));
}

// ------------------------------------------------------------------------------------------ skipping

/// What is stored of the one visit that ends without a request.
fn ended_without_request(end: impl FnOnce(&mut Scheduler, &Dispatch, Millis)) -> VisitRecord {
    let mut bench = Bench::with_job(JobSpec::default());
    let sent = bench.dispatched();
    end(&mut bench.scheduler, &sent[0], bench.at);
    let mut load = bench.stored_by_committer();
    let record = load.records.remove(0);
    assert!(load.records.is_empty());
    let settled = record.settlement.as_ref().unwrap();
    assert_eq!((settled.token, settled.ticket), (Some(sent[0].token), Some(sent[0].ticket)));
    record
}

fn disallowed() -> Skip {
    Skip::new(SkipReason::RobotsDisallowed, String::from("Disallow: /"))
}

#[test]
fn a_refused_url_is_listed_with_its_reason_and_is_no_page() {
    let record = ended_without_request(|scheduler, sent, at| {
        scheduler.refuse(sent.token, sent.visit.clone(), sent.ticket, disallowed(), at);
    });
    let [row] = &record.skipped[..] else { panic!("{:?}", record.skipped) };
    assert_eq!((row.reason, &*row.detail), (SkipReason::RobotsDisallowed, "Disallow: /"));
    assert!(record.page.is_none());
    assert_eq!(record.settlement.unwrap().completion, Completion::Done { counted: false });
}

#[test]
fn a_redirect_to_what_is_refused_is_a_failed_page_with_the_status_of_the_redirect() {
    let record = ended_without_request(|scheduler, sent, at| {
        let mut visit = sent.visit.clone();
        visit.hops.push(Hop { url: visit.url.clone(), status: 301 });
        visit.url = sample::url("http://a.test/private");
        scheduler.refuse(sent.token, visit, sent.ticket, disallowed(), at);
    });
    assert!(record.skipped.is_empty());
    let page = record.page.unwrap().page;
    assert_eq!(page.status, Some(301));
    let error = page.error.unwrap();
    assert!(error.starts_with("redirect: to http://a.test/private, ") && error.ends_with(": Disallow: /"));
    assert_eq!(page.final_url.as_deref(), Some(page.url.as_str()), "where it led to was not asked");
    assert_eq!(record.settlement.unwrap().completion, Completion::Done { counted: true });
}

#[test]
fn a_url_without_an_address_fails_and_is_counted_as_a_failure() {
    let mut counters = None;
    let record = ended_without_request(|scheduler, sent, at| {
        scheduler.fail(sent.token, sent.visit.clone(), sent.ticket, None, "dns: no such name", at);
        counters = Some(Arc::clone(&scheduler.counters));
    });
    let page = record.page.unwrap().page;
    assert_eq!((page.status, page.error.as_deref()), (None, Some("dns: no such name")));
    assert_eq!(record.settlement.unwrap().completion, Completion::Done { counted: false });
    let totals = counters.unwrap().all.totals();
    assert_eq!((totals.failed, totals.pages, totals.requests), (1, 0, 0));
}

#[test]
fn a_resource_without_an_address_is_a_row_of_its_own_kind() {
    let record = ended_without_request(|scheduler, sent, at| {
        let visit = Visit { kind: RequestKind::Resource, ..sent.visit.clone() };
        scheduler.fail(sent.token, visit, sent.ticket, None, "dns: no such name", at);
    });
    assert!(record.page.is_none());
    assert_eq!(record.resource.unwrap().error.as_deref(), Some("dns: no such name"));
}
