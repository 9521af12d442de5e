//! What an earlier process left behind, as found in its archive: visits that were stored and not ended, robots.txt
//! files that were not kept, hosts that asked for a pause.
//!
//! The archive may be ahead of the state: a power cut loses the last batches of the state, and the archive may have
//! visits to URLs that these had queued. None of that is fetched again.

use crate::answered::Answer;
use crate::codec::encode_visit;
use crate::completed::Completion;
use crate::frontier::Frontier;
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use crate::robots_answers::{NewRobots, parse_robots};
use crate::state::{Change, QueueAt, StoredRobots};
use crate::step::Ticket;
use argiope_model::{Fingerprint, JobId, Millis, RequestKind, Url, Visit};
use argiope_politeness::{RobotsAnswer, RobotsNext};
use std::sync::Arc;

/// Where the state has the entry of a visit that an earlier process had stored but not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    Queued(Ticket),
    /// It came due, and that change was lost.
    Delayed {
        due: Millis,
        ticket: Ticket,
    },
    /// The change that queued it was lost.
    Nowhere,
}

impl Frontier {
    /// There is a stored visit to this URL, so links to it are not new. Report all such visits before any links are
    /// offered, because pages with links to it may be among them.
    pub fn visited_before(&mut self, job: JobId, url: &Url, fingerprint: Fingerprint) {
        let index = self.host_index(url.host());
        let Some(shard) = self.host(index).map(|host| host.key.shard) else { return };
        if self.seen.insert(job, shard, fingerprint) {
            self.pending.push(Change::Seen { job, shard, fingerprints: vec![fingerprint] });
        }
    }

    /// Ends a visit that an earlier process had stored. No completion means that a later visit to the same URL, its
    /// retry or the next hop, is stored as well: then only the entry is removed.
    pub fn complete_stored(
        &mut self,
        entered: Entered,
        visit: &Visit,
        completion: Option<Completion>,
        now: Millis,
    ) {
        match (entered, completion) {
            (Entered::Queued(ticket), Some(completion)) => {
                self.complete_recovered(ticket, visit, completion, now);
            }
            (Entered::Queued(ticket), None) => self.drop_entry(ticket),
            (Entered::Delayed { ticket, .. }, _) if !self.owns(ticket.at.host.shard) => {}
            (Entered::Delayed { due, ticket }, completion) => {
                let Ticket { at, order } = ticket;
                self.pending.push(Change::Undelay { due, at, order });
                if let Some(job) = self.jobs.get_mut(&at.job) {
                    job.count(at.host.shard, |counts| counts.delayed = counts.delayed.saturating_sub(1));
                }
                self.complete_unqueued(visit, completion, now);
            }
            (Entered::Nowhere, completion) => self.complete_unqueued(visit, completion, now),
        }
    }

    fn drop_entry(&mut self, ticket: Ticket) {
        let Ticket { at, order } = ticket;
        let Some(index) = self.hosts.keyed(at.host) else { return };
        let Some(queue) = self.host_mut(index).and_then(|host| host.queue_mut(at.job)) else { return };
        queue.queue.claim(order);
        queue.queue.done(order);
        self.pending.push(Change::Unqueue { at, order });
        if let Some(job) = self.jobs.get_mut(&at.job) {
            job.count(at.host.shard, |counts| counts.queued = counts.queued.saturating_sub(1));
        }
        self.hosts.mark_dirty(index);
    }

    fn complete_unqueued(&mut self, visit: &Visit, completion: Option<Completion>, now: Millis) {
        let index = self.host_index(visit.url.host());
        let Some(at) = self.host(index).map(|host| QueueAt { job: visit.job, host: host.key }) else {
            return;
        };
        match completion {
            None => {}
            Some(Completion::Done { counted }) => self.count_done(at, counted),
            Some(Completion::Retry { due }) => {
                let rank = match visit.hops.is_empty() && visit.kind != RequestKind::Resource {
                    true => OrderKey::rank_of(visit.priority),
                    false => OrderKey::continuation_of(visit.kind),
                };
                let depth = u8::try_from(visit.depth).unwrap_or(u8::MAX);
                let order = OrderKey { rank, depth, sequence: 0 };
                self.retry(at, order, &encode_visit(visit), due);
            }
            Some(Completion::Redirect { to, status }) => {
                self.continue_at(at.host.shard, visit.clone(), to, status, now);
            }
        }
    }

