//! A worker: one thread with its own connections, buffers and archive file. It is handed requests that are due and
//! hands back what came of them; it decides nothing about when.

use crate::classify::{self, Fate, Head};
use crate::committer::Inbox;
use crate::counters::Counters;
use crate::digest::{self, Body, Buffers};
use crate::error::EngineError;
use crate::item::{Item, LateRecord, Settled};
use crate::job::{JobContext, Jobs};
use crate::log;
use crate::robots::{ROBOTS_BYTES, host_row, robots_body, robots_visit};
use crate::scheduler::{Report, now};
use crate::starts::Starts;
use argiope_fetch::{
    AddressPolicy, DecodeScratch, FailureKind as Unfetched, FetchError, FetchRequest, Fetched, Fetcher,
    FetcherOptions, Leave, Resolver, Start, Tls, Truncation as Cut, decode,
};
use argiope_frontier::member::Lease;
use argiope_frontier::{
    Answer, Completion, Dispatch, HostIndex, RobotsAnswered, RobotsDispatch, Ticket, Token, Unresolved,
};
use argiope_model::{Base, FingerprintKey, Millis, Page, RequestKind, Url, Visit};
use argiope_politeness::{AnswerResult, RobotsAnswer};
use argiope_store::archive::{Appender, Exchange, Response};
use argiope_store::catalogue::{ErrorRow, FetchRow, PageRow, RobotsRow, RobotsRule, error_kind};
use argiope_store::warc::{Truncation, VisitMetadata};
use crossbeam_channel::Sender;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
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
}

/// Everything a worker needs, made before its thread starts.
pub(crate) struct WorkerParts {
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) orders: mpsc::Receiver<Vec<Order>>,
    pub(crate) reports: Sender<Vec<Report>>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) key: FingerprintKey,
    pub(crate) appender: Option<Box<dyn Appender>>,
    pub(crate) fetcher: FetcherOptions,
    pub(crate) tls: Tls,
    pub(crate) resolver: Resolver,
    pub(crate) starts: Arc<Starts>,
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
        name: parts.name,
        policy: parts.fetcher.addresses.clone(),
        fetcher: Fetcher::new(parts.fetcher, parts.tls, parts.resolver.clone()),
        resolver: parts.resolver,
        starts: parts.starts,
        turns: parts.turns,
        lease: parts.lease,
        reports: parts.reports,
        inbox: parts.inbox,
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
    name: String,
    policy: AddressPolicy,
    fetcher: Fetcher,
    resolver: Resolver,
    starts: Arc<Starts>,
    turns: Arc<Semaphore>,
    lease: Arc<dyn Lease>,
    reports: Sender<Vec<Report>>,
    inbox: Arc<Inbox>,
    jobs: Arc<Jobs>,
    counters: Arc<Counters>,
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
    made: Made,
    /// In the archive.
    kept: bool,
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

