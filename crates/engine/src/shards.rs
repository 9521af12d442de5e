//! A scheduler in a cluster: its shards come and go, others send it URLs, and pages of a job's budget are granted to
//! it.

use crate::cookies::Session;
use crate::error::EngineError;
use crate::job::{JobContext, JobStart};
use crate::scheduler::{BLOCKED, Scheduler, offer_sitemaps, refused_rows};
use crate::visit_record::VisitRecord;
use crate::worker::Order;
use argiope_fetch::cookies::netscape;
use argiope_frontier::member::{ClusterJob, MemberEvent};
use argiope_frontier::{Activity, Token};
use argiope_model::{JobId, Millis};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// How often to check for pages that are not needed here, and for jobs that are blocked here.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The state of a member.
#[derive(Default)]
pub(crate) struct MemberState {
    owned: BTreeSet<u16>,
    /// To be handed over as soon as they are quiet.
    leaving: BTreeSet<u16>,
    /// To be handed over as soon as this many batches of the frontier are durable.
    storing: BTreeMap<u16, u64>,
    /// Jobs for which pages were requested and not granted yet.
    asked: HashSet<JobId>,
    /// The reports about blocked jobs, for each shard: how far its log was applied, and until when.
    said_blocked: BTreeMap<(JobId, u16), (Option<u64>, Millis)>,
    next_look: Millis,
    /// The current term of the lease; new requests belong to it.
    term: u64,
    /// Responses of an earlier term whose shards others may have taken, with the worker that holds each.
    late: Vec<(usize, Token)>,
}

impl MemberState {
    pub(crate) fn term(&self) -> u64 {
        self.term
    }
}

impl Scheduler {
    pub(crate) fn member_event(&mut self, event: MemberEvent, at: Millis) -> Result<(), EngineError> {
        match event {
            MemberEvent::Job(job) => self.take_job(*job, at)?,
            MemberEvent::JobClosed(job) => {
                self.return_pages(job);
                self.frontier.end_job(job);
                self.jobs.remove(job);
                self.shards.asked.remove(&job);
                self.shards.said_blocked.retain(|(of, _), _| *of != job);
            }
            MemberEvent::Taken { shard, last_stop } => {
                let opens: HashMap<_, _> = self.jobs.all().iter().map(|job| (job.id, job.limits())).collect();
                self.frontier.restore_shard(self.state.as_ref(), shard, &opens, last_stop, at)?;
                self.shards.owned.insert(shard);
            }
            MemberEvent::HandOver { shard } => {
                if self.shards.owned.contains(&shard) {
                    self.frontier.hand_over(shard, at);
                    self.shards.leaving.insert(shard);
                }
            }
            MemberEvent::Lost { shard } => {
                self.drop_shard(shard, at);
                if let Some(member) = &mut self.member {
                    member.dropped(shard);
                }
            }
            MemberEvent::Resumed { term } => {
                self.shards.term = term;
                for (worker, token) in std::mem::take(&mut self.shards.late) {
                    self.late(worker, token, at);
                }
            }
            MemberEvent::Delivery { shard, messages } => self.deliver(shard, &messages, at)?,
            MemberEvent::Granted { job, pages } => {
                self.shards.asked.remove(&job);
                self.frontier.grant(job, pages, at);
            }
        }
        Ok(())
    }

    fn take_job(&mut self, job: ClusterJob, at: Millis) -> Result<(), EngineError> {
        let ClusterJob { id, spec, seeds, activity } = job;
        let cookies =
            netscape::parse(spec.cookies_text.as_deref().unwrap_or_default(), self.scope.suffixes());
        let session = Session { cookies: cookies.map_err(EngineError::Settings)?, ..Session::default() };
        let start = &JobStart { id, spec, seeds, graph: None, session };
        let context = JobContext::new(start, self.scope.suffixes(), self.scope.domain_policy(), at)?;
        let limits = context.limits();
        self.scope.insert(start);
        self.jobs.insert(Arc::new(context));
        // A job that somebody submitted or resumed fetches unreachable robots.txt files again.
        let begins = activity == Activity::Running && self.frontier.activity(id) != Some(activity);
        self.frontier.restore_job(self.state.as_ref(), id, limits, at)?;
        self.frontier.set_activity(id, activity);
        if begins {
            self.apply(Vec::new())?;
            self.frontier.forget_robots_failures(self.state.as_ref(), at)?;
        }
        if activity == Activity::Paused {
            self.return_pages(id);
        }
        Ok(())
    }

    fn deliver(&mut self, shard: u16, messages: &[(u64, Vec<u8>)], at: Millis) -> Result<(), EngineError> {
        // A shard that was lost meanwhile belongs to its next owner, with all messages to it.
        if !self.shards.owned.contains(&shard) {
            return Ok(());
        }
        let delivered = self.frontier.deliver(shard, messages, at);
        let mut rows = refused_rows(delivered.refused);
        for news in &delivered.robots {
            rows.extend(offer_sitemaps(&mut self.frontier, &self.jobs, &self.key, news, at));
        }
        for (id, url) in &delivered.scope {
            if let Some(job) = self.jobs.get(*id) {
                job.add_scope_host(url, || self.scope.compile(&job, &self.frontier));
            }
        }
        if !rows.is_empty() {
            self.commit_queue.put(VisitRecord { skipped: rows, ..VisitRecord::default() });
        }
        self.apply(Vec::new())?;
        if delivered.begins {
            self.frontier.forget_robots_failures(self.state.as_ref(), at)?;
        }
        let reached = self.frontier.received(shard).unwrap_or(0);
        if let Some(member) = &mut self.member {
            member.delivered(shard, reached);
        }
        Ok(())
    }

