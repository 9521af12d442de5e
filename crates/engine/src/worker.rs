//! A worker: one thread with its own connections, buffers and archive file. It is handed requests that are due and
//! hands back what came of them; it decides nothing about when.

use crate::classify::{self, Fate, Head};
use crate::committer::CommitQueue;
use crate::cookies::ChainKey;
use crate::digest::Buffers;
use crate::error::EngineError;
use crate::job::{JobContext, Jobs};
use crate::log;
use crate::processing::{
    ProcessedPage, RequestContext, SITEMAP_BYTES, error_row, failed_page, process_response, resource_row,
};
use crate::request_starts::RequestStarts;
use crate::robots::{ROBOTS_BYTES, host_row, robots_body, robots_visit};
use crate::scheduler::Report;
use crate::status::{EndedVisit, ProcessCounters, RetryReason};
use crate::visit_record::{LateRecord, Settlement, VisitRecord};
use argiope_fetch::{
    AddressPolicy, DecodeScratch, Fetch, FetchError, FetchFailure, FetchRequest, Fetched, FetcherOptions,
    HttpFetcher, Resolver, SendPermit, Start, Tls, TruncationCause,
};
use argiope_frontier::member::Lease;
use argiope_frontier::{
    Answer, Completion, Dispatch, HostIndex, RobotsAnswered, RobotsDispatch, Ticket, Token, Unresolved,
};
use argiope_model::{Base, FingerprintKey, RequestKind, Resources, Url, Visit};
use argiope_politeness::{AnswerResult, RobotsAnswer};
use argiope_store::archive::{Appender, Exchange, Response};
use argiope_store::catalogue::RobotsRow;
use argiope_store::clock::now;
use argiope_store::warc::VisitMetadata;
use crossbeam_channel::Sender;
use http::HeaderValue;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, mpsc};

/// What a worker is asked to do.
pub(crate) enum Order {
    /// With the term of the lease in which it was handed out.
    Visit(Box<Dispatch>, u64),
    Robots(Box<RobotsDispatch>, u64),
    Resolve {
        host: HostIndex,
        name: Box<str>,
    },
    /// Whether an answer that came after the end of its term ([`Report::Late`]) is kept.
    Late {
        token: Token,
        is_kept: bool,
    },
}

/// An answer of which it is not known whether its shard is still ours, with the cookies that were sent.
enum LateAnswer {
    Visit(Arc<JobContext>, Box<Dispatch>, Result<Fetched, Box<FetchError>>, Option<HeaderValue>),
    Robots(Arc<JobContext>, Box<RobotsDispatch>, Result<Fetched, Box<FetchError>>, Option<HeaderValue>),
}

/// Far less than the time that a lease keeps in reserve.
const LAST_MOMENT: Duration = Duration::from_millis(100);

/// Everything a worker needs, made before its thread starts.
pub(crate) struct WorkerParts {
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) orders: mpsc::Receiver<Vec<Order>>,
    pub(crate) reports: Sender<Vec<Report>>,
    pub(crate) commit_queue: Arc<CommitQueue>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) counters: Arc<ProcessCounters>,
    pub(crate) key: FingerprintKey,
    pub(crate) appender: Option<Box<dyn Appender>>,
    pub(crate) fetcher: FetcherOptions,
    pub(crate) tls: Tls,
    pub(crate) resolver: Resolver,
    pub(crate) starts: Arc<RequestStarts>,
    /// One for each request that may be under way.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) lease: Arc<dyn Lease>,
}