const SITEMAP_BYTES: usize = 50 << 20;

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
            Order::Visit(dispatch, term) => self.visit(*dispatch, term).await,
            Order::Robots(dispatch, term) => self.robots(*dispatch, term).await,
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

    async fn visit(&self, dispatch: Dispatch, term: u64) {
        let Some(job) = self.jobs.get(dispatch.visit.job) else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let Some(turn) = self.turn().await else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let profile = job.profile(&dispatch.rules, &dispatch.visit.url);
        let most = usize::try_from(job.spec.max_body).unwrap_or(usize::MAX);
        let start = self.begin(dispatch.host, dispatch.per_host, dispatch.delay).await;
        let same_term = || self.lease.holds() && self.lease.term() == term;
        let request = FetchRequest {
            url: &dispatch.visit.url,
            start,
            addresses: &dispatch.addresses,
            dns_us: 0,
            profile: &profile,
            validators: None,
            timeout: job.timeout(dispatch.visit.attempt),
            max_body_bytes: if dispatch.visit.kind == RequestKind::Sitemap { SITEMAP_BYTES } else { most },
            leave: Leave::while_it_holds(&same_term),
        };
        let fetched = self.fetcher.fetch(request).await;
        drop(turn);
        Counters::add(&self.counters.requests, 1);
        if !same_term() {
            // As if this process had ended: whoever has the shard asks again.
            return self.report(Report::NotAsked { token: dispatch.token });
        }
        match fetched {
            Ok(fetched) => self.answered(job, dispatch, fetched),
            Err(error) if error.kind == Unfetched::NoLeave => {
                self.report(Report::NotAsked { token: dispatch.token });
            }
            Err(error) => self.failed(dispatch, &error),
        }
    }

    /// The news of an answer goes out before its page is worked on, so that the host's next request is under way
    /// meanwhile; unless so many pages wait that hosts have to wait for them.
    fn answered(&self, job: Arc<JobContext>, dispatch: Dispatch, fetched: Fetched) {
        Counters::add(&self.counters.bytes, fetched.body.len() as u64);
        let ended = fetched.timings.ended;
        let status = fetched.status.as_u16();
        let retry_after = classify::retry_after(&fetched.headers, status, ended);
        let location = fetched.redirect();
        let head = Head { status, location: location.as_deref(), retry_after, ended };
        let fate = classify::answered(&job, &dispatch.visit, &head, &dispatch.rules, self.chance());
        log::answered(&dispatch.visit, &fetched, &fate);
        let result = AnswerResult::Status(status);
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
            Ok(items) => self.inbox.put_all(items),
            Err(error) => self.report(Report::Fatal(error)),
        }
    }

    /// Everything that is stored of these answers; their exchanges are in the archive when this returns.
    fn items_of(&self, pages: Vec<WaitingPage>) -> Result<Vec<Item>, EngineError> {
        let mut worked: Vec<WorkedPage> = pages.into_iter().map(|page| self.made_of(page)).collect();
        self.archive(&mut worked)?;
        Ok(worked.into_iter().map(|page| self.item_of(page)).collect())
    }

    fn made_of(&self, page: WaitingPage) -> WorkedPage {
        let WaitingPage { job, dispatch, fetched, fate } = page;
        let Dispatch { token, visit, rule, delay, per_host, ticket, .. } = dispatch;
        let facts = Facts {
            ticket: Some(ticket.to_string()),
            rule,
            delay,
            per_host: per_host.get(),
            worker: &self.name,
        };
        let made = make(&job, &visit, &fetched, &fate, &facts, &self.key, &self.buffers, &self.decoding);
        let kept = made.metadata.outcome != argiope_store::warc::VisitOutcome::Final || job.spec.archive;
        WorkedPage { token, ticket, visit, fetched, fate, made, kept }
    }

    /// Hands exchanges to the archive, if there is one, all in one piece.
    fn archive(&self, pages: &mut [WorkedPage]) -> Result<(), EngineError> {
        let mut appender = self.appender.borrow_mut();
        let Some(appender) = appender.as_mut() else { return Ok(()) };
        let kept = pages.iter().filter(|page| page.kept);
        let exchanges: Vec<Exchange<'_>> = kept
            .map(|page| exchange_of(&page.made.metadata, &page.fetched, page.made.payload_sha256))
            .collect();
        if exchanges.is_empty() {
            return Ok(());
        }
        let appended = appender.append_all(&exchanges)?;
        for (page, appended) in pages.iter_mut().filter(|page| page.kept).zip(appended) {
            page.made.archived(&appended.at.to_string(), appended.duplicate_of.as_ref());
            page.made.item.position = Some(appended.position());
        }
        Ok(())
    }

    fn item_of(&self, page: WorkedPage) -> Item {
        let WorkedPage { token, ticket, visit, fate, mut made, .. } = page;
        count(&self.counters, &fate.completion, made.item.page.as_ref());
        made.item.settled = Some(Settled {
            token: Some(token),
            ticket: Some(ticket),
            scope_host: made.scope_host,
            completion: fate.completion,
            discoveries: made.discoveries,
            note: made.note,
            visit,
        });
        made.item
    }

    fn failed(&self, dispatch: Dispatch, error: &FetchError) {
        let kind = classify::failure_kind(error);
        let ended = error.timings.ended;
        let text = classify::error_text(error);
        let fate = classify::failed(&dispatch.visit, kind, text, ended, &dispatch.rules, self.chance());
        log::failed(&dispatch.visit, error, &fate);
        let outcome = classify::outcome(&dispatch.visit, AnswerResult::Failed(kind), &error.timings, None);
        let Dispatch { token, visit, rule, delay, per_host, ticket, .. } = dispatch;
        let facts = Facts {
            ticket: Some(ticket.to_string()),
            rule,
            delay,
            per_host: per_host.get(),
            worker: &self.name,
        };
        let metadata = facts.metadata(&visit, &fate, error.timings, None);
        let mut fetch = facts.fetch_row(&visit, &metadata, &fate);
        fetch.address = error.address.map(|a| a.ip().to_string());
        let mut item = Item { fetch: Some(fetch), ..Item::default() };
        if visit.kind == RequestKind::Page {
            item.page = matches!(fate.completion, Completion::Done { .. })
                .then(|| failed_page(&visit, &metadata, &self.name).capped());
            item.error = Some(error_row(&visit, &fate, None, ended));
        }
        let address = error.address.map(|a| a.ip());
        item.late = Some(Box::new(LateRecord { metadata, address }));
        count(&self.counters, &fate.completion, item.page.as_ref());
        item.settled = Some(Settled {
            token: Some(token),
            ticket: Some(ticket),
            visit,
            completion: fate.completion,
            discoveries: Vec::new(),
            note: None,
            scope_host: None,
        });
        self.report(Report::Failed { token, answer: Answer { ended, outcome }, item: Box::new(item) });
    }

    async fn robots(&self, dispatch: RobotsDispatch, term: u64) {
        let Some(job) = self.jobs.get(dispatch.job) else {
            return self.report(Report::NotAsked { token: dispatch.token });
        };
        let turn = self.turns.acquire().await;
        let profile = job.profile(&dispatch.rules, &dispatch.errand.url);
        let start = self.begin(dispatch.host, dispatch.per_host, dispatch.delay).await;
        let same_term = || self.lease.holds() && self.lease.term() == term;
        let request = FetchRequest {
            url: &dispatch.errand.url,
            start,
            addresses: &dispatch.addresses,
            dns_us: 0,
            profile: &profile,
            validators: None,
            timeout: dispatch.rules.robots().timeout,
            max_body_bytes: ROBOTS_BYTES,
            leave: Leave::while_it_holds(&same_term),
        };
        let fetched = self.fetcher.fetch(request).await;
        drop(turn);
        let no_leave = fetched.as_ref().is_err_and(|error| error.kind == Unfetched::NoLeave);
        if no_leave || !same_term() {
            return self.report(Report::NotAsked { token: dispatch.token });
        }
        Counters::add(&self.counters.requests, 1);
        let report = self.robots_report(&job, dispatch, fetched);
        match report {
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
        let RobotsDispatch { token, errand, delay, per_host, .. } = dispatch;
        let visit = robots_visit(job, &errand.url, &errand.origin);
        let facts = Facts { ticket: None, rule: None, delay, per_host: per_host.get(), worker: &self.name };
        let fate = Fate { completion: Completion::Done { counted: false }, error: None, dead_letter: false };
        let mut item = Item::default();
        let (answer, outcome) = match fetched {
            Ok(fetched) => {
                let ended = fetched.timings.ended;
                let status = fetched.status.as_u16();
                let body = robots_body(&fetched, &mut self.decoding.borrow_mut());
                let mut metadata = facts.metadata(&visit, &fate, fetched.timings, Some(status));
                metadata.truncated = fetched.truncated.map(truncation);
                metadata.error = body.as_ref().err().cloned();
                if let Some(appender) = self.appender.borrow_mut().as_mut() {
                    let appended = appender.append(&exchange_of(&metadata, &fetched, None))?;
                    item.position = Some(appended.position());
                }
                let mut row = facts.fetch_row(&visit, &metadata, &fate);
                row.bytes = fetched.body.len() as u64;
                row.address = Some(fetched.address.ip().to_string());
                item.fetch = Some(row);
                let retry_after = classify::retry_after(&fetched.headers, status, ended);
                let outcome =
                    classify::outcome(&visit, AnswerResult::Status(status), &fetched.timings, retry_after);
                let target = self.robots_target(job, &errand.url, &fetched);
                log::robots_answered(&errand.url, &fetched, target.as_ref());
                let answered = match (target, body) {
                    (Some(to), _) => RobotsAnswered::Redirect(to),
                    (None, Err(_)) => {
                        RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() }
                    }
                    (None, Ok(body)) => {
                        item.robots = Some(RobotsRow {
                            origin: errand.origin.origin().to_owned(),
                            fetched_at: ended,
                            status: Some(status),
                            body: body.to_vec(),
                        });
                        item.host = Some(host_row(&errand.origin, status, &body, ended));
                        RobotsAnswered::Final { answer: RobotsAnswer::Status(status), body: body.to_vec() }
                    }
                };
                (Answer { ended, outcome }, answered)
            }
            Err(error) => {
                log::robots_failed(&errand.url, &error);
                let ended = error.timings.ended;
                let kind = classify::failure_kind(&error);
                let fate = Fate { error: Some(classify::error_text(&error)), ..fate };
                let metadata = facts.metadata(&visit, &fate, error.timings, None);
                item.fetch = Some(facts.fetch_row(&visit, &metadata, &fate));
                let outcome = classify::outcome(&visit, AnswerResult::Failed(kind), &error.timings, None);
                let answered = RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() };
                (Answer { ended, outcome }, answered)
            }
        };
        self.inbox.put(item);
        Ok(Report::Robots { token, answer, outcome })
    }

    fn robots_target(&self, job: &JobContext, url: &Url, fetched: &Fetched) -> Option<Url> {
        let location = fetched.redirect()?;
        Base::new(url).join(&location, &job.normal).ok()
    }
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

