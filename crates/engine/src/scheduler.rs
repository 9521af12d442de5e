//! The scheduler owns the frontier. It only decides: what is due goes to a worker, what a worker reports goes into the
//! frontier, what is stored is done. It sleeps until something is reported or a host comes due.

use crate::committer::{CommitQueue, Stored};
use crate::counters::Counters;
use crate::digest::{of_job, sitemap_found};
use crate::error::EngineError;
use crate::job::Jobs;
use crate::log;
use crate::pipeline::Stop;
use crate::processing;
use crate::retry;
use crate::shards::MemberState;
use crate::snapshot::{Paused, Snapshot};
use crate::visit_record::{Settlement, VisitRecord};
use crate::why::{self, Why};
use crate::worker::Order;
use argiope_frontier::member::{Lease, Member, MemberEvent};
use argiope_frontier::state::{ShardState, StateBatch};
use argiope_frontier::{
    Activity, Answer, Completion, Discovery, Disposition, Found, Frontier, HostIndex, Notice, Refused,
    RobotsAnswered, RobotsNews, Step, Ticket, Token, Unresolved,
};
use argiope_model::{FetchTimings, FingerprintKey, JobId, Millis, RequestKind, Skip, Url, Visit};
use argiope_politeness::PolitenessRules;
use argiope_store::archive::Position;
use argiope_store::catalogue::{JobState, JobUpdate, SkippedRow, StoredPage};
use argiope_store::clock::now;
use argiope_store::warc::{VisitMetadata, VisitOutcome};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// What the scheduler is told.
pub(crate) enum Report {
    Answered {
        token: Token,
        answer: Answer,
    },
    /// Nobody was reached; the record waits for the frontier's word.
    Failed {
        token: Token,
        answer: Answer,
        record: Box<VisitRecord>,
    },
    Robots {
        token: Token,
        answer: Answer,
        outcome: RobotsAnswered,
    },
    Resolved {
        host: HostIndex,
        result: Result<(Arc<[IpAddr]>, Millis), Unresolved>,
    },
    /// There is nobody to ask for any more, or its turn did not come: nothing was asked for.
    NotAsked {
        token: Token,
    },
    /// The lease did not hold when its turn came, or ended while it was under way and `sent`.
    TakenBack {
        token: Token,
        sent: bool,
    },
    /// Its answer came after the end of the term in which it was asked for; [`Order::Late`] says what becomes of it.
    Late {
        worker: usize,
        token: Token,
    },
    Stored(Stored),
    /// The first so many batches of the frontier are durable.
    Synced(u64),
    Member(MemberEvent),
    Control(Control),
    Fatal(EngineError),
}

/// What people ask of a running crawl.
pub(crate) enum Control {
    Stop(Stop),
    Politeness(Arc<PolitenessRules>),
    SetActivity(JobId, Activity),
    /// Nothing new is asked for while there is a reason.
    Hold(Option<String>),
    Why {
        job: JobId,
        url: Url,
        answer: Sender<Why>,
    },
    /// Pages that have failed are asked for again.
    Requeue {
        job: JobId,
        pages: Vec<StoredPage>,
        answer: Sender<u64>,
    },
    ForgetRobotsFailures,
}

/// A job's end, seen from the frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEnd {
    /// Nothing is left.
    Done,
    /// `--max-pages` is reached.
    Limit,
    /// All that is left cannot be asked for a long time.
    Blocked { until: Millis },
}

pub(crate) struct Scheduler {
    pub(crate) name: String,
    pub(crate) frontier: Frontier,
    pub(crate) state: Box<dyn ShardState>,
    pub(crate) sync: Sender<u64>,
    pub(crate) workers: Vec<mpsc::Sender<Vec<Order>>>,
    pub(crate) reports: Receiver<Vec<Report>>,
    pub(crate) commit_queue: Arc<CommitQueue>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) key: FingerprintKey,
    pub(crate) counters: Arc<Counters>,
    pub(crate) snapshot: Arc<Mutex<Snapshot>>,
    pub(crate) grace: Duration,
    pub(crate) scope: crate::scope::ScopeCompiler,
    pub(crate) run: RunState,
    /// In a cluster.
    pub(crate) member: Option<Box<dyn Member>>,
    pub(crate) lease: Arc<dyn Lease>,
    pub(crate) shards: MemberState,
}

