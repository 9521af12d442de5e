//! Tells a network that has gone away from hosts that have. Failures to reach a host are suspects: while nothing
//! succeeds anywhere they are held back, and when too many hosts fail at once they are put back instead of being taken as
//! those hosts' fault.

use crate::frontier::Token;
use crate::ready::HostIndex;
use argiope_model::Millis;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// So many hosts ...
const HOSTS: usize = 20;
/// ... failing within this time, with no success anywhere, are a network that is down.
const WINDOW: Duration = Duration::from_secs(10);
/// While it is down, one request is tried this often.
const PROBE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct NetworkWatch {
    suspects: VecDeque<Suspect>,
    down_since: Option<Millis>,
    next_probe: Millis,
    /// The host that is to tell whether the network is back. What it needs first, such as its address, comes before.
    probe: Option<HostIndex>,
}

#[derive(Clone, Copy, Debug)]
struct Suspect {
    at: Millis,
    host: HostIndex,
    /// The visit whose failure is held; a failed look-up of a name holds none.
    visit: Option<Token>,
}

/// What becomes of held failures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdicts {
    /// They were the hosts' own.
    pub release: Vec<Token>,
    /// They were the network's: the visits go back, no attempt is counted.
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

    /// An answer from anywhere to a request made then: since then the network was there. Of failures after that it
    /// proves nothing: answers that were under way when a network went are told of among the first failures.
    pub(crate) fn succeeded(&mut self, asked_at: Millis) -> Verdicts {
        self.down_since = self.down_since.filter(|since| *since >= asked_at);
        if self.suspects.is_empty() {
            return Verdicts::default();
        }
        let earlier = self.suspects.iter().take_while(|s| s.at < asked_at).count();
        let release = self.suspects.drain(..earlier).filter_map(|s| s.visit).collect();
        Verdicts { release, put_back: Vec::new() }
    }

    pub(crate) fn failed(&mut self, host: HostIndex, visit: Option<Token>, now: Millis) -> Verdicts {
        self.suspects.push_back(Suspect { at: now, host, visit });
        if self.down_since.is_some() {
            if visit.is_none() {
                // A name that cannot be looked up has told as much as a request.
                self.probe = None;
                self.next_probe = now + PROBE_EVERY;
            }
            return Verdicts {
                put_back: self.suspects.drain(..).filter_map(|s| s.visit).collect(),
                release: Vec::new(),
            };
        }
        let verdicts = self.expire(now);
        let hosts: HashSet<HostIndex> = self.suspects.iter().map(|s| s.host).collect();
        if hosts.len() < HOSTS {
            return verdicts;
        }
        self.down_since = Some(now);
        self.next_probe = now + PROBE_EVERY;
        self.probe = None;
        let put_back = self.suspects.drain(..).filter_map(|s| s.visit).collect();
        Verdicts { put_back, ..verdicts }
    }

    /// Failures that were alone for the whole window are the hosts' own.
    pub(crate) fn expire(&mut self, now: Millis) -> Verdicts {
        let mut verdicts = Verdicts::default();
        while let Some(first) = self.suspects.front() {
            if now < first.at + WINDOW {
                break;
            }
            verdicts.release.extend(first.visit);
            self.suspects.pop_front();
        }
        verdicts
    }

    /// Before this, a further failure would come within the window of a suspect. None without suspects.
    pub(crate) fn window_end(&self) -> Option<Millis> {
        self.suspects.back().map(|last| last.at + WINDOW)
    }

    /// Would it be called down if all these hosts failed within the window, and `unknown` more?
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

    /// Nothing more will be heard that could tell whose failures these were: they are the hosts' own.
    pub(crate) fn release(&mut self) -> Verdicts {
        let release = self.suspects.drain(..).filter_map(|s| s.visit).collect();
        Verdicts { release, put_back: Vec::new() }
    }

    /// When [`NetworkWatch::expire`] has something to do.
    pub(crate) fn next_expiry(&self) -> Option<Millis> {
        self.suspects.front().map(|first| first.at + WINDOW)
    }

    /// While the network is down: may one request be tried now?
    pub(crate) fn may_probe(&self, now: Millis) -> bool {
        now >= self.next_probe
    }

    pub(crate) fn next_probe(&self) -> Millis {
        self.next_probe
    }

    /// The host whose probe has begun and not come to a request yet.
    pub(crate) fn take_probe(&mut self) -> Option<HostIndex> {
        self.probe.take().filter(|_| self.down_since.is_some())
    }

    /// A host was served. If it has not come to a request it is the next to be served: an address that was found tells
    /// nothing of the network, and it holds for a while only.
    pub(crate) fn served(&mut self, host: HostIndex, is_request: bool, now: Millis) {
        if self.down_since.is_none() {
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
            assert_eq!(watch.failed(n, Some(token(u64::from(n))), Millis(1000)), Verdicts::default());
        }
        let verdicts = watch.failed(19, Some(token(19)), Millis(2000));
        assert_eq!(verdicts.put_back.len(), 20);
        assert_eq!(watch.down_since(), Some(Millis(2000)));
        assert!(!watch.may_probe(Millis(2000)));
        assert!(watch.may_probe(Millis(7000)));
        watch.served(3, false, Millis(7000));
        assert_eq!(watch.take_probe(), Some(3), "it has not come to a request yet");
        assert!(watch.may_probe(Millis(7001)));
        watch.served(3, true, Millis(7001));
        assert_eq!(watch.take_probe(), None);
        assert!(!watch.may_probe(Millis(7001)));
        assert_eq!(watch.failed(5, Some(token(99)), Millis(7002)).put_back, vec![token(99)]);
        watch.succeeded(Millis(1999));
        assert_eq!(watch.down_since(), Some(Millis(2000)), "it was asked for before");
        watch.succeeded(Millis(7002));
        assert_eq!(watch.down_since(), None);
    }

    #[test]
    fn one_success_gives_every_earlier_failure_to_its_host() {
        let mut watch = NetworkWatch::default();
        watch.failed(1, Some(token(1)), Millis(0));
        watch.failed(2, None, Millis(0));
        watch.failed(3, Some(token(3)), Millis(20));
        assert_eq!(watch.succeeded(Millis(10)).release, vec![token(1)]);
        assert_eq!(watch.held(), 1, "the network may have gone since");
        assert_eq!(watch.succeeded(Millis(30)).release, vec![token(3)]);
        assert_eq!(watch.held(), 0);
    }

    #[test]
    fn few_failures_are_the_hosts_own_after_the_window() {
        let mut watch = NetworkWatch::default();
        watch.failed(1, Some(token(1)), Millis(0));
        assert_eq!(watch.expire(Millis(9_999)), Verdicts::default());
        assert_eq!(watch.next_expiry(), Some(Millis(10_000)));
        assert_eq!(watch.expire(Millis(10_000)).release, vec![token(1)]);
    }

    #[test]
    fn too_few_hosts_cannot_call_the_network_down() {
        let mut watch = NetworkWatch::default();
        for n in 0..3 {
            watch.failed(n, Some(token(u64::from(n))), Millis(u64::from(n)));
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
            watch.failed(7, Some(token(n)), Millis(n));
        }
        assert_eq!(watch.down_since(), None);
    }
}
