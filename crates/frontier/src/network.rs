//! Distinguishes a network outage from failed hosts. Failures to reach a host are suspects: while nothing succeeds
//! anywhere they are held back, and when too many hosts fail at once they are retried without counting against those
//! hosts.
//!
//! Hosts that fail at once may also be the dead rest of a long list. So a witness is probed first: a host that
//! responded recently, whose robots.txt is fetched once more. If it responds, the failures count against their hosts.
//! If not, the network is down, and witnesses are probed until one responds. If no host has ever responded, queued URLs
//! are tried instead.

use crate::ready::HostIndex;
use crate::step::Token;
use argiope_model::{JobId, Millis, Url};
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// This many hosts ...
const HOSTS: usize = 20;
/// ... failing within this time, without a success anywhere, mean that the network is down.
const WINDOW: Duration = Duration::from_secs(10);
/// During an outage, one request is tried at this interval.
const PROBE_EVERY: Duration = Duration::from_secs(5);
/// Hosts remembered as witnesses, and how often one is recorded at most.
const WITNESSES: usize = 8;
const NOTED_EVERY: Duration = Duration::from_secs(1);
/// A witness that has not responded for this long is not waited for.
const LONGEST_TESTIMONY: Duration = Duration::from_secs(60);

/// A host that has responded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) origin: Url,
    /// The job of that request.
    pub(crate) job: JobId,
}

/// Which hosts may be requested now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Everybody,
    /// Only the witness that is being probed.
    Only(HostIndex),
    /// Any host, but one at a time.
    One,
    Nobody,
}

#[derive(Debug, Default)]
pub(crate) struct NetworkWatch {
    suspects: VecDeque<Suspect>,
    down_since: Option<Millis>,
    next_probe: Millis,
    /// The host that is to show whether the network is back. What it needs first, such as its address, comes before.
    probe: Option<HostIndex>,
    /// Many hosts have failed, and a witness is to show the cause.
    doubt: bool,
    /// Latest at the end.
    witnesses: VecDeque<Witness>,
    noted_at: Millis,
    /// The current probe, and when it began.
    called: Option<(HostIndex, Millis)>,
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    at: Millis,
    host: HostIndex,
    /// The visit whose failure is held; a failed DNS lookup holds none.
    visit: Option<Token>,
}

/// The decision on held failures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdicts {
    /// They count against their hosts.
    pub release: Vec<Token>,
    /// The network was down: the visits are queued again, no attempt is counted.
    pub put_back: Vec<Token>,
}

impl Verdicts {
    pub(crate) fn is_empty(&self) -> bool {
        self.release.is_empty() && self.put_back.is_empty()
    }
}

impl NetworkWatch {
    pub(crate) fn down_since(&self) -> Option<Millis> {
        self.down_since
    }

    /// Visits whose failure is held.
    pub(crate) fn held(&self) -> usize {
        self.suspects.iter().filter(|s| s.visit.is_some()).count()
    }

    /// When the last successful request was sent: the network worked then. It proves nothing for later failures:
    /// responses in flight when the network went down arrive among the first failures.
    pub(crate) fn succeeded(&mut self, asked_at: Millis) -> Verdicts {
        self.down_since = self.down_since.filter(|since| *since >= asked_at);
        if self.suspects.is_empty() {
            return Verdicts::default();
        }
        let earlier = self.suspects.iter().take_while(|s| s.at < asked_at).count();
        let release = self.suspects.drain(..earlier).filter_map(|s| s.visit).collect();
        self.doubt &= self.suspected_hosts() >= HOSTS;
        Verdicts { release, put_back: Vec::new() }
    }

    fn suspected_hosts(&self) -> usize {
        self.suspects.iter().map(|s| s.host).collect::<HashSet<HostIndex>>().len()
    }

    /// Whether this host was probed as a witness.
    pub(crate) fn heard(&mut self, host: HostIndex) -> bool {
        self.called.take_if(|(called, _)| *called == host).is_some()
    }

    /// A host was not reached. `is_witness` if it was being probed.
    pub(crate) fn failed(
        &mut self,
        host: HostIndex,
        visit: Option<Token>,
        is_witness: bool,
        now: Millis,
    ) -> Verdicts {
        self.suspects.push_back(Suspect { at: now, host, visit });
        if self.doubt {
            return if is_witness { self.call_down(now) } else { Verdicts::default() };
        }
        if self.down_since.is_some() {
            if visit.is_none() {
                // A failed DNS lookup counts like a failed request.
                self.probe = None;
                self.next_probe = now + PROBE_EVERY;
            }
            return Verdicts {
                put_back: self.suspects.drain(..).filter_map(|s| s.visit).collect(),
                release: Vec::new(),
            };
        }
        let verdicts = self.expire(now);
        if self.suspected_hosts() < HOSTS {
            return verdicts;
        }
        if !self.witnesses.is_empty() {
            self.doubt = true;
            return verdicts;
        }
        Verdicts { put_back: self.call_down(now).put_back, ..verdicts }
    }

