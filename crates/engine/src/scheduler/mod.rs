//! The scheduler owns the frontier and makes all decisions: it sends due requests to workers, feeds their reports into the
//! frontier and marks committed visits as done. It sleeps until a report arrives or a host is due.

mod commands;
mod ending;
mod jobs;
mod publishing;
mod reports;
mod settling;
mod skipping;
#[cfg(test)]
mod tests;

pub(crate) use commands::Command;
pub(crate) use ending::{BLOCKED, JobEnd};
pub(crate) use jobs::JobCommand;
pub(crate) use reports::Report;
pub(crate) use settling::{CATALOGUE, marks, offer_sitemaps, refused_rows, settle};

use crate::commit_queue::CommitQueue;
use crate::engine::Stop;
use crate::error::EngineError;
use crate::handle::CommandError;
use crate::job::Jobs;
use crate::shards::MemberState;
use crate::status::{ProcessCounters, Status};
use crate::visit_record::VisitRecord;
use crate::worker::Order;
use argiope_frontier::member::{Lease, Member};
use argiope_frontier::state::{ShardState, StateBatch};
use argiope_frontier::{Frontier, NewRobots, Step, Token};
use argiope_model::{FingerprintKey, JobId, Millis, Url};
use argiope_store::clock::now;
use argiope_store::follower::Followers;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use publishing::{Meters, STATUS_EVERY};
use settling::Settling;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

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
    pub(crate) counters: Arc<ProcessCounters>,
    pub(crate) status: Arc<Mutex<Status>>,
    /// For their status only.
    pub(crate) followers: Followers,
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
    pub(crate) notices: VecDeque<String>,
    pub(crate) next_status: Millis,
    pub(crate) meters: Meters,
    pub(crate) stopping: Option<Stop>,
    /// Why no new requests are sent, if so.
    pub(crate) hold: Option<String>,
    pub(crate) give_up_at: Millis,
    pub(crate) ended: HashMap<JobId, JobEnd>,
    /// Jobs that were stopped or cancelled, and have responses that are not stored yet.
    pub(crate) draining: BTreeSet<JobId>,
    /// Jobs that are deleted when their last request has ended, and the callers who wait for that.
    pub(crate) deleting: HashMap<JobId, Vec<Sender<Result<(), CommandError>>>>,
    /// A flush was requested and its batch is not stored yet.
    pub(crate) flushing: bool,
    /// As last reported.
    pub(crate) network_down: bool,
    /// Until this time, starved hosts wait: storing may take only a part of the time.
    pub(crate) flush_after: Millis,
    /// Stored and not all settled yet.
    pub(crate) settling: VecDeque<Settling>,
}

/// The share of the fetch slots, one in so many, that hosts without links must leave free for a batch to be closed early.
const STARVED_SHARE: usize = 16;
/// A batch is closed early only if nothing is due before this.
const WORTH_A_FLUSH: Duration = Duration::from_millis(40);

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
    /// Runs until every job has ended, or it is stopped. Orders end with it, and so do the workers.
    pub(crate) fn run(mut self) -> RunEnd {
        let error = self.schedule().and_then(|()| self.settle_all()).err();
        self.settle_held(now());
        // Held failures were requests all the same.
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
            self.finish_drained()?;
            self.finish_deletes(at)?;
            if self.frontier.has_changes() {
                // No request is sent that a killed process would not find in its queue again.
                self.apply(Vec::new())?;
            }
            let wake = self.dispatch(at)?;
            self.send_orders();
            if at >= self.run.next_status {
                self.publish(at);
            }
            if self.is_over(at) {
                return Ok(());
            }
            let flush_at = self.flush_if_idle(at, wake).unwrap_or(Millis::NEVER);
            let until = wake.unwrap_or(Millis::NEVER).min(flush_at).min(self.run.next_status);
            let until = until.max(Millis(at.0 + 1));
            if self.run.settling.is_empty() {
                match self.reports.recv_timeout(until.since(now()).min(STATUS_EVERY)) {
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

    /// Takes steps until the frontier waits; returns when to continue.
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
            // Requests in flight may finish; the event that the lease holds again wakes this thread.
            return Ok(None);
        }
        if self.commit_queue.is_full() {
            // Storing is slower than the network; the next stored batch wakes this thread.
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
                        self.offer_sitemaps(&NewRobots { origin, robots }, at);
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

    /// At the end no failure is held any longer: every request that was sent must be in the history.
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

    /// Each worker gets its orders in one message. The channel has room: the frontier bounds what it hands out.
    fn send_orders(&mut self) {
        for (worker, orders) in self.workers.iter().zip(&mut self.run.orders) {
            if !orders.is_empty() {
                let _ = worker.blocking_send(std::mem::take(orders));
            }
        }
    }

    pub(crate) fn apply(&mut self, marks: Vec<(Box<str>, u64)>) -> Result<(), EngineError> {
        let mut batch: StateBatch = self.frontier.take_changes();
        batch.marks = marks;
        if !batch.is_empty() {
            self.state.apply(batch)?;
        }
        Ok(())
    }

    /// No URL is ready, and records wait to be stored: their links may be what is missing, now or for the next free
    /// slot. Returns when to check again if it is too early.
    fn flush_if_idle(&mut self, at: Millis, wake: Option<Millis>) -> Option<Millis> {
        let frontier = &self.frontier;
        if self.run.flushing || !frontier.has_uncommitted() || !self.run.settling.is_empty() {
            return None;
        }
        let (idle, starved) = (frontier.has_free_slots(), frontier.hosts_awaiting_links());
        // While most connections are busy, storing may take only a part of the time.
        let may_wait = if frontier.has_backlog() {
            // Other hosts have work, but the connections of these hosts are idle.
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
}
