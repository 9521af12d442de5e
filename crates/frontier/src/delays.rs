//! The rules and the delay of a host: how long its next request must wait, and how many requests it may have in flight.

use crate::answered::Answer;
use crate::frontier::Frontier;
use crate::host::Host;
use crate::job_table::JobTable;
use crate::ready::HostIndex;
use argiope_model::{JobId, Millis, ProxyReach};
use argiope_politeness::{HostRules, PolitenessRules};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

impl Frontier {
    /// New politeness settings apply from the next request on, and to current waits.
    pub fn set_politeness(&mut self, politeness: Arc<PolitenessRules>, now: Millis) {
        if self.rules.replace(politeness) {
            self.reload_robots();
        }
        for host in self.hosts.iter_mut() {
            host.rules = None;
        }
        for index in 0..self.hosts.len() {
            let index = index as HostIndex;
            self.renew_delay(index, now);
            self.reschedule(index, now);
        }
    }

    /// The current delay also applies to the current wait. A host without URLs of an open job does not wait; a job that
    /// adds some brings its own delay, which is applied when the host is requested.
    pub(crate) fn renew_delay(&mut self, index: HostIndex, now: Millis) {
        let Some(host) = self.host(index) else { return };
        if host.politeness.is_known() {
            let delay = if host.queues.is_empty() { Duration::ZERO } else { self.delay_of(index, now) };
            if let Some(host) = self.host_mut(index) {
                host.politeness.change_delay(delay);
            }
        }
    }

    pub(crate) fn rules_of(&mut self, index: HostIndex) -> Arc<HostRules> {
        self.find_rules(index);
        match self.host(index).and_then(|host| host.rules.as_ref()) {
            Some(rules) => Arc::clone(rules),
            None => Arc::clone(self.rules.common()),
        }
    }

    pub(crate) fn find_rules(&mut self, index: HostIndex) {
        let Some(host) = self.hosts.get_mut(index as usize) else { return };
        self.rules.assign(host);
    }

    /// The current delay of a host, including adaptive lengthening.
    pub(crate) fn delay_of(&mut self, index: HostIndex, now: Millis) -> Duration {
        let rules = self.rules_of(index);
        let base = self.base_delay_of(index, &rules, now);
        self.host(index).map_or(base, |host| host.politeness.delay(base))
    }

    /// The delay before this request. None if it has grown during the wait: the host keeps waiting.
    pub(crate) fn delay_now(&mut self, index: HostIndex, now: Millis) -> Option<Duration> {
        let delay = self.delay_of(index, now);
        let host = self.host_mut(index)?;
        if !host.politeness.keeps(delay, now) {
            self.hosts.mark_dirty(index);
            self.reschedule(index, now);
            return None;
        }
        Some(delay)
    }

    /// Which requests go through a proxy if the job does not say.
    pub fn set_usual_proxies(&mut self, reach: ProxyReach) {
        self.rules.set_proxies(reach);
    }

    /// When the next request to a host is allowed, as far as is known.
    pub fn free_at(&mut self, host: &str, now: Millis) -> Millis {
        let index = self.host_index(host);
        self.wait_after_unclean_stop(index, now);
        let rules = self.rules_of(index);
        self.host(index).map_or(now, |host| host.politeness.ready_at(now, &rules))
    }

    /// A request of a job that the frontier did not hand out has ended: its host gets its delay as after any other.
    pub fn asked_beside(&mut self, job: JobId, host: &str, answer: &Answer, now: Millis) {
        let index = self.host_index(host);
        let rules = self.rules_of(index);
        let own = self.jobs.get(&job).and_then(|job| job.limits.delay);
        let (crawl_delay, per_host) = (
            self.host(index).and_then(|host| host.politeness.crawl_delay()),
            self.per_host_of(index, &rules),
        );
        let delay = rules.base_delay(std::iter::once(own), crawl_delay, now);
        if let Some(host) = self.host_mut(index) {
            host.politeness.started(answer.ended, delay);
            host.politeness.answered(answer.ended, &answer.outcome, &rules, delay, per_host);
        }
        self.hosts.mark_dirty(index);
    }

    pub(crate) fn base_delay_of(&self, index: HostIndex, rules: &HostRules, now: Millis) -> Duration {
        let Some(host) = self.host(index) else { return Duration::ZERO };
        let jobs = host.queues.iter().filter(|q| !q.queue.is_finished());
        let delays = jobs.filter_map(|q| self.jobs.get(&q.queue.job)).map(|job| job.limits.delay);
        rules.base_delay(delays, host.politeness.crawl_delay(), now)
    }

    pub(crate) fn per_host_of(&self, index: HostIndex, rules: &HostRules) -> NonZeroU32 {
        let Some(host) = self.host(index) else { return NonZeroU32::MIN };
        host.per_host(rules, &self.jobs)
    }

    /// A limit per host above the limit per address is reduced to that.
    pub(crate) fn per_address_of(&self, per_host: NonZeroU32) -> u32 {
        self.config.per_address.max(per_host.get())
    }
}

impl Host {
    pub(crate) fn per_host(&self, rules: &HostRules, jobs: &JobTable) -> NonZeroU32 {
        rules.per_host(
            self.queues.iter().filter_map(|q| jobs.get(&q.queue.job)).map(|job| job.limits.per_host),
        )
    }
}
