//! Counts by domain in bounded memory: the most frequent domains have a label of their own, the rest is `other`.
//! Prometheus keeps a series for every label it ever saw, and the web has more domains than that is good for.

use std::collections::{BTreeMap, HashMap};

/// How the processing of a URL ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Success,
    Failed,
    Skipped,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) success: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    fn add(&mut self, status: Status) {
        match status {
            Status::Success => self.success += 1,
            Status::Failed => self.failed += 1,
            Status::Skipped => self.skipped += 1,
        }
    }
}

/// Candidates for a label, for each label there is.
const CANDIDATES_PER_LABEL: usize = 25;

#[derive(Debug)]
pub(crate) struct DomainCounts {
    labels: usize,
    /// How often each was met. When there is no room, a new domain takes the place and the number of the least frequent
    /// (Space-Saving): what is truly frequent stays.
    candidates: HashMap<Box<str>, u64>,
    labelled: BTreeMap<Box<str>, Counts>,
    other: Counts,
}

impl DomainCounts {
    pub(crate) fn new(labels: usize) -> DomainCounts {
        DomainCounts {
            labels,
            candidates: HashMap::new(),
            labelled: BTreeMap::new(),
            other: Counts::default(),
        }
    }

    pub(crate) fn count(&mut self, domain: &str, status: Status) {
        self.weigh(domain);
        self.labelled.get_mut(domain).unwrap_or(&mut self.other).add(status);
    }

    fn weigh(&mut self, domain: &str) {
        if let Some(count) = self.candidates.get_mut(domain) {
            *count += 1;
            return;
        }
        let mut count = 0;
        if self.candidates.len() >= self.labels * CANDIDATES_PER_LABEL {
            let least = self.candidates.iter().min_by_key(|(_, count)| **count);
            let Some((least, its)) = least.map(|(least, its)| (least.clone(), *its)) else { return };
            self.candidates.remove(&least);
            count = its;
        }
        self.candidates.insert(domain.into(), count + 1);
    }

    /// All counts; `None` are the other domains. Labels are given anew: a domain that gets one begins at zero, as what
    /// was counted before stays with the others, and one that loses it is not shown any more. So no series falls,
    /// except one that comes back, which Prometheus takes as a restart.
    pub(crate) fn reading(&mut self) -> Vec<(Option<Box<str>>, Counts)> {
        let mut candidates: Vec<_> = self.candidates.iter().collect();
        candidates.sort_by(|(a, its), (b, theirs)| theirs.cmp(its).then(a.cmp(b)));
        let labelled = candidates
            .into_iter()
            .take(self.labels)
            .map(|(domain, _)| (domain.clone(), self.labelled.get(domain).copied().unwrap_or_default()));
        self.labelled = labelled.collect();
        let named = self.labelled.iter().map(|(domain, counts)| (Some(domain.clone()), *counts));
        named.chain([(None, self.other)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(counts: &Counts) -> u64 {
        counts.success + counts.failed + counts.skipped
    }

    #[test]
    fn a_domain_is_counted_by_itself_from_when_it_has_a_label() {
        let mut counts = DomainCounts::new(1);
        counts.count("a.example", Status::Success);
        counts.count("a.example", Status::Failed);
        counts.count("b.example", Status::Skipped);
        let unlabelled = Counts { success: 1, failed: 1, skipped: 1 };
        let shown = |domain: &str| Some(Box::from(domain));
        assert_eq!(counts.reading(), [(shown("a.example"), Counts::default()), (None, unlabelled)]);
        counts.count("a.example", Status::Success);
        let own = Counts { success: 1, ..Counts::default() };
        assert_eq!(counts.reading(), [(shown("a.example"), own), (None, unlabelled)]);
        for _ in 0..3 {
            counts.count("b.example", Status::Success);
        }
        let others = Counts { success: 4, ..unlabelled };
        assert_eq!(counts.reading(), [(shown("b.example"), Counts::default()), (None, others)]);
    }

    proptest! {
        #[test]
        fn a_frequent_domain_has_a_label_however_many_others_there_are(
            rare in prop::collection::vec(0u32..5000, 0..2000),
            labels in 1usize..4,
        ) {
            let mut counts = DomainCounts::new(labels);
            for (n, rare) in rare.iter().enumerate() {
                counts.count(&format!("{rare}.example"), Status::Success);
                if n % 3 == 0 {
                    counts.count("frequent.example", Status::Success);
                }
            }
            let reading = counts.reading();
            prop_assert!(reading.len() <= labels + 1);
            prop_assert!(counts.candidates.len() <= labels * CANDIDATES_PER_LABEL);
            if rare.len() > 400 {
                prop_assert!(reading.iter().any(|(domain, _)| domain.as_deref() == Some("frequent.example")));
            }
        }

        #[test]
        fn nothing_is_counted_twice_and_no_series_falls(domains in prop::collection::vec(0u32..6, 0..200)) {
            let mut counts = DomainCounts::new(2);
            let mut before: Vec<(Option<Box<str>>, Counts)> = Vec::new();
            for (n, domain) in domains.iter().enumerate() {
                counts.count(&domain.to_string(), Status::Success);
                let now = counts.reading();
                prop_assert!(now.iter().map(|(_, counts)| total(counts)).sum::<u64>() <= n as u64 + 1);
                for (domain, now) in &now {
                    let earlier = before.iter().find(|(name, _)| name == domain);
                    prop_assert!(earlier.is_none_or(|(_, earlier)| total(earlier) <= total(now)));
                }
                before = now;
            }
        }
    }
}