    /// Not without a lease, nor before it is known what happened to the shards while there was none.
    pub(crate) fn may_ask(&self) -> bool {
        self.lease.holds() && self.lease.term() == self.shards.term
    }

    /// A response came after the end of its term. If nobody has taken its shard meanwhile, nobody has sent requests to
    /// its host, and it is valid; else the next owner sends the request again.
    pub(crate) fn late(&mut self, worker: usize, token: Token, at: Millis) {
        if self.lease.term() != self.shards.term {
            return self.shards.late.push((worker, token));
        }
        let is_kept = self.frontier.is_under_way(token);
        if is_kept {
            self.frontier.expect_later(token, at);
        }
        self.order(worker, Order::Late { token, is_kept });
    }

    /// Once per turn: shards that may be handed over, budget that is missing or not needed.
    pub(crate) fn keep_membership(&mut self, at: Millis) -> Result<(), EngineError> {
        if self.member.is_none() {
            return Ok(());
        }
        self.hand_over_quiet(at)?;
        let due = at >= self.shards.next_look;
        if due {
            self.shards.next_look = at + LOOK_EVERY;
            self.say_blocked(at)?;
        }
        self.keep_budgets(due);
        Ok(())
    }

    /// Waiting for storage happens beside the crawl: it may take as long as a server is unavailable.
    fn hand_over_quiet(&mut self, at: Millis) -> Result<(), EngineError> {
        let quiet: Vec<u16> =
            self.shards.leaving.iter().copied().filter(|shard| self.frontier.is_quiet(*shard)).collect();
        if !quiet.is_empty() {
            for shard in &quiet {
                self.frontier.give_up_shard(*shard, at);
            }
            self.apply(Vec::new())?;
            let batches = self.frontier.batches_taken();
            for shard in quiet {
                self.shards.leaving.remove(&shard);
                self.shards.storing.insert(shard, batches);
            }
        }
        if !self.shards.storing.is_empty() {
            let _ = self.sync.try_send(self.frontier.batches_taken());
        }
        Ok(())
    }

    /// This many batches are durable: the next owner of these shards reads what is written now.
    pub(crate) fn hand_over_stored(&mut self, batches: u64, at: Millis) {
        let stored = self.shards.storing.iter().filter(|(_, needed)| **needed <= batches);
        for shard in stored.map(|(shard, _)| *shard).collect::<Vec<_>>() {
            self.drop_shard(shard, at);
            if let Some(member) = &mut self.member {
                member.handed_over(shard);
            }
        }
    }

    /// A job ends without waiting if every shard reports that all of its URLs are blocked for long.
    fn say_blocked(&mut self, at: Millis) -> Result<(), EngineError> {
        let mut says = false;
        for job in self.jobs.all().iter().map(|job| job.id) {
            let blocked = self.frontier.blocked_shards(job, at + BLOCKED);
            let said = &mut self.shards.said_blocked;
            for (shard, until) in &blocked {
                let now = (self.frontier.received(*shard), *until);
                if said.insert((job, *shard), now) != Some(now) {
                    self.frontier.note_blocked(job, *shard, Some(*until));
                    says = true;
                }
            }
            let over = said.keys().filter(|(of, shard)| *of == job && !blocked.contains_key(shard));
            for (job, shard) in over.copied().collect::<Vec<_>>() {
                said.remove(&(job, shard));
                self.frontier.note_blocked(job, shard, None);
                says = true;
            }
        }
        if says { self.apply(Vec::new()) } else { Ok(()) }
    }

    fn drop_shard(&mut self, shard: u16, at: Millis) {
        self.frontier.drop_shard(shard, at);
        self.shards.said_blocked.retain(|(_, of), _| *of != shard);
        self.shards.owned.remove(&shard);
        self.shards.leaving.remove(&shard);
        self.shards.storing.remove(&shard);
    }

    fn keep_budgets(&mut self, due: bool) {
        for job in self.jobs.all() {
            if job.spec.max_pages.is_none() {
                continue;
            }
            if self.frontier.wants_pages(job.id) {
                if self.shards.asked.insert(job.id)
                    && let Some(member) = &mut self.member
                {
                    member.wants_pages(job.id);
                }
            } else if due && self.frontier.progress(job.id).is_some_and(|progress| progress.is_finished()) {
                self.return_pages(job.id);
            }
        }
    }

    pub(crate) fn return_pages(&mut self, job: JobId) {
        let pages = self.frontier.return_pages(job);
        if pages > 0
            && let Some(member) = &mut self.member
        {
            member.returns_pages(job, pages);
        }
    }
}
