//! What DNS responses mean to a crawl, and their cache. Pure: time is an argument; [`crate::resolver`] sends the
//! queries.

use argiope_model::Millis;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The addresses of a host, in the order to try them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub addresses: Arc<[IpAddr]>,
    /// Until when they may be used without another query.
    pub expires: Millis,
    /// How long the query took; zero for a cached answer.
    pub dns_us: u32,
}

/// Whether a failed lookup is a matter of the host or of the resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The host does not exist; valid for its negative TTL.
    Host,
    /// No resolver answered: many of these at once mean that the network is down.
    Resolver,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    #[error("no such host")]
    NxDomain { retry_at: Millis },
    #[error("the host has no address")]
    NoAddress { retry_at: Millis },
    #[error("not a valid DNS name")]
    InvalidName,
    #[error("the resolver failed: {0}")]
    ServFail(String),
    #[error("no resolver answered in time")]
    Timeout,
    #[error("no resolver is reachable: {0}")]
    Unreachable(String),
    #[error("no resolver is configured")]
    NoResolver,
}

impl DnsError {
    pub fn fault(&self) -> Fault {
        match self {
            DnsError::NxDomain { .. } | DnsError::NoAddress { .. } | DnsError::InvalidName => Fault::Host,
            DnsError::ServFail(_) | DnsError::Timeout | DnsError::Unreachable(_) | DnsError::NoResolver => {
                Fault::Resolver
            }
        }
    }

    /// Until when a negative answer is valid.
    pub fn retry_at(&self) -> Option<Millis> {
        match self {
            DnsError::NxDomain { retry_at } | DnsError::NoAddress { retry_at } => Some(*retry_at),
            DnsError::InvalidName => Some(Millis::NEVER),
            _ => None,
        }
    }
}

pub type Answer = Result<Resolved, DnsError>;

/// For how long answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlBounds {
    /// A TTL of zero would mean a query before every request.
    pub shortest: Duration,
    pub longest: Duration,
    /// For negative answers without a TTL.
    pub negative_default: Duration,
}

impl Default for TtlBounds {
    fn default() -> TtlBounds {
        TtlBounds {
            shortest: Duration::from_secs(10),
            longest: Duration::from_secs(3600),
            negative_default: Duration::from_secs(300),
        }
    }
}

impl TtlBounds {
    pub(crate) fn positive(&self, ttl_seconds: u32) -> Duration {
        Duration::from_secs(u64::from(ttl_seconds)).max(self.shortest).min(self.longest)
    }

    pub(crate) fn negative(&self, ttl_seconds: Option<u32>) -> Duration {
        let ttl =
            ttl_seconds.map_or(self.negative_default, |seconds| Duration::from_secs(u64::from(seconds)));
        ttl.max(self.shortest).min(self.longest)
    }
}

/// Valid answers, at most `capacity`; the oldest are evicted first.
pub(crate) struct AnswerCache {
    entries: HashMap<Arc<str>, Entry>,
    /// Insertions in order. An entry that was replaced has another sequence number and is skipped.
    order: VecDeque<(Arc<str>, u64)>,
    sequence: u64,
    capacity: usize,
}

struct Entry {
    answer: Answer,
    expires: Millis,
    sequence: u64,
}

impl AnswerCache {
    pub(crate) fn new(capacity: usize) -> AnswerCache {
        AnswerCache { entries: HashMap::new(), order: VecDeque::new(), sequence: 0, capacity }
    }

    pub(crate) fn get(&self, name: &str, now: Millis) -> Option<Answer> {
        let entry = self.entries.get(name).filter(|entry| now < entry.expires)?;
        let mut answer = entry.answer.clone();
        if let Ok(resolved) = &mut answer {
            resolved.dns_us = 0;
        }
        Some(answer)
    }

    /// Keeps an answer while it is valid. Failures of a resolver are not kept.
    pub(crate) fn insert(&mut self, name: &str, answer: &Answer) {
        let expires = match answer {
            Ok(resolved) => resolved.expires,
            Err(error) => match error.retry_at() {
                Some(retry_at) => retry_at,
                None => return,
            },
        };
        let name: Arc<str> = name.into();
        self.sequence += 1;
        self.order.push_back((name.clone(), self.sequence));
        self.entries.insert(name, Entry { answer: answer.clone(), expires, sequence: self.sequence });
        // The order is longer than the map by the entries that were replaced: twice the capacity bounds both.
        while self.entries.len() > self.capacity || self.order.len() > self.capacity.saturating_mul(2) {
            let Some((oldest, sequence)) = self.order.pop_front() else { break };
            if self.entries.get(&oldest).is_some_and(|entry| entry.sequence == sequence) {
                self.entries.remove(&oldest);
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(expires: u64) -> Answer {
        Ok(Resolved {
            addresses: Arc::from(["192.0.2.1".parse().unwrap()]),
            expires: Millis(expires),
            dns_us: 7,
        })
    }

    #[test]
    fn an_answer_is_given_until_it_expires_and_costs_no_time() {
        let mut cache = AnswerCache::new(10);
        cache.insert("a.test", &found(1000));
        assert_eq!(cache.get("a.test", Millis(999)).unwrap().unwrap().dns_us, 0);
        assert_eq!(cache.get("a.test", Millis(1000)), None);
        assert_eq!(cache.get("b.test", Millis(0)), None);
    }

    #[test]
    fn negative_answers_are_kept_and_failures_of_resolvers_are_not() {
        let mut cache = AnswerCache::new(10);
        let gone = Err(DnsError::NxDomain { retry_at: Millis(500) });
        cache.insert("gone.test", &gone);
        cache.insert("odd.test", &Err(DnsError::Timeout));
        assert_eq!(cache.get("gone.test", Millis(499)), Some(gone));
        assert_eq!(cache.get("gone.test", Millis(500)), None);
        assert_eq!(cache.get("odd.test", Millis(0)), None);
    }

    #[test]
    fn the_oldest_entries_give_way_and_replacing_one_grows_nothing() {
        let mut cache = AnswerCache::new(3);
        for _ in 0..1000 {
            cache.insert("same.test", &found(10));
        }
        assert!(cache.order.len() <= 6);
        for name in ["a", "b", "c"] {
            cache.insert(name, &found(10));
        }
        assert_eq!(cache.len(), 3);
        assert_eq!(cache.get("same.test", Millis(0)), None);
        assert!(cache.get("a", Millis(0)).is_some());
    }

    #[test]
    fn time_to_live_is_bounded_on_both_sides() {
        let bounds = TtlBounds::default();
        assert_eq!(bounds.positive(0), Duration::from_secs(10));
        assert_eq!(bounds.positive(60), Duration::from_secs(60));
        assert_eq!(bounds.positive(1_000_000), Duration::from_secs(3600));
        assert_eq!(bounds.negative(None), Duration::from_secs(300));
        assert_eq!(bounds.negative(Some(86_400)), Duration::from_secs(3600));
    }
}
