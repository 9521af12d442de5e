//! Links that a worker discovered or skipped recently: the navigation of a site is on each of its pages and need not be
//! checked every time. A link is added together with its page, and pages are committed in order, so a link that is left
//! out here is committed already or will be first.

use argiope_model::{Fingerprint, JobId};

/// 2^15 entries, 256 KB: what a core's cache holds.
const ENTRIES: usize = 1 << 15;

pub(crate) struct Recent {
    slots: Vec<u64>,
}

impl Recent {
    pub(crate) fn new() -> Recent {
        Recent { slots: vec![0; ENTRIES] }
    }

    /// Whether the link is known. `rules` is the version of the job's rules: links checked by older rules are checked
    /// again.
    pub(crate) fn check(&self, job: JobId, rules: u32, link: Fingerprint) -> bool {
        let key = key(job, rules, link);
        self.slots.get(slot(key)).is_some_and(|known| *known == key)
    }

    pub(crate) fn put(&mut self, job: JobId, rules: u32, link: Fingerprint) {
        let key = key(job, rules, link);
        if let Some(known) = self.slots.get_mut(slot(key)) {
            *known = key;
        }
    }
}

fn key(job: JobId, rules: u32, link: Fingerprint) -> u64 {
    let owner = (u64::from(job.0) << 32) | u64::from(rules);
    // Never 0, the value of empty slots.
    (link.0 ^ owner.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1
}

fn slot(key: u64) -> usize {
    (key >> 24) as usize % ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_known_to_its_job_and_its_rules_only() {
        let mut recent = Recent::new();
        let link = Fingerprint(0xdead_beef_0000_1111);
        assert!(!recent.check(JobId(1), 0, link));
        recent.put(JobId(1), 0, link);
        assert!(recent.check(JobId(1), 0, link));
        assert!(!recent.check(JobId(2), 0, link));
        assert!(!recent.check(JobId(1), 1, link));
    }
}