/// What changes while it runs.
#[derive(Default)]
pub(crate) struct RunState {
    pub(crate) held: HashMap<Token, Box<VisitRecord>>,
    pub(crate) orders: Vec<Vec<Order>>,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) next_snapshot: Millis,
    pub(crate) stopping: Option<Stop>,
    /// Why nothing new is asked for, if so.
    pub(crate) hold: Option<String>,
    pub(crate) give_up_at: Millis,
    pub(crate) ended: HashMap<JobId, JobEnd>,
    /// A flush was asked for and its batch has not come back.
    pub(crate) flushing: bool,
    /// As it was last said.
    pub(crate) network_down: bool,
    /// Before this, starved hosts wait: storing may take a part of the time only.
    pub(crate) flush_after: Millis,
    /// What is stored and not all settled yet.
    pub(crate) settling: VecDeque<Settling>,
}

/// A stored batch on its way into the frontier.
pub(crate) struct Settling {
    rest: std::vec::IntoIter<Settlement>,
    /// How far archive and catalogue are when all of it is settled.
    reached: Vec<(Box<str>, u64)>,
}

const SNAPSHOT_EVERY: Duration = Duration::from_millis(200);
/// A host that waits longer than this, with nothing else to do, does not keep a crawl running.
pub(crate) const BLOCKED: Duration = Duration::from_secs(600);
/// The share of the fetch slots, one in so many, that hosts without links must leave free for a batch to be closed early.
const STARVED_SHARE: usize = 16;
/// A batch that was closed early is followed by a pause of so many times the time it took to store.
const PAUSE_AFTER_FLUSH: u32 = 2;
/// A batch is closed early only if nothing comes due before this.
const WORTH_A_FLUSH: Duration = Duration::from_millis(40);
/// So many visits are ended before reports are looked at again: connections wait for those.
const SETTLED_AT_ONCE: usize = 64;
const NOTICES: usize = 20;

/// How a run ended.
pub(crate) struct RunEnd {
    pub(crate) stop: Option<Stop>,
    pub(crate) jobs: HashMap<JobId, JobEnd>,
    pub(crate) error: Option<EngineError>,
    pub(crate) frontier: Frontier,
    pub(crate) state: Box<dyn ShardState>,
    pub(crate) member: Option<Box<dyn Member>>,
}

impl Scheduler {
    /// Until every job has ended, or it is told to stop. Orders end with it, and so do the workers.
    pub(crate) fn run(mut self) -> RunEnd {
        let error = self.schedule().and_then(|()| self.settle_all()).err();
        self.settle_held(now());
        // Who is still in doubt was asked all the same.
        for (_, record) in self.run.held.drain() {
            self.commit_queue.put(*record);
        }
        self.publish(now());
        RunEnd {
            stop: self.run.stopping,
            jobs: self.run.ended,
            error,
            frontier: self.frontier,
            state: self.state,
            member: self.member,
        }
    }