/// Runs until its orders end; then what is under way is given up and the archive file is closed.
pub(crate) fn run(parts: WorkerParts) -> Result<(), EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| EngineError::Settings(format!("no runtime for a worker: {e}")))?;
    let local = tokio::task::LocalSet::new();
    let WorkerParts { mut orders, appender, .. } = parts;
    let worker = Rc::new(Worker {
        number: parts.number,
        name: parts.name,
        policy: parts.fetcher.addresses.clone(),
        fetcher: HttpFetcher::new(parts.fetcher, parts.tls, parts.resolver.clone()),
        resolver: parts.resolver,
        starts: parts.starts,
        turns: parts.turns,
        lease: parts.lease,
        reports: parts.reports,
        commit_queue: parts.commit_queue,
        jobs: parts.jobs,
        counters: parts.counters,
        key: parts.key,
        buffers: RefCell::new(Buffers::new()),
        decoding: RefCell::new(DecodeScratch::new()),
        appender: RefCell::new(appender),
        random: Cell::new(seed(parts.number)),
        outbox: RefCell::new(Vec::new()),
        flush: Notify::new(),
        pages: RefCell::new(WaitingPages::default()),
        page_waits: Notify::new(),
        late: RefCell::default(),
    });
    local.block_on(&runtime, async {
        let flusher = Rc::clone(&worker);
        tokio::task::spawn_local(async move { flusher.flush_reports().await });
        let reader = Rc::clone(&worker);
        tokio::task::spawn_local(async move { reader.work_on_pages().await });
        while let Some(batch) = orders.recv().await {
            for order in batch {
                tokio::task::spawn_local(Rc::clone(&worker).carry_out(order));
            }
        }
    });
    drop(local);
    let appender = worker.appender.borrow_mut().take();
    match appender {
        Some(appender) => appender.finish().map(|_| ()).map_err(EngineError::from),
        None => Ok(()),
    }
}

fn seed(number: usize) -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(number) | 1
}

struct Worker {
    number: usize,
    name: String,
    policy: AddressPolicy,
    fetcher: HttpFetcher,
    resolver: Resolver,
    starts: Arc<RequestStarts>,
    turns: Arc<Semaphore>,
    lease: Arc<dyn Lease>,
    reports: Sender<Vec<Report>>,
    commit_queue: Arc<CommitQueue>,
    jobs: Arc<Jobs>,
    counters: Arc<ProcessCounters>,
    key: FingerprintKey,
    buffers: RefCell<Buffers>,
    decoding: RefCell<DecodeScratch>,
    appender: RefCell<Option<Box<dyn Appender>>>,
    random: Cell<u64>,
    /// Reports of this turn of the runtime: they go out together, so that the scheduler is woken once.
    outbox: RefCell<Vec<Report>>,
    flush: Notify,
    /// Answers whose pages are yet to be worked on.
    pages: RefCell<WaitingPages>,
    page_waits: Notify,
    late: RefCell<HashMap<Token, LateAnswer>>,
}

/// An answer that has been reported and waits for this thread to have nothing more urgent to do.
struct WaitingPage {
    job: Arc<JobContext>,
    dispatch: Dispatch,
    fetched: Fetched,
    fate: Fate,
}

/// One that has been worked on and is not archived yet.
struct WorkedPage {
    token: Token,
    ticket: Ticket,
    visit: Visit,
    fetched: Fetched,
    fate: Fate,
    processed: ProcessedPage,
    kept: Kept,
}

/// What of an exchange goes into the archive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    /// That it was, and what came of it.
    Metadata,
    All,
}

#[derive(Default)]
struct WaitingPages {
    queue: VecDeque<WaitingPage>,
    bytes: usize,
}

impl WaitingPages {
    fn push(&mut self, page: WaitingPage) {
        self.bytes += page.fetched.body.len();
        self.queue.push_back(page);
    }

    /// The oldest, `most` of them if there are as many.
    fn pop(&mut self, most: usize) -> Vec<WaitingPage> {
        let pages: Vec<WaitingPage> = self.queue.drain(..most.min(self.queue.len())).collect();
        let bytes: usize = pages.iter().map(|page| page.fetched.body.len()).sum();
        self.bytes = self.bytes.saturating_sub(bytes);
        pages
    }

    /// So many that hosts had better wait for them.
    fn is_full(&self) -> bool {
        self.queue.len() >= MOST_WAITING_PAGES || self.bytes >= MOST_WAITING_BYTES
    }
}