    /// A stored response may have asked for a pause that is missing in the host's record.
    pub fn answered_before(&mut self, url: &Url, answer: &Answer, now: Millis) {
        if answer.outcome.retry_after.is_none() {
            return;
        }
        let index = self.host_index(url.host());
        let rules = self.rules_of(index);
        if let Some(host) = self.host_mut(index) {
            host.politeness.obey_retry_after(answer.ended, &answer.outcome, &rules);
        }
        self.hosts.mark_dirty(index);
        self.reschedule(index, now);
    }

    /// A robots.txt that an earlier process had stored, if the response was usable.
    pub fn robots_answered_before(
        &mut self,
        origin: &Url,
        agent: &str,
        (status, body): (u16, Vec<u8>),
        fetched_at: Millis,
        now: Millis,
    ) -> Option<NewRobots> {
        let policy = self.rules.robots().clone();
        let RobotsNext::Use { expires, .. } = policy.next(RobotsAnswer::Status(status), 1, fetched_at) else {
            return None;
        };
        let stored = StoredRobots { fetched_at, expires, status, body: body.into_boxed_slice() };
        let robots = Arc::new(parse_robots(&stored, agent, &policy));
        let index = self.host_index(origin.host());
        if let Some(host) = self.host_mut(index) {
            host.politeness.raise_crawl_delay(robots.crawl_delay());
        }
        self.wait_after_unclean_stop(index, now);
        if let Some(shard) = self.host(index).map(|host| host.key.shard) {
            self.pending.push(Change::Robots { shard, origin: origin.origin().into(), stored });
        }
        self.hosts.mark_dirty(index);
        self.reschedule(index, now);
        Some(NewRobots { origin: origin.clone(), robots })
    }