/// What is known of a request beside its answer.
pub(crate) struct Facts<'w> {
    pub(crate) ticket: Option<String>,
    pub(crate) rule: Option<argiope_frontier::Rule>,
    pub(crate) delay: Duration,
    pub(crate) per_host: u32,
    pub(crate) worker: &'w str,
}

impl Facts<'_> {
    pub(crate) fn metadata(
        &self,
        visit: &Visit,
        fate: &Fate,
        timings: argiope_model::FetchTimings,
        status: Option<u16>,
    ) -> VisitMetadata {
        VisitMetadata {
            visit: visit.clone(),
            outcome: fate.visit_outcome(),
            status,
            error: fate.error.clone(),
            truncated: None,
            timings,
            robots_rule: self.rule.as_ref().map(|rule| rule.text.to_string()),
            robots_line: self.rule.as_ref().and_then(|rule| rule.line),
            required_delay_ms: u64::try_from(self.delay.as_millis()).unwrap_or(u64::MAX),
            per_host: self.per_host,
            ticket: self.ticket.clone(),
            charset: None,
        }
    }

    pub(crate) fn fetch_row(&self, visit: &Visit, metadata: &VisitMetadata, fate: &Fate) -> FetchRow {
        let scheduled = visit.scheduled_url();
        FetchRow {
            scheduled_url: (!visit.hops.is_empty()).then(|| scheduled.as_str().to_owned()),
            kind: visit.kind,
            round: visit.round,
            attempt: visit.attempt,
            hop: u8::try_from(visit.hops.len()).unwrap_or(u8::MAX),
            outcome: fate.fetch_outcome(),
            timings: metadata.timings,
            status: metadata.status,
            error: metadata.error.clone(),
            rule: match (&metadata.robots_rule, metadata.robots_line) {
                (Some(text), Some(line)) => Some(RobotsRule { text: text.clone(), line }),
                _ => None,
            },
            required_delay_ms: metadata.required_delay_ms,
            per_host: metadata.per_host,
            worker_id: Some(self.worker.to_owned()),
            ..FetchRow::new(visit.job, visit.url.host(), visit.url.as_str(), scheduled.identity().key_u64())
        }
    }
}

