//! Counts by domain in bounded memory: the busiest domains have their own counters, all others share one entry.
//! Prometheus keeps a series for every label value it ever saw, so their number has to be bounded.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// How a URL ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failed,
    Skipped,
}

/// URLs that ended, on one domain or, without a name, on all domains that have no counters of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainFigures {
    pub domain: Option<String>,
    pub success: u64,
    pub failed: u64,
    pub skipped: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    success: u64,
    failed: u64,
    skipped: u64,
}

impl Counts {
    fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Success => self.success += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Skipped => self.skipped += 1,
        }
    }

    fn of(self, domain: Option<&str>) -> DomainFigures {
        let Counts { success, failed, skipped } = self;
        DomainFigures { domain: domain.map(str::to_owned), success, failed, skipped }
    }
}

/// Candidates for each place among the busiest.
const CANDIDATES_PER_PLACE: usize = 25;

#[derive(Debug)]
pub(crate) struct DomainCounts {
    places: usize,
    /// How often each was counted. When there is no room, a new domain replaces the least frequent one and takes over its
    /// number (Space-Saving), so frequent domains stay.
    candidates: HashMap<Box<str>, u64>,
    busiest: BTreeMap<Box<str>, Counts>,
    other: Counts,
}

impl DomainCounts {
    pub(crate) fn new(places: usize) -> DomainCounts {
        DomainCounts {
            places,
            candidates: HashMap::new(),
            busiest: BTreeMap::new(),
            other: Counts::default(),
        }
    }

    pub(crate) fn count(&mut self, domain: &str, outcome: Outcome) {
        self.weigh(domain);
        self.busiest.get_mut(domain).unwrap_or(&mut self.other).add(outcome);
    }

    fn weigh(&mut self, domain: &str) {
        if let Some(count) = self.candidates.get_mut(domain) {
            *count += 1;
            return;
        }
        let mut count = 0;
        if self.candidates.len() >= self.places * CANDIDATES_PER_PLACE {
            let least = self.candidates.iter().min_by_key(|(_, count)| **count);
            let Some((least, its)) = least.map(|(least, its)| (least.clone(), *its)) else { return };
            self.candidates.remove(&least);
            count = its;
        }
        self.candidates.insert(domain.into(), count + 1);
    }

    /// All counts, the other domains last. Places are assigned anew: a domain that gets one starts at zero, because what
    /// was counted before stays with the others; one that loses its place is no longer shown. So no series decreases,
    /// except one that comes back, which Prometheus takes for a restart.
    pub(crate) fn figures(&mut self) -> Vec<DomainFigures> {
        let mut candidates: Vec<_> = self.candidates.iter().collect();
        candidates.sort_by(|(a, its), (b, theirs)| theirs.cmp(its).then(a.cmp(b)));
        let busiest = candidates
            .into_iter()
            .take(self.places)
            .map(|(domain, _)| (domain.clone(), self.busiest.get(domain).copied().unwrap_or_default()));
        self.busiest = busiest.collect();
        let named = self.busiest.iter().map(|(domain, counts)| counts.of(Some(domain)));
        named.chain([self.other.of(None)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(figures: &DomainFigures) -> u64 {
        figures.success + figures.failed + figures.skipped
    }

    #[test]
    fn a_domain_is_counted_by_itself_from_when_it_has_a_place() {
        let mut counts = DomainCounts::new(1);
        counts.count("a.example", Outcome::Success);
        counts.count("a.example", Outcome::Failed);
        counts.count("b.example", Outcome::Skipped);
        let others = Counts { success: 1, failed: 1, skipped: 1 };
        assert_eq!(counts.figures(), [Counts::default().of(Some("a.example")), others.of(None)]);
        counts.count("a.example", Outcome::Success);
        let own = Counts { success: 1, ..Counts::default() };
        assert_eq!(counts.figures(), [own.of(Some("a.example")), others.of(None)]);
        for _ in 0..3 {
            counts.count("b.example", Outcome::Success);
        }
        let others = Counts { success: 4, ..others };
        assert_eq!(counts.figures(), [Counts::default().of(Some("b.example")), others.of(None)]);
    }

    proptest! {
        #[test]
        fn a_frequent_domain_has_a_place_however_many_others_there_are(
            rare in prop::collection::vec(0u32..5000, 0..2000),
            places in 1usize..4,
        ) {
            let mut counts = DomainCounts::new(places);
            for (n, rare) in rare.iter().enumerate() {
                counts.count(&format!("{rare}.example"), Outcome::Success);
                if n % 3 == 0 {
                    counts.count("frequent.example", Outcome::Success);
                }
            }
            let figures = counts.figures();
            prop_assert!(figures.len() <= places + 1);
            prop_assert!(counts.candidates.len() <= places * CANDIDATES_PER_PLACE);
            if rare.len() > 400 {
                prop_assert!(figures.iter().any(|it| it.domain.as_deref() == Some("frequent.example")));
            }
        }

        #[test]
        fn nothing_is_counted_twice_and_no_series_falls(domains in prop::collection::vec(0u32..6, 0..200)) {
            let mut counts = DomainCounts::new(2);
            let mut before: Vec<DomainFigures> = Vec::new();
            for (n, domain) in domains.iter().enumerate() {
                counts.count(&domain.to_string(), Outcome::Success);
                let now = counts.figures();
                prop_assert!(now.iter().map(total).sum::<u64>() <= n as u64 + 1);
                for figures in &now {
                    let earlier = before.iter().find(|earlier| earlier.domain == figures.domain);
                    prop_assert!(earlier.is_none_or(|earlier| total(earlier) <= total(figures)));
                }
                before = now;
            }
        }
    }
}