/// Of a request that was handed out ahead.
const LONGEST_AHEAD: Duration = Duration::from_secs(1);
const MANY_WAITING_PAGES: usize = 112;
const PAGES_OF_A_LONG_TURN: usize = 8;
/// With so many the scheduler has enough to do.
const MOST_REPORTS: usize = 16;
/// More than the answers that come at once on a worker's share of the connections.
const MOST_WAITING_PAGES: usize = 128;
const MOST_WAITING_BYTES: usize = 32 << 20;

impl Worker {
    async fn flush_reports(&self) {
        loop {
            self.flush.notified().await;
            // Once around the runtime's queue: whoever is ready now reports first.
            tokio::task::yield_now().await;
            if !self.send_reports() {
                continue;
            }
            // Where all cores are busy with pages, the scheduler comes first: connections wait for it.
            std::thread::yield_now();
        }
    }

    fn report(&self, report: Report) {
        let mut outbox = self.outbox.borrow_mut();
        outbox.push(report);
        let many = outbox.len() >= MOST_REPORTS;
        drop(outbox);
        if many {
            self.send_reports();
        } else {
            self.flush.notify_one();
        }
    }

    /// False if there was nothing to send. A scheduler that has ended needs no reports.
    fn send_reports(&self) -> bool {
        let reports = std::mem::take(&mut *self.outbox.borrow_mut());
        !reports.is_empty() && self.reports.send(reports).is_ok()
    }