    fn call_down(&mut self, now: Millis) -> Verdicts {
        self.doubt = false;
        self.down_since = Some(now);
        self.next_probe = now + PROBE_EVERY;
        self.probe = None;
        let put_back = self.suspects.drain(..).filter_map(|s| s.visit).collect();
        Verdicts { put_back, release: Vec::new() }
    }

    pub(crate) fn may_note(&self, now: Millis) -> bool {
        now >= self.noted_at + NOTED_EVERY
    }

    pub(crate) fn note(&mut self, witness: Witness, now: Millis) {
        self.noted_at = now;
        self.witnesses.retain(|known| known.origin.host() != witness.origin.host());
        if self.witnesses.len() >= WITNESSES {
            self.witnesses.pop_front();
        }
        self.witnesses.push_back(witness);
    }

    /// The witnesses that may be probed now, if one is needed: latest first, the one probed last at the end.
    pub(crate) fn wanted_witnesses(&self, now: Millis) -> Vec<Witness> {
        let wanted = self.doubt || self.down_since.is_some() && now >= self.next_probe;
        if !wanted || self.called_at(now).is_some() {
            return Vec::new();
        }
        self.witnesses.iter().rev().cloned().collect()
    }

    pub(crate) fn called(&mut self, witness: &Witness, host: HostIndex, now: Millis) {
        self.called = Some((host, now));
        if let Some(at) = self.witnesses.iter().position(|known| known == witness)
            && let Some(witness) = self.witnesses.remove(at)
        {
            self.witnesses.push_front(witness);
        }
    }

    /// No remembered witness can be requested soon.
    pub(crate) fn no_witness(&mut self, now: Millis) -> Verdicts {
        self.witnesses.clear();
        if self.doubt { self.call_down(now) } else { Verdicts::default() }
    }

    fn called_at(&self, now: Millis) -> Option<HostIndex> {
        self.called.filter(|(_, at)| now < *at + LONGEST_TESTIMONY).map(|(host, _)| host)
    }

    /// `idle`: nothing is in flight.
    pub(crate) fn gate(&self, idle: bool, now: Millis) -> Gate {
        match (self.called_at(now), self.down_since) {
            (_, None) if !self.doubt => Gate::Everybody,
            (Some(host), _) => Gate::Only(host),
            (None, Some(_)) if self.witnesses.is_empty() && idle && now >= self.next_probe => Gate::One,
            (None, _) => Gate::Nobody,
        }
    }

    /// When to check again whether to probe a witness or try a queued URL.
    pub(crate) fn wake_at(&self, idle: bool, now: Millis) -> Option<Millis> {
        let called = self.called.filter(|_| self.doubt || self.down_since.is_some());
        let called = called.map(|(_, at)| at + LONGEST_TESTIMONY);
        let probe = self.down_since.filter(|_| idle || !self.witnesses.is_empty()).map(|_| self.next_probe);
        // When it is time, the next try waits for a host that is ready.
        [called, probe].into_iter().flatten().filter(|at| *at > now).min()
    }

    /// Failures that stayed alone for the whole window count against their hosts.
    pub(crate) fn expire(&mut self, now: Millis) -> Verdicts {
        let mut verdicts = Verdicts::default();
        if self.doubt {
            return verdicts;
        }
        while let Some(first) = self.suspects.front() {
            if now < first.at + WINDOW {
                break;
            }
            verdicts.release.extend(first.visit);
            self.suspects.pop_front();
        }
        verdicts
    }

    /// Before this time, a further failure would fall within the window of a suspect. None without suspects.
    pub(crate) fn window_end(&self) -> Option<Millis> {
        self.suspects.back().map(|last| last.at + WINDOW)
    }

    /// Whether the network would count as down if all these hosts failed within the window, and `unknown` more.
    pub(crate) fn can_be_called_down(&self, others: impl Iterator<Item = HostIndex>, unknown: usize) -> bool {
        let mut hosts: HashSet<HostIndex> = self.suspects.iter().map(|s| s.host).collect();
        let mut others = others;
        while hosts.len().saturating_add(unknown) < HOSTS {
            match others.next() {
                Some(host) => hosts.insert(host),
                None => return false,
            };
        }
        true
    }

    /// No more responses will come that could show the cause: the failures count against their hosts.
    pub(crate) fn release(&mut self) -> Verdicts {
        self.doubt = false;
        let release = self.suspects.drain(..).filter_map(|s| s.visit).collect();
        Verdicts { release, put_back: Vec::new() }
    }