/// Everything made of an answer, but for its place in the archive.
pub(crate) struct Made {
    pub(crate) item: Item,
    pub(crate) metadata: VisitMetadata,
    pub(crate) discoveries: Vec<argiope_frontier::Discovery>,
    pub(crate) note: Option<argiope_frontier::admission::SeenPage>,
    pub(crate) scope_host: Option<Url>,
    /// Of the body as it came, where that was hashed on the way.
    pub(crate) payload_sha256: Option<[u8; 32]>,
}

impl Made {
    pub(crate) fn archived(&mut self, at: &str, duplicate_of: Option<&Url>) {
        if let Some(row) = &mut self.item.page {
            row.page.archive = Some(at.to_owned());
            let own = duplicate_of.is_some_and(|url| url.as_str() == row.page.url);
            row.page.duplicate_of = duplicate_of.filter(|_| !own).map(|url| url.as_str().to_owned());
        }
        if let Some(note) = &mut self.note {
            note.duplicate = duplicate_of.is_some();
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "the facts of one answer and the buffers to read it with")]
pub(crate) fn make(
    job: &JobContext,
    visit: &Visit,
    fetched: &Fetched,
    fate: &Fate,
    facts: &Facts<'_>,
    key: &FingerprintKey,
    buffers: &RefCell<Buffers>,
    decoding: &RefCell<DecodeScratch>,
) -> Made {
    let status = fetched.status.as_u16();
    let mut metadata = facts.metadata(visit, fate, fetched.timings, Some(status));
    metadata.truncated = fetched.truncated.map(truncation);
    let mut item = Item::default();
    let mut discoveries = Vec::new();
    let mut note = None;
    let mut scope_host = None;
    let mut payload_sha256 = None;
    match (&fate.completion, visit.kind) {
        (Completion::Done { .. }, RequestKind::Page) => {
            let most = usize::try_from(job.spec.max_body).unwrap_or(usize::MAX);
            let decoded = decode(&fetched.headers, &fetched.body, most, &mut decoding.borrow_mut());
            let tags: Vec<&str> =
                fetched.headers.get_all("x-robots-tag").iter().filter_map(|v| v.to_str().ok()).collect();
            let content_type = fetched.content_type();
            let body = Body {
                status,
                content_type: content_type.as_deref(),
                x_robots_tag: &tags,
                bytes: &decoded.bytes,
                payload: job.spec.archive.then_some(&*fetched.body),
                now: fetched.timings.ended,
            };
            let digested = digest::page(job, visit, &body, key, &mut buffers.borrow_mut());
            payload_sha256 = digested.payload_hash.map(|hash| hash.0);
            metadata.charset = digested.charset.map(str::to_owned);
            if metadata.error.is_none() {
                metadata.error =
                    fetched.truncated.map(|cut| cut.to_string()).or_else(|| decoded.problem(most));
            }
            let mut row = digested.row;
            finish_row(&mut row, visit, &metadata, facts.worker, fetched);
            item.page = Some(row.capped());
            item.links = digested.links;
            item.skipped = digested.skipped;
            item.error =
                fate.error.is_some().then(|| error_row(visit, fate, Some(status), fetched.timings.ended));
            discoveries.extend(digested.discovery);
            note = Some(digested.note);
            scope_host = digest::scope_host(job, visit);
            decoding.borrow_mut().recycle(decoded);
        }
        (Completion::Done { .. }, RequestKind::Sitemap) if status < 300 => {
            let decoded = decode(&fetched.headers, &fetched.body, SITEMAP_BYTES, &mut decoding.borrow_mut());
            let content_type = fetched.content_type();
            let body = Body {
                status,
                content_type: content_type.as_deref(),
                x_robots_tag: &[],
                bytes: &decoded.bytes,
                payload: None,
                now: fetched.timings.ended,
            };
            (discoveries, item.skipped) = digest::sitemap(job, visit, &body, key);
        }
        (Completion::Redirect { to, .. }, _) => {
            scope_host = (job.graph.is_none() && classify::is_seed(visit)).then(|| to.clone());
        }
        _ => {}
    }
    let mut fetch = facts.fetch_row(visit, &metadata, fate);
    fetch.bytes = fetched.body.len() as u64;
    fetch.address = Some(fetched.address.ip().to_string());
    item.fetch = Some(fetch);
    Made { item, metadata, discoveries, note, scope_host, payload_sha256 }
}

fn finish_row(row: &mut PageRow, visit: &Visit, metadata: &VisitMetadata, worker: &str, fetched: &Fetched) {
    let text = |name: &str| fetched.header_text(name).map(|v| v.into_owned());
    row.etag = text("etag");
    row.last_modified = text("last-modified");
    finish_any_row(row, visit, metadata, worker);
}

fn finish_any_row(row: &mut PageRow, visit: &Visit, metadata: &VisitMetadata, worker: &str) {
    row.page.crawled_at = Some(metadata.timings.ended.rfc3339());
    row.page.fetch_ms = Some(u32::try_from(metadata.timings.total_us() / 1000).unwrap_or(u32::MAX));
    row.page.error = metadata.error.clone();
    row.round = visit.round;
    row.retry_count = visit.attempt;
    row.redirects = visit.hops.clone();
    row.timings = metadata.timings;
    row.priority = visit.priority;
    row.source = visit.source.as_ref().map(|url| url.as_str().to_owned());
    row.scheduled_at = visit.scheduled_at;
    row.error_count = u32::from(metadata.error.is_some());
    row.worker_id = Some(worker.to_owned());
}

/// The row of a URL that got no answer, or none that is a page.
pub(crate) fn failed_page(visit: &Visit, metadata: &VisitMetadata, worker: &str) -> PageRow {
    let scheduled = visit.scheduled_url();
    let final_url = (!visit.hops.is_empty()).then(|| visit.url.as_str().to_owned());
    let page = Page {
        url: scheduled.as_str().to_owned(),
        final_url,
        status: metadata.status,
        depth: visit.depth,
        ..Page::default()
    };
    let mut row = PageRow::new(visit.job, scheduled.identity().key_u64(), scheduled.host(), page);
    finish_any_row(&mut row, visit, metadata, worker);
    row
}

pub(crate) fn error_row(visit: &Visit, fate: &Fate, status: Option<u16>, at: Millis) -> ErrorRow {
    let message = fate.error.clone().unwrap_or_default();
    let kind = match status {
        Some(status) if status >= 400 => format!("http_{status}"),
        _ => error_kind(&message).to_owned(),
    };
    ErrorRow {
        job: visit.job,
        url: visit.scheduled_url().as_str().to_owned(),
        host: visit.url.host().to_owned(),
        round: visit.round,
        attempt: visit.attempt,
        kind,
        message,
        status,
        at,
        dead_letter: fate.dead_letter,
    }
}

fn truncation(cut: Cut) -> Truncation {
    match cut {
        Cut::TooLarge { .. } => Truncation::Length,
        Cut::Timeout { .. } => Truncation::Time,
        Cut::ShortBody { .. } | Cut::Reset { .. } | Cut::Malformed { .. } => Truncation::Disconnect,
    }
}

pub(crate) fn count(counters: &Counters, completion: &Completion, page: Option<&PageRow>) {
    match completion {
        Completion::Retry { .. } => Counters::add(&counters.retries, 1),
        Completion::Redirect { .. } => Counters::add(&counters.redirects, 1),
        Completion::Done { .. } => {
            if let Some(row) = page {
                match row.page.status {
                    Some(status) => {
                        Counters::add(&counters.pages, 1);
                        counters.status(status);
                    }
                    None => Counters::add(&counters.failed, 1),
                }
            }
        }
    }
}