    /// In [0, 1).
    fn chance(&self) -> f64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        (x >> 11) as f64 / (1u64 << 53) as f64
    }

    async fn carry_out(self: Rc<Self>, order: Order) {
        match order {
            Order::Visit(dispatch, term) => self.visit(dispatch, term).await,
            Order::Robots(dispatch, term) => self.robots(dispatch, term).await,
            Order::Late { token, is_kept } => self.settle_late(token, is_kept),
            Order::Resolve { host, name } => {
                let result = match self.resolver.resolve(&name).await {
                    Ok(resolved) => match refused(&self.policy, &resolved.addresses) {
                        // Not even robots.txt can be asked for there.
                        Some(why) => Err(Unresolved::NoSuchHost { until: resolved.expires, why }),
                        None => Ok((resolved.addresses, resolved.expires)),
                    },
                    Err(error) => {
                        let why = format!("dns: {error}").into();
                        Err(match error.retry_at() {
                            Some(until) => Unresolved::NoSuchHost { until, why },
                            None => Unresolved::NoAnswer { why },
                        })
                    }
                };
                log::resolved(&name, &result);
                self.report(Report::Resolved { host, result });
            }
        }
    }

    /// A visit that was handed out ahead begins when another request has ended. None if that took so long that what it was
    /// handed out for may no longer hold.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        tokio::time::timeout(LONGEST_AHEAD, self.turns.acquire()).await.ok()?.ok()
    }

    /// When the request begins: now, or when its host's last start is far enough away. With one request at a time the
    /// end of the last one has passed when the next is handed out.
    async fn begin(&self, host: HostIndex, per_host: NonZeroU32, delay: Duration) -> Start {
        if per_host.get() == 1 {
            return Start::now();
        }
        let clock = || {
            let start = Start::now();
            (start.at(), start)
        };
        loop {
            match self.starts.begin(host, delay, clock) {
                Ok(start) => return start,
                Err(due) => tokio::time::sleep(due.since(now()).max(Duration::from_millis(1))).await,
            }
        }
    }

    /// What is under way when the lease ends is given up: from then on another may ask the same host. None if it was.
    async fn within_lease<T>(&self, fetch: impl Future<Output = T>) -> Option<T> {
        if self.lease.ends_in().is_none() {
            return Some(fetch.await);
        }
        tokio::select! {
            biased;
            done = fetch => Some(done),
            () = self.end_of_lease() => None,
        }
    }

    async fn end_of_lease(&self) {
        while let Some(left) = self.lease.ends_in() {
            if left.is_zero() {
                // A process that wakes up may have its answers already: those are read first.
                tokio::time::sleep(LAST_MOMENT).await;
                if self.lease.ends_in().is_some_and(|left| left.is_zero()) {
                    return;
                }
            }
            tokio::time::sleep(left).await;
        }
    }

    /// The lease ended while the answer was on its way: the scheduler says what becomes of it when it knows whose the
    /// shard is. No more of them than requests may be under way.
    fn hold(&self, token: Token, answer: LateAnswer) {
        self.late.borrow_mut().insert(token, answer);
        self.report(Report::Late { worker: self.number, token });
    }

    fn settle_late(&self, token: Token, is_kept: bool) {
        let Some(answer) = self.late.borrow_mut().remove(&token) else { return };
        match answer {
            _ if !is_kept => self.report(Report::TakenBack { token, sent: true }),
            LateAnswer::Visit(job, dispatch, fetched, cookie) => {
                self.visited(job, dispatch, fetched, cookie.as_ref());
            }
            LateAnswer::Robots(job, dispatch, fetched, cookie) => {
                self.robots_fetched(&job, *dispatch, fetched, cookie.as_ref());
            }
        }
    }

    async fn visit(&self, dispatch: Box<Dispatch>, term: u64) {
        let Some(job) = self.jobs.get(dispatch.visit.job) else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let Some(turn) = self.turn().await else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let profile = job.profile(&dispatch.rules, &dispatch.visit.url);
        let most = usize::try_from(job.spec.max_body).unwrap_or(usize::MAX);
        let start = self.begin(dispatch.host, dispatch.per_host, dispatch.delay).await;
        let may_send = || self.lease.holds() && self.lease.term() == term;
        let chain = (!dispatch.visit.hops.is_empty()).then(|| ChainKey::of(&dispatch.visit));
        let cookie = job.cookies.header(chain, &dispatch.visit.url, now());
        let request = FetchRequest {
            url: &dispatch.visit.url,
            start,
            addresses: &dispatch.addresses,
            dns_us: 0,
            profile: &profile,
            validators: None,
            cookie: cookie.as_ref(),
            form: None,
            head_only: classify::asks_head_only(&job, &dispatch.visit),
            timeout: job.timeout(dispatch.visit.attempt),
            max_body_bytes: if dispatch.visit.kind == RequestKind::Sitemap { SITEMAP_BYTES } else { most },
            permit: SendPermit::while_held(&may_send),
        };
        let fetched = self.within_lease(self.fetcher.fetch(request)).await;
        drop(turn);
        let token = dispatch.token;
        match fetched {
            None => self.report(Report::TakenBack { token, sent: true }),
            Some(Err(error)) if was_not_asked(&error) => {
                self.report(Report::TakenBack { token, sent: false });
            }
            Some(fetched) if self.lease.term() != term => {
                self.hold(token, LateAnswer::Visit(job, dispatch, fetched, cookie));
            }
            Some(fetched) => self.visited(job, dispatch, fetched, cookie.as_ref()),
        }
    }

    fn visited(
        &self,
        job: Arc<JobContext>,
        dispatch: Box<Dispatch>,
        fetched: Result<Fetched, Box<FetchError>>,
        cookie: Option<&HeaderValue>,
    ) {
        self.counters.request(&job.counters);
        match fetched {
            Ok(fetched) => self.answered(job, *dispatch, fetched, cookie),
            Err(error) => self.failed(&job, *dispatch, &error),
        }
    }

    /// The news of an answer goes out before its page is worked on, so that the host's next request is under way
    /// meanwhile; unless so many pages wait that hosts have to wait for them.
    fn answered(
        &self,
        job: Arc<JobContext>,
        dispatch: Dispatch,
        fetched: Fetched,
        cookie: Option<&HeaderValue>,
    ) {
        self.counters.response(&job.counters, fetched.body.len(), &fetched.timings);
        let ended = fetched.timings.ended;
        let status = fetched.status.as_u16();
        let retry_after = classify::retry_after(&fetched.headers, status, ended);
        let location = fetched.redirect();
        let visit = &dispatch.visit;
        job.cookies.answered(visit, cookie, &fetched.headers, location.is_some(), ended);
        let would_repeat = |to: &Url| job.cookies.would_repeat(visit, to, ended);
        let head =
            Head { status, location: location.as_deref(), retry_after, ended, would_repeat: &would_repeat };
        let fate = classify::answered(&job, visit, &head, &dispatch.rules, self.chance());
        job.cookies.settled(visit, &fate.completion);
        log::answered(&dispatch.visit, &fetched, &fate);
        let result = AnswerResult::Status(classify::status_of_host(&job, &dispatch.visit, status));
        let outcome = classify::outcome(&dispatch.visit, result, &fetched.timings, retry_after);
        let report = Report::Answered { token: dispatch.token, answer: Answer { ended, outcome } };
        while self.pages.borrow().is_full() {
            self.work_on_oldest(PAGES_OF_A_LONG_TURN);
        }
        self.report(report);
        self.pages.borrow_mut().push(WaitingPage { job, dispatch, fetched, fate });
        self.page_waits.notify_one();
    }

    /// One page between two looks at the sockets: a page takes as long as a hundred of those. With many waiting it is not
    /// the network that is short, and looking seldom is cheaper.
    async fn work_on_pages(&self) {
        loop {
            let turn = match self.pages.borrow().queue.len() {
                0 => None,
                1..MANY_WAITING_PAGES => Some(1),
                MANY_WAITING_PAGES.. => Some(PAGES_OF_A_LONG_TURN),
            };
            let Some(turn) = turn else {
                self.page_waits.notified().await;
                continue;
            };
            self.work_on_oldest(turn);
            if turn == 1 {
                // The scheduler, and whoever answers on this machine, have waited for a whole page at most.
                std::thread::yield_now();
            }
            tokio::task::yield_now().await;
        }
    }

    /// So many of the pages that have waited longest, if there are as many.
    fn work_on_oldest(&self, most: usize) {
        let pages = self.pages.borrow_mut().pop(most);
        match self.items_of(pages) {
            Ok(records) => self.commit_queue.put_all(records),
            Err(error) => self.report(Report::Fatal(error)),
        }
    }

    /// Everything that is stored of these answers; their exchanges are in the archive when this returns.
    fn items_of(&self, pages: Vec<WaitingPage>) -> Result<Vec<VisitRecord>, EngineError> {
        let mut worked: Vec<WorkedPage> = pages.into_iter().map(|page| self.process(page)).collect();
        self.archive(&mut worked)?;
        Ok(worked.into_iter().map(|page| self.record_of(page)).collect())
    }

    fn process(&self, page: WaitingPage) -> WorkedPage {
        let WaitingPage { job, dispatch, fetched, fate } = page;
        let Dispatch { token, visit, rule, delay, per_host, ticket, .. } = dispatch;
        let context = RequestContext {
            ticket: Some(ticket.to_string()),
            rule,
            delay,
            per_host: per_host.get(),
            worker: &self.name,
        };
        let processed = process_response(
            &job,
            &visit,
            &fetched,
            &fate,
            &context,
            &self.key,
            &self.buffers,
            &self.decoding,
        );
        let ended = EndedVisit {
            host: visit.url.host(),
            completion: &fate.completion,
            page: processed.record.page.as_ref(),
            retry: RetryReason::Status,
            took: now().since(fetched.timings.started),
        };
        self.counters.visit_ended(&job.counters, &ended);
        let is_final = processed.metadata.outcome == argiope_store::warc::VisitOutcome::Final;
        let kept = match visit.kind {
            _ if is_final && !job.spec.archive => Kept::Nothing,
            RequestKind::Resource if job.spec.resources != Resources::Keep => Kept::Metadata,
            _ => Kept::All,
        };
        WorkedPage { token, ticket, visit, fetched, fate, processed, kept }
    }

    /// Hands exchanges to the archive, if there is one, all in one piece.
    fn archive(&self, pages: &mut [WorkedPage]) -> Result<(), EngineError> {
        let mut appender = self.appender.borrow_mut();
        let Some(appender) = appender.as_mut() else { return Ok(()) };
        let kept = pages.iter().filter(|page| page.kept != Kept::Nothing);
        let exchanges: Vec<Exchange<'_>> = kept
            .map(|page| match page.kept {
                Kept::All => {
                    exchange_of(&page.processed.metadata, &page.fetched, page.processed.payload_sha256)
                }
                Kept::Metadata | Kept::Nothing => metadata_of(&page.processed.metadata, &page.fetched),
            })
            .collect();
        if exchanges.is_empty() {
            return Ok(());
        }
        let appended = appender.append_all(&exchanges)?;
        for (page, appended) in pages.iter_mut().filter(|page| page.kept != Kept::Nothing).zip(appended) {
            if page.kept == Kept::All {
                page.processed.archived(&appended.at.to_string(), appended.duplicate_of.as_ref());
            }
            page.processed.record.position = Some(appended.position());
        }
        Ok(())
    }

    fn record_of(&self, page: WorkedPage) -> VisitRecord {
        let WorkedPage { token, ticket, visit, fate, mut processed, .. } = page;
        processed.record.settlement = Some(Settlement {
            token: Some(token),
            ticket: Some(ticket),
            scope_host: processed.scope_host,
            completion: fate.completion,
            discoveries: processed.discoveries,
            note: processed.note,
            visit,
        });
        processed.record
    }

    fn failed(&self, job: &JobContext, dispatch: Dispatch, error: &FetchError) {
        let kind = error.kind.kind();
        let ended = error.timings.ended;
        let text = classify::error_text(error);
        let fate = classify::failed(&dispatch.visit, kind, text, ended, &dispatch.rules, self.chance());
        log::failed(&dispatch.visit, error, &fate);
        job.cookies.settled(&dispatch.visit, &fate.completion);
        let outcome = classify::outcome(&dispatch.visit, AnswerResult::Failed(kind), &error.timings, None);
        let Dispatch { token, visit, rule, delay, per_host, ticket, .. } = dispatch;
        let context = RequestContext {
            ticket: Some(ticket.to_string()),
            rule,
            delay,
            per_host: per_host.get(),
            worker: &self.name,
        };
        let metadata = context.metadata(&visit, &fate, error.timings, None);
        let mut fetch = context.fetch_row(&visit, &metadata, &fate);
        fetch.address = error.address.map(|a| a.ip().to_string());
        let mut record = VisitRecord { fetch: Some(fetch), ..VisitRecord::default() };
        if visit.kind == RequestKind::Page {
            record.page = matches!(fate.completion, Completion::Done { .. })
                .then(|| failed_page(&visit, &metadata, &self.name).capped());
            record.error = Some(error_row(&visit, &fate, None, ended));
        }
        if visit.kind == RequestKind::Resource && matches!(fate.completion, Completion::Done { .. }) {
            record.resource = Some(resource_row(&visit, &metadata));
        }
        let address = error.address.map(|a| a.ip());
        record.late = Some(Box::new(LateRecord { metadata, address }));
        self.counters.failure(&job.counters, kind, &error.timings);
        let ended_visit = EndedVisit {
            host: visit.url.host(),
            completion: &fate.completion,
            page: record.page.as_ref(),
            retry: RetryReason::of(kind),
            took: ended.since(error.timings.started),
        };
        self.counters.visit_ended(&job.counters, &ended_visit);
        record.settlement = Some(Settlement {
            token: Some(token),
            ticket: Some(ticket),
            visit,
            completion: fate.completion,
            discoveries: Vec::new(),
            note: None,
            scope_host: None,
        });
        self.report(Report::Failed { token, answer: Answer { ended, outcome }, record: Box::new(record) });
    }

    async fn robots(&self, dispatch: Box<RobotsDispatch>, term: u64) {
        let Some(job) = self.jobs.get(dispatch.job) else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let turn = self.turns.acquire().await;
        let profile = job.profile(&dispatch.rules, &dispatch.request.url);
        let start = self.begin(dispatch.host, dispatch.per_host, dispatch.delay).await;
        let may_send = || self.lease.holds() && self.lease.term() == term;
        let visit = robots_visit(&job, &dispatch.request.url, &dispatch.request.origin);
        let chain = (dispatch.request.hops > 0).then(|| ChainKey::of(&visit));
        let cookie = job.cookies.header(chain, &dispatch.request.url, now());
        let request = FetchRequest {
            url: &dispatch.request.url,
            start,
            addresses: &dispatch.addresses,
            dns_us: 0,
            profile: &profile,
            validators: None,
            cookie: cookie.as_ref(),
            form: None,
            head_only: false,
            timeout: dispatch.rules.robots().timeout,
            max_body_bytes: ROBOTS_BYTES,
            permit: SendPermit::while_held(&may_send),
        };
        let fetched = self.within_lease(self.fetcher.fetch(request)).await;
        drop(turn);
        let token = dispatch.token;
        match fetched {
            None => self.report(Report::TakenBack { token, sent: true }),
            Some(Err(error)) if was_not_asked(&error) => {
                self.report(Report::TakenBack { token, sent: false });
            }
            Some(fetched) if self.lease.term() != term => {
                self.hold(token, LateAnswer::Robots(job, dispatch, fetched, cookie));
            }
            Some(fetched) => self.robots_fetched(&job, *dispatch, fetched, cookie.as_ref()),
        }
    }

    fn robots_fetched(
        &self,
        job: &JobContext,
        dispatch: RobotsDispatch,
        fetched: Result<Fetched, Box<FetchError>>,
        cookie: Option<&HeaderValue>,
    ) {
        self.counters.request(&job.counters);
        if let Ok(fetched) = &fetched {
            let visit = robots_visit(job, &dispatch.request.url, &dispatch.request.origin);
            let chain = (dispatch.request.hops > 0).then(|| ChainKey::of(&visit));
            let redirects = fetched.redirect().is_some();
            job.cookies.answered(&visit, cookie, &fetched.headers, redirects, fetched.timings.ended);
            if let Some(chain) = chain.filter(|_| !redirects) {
                job.cookies.ended(chain);
            }
        }
        match self.robots_report(job, dispatch, fetched) {
            Ok(report) => self.report(report),
            Err(error) => self.report(Report::Fatal(error)),
        }
    }

    fn robots_report(
        &self,
        job: &JobContext,
        dispatch: RobotsDispatch,
        fetched: Result<Fetched, Box<FetchError>>,
    ) -> Result<Report, EngineError> {
        let RobotsDispatch { token, request, delay, per_host, .. } = dispatch;
        let visit = robots_visit(job, &request.url, &request.origin);
        let context =
            RequestContext { ticket: None, rule: None, delay, per_host: per_host.get(), worker: &self.name };
        let fate = Fate { completion: Completion::Done { counted: false }, error: None, dead_letter: false };
        let mut record = VisitRecord::default();
        let (answer, outcome) = match fetched {
            Ok(fetched) => {
                let ended = fetched.timings.ended;
                let status = fetched.status.as_u16();
                let body = robots_body(&fetched, &mut self.decoding.borrow_mut());
                let mut metadata = context.metadata(&visit, &fate, fetched.timings, Some(status));
                metadata.truncated = fetched.truncated.map(TruncationCause::truncation);
                metadata.error = body.as_ref().err().cloned();
                if let Some(appender) = self.appender.borrow_mut().as_mut() {
                    let appended = appender.append(&exchange_of(&metadata, &fetched, None))?;
                    record.position = Some(appended.position());
                }
                let mut row = context.fetch_row(&visit, &metadata, &fate);
                row.bytes = fetched.body.len() as u64;
                row.address = Some(fetched.address.ip().to_string());
                record.fetch = Some(row);
                let retry_after = classify::retry_after(&fetched.headers, status, ended);
                let outcome =
                    classify::outcome(&visit, AnswerResult::Status(status), &fetched.timings, retry_after);
                let target = self.robots_target(job, &request.url, &fetched);
                log::robots_answered(&request.url, &fetched, target.as_ref());
                let answered = match (target, body) {
                    (Some(to), _) => RobotsAnswered::Redirect(to),
                    (None, Err(_)) => {
                        RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() }
                    }
                    (None, Ok(body)) => {
                        record.robots = Some(RobotsRow {
                            origin: request.origin.origin().to_owned(),
                            fetched_at: ended,
                            status: Some(status),
                            body: body.to_vec(),
                        });
                        record.host = Some(host_row(&request.origin, status, &body, ended));
                        RobotsAnswered::Final { answer: RobotsAnswer::Status(status), body: body.to_vec() }
                    }
                };
                (Answer { ended, outcome }, answered)
            }
            Err(error) => {
                log::robots_failed(&request.url, &error);
                let ended = error.timings.ended;
                let kind = error.kind.kind();
                let fate = Fate { error: Some(classify::error_text(&error)), ..fate };
                let metadata = context.metadata(&visit, &fate, error.timings, None);
                record.fetch = Some(context.fetch_row(&visit, &metadata, &fate));
                let outcome = classify::outcome(&visit, AnswerResult::Failed(kind), &error.timings, None);
                let answered = RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() };
                (Answer { ended, outcome }, answered)
            }
        };
        self.commit_queue.put(record);
        Ok(Report::Robots { token, answer, outcome })
    }

    fn robots_target(&self, job: &JobContext, url: &Url, fetched: &Fetched) -> Option<Url> {
        let location = fetched.redirect()?;
        Base::new(url).join(&location, &job.normal).ok()
    }
}