    /// When [`NetworkWatch::expire`] must run.
    pub(crate) fn next_expiry(&self) -> Option<Millis> {
        self.suspects.front().filter(|_| !self.doubt).map(|first| first.at + WINDOW)
    }

    pub(crate) fn next_probe(&self) -> Millis {
        self.next_probe
    }

    /// The host whose probe has begun but has not sent a request yet.
    pub(crate) fn take_probe(&mut self) -> Option<HostIndex> {
        self.probe.take().filter(|_| self.down_since.is_some())
    }

    /// A host was served. If it has not sent a request, it is served next again: its DNS result says nothing about the
    /// network and expires soon.
    pub(crate) fn served(&mut self, host: HostIndex, is_request: bool, now: Millis) {
        if self.down_since.is_none() || !self.witnesses.is_empty() {
            return;
        }
        if is_request {
            self.next_probe = now + PROBE_EVERY;
        } else {
            self.probe = Some(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(n: u64) -> Token {
        Token(n)
    }

    #[test]
    fn twenty_hosts_failing_without_a_success_are_a_network_that_is_down() {
        let mut watch = NetworkWatch::default();
        for n in 0..19 {
            assert_eq!(watch.failed(n, Some(token(u64::from(n))), false, Millis(1000)), Verdicts::default());
        }
        let verdicts = watch.failed(19, Some(token(19)), false, Millis(2000));
        assert_eq!(verdicts.put_back.len(), 20);
        assert_eq!(watch.down_since(), Some(Millis(2000)));
        assert!(watch.gate(true, Millis(2000)) == Gate::Nobody);
        assert!(watch.gate(true, Millis(7000)) == Gate::One);
        watch.served(3, false, Millis(7000));
        assert_eq!(watch.take_probe(), Some(3), "it has not come to a request yet");
        assert!(watch.gate(true, Millis(7001)) == Gate::One);
        watch.served(3, true, Millis(7001));
        assert_eq!(watch.take_probe(), None);
        assert!(watch.gate(true, Millis(7001)) == Gate::Nobody);
        assert_eq!(watch.failed(5, Some(token(99)), false, Millis(7002)).put_back, vec![token(99)]);
        watch.succeeded(Millis(1999));
        assert_eq!(watch.down_since(), Some(Millis(2000)), "it was asked for before");
        watch.succeeded(Millis(7002));
        assert_eq!(watch.down_since(), None);
    }

    #[test]
    fn one_success_gives_every_earlier_failure_to_its_host() {
        let mut watch = NetworkWatch::default();
        watch.failed(1, Some(token(1)), false, Millis(0));
        watch.failed(2, None, false, Millis(0));
        watch.failed(3, Some(token(3)), false, Millis(20));
        assert_eq!(watch.succeeded(Millis(10)).release, vec![token(1)]);
        assert_eq!(watch.held(), 1, "the network may have gone since");
        assert_eq!(watch.succeeded(Millis(30)).release, vec![token(3)]);
        assert_eq!(watch.held(), 0);
    }

    #[test]
    fn few_failures_are_the_hosts_own_after_the_window() {
        let mut watch = NetworkWatch::default();
        watch.failed(1, Some(token(1)), false, Millis(0));
        assert_eq!(watch.expire(Millis(9_999)), Verdicts::default());
        assert_eq!(watch.next_expiry(), Some(Millis(10_000)));
        assert_eq!(watch.expire(Millis(10_000)).release, vec![token(1)]);
    }

    #[test]
    fn too_few_hosts_cannot_call_the_network_down() {
        let mut watch = NetworkWatch::default();
        for n in 0..3 {
            watch.failed(n, Some(token(u64::from(n))), false, Millis(u64::from(n)));
        }
        assert_eq!(watch.window_end(), Some(Millis(10_002)));
        assert!(!watch.can_be_called_down(0..3, 0), "they have failed already");
        assert!(!watch.can_be_called_down(0..19, 0));
        assert!(watch.can_be_called_down(0..20, 0));
        assert!(watch.can_be_called_down(0..15, 5));
        assert!(!watch.can_be_called_down(0..15, 4));
        assert!(watch.can_be_called_down(0.., usize::MAX));
        assert_eq!(watch.release().release, vec![token(0), token(1), token(2)]);
        assert_eq!((watch.held(), watch.window_end()), (0, None));
    }

    #[test]
    fn the_same_host_failing_often_is_no_network_failure() {
        let mut watch = NetworkWatch::default();
        for n in 0..100 {
            watch.failed(7, Some(token(n)), false, Millis(n));
        }
        assert_eq!(watch.down_since(), None);
    }
}