    fn schedule(&mut self) -> Result<(), EngineError> {
        loop {
            let at = now();
            self.keep_membership(at)?;
            if self.frontier.has_changes() {
                // Nothing is asked for that a killed process would not find in its queue again.
                self.apply(Vec::new())?;
            }
            let wake = self.dispatch(at)?;
            self.send_orders();
            if at >= self.run.next_snapshot {
                self.publish(at);
            }
            if self.is_over(at) {
                return Ok(());
            }
            let flush_at = self.flush_if_idle(at, wake).unwrap_or(Millis::NEVER);
            let until = wake.unwrap_or(Millis::NEVER).min(flush_at).min(self.run.next_snapshot);
            let until = until.max(Millis(at.0 + 1));
            if self.run.settling.is_empty() {
                match self.reports.recv_timeout(until.since(now()).min(SNAPSHOT_EVERY)) {
                    Ok(batch) => self.take(batch)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
            }
            while let Ok(batch) = self.reports.try_recv() {
                self.take(batch)?;
            }
            while !self.run.settling.is_empty() {
                self.settle_some()?;
                if !self.reports.is_empty() {
                    break;
                }
            }
        }
    }

    fn settle_all(&mut self) -> Result<(), EngineError> {
        while !self.run.settling.is_empty() {
            self.settle_some()?;
        }
        Ok(())
    }

    /// The catalogue has a batch: links are offered and visits end, each with its links in one atomic batch of the frontier.
    /// When all have, the frontier is told how far it goes.
    fn settle_some(&mut self) -> Result<(), EngineError> {
        let at = now();
        let Some(settling) = self.run.settling.front_mut() else { return Ok(()) };
        for settled in settling.rest.by_ref().take(SETTLED_AT_ONCE) {
            let refused = settle(&mut self.frontier, settled, &self.jobs, &self.scope, at);
            if !refused.is_empty() {
                self.commit_queue.put(VisitRecord { skipped: refused, ..VisitRecord::default() });
            }
        }
        if settling.rest.len() > 0 {
            return Ok(());
        }
        let reached = std::mem::take(&mut settling.reached);
        self.run.settling.pop_front();
        self.apply(reached)?;
        // The syncer takes all that was applied before it looks: one request at a time is enough.
        let _ = self.sync.try_send(self.frontier.batches_taken());
        Ok(())
    }

    /// Takes steps until the frontier waits; when it wants to be woken.
    fn dispatch(&mut self, at: Millis) -> Result<Option<Millis>, EngineError> {
        if self.run.stopping.is_some() {
            self.settle_held(at);
            return Ok(Some(self.run.give_up_at));
        }
        if self.run.hold.is_some() {
            self.settle_held(at);
            return Ok(None);
        }
        if !self.may_ask() {
            // What is under way may end; the news that the lease holds again wake this thread.
            return Ok(None);
        }
        if self.commit_queue.is_full() {
            // Storing is slower than the network; what it has stored wakes this thread.
            return Ok(None);
        }
        loop {
            match self.frontier.next(at) {
                Step::Wait(wake) => return Ok(wake),
                Step::Fetch(dispatch) => {
                    let to = dispatch.host.wrapping_add(dispatch.lane) as usize;
                    self.order(to, Order::Visit(dispatch, self.shards.term()));
                }
                Step::FetchRobots(dispatch) => {
                    let to = dispatch.host.wrapping_add(dispatch.lane) as usize;
                    self.order(to, Order::Robots(dispatch, self.shards.term()));
                }
                Step::Resolve { host, name } => self.order(host as usize, Order::Resolve { host, name }),
                Step::Refuse { token, visit, ticket, skip } => self.refuse(token, *visit, ticket, skip, at),
                Step::Fail { token, visit, ticket, error } => {
                    self.fail(token, *visit, ticket, None, &error, at)
                }
                Step::LoadQueue { host, at: place, after, limit } => {
                    self.apply(Vec::new())?;
                    let entries = self.state.load_queue(place, after.0, limit)?;
                    let complete = entries.len() < limit;
                    self.frontier.queue_loaded(host, place.job, entries, complete, at);
                }
                Step::LoadRobots { host, scheme, agent, origin } => {
                    let stored = self.state.load_robots(&origin)?;
                    let known = self.frontier.robots_loaded(host, scheme, &agent, stored, at);
                    if let (Some(robots), Ok(origin)) = (known, Url::from_stored(&format!("{origin}/"))) {
                        self.offer_sitemaps(&RobotsNews { origin, robots }, at);
                    }
                }
                Step::LoadDue { until, limit } => {
                    self.apply(Vec::new())?;
                    let (entries, next) = self.state.load_due(self.frontier.served(), until, limit)?;
                    self.frontier.due_loaded(entries, next, at);
                    self.apply(Vec::new())?;
                }
                Step::Release(token) => self.release(token),
                Step::Forget(token) => {
                    self.run.held.remove(&token);
                }
            }
        }
    }

    fn release(&mut self, token: Token) {
        if let Some(record) = self.run.held.remove(&token) {
            self.commit_queue.put(*record);
        }
    }

    /// At the end no failure is held any longer: a request that was made is in the history.
    fn settle_held(&mut self, at: Millis) {
        while let Some(step) = self.frontier.next_verdict(at) {
            if let Step::Release(token) = step {
                self.release(token);
            } else if let Step::Forget(token) = step {
                self.run.held.remove(&token);
            }
        }
    }

    pub(crate) fn order(&mut self, to: usize, order: Order) {
        let count = self.workers.len().max(1);
        self.run.orders.resize_with(count, Vec::new);
        if let Some(orders) = self.run.orders.get_mut(to % count) {
            orders.push(order);
        }
    }

    /// Each worker gets its orders in one piece. The channel has room: the frontier hands out no more than it may.
    fn send_orders(&mut self) {
        for (worker, orders) in self.workers.iter().zip(&mut self.run.orders) {
            if !orders.is_empty() {
                let _ = worker.blocking_send(std::mem::take(orders));
            }
        }
    }

    fn refuse(&mut self, token: Token, visit: Visit, ticket: Ticket, skip: Skip, at: Millis) {
        // It was asked for, and where it leads may not be: that is a failure, no refusal.
        if let Some(hop) = visit.hops.last() {
            let status = Some(hop.status);
            let error = format!("redirect: to {}, {}: {}", visit.url, skip.reason, skip.detail);
            return self.fail(token, visit, ticket, status, &error, at);
        }
        log::refused(&visit.url, &skip);
        let row = SkippedRow::new(visit.job, visit.scheduled_url(), skip, visit.source.as_ref());
        let settled = settled(token, ticket, visit);
        self.commit_queue.put(VisitRecord {
            settlement: Some(settled),
            skipped: vec![row],
            ..VisitRecord::default()
        });
    }

    fn offer_sitemaps(&mut self, news: &RobotsNews, at: Millis) {
        let skipped = offer_sitemaps(&mut self.frontier, &self.jobs, &self.key, news, at);
        if !skipped.is_empty() {
            self.commit_queue.put(VisitRecord { skipped, ..VisitRecord::default() });
        }
    }

    /// A URL whose host has no address, or that was redirected to what may not be asked for: it ends without a request,
    /// with the status of its last answer if it had one.
    fn fail(
        &mut self,
        token: Token,
        visit: Visit,
        ticket: Ticket,
        status: Option<u16>,
        error: &str,
        at: Millis,
    ) {
        log::given_up(&visit, error);
        let timings = FetchTimings { started: at, ended: at, ..FetchTimings::default() };
        let metadata = VisitMetadata {
            visit: visit.clone(),
            outcome: VisitOutcome::Final,
            status,
            error: Some(error.to_owned()),
            truncated: None,
            timings,
            robots_rule: None,
            robots_line: None,
            required_delay_ms: 0,
            per_host: 1,
            ticket: Some(ticket.to_string()),
            charset: None,
            answer: None,
        };
        let resource =
            (visit.kind == RequestKind::Resource).then(|| processing::resource_row(&visit, &metadata));
        let page = (visit.kind == RequestKind::Page).then(|| {
            let mut row = processing::failed_page(&visit, &metadata, &self.name);
            if status.is_some() {
                // Where it led to was not asked.
                row.page.final_url = visit.hops.last().map(|hop| hop.url.as_str().to_owned());
            }
            row.capped()
        });
        let counted = page.is_some() && status.is_some();
        let mut settled = settled(token, ticket, visit);
        settled.completion = Completion::Done { counted };
        processing::count(&self.counters, &settled.completion, page.as_ref());
        self.commit_queue.put(VisitRecord {
            settlement: Some(settled),
            page,
            resource,
            ..VisitRecord::default()
        });
    }

    fn take(&mut self, batch: Vec<Report>) -> Result<(), EngineError> {
        let at = now();
        for report in batch {
            match report {
                Report::Answered { token, answer } => {
                    self.frontier.answered(token, &answer, at);
                }
                Report::Failed { token, answer, record } => {
                    match self.frontier.answered(token, &answer, at) {
                        Disposition::Record => self.commit_queue.put(*record),
                        Disposition::Hold => {
                            self.run.held.insert(token, record);
                        }
                    }
                }
                Report::Robots { token, answer, outcome } => {
                    self.frontier.answered(token, &answer, at);
                    if let Some(news) = self.frontier.robots_answered(token, outcome, at) {
                        self.offer_sitemaps(&news, at);
                    }
                }
                Report::Resolved { host, result } => self.frontier.resolved(host, result, at),
                Report::NotAsked { token } => self.frontier.abandon(token, at),
                Report::TakenBack { token, sent } => self.frontier.take_back(token, sent, at),
                Report::Late { worker, token } => self.late(worker, token, at),
                Report::Stored(stored) => self.stored(stored, at),
                Report::Synced(batches) => {
                    self.frontier.batches_durable(batches);
                    self.hand_over_stored(batches, at);
                }
                Report::Member(event) => self.member_event(event, at)?,
                Report::Control(control) => self.control(control, at)?,
                Report::Fatal(error) => return Err(error),
            }
        }
        let notices = self.frontier.take_notices();
        notices.iter().for_each(log::notice);
        self.run.notices.extend(notices);
        while self.run.notices.len() > NOTICES {
            self.run.notices.pop_front();
        }
        Ok(())
    }

    fn stored(&mut self, stored: Stored, at: Millis) {
        self.run.flushing = false;
        self.run.flush_after = at + stored.took * PAUSE_AFTER_FLUSH;
        // A member of a cluster does not recover from its archive: nobody would read them.
        let reached = if self.member.is_some() { Vec::new() } else { marks(&stored.positions, stored.batch) };
        self.run.settling.push_back(Settling { rest: stored.settled.into_iter(), reached });
    }

    pub(crate) fn apply(&mut self, marks: Vec<(Box<str>, u64)>) -> Result<(), EngineError> {
        let mut batch: StateBatch = self.frontier.take_changes();
        batch.marks = marks;
        if !batch.is_empty() {
            self.state.apply(&batch)?;
        }
        Ok(())
    }

    fn control(&mut self, control: Control, at: Millis) -> Result<(), EngineError> {
        match control {
            Control::Stop(stop) => {
                if self.run.stopping.is_none() {
                    self.run.give_up_at = at + self.grace;
                }
                if stop == Stop::Now {
                    self.run.give_up_at = at;
                }
                self.run.stopping = Some(stop);
            }
            Control::Politeness(rules) => {
                for job in self.jobs.all() {
                    job.forget_profiles();
                }
                self.apply(Vec::new())?;
                self.frontier.set_politeness(rules, at);
                self.frontier.recheck_put_off(self.state.as_ref(), at)?;
            }
            Control::SetActivity(job, activity) => self.frontier.set_activity(job, activity),
            Control::Hold(why) => {
                if why.is_some() != self.run.hold.is_some() {
                    log::held(why.as_deref());
                }
                self.run.hold = why;
            }
            Control::Requeue { job, pages, answer } => {
                // Without an answer whoever asks knows that it is too late.
                let context = self.jobs.get(job).filter(|job| !self.run.ended.contains_key(&job.id));
                let Some(context) = context.filter(|_| self.run.stopping.is_none()) else { return Ok(()) };
                self.apply(Vec::new())?;
                let (queued, forgotten) =
                    retry::requeue(&mut self.frontier, self.state.as_ref(), &context.normal, &pages, at)?;
                self.apply(Vec::new())?;
                self.state.sync()?;
                self.commit_queue.put(VisitRecord { forgotten, ..VisitRecord::default() });
                let _ = answer.send(queued);
            }
            Control::ForgetRobotsFailures => {
                self.apply(Vec::new())?;
                self.frontier.forget_robots_failures(self.state.as_ref(), at)?;
            }
            Control::Why { job, url, answer } => {
                if let Some(context) = self.jobs.get(job) {
                    // What was decided and is not written yet is part of the answer.
                    self.apply(Vec::new())?;
                    let state = self.state.as_ref();
                    let why = why::of_frontier(&self.frontier, state, &context, &url, &self.key, at)?;
                    let _ = answer.send(why);
                }
            }
        }
        Ok(())
    }

    /// Nothing is ready, and something waits to be stored: its links may be what is missing, now or for the next slot
    /// that comes free. When to look again, if it is too early.
    fn flush_if_idle(&mut self, at: Millis, wake: Option<Millis>) -> Option<Millis> {
        let frontier = &self.frontier;
        if self.run.flushing || !frontier.has_uncommitted() || !self.run.settling.is_empty() {
            return None;
        }
        let (idle, starved) = (frontier.has_free_slots(), frontier.starved_hosts());
        // While most connections are busy, storing may take a part of the time only.
        let may_wait = if frontier.has_backlog() {
            // Others have work, but these hosts' connections are idle.
            if !idle || starved * STARVED_SHARE < frontier.concurrency() {
                return None;
            }
            starved * 2 < frontier.concurrency()
        } else {
            if wake.is_some_and(|wake| wake < at + WORTH_A_FLUSH) {
                return None;
            }
            !idle
        };
        if may_wait && at < self.run.flush_after {
            return Some(self.run.flush_after);
        }
        self.run.flushing = true;
        self.commit_queue.flush();
        None
    }

    fn is_over(&mut self, at: Millis) -> bool {
        if self.run.stopping.is_some() {
            return self.frontier.requests_under_way() == 0 && !self.frontier.has_uncommitted()
                || at >= self.run.give_up_at;
        }
        // A job of a cluster ends when all members have done their part.
        if self.member.is_some() {
            return false;
        }
        let mut all = true;
        for job in self.jobs.all() {
            if self.run.ended.contains_key(&job.id) {
                continue;
            }
            match self.end_of(job.id, at) {
                Some(end) => {
                    self.run.ended.insert(job.id, end);
                    self.commit_queue.put_job(JobUpdate {
                        job: job.id,
                        state: Some(match end {
                            JobEnd::Done | JobEnd::Limit => JobState::Completed,
                            JobEnd::Blocked { .. } => JobState::Paused,
                        }),
                        message: match end {
                            JobEnd::Done => None,
                            JobEnd::Limit => Some(String::from("max_pages is reached")),
                            JobEnd::Blocked { until } => {
                                Some(format!("what is left cannot be asked before {}", until.rfc3339()))
                            }
                        },
                        spec: None,
                        at,
                    });
                }
                None => all = false,
            }
        }
        all
    }

    fn end_of(&mut self, job: JobId, at: Millis) -> Option<JobEnd> {
        let progress = self.frontier.progress(job)?;
        if progress.is_finished() {
            return Some(JobEnd::Done);
        }
        if progress.in_progress > 0 {
            return None;
        }
        let until = at + BLOCKED;
        if progress.budget_spent {
            return (!self.frontier.awaits_resources(job, until)).then_some(JobEnd::Limit);
        }
        let quiet = self.frontier.wake_time(at).is_none_or(|wake| wake >= until);
        (quiet && self.frontier.is_blocked_until(job, until))
            .then(|| JobEnd::Blocked { until: self.frontier.wake_time(at).unwrap_or(until) })
    }

    fn publish(&mut self, at: Millis) {
        self.run.next_snapshot = at + SNAPSHOT_EVERY;
        let overview = self.frontier.overview();
        let is_down = overview.network_down_since.is_some();
        if std::mem::replace(&mut self.run.network_down, is_down) != is_down {
            log::network(is_down);
        }
        let jobs = self
            .jobs
            .all()
            .iter()
            .filter_map(|job| Some((job.id, self.frontier.progress(job.id)?)))
            .collect();
        let paused = match (&self.run.stopping, &self.run.hold, overview.network_down_since) {
            (Some(_), _, _) => Some(Paused::Stopping),
            (None, Some(why), _) => Some(Paused::Held { why: why.clone() }),
            (None, None, Some(since)) => Some(Paused::NetworkDown { since }),
            (None, None, None) => None,
        };
        let notices = self.run.notices.iter().cloned().collect();
        let snapshot = Snapshot { at, totals: self.counters.totals(), overview, jobs, paused, notices };
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

/// A refusal or failure without a request.
fn settled(token: Token, ticket: Ticket, visit: Visit) -> Settlement {
    Settlement {
        token: Some(token),
        ticket: Some(ticket),
        visit,
        completion: Completion::Done { counted: false },
        discoveries: Vec::new(),
        note: None,
        scope_host: None,
    }
}

/// A robots.txt that has just been read names sitemaps; one is looked for where it is by custom, too. Gives back those
/// that the job does not take.
pub(crate) fn offer_sitemaps(
    frontier: &mut Frontier,
    jobs: &Jobs,
    key: &FingerprintKey,
    news: &RobotsNews,
    at: Millis,
) -> Vec<SkippedRow> {
    let mut rows = Vec::new();
    for job in jobs.all() {
        let rules = job.rules();
        // What a sitemap names is one link away from a seed.
        let no_links = job.spec.max_depth == Some(0);
        if !job.spec.sitemaps
            || no_links
            || of_job(&rules, &news.origin).is_err()
            || !frontier.serves(job.id, news.origin.host())
        {
            continue;
        }
        let custom = format!("{}/sitemap.xml", news.origin.origin());
        let named = news.robots.sitemaps().iter().map(|text| &**text).chain([custom.as_str()]);
        let mut found: Vec<Found> = Vec::new();
        for url in named.filter_map(|text| Url::parse(text, &job.normal).ok()) {
            match of_job(&rules, &url) {
                Ok(()) if found.iter().any(|known| known.url == url) => {}
                Ok(()) => found.push(sitemap_found(url, 0, key)),
                Err(skip) => rows.push(SkippedRow::new(job.id, &url, skip, Some(&news.origin))),
            }
        }
        let source = Some(news.origin.clone());
        let shard = frontier.shard_of(&news.origin);
        let discovery = Discovery { job: job.id, round: 0, depth: 0, source, found };
        rows.extend(discover(frontier, shard, discovery, at));
    }
    rows
}

/// Offers URLs that were found in `shard` to the frontier. Gives back what it refused of them.
fn discover(frontier: &mut Frontier, shard: u16, discovery: Discovery, at: Millis) -> Vec<SkippedRow> {
    let (refused, _) = frontier.discover_in(shard, discovery, at);
    refused_rows(refused)
}

/// Ends a visit in the frontier: its links first. Gives back what the frontier refused of them.
pub(crate) fn settle(
    frontier: &mut Frontier,
    settled: Settlement,
    jobs: &Jobs,
    scope: &crate::scope::ScopeCompiler,
    at: Millis,
) -> Vec<SkippedRow> {
    let Settlement { token, ticket, visit, completion, discoveries, note, scope_host } = settled;
    if let (Some(url), Some(job)) = (scope_host, jobs.get(visit.job)) {
        frontier.add_scope_host(job.id, frontier.shard_of(&visit.url), &url);
        job.add_scope_host(&url, || scope.compile(&job, frontier));
    }
    let mut rows = Vec::new();
    let shard = ticket.map_or_else(|| frontier.shard_of(&visit.url), |ticket| ticket.at.host.shard);
    for discovery in discoveries {
        rows.extend(discover(frontier, shard, discovery, at));
    }
    if let Some(note) = note {
        frontier.page_seen(visit.job, &visit.url, note);
    }
    match (token, ticket) {
        (Some(token), _) => frontier.completed(token, completion, at),
        (None, Some(ticket)) => frontier.complete_recovered(ticket, &visit, completion, at),
        (None, None) => {}
    }
    rows
}

pub(crate) fn refused_rows(refused: Vec<Refused>) -> Vec<SkippedRow> {
    refused.iter().for_each(|refused| log::refused(&refused.url, &refused.skip));
    let row =
        |refused: Refused| SkippedRow::new(refused.job, &refused.url, refused.skip, refused.source.as_ref());
    refused.into_iter().map(row).collect()
}

/// The mark that says which batch of the catalogue was the last that the frontier was told of.
pub(crate) const CATALOGUE: &str = "catalogue";

/// How far archive and catalogue were when these visits were done: where a recovery begins.
pub(crate) fn marks(positions: &[Position], batch: u64) -> Vec<(Box<str>, u64)> {
    let files = positions.iter().map(|p| (format!("archive/{}", p.file).into(), p.length));
    files.chain([(CATALOGUE.into(), batch)]).collect()
}