    /// A host that the state does not know, or not completely, may have been requested just before the process was
    /// killed: it is owed its full delay from then on, also when its shard was taken over.
    pub(crate) fn wait_after_unclean_stop(&mut self, index: HostIndex, now: Millis) {
        let slot = self.shard_of_host(index).and_then(|shard| self.shards.get(shard));
        let Some(start) = slot.and_then(|slot| slot.unclean_start) else { return };
        let delay = self.delay_of(index, start);
        if start + delay > now
            && let Some(host) = self.host_mut(index)
        {
            host.politeness.after_unclean_stop(start, delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FrontierConfig;
    use crate::memory::MemoryState;
    use crate::state::{ShardState, Shards};
    use crate::step::Step;
    use crate::{Discovery, Found, JobLimits, LastStop};
    use argiope_model::{FingerprintKey, JobSpec, NormalRules, PublicSuffixes};
    use argiope_politeness::{PolitenessRules, PolitenessSettings};
    use std::collections::HashMap;
    use std::time::Duration;

    const JOB: JobId = JobId(1);
    const START: Millis = Millis(1_800_000_000_000);
    const DELAY: Duration = Duration::from_secs(3);

    fn key() -> FingerprintKey {
        FingerprintKey::new([3; 16])
    }

    /// A frontier after an unclean stop that left nothing.
    fn restored(state: &MemoryState) -> Frontier {
        let rules = PolitenessRules::compile(&PolitenessSettings::default()).unwrap();
        let config = FrontierConfig { shards: 4, ..FrontierConfig::default() };
        let suffixes = Arc::new(PublicSuffixes::bundled());
        let mut frontier = Frontier::new(config, suffixes, key(), Arc::new(rules), START);
        let spec = JobSpec { delay: Some(DELAY), ..JobSpec::default() };
        let limits = JobLimits::of(&spec, "argiope");
        let opens = HashMap::from([(JOB, limits.clone())]);
        frontier.restore(state, &opens, LastStop::Unclean, START).unwrap();
        frontier.open_job(JOB, limits);
        frontier
    }

    fn url(text: &str) -> Url {
        Url::parse(text, &NormalRules::default()).unwrap()
    }

    fn visit(text: &str) -> Visit {
        Visit {
            job: JOB,
            kind: RequestKind::Page,
            url: url(text),
            round: 0,
            attempt: 0,
            depth: 1,
            priority: 50,
            scheduled_at: START,
            hops: Vec::new(),
            source: Some(url("http://a.test/")),
            previous: None,
        }
    }

    fn discover(frontier: &mut Frontier, text: &str) -> usize {
        let found = Found {
            fingerprint: key().of(text, 0),
            url: url(text),
            priority: 50,
            kind: RequestKind::Page,
            previous: None,
        };
        let source = Some(url("http://a.test/"));
        frontier
            .discover(
                Discovery { job: JOB, round: 0, depth: 1, source, not_before: None, found: vec![found] },
                START,
            )
            .1
    }

    #[test]
    fn links_to_what_is_stored_bring_nothing_new() {
        let mut frontier = restored(&MemoryState::new());
        let stored = visit("http://b.test/x");
        frontier.visited_before(JOB, &stored.url, key().of("http://b.test/x", 0));
        assert_eq!(discover(&mut frontier, "http://b.test/x"), 0);
        frontier.complete_stored(Entered::Nowhere, &stored, Some(Completion::Done { counted: true }), START);
        let progress = frontier.progress(JOB).unwrap();
        assert_eq!((progress.queued, progress.pages, progress.done), (0, 1, 1));
        assert!(progress.is_finished());
    }

    #[test]
    fn a_retry_whose_entry_was_lost_waits_for_its_time() {
        let mut state = MemoryState::new();
        let mut frontier = restored(&state);
        let due = START + Duration::from_secs(60);
        let retry = Completion::Retry { due };
        frontier.complete_stored(Entered::Nowhere, &visit("http://b.test/x"), Some(retry), START);
        state.apply(frontier.take_changes()).unwrap();
        let (waiting, _) = state.load_due(&Shards::All, due, 10).unwrap();
        assert_eq!(waiting.len(), 1);
        assert_eq!(frontier.progress(JOB).unwrap().delayed, 1);
        // The entry is found again, and its visit is stored as well: it is done.
        let ticket = Ticket { at: waiting[0].at, order: waiting[0].entry.order };
        let again = Visit { attempt: 1, ..visit("http://b.test/x") };
        let done = Some(Completion::Done { counted: true });
        frontier.complete_stored(Entered::Delayed { due, ticket }, &again, done, START);
        state.apply(frontier.take_changes()).unwrap();
        assert!(state.load_due(&Shards::All, due, 10).unwrap().0.is_empty());
        assert!(frontier.progress(JOB).unwrap().is_finished());
    }

    #[test]
    fn an_entry_that_a_later_visit_has_overtaken_only_goes() {
        let mut state = MemoryState::new();
        let mut frontier = restored(&state);
        assert_eq!(discover(&mut frontier, "http://b.test/x"), 1);
        state.apply(frontier.take_changes()).unwrap();
        let (at, order) =
            state.queues().map(|(at, queue)| (*at, *queue.keys().next().unwrap())).next().unwrap();
        let entered = Entered::Queued(Ticket { at, order });
        frontier.complete_stored(entered, &visit("http://b.test/x"), None, START);
        state.apply(frontier.take_changes()).unwrap();
        assert_eq!(state.queues().count(), 0);
        assert!(frontier.progress(JOB).unwrap().is_finished());
    }

    #[test]
    fn a_host_that_is_new_after_an_unclean_stop_waits_its_delay_from_the_start() {
        let mut frontier = restored(&MemoryState::new());
        discover(&mut frontier, "http://b.test/x");
        assert!(matches!(frontier.next(START), Step::Wait(Some(until)) if until == START + DELAY));
    }

    #[test]
    fn so_does_one_whose_first_url_is_not_due_yet() {
        let mut state = MemoryState::new();
        let mut frontier = restored(&state);
        for number in 0..frontier.jobs.get(&JOB).unwrap().limits.new_urls_per_source.burst {
            discover(&mut frontier, &format!("http://b.test/{number}"));
        }
        discover(&mut frontier, "http://c.test/");
        state.apply(frontier.take_changes()).unwrap();
        let soon = START + DELAY / 2;
        let (waiting, next) = state.load_due(&Shards::All, soon, 10).unwrap();
        assert_eq!(waiting.len(), 1);
        frontier.due_loaded(waiting, next, soon);
        let host = frontier.hosts.named("c.test").unwrap();
        assert_eq!(frontier.host(host).unwrap().politeness.next_allowed(), START + DELAY);
    }
}