/// Whether it is nobody's failure: nothing was sent, because it may not be any more, or for want of a descriptor here.
fn was_not_asked(error: &FetchError) -> bool {
    if error.kind.is_out_of_descriptors() {
        tracing::warn!(url = %error.url, "too many open files (ulimit -n): the request is put back");
        return true;
    }
    error.kind == FetchFailure::NoPermit
}

/// Why none of the addresses may be connected to; the connector looks at each again.
fn refused(policy: &AddressPolicy, addresses: &[IpAddr]) -> Option<Box<str>> {
    let mut why = None;
    for address in addresses {
        why = Some(policy.check(*address).err()?);
    }
    let refused = why?;
    let flag = if refused.class.opened_by_allow_private() { " and --allow-private is not given" } else { "" };
    Some(format!("private_address: {refused}{flag}").into())
}

fn exchange_of<'a>(
    metadata: &'a VisitMetadata,
    fetched: &'a Fetched,
    body_sha256: Option<[u8; 32]>,
) -> Exchange<'a> {
    Exchange {
        metadata,
        address: Some(fetched.address.ip()),
        request_head: Some(&fetched.request_head),
        response: Some(Response { head: &fetched.head, body: &fetched.body, body_sha256 }),
        previous: None,
    }
}

/// Only that the exchange was, and what came of it.
fn metadata_of<'a>(metadata: &'a VisitMetadata, fetched: &Fetched) -> Exchange<'a> {
    let address = Some(fetched.address.ip());
    Exchange { metadata, address, request_head: None, response: None, previous: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_fetch::ConnectFailure;
    use argiope_model::FetchTimings;

    #[test]
    fn want_of_a_descriptor_here_is_not_held_against_the_host() {
        let failed = |reason| FetchError {
            kind: FetchFailure::Connect { reason, detail: String::new() },
            url: Url::from_stored("http://a.test/").unwrap(),
            address: None,
            timings: FetchTimings::default(),
            source: None,
        };
        assert!(was_not_asked(&failed(ConnectFailure::NoDescriptor)));
        assert!(!was_not_asked(&failed(ConnectFailure::Refused)));
    }
}
