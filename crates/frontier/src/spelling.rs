//! Spellings of one URL at admission. The first spelling found is fetched. This module ensures that a spelling which
//! robots.txt forbids does not block one that it allows, and counts URLs that are not fetched because they differ only
//! in ignored parameters.

use crate::admit::Found;
use crate::frontier::Frontier;
use crate::host::RobotsHandle;
use crate::ready::HostIndex;
use argiope_model::{Fingerprint, JobId, Millis, RequestKind, Skip, SkipReason, Url};

/// Merged URLs that are counted individually in one job. A site that generates endless parameters costs no more memory
/// than this.
const MOST_MERGED: u64 = 1_000_000;

/// Marks the fingerprint of a URL: an admitted spelling has ignored parameters.
fn spelled(url: Fingerprint) -> Fingerprint {
    Fingerprint(url.0 ^ 0x7370_656c_6c65_6421)
}

/// The spelling without ignored parameters was merged with one that has some.
fn bare(url: Fingerprint) -> Fingerprint {
    Fingerprint(url.0 ^ 0x6261_7265_2075_726c)
}

impl Frontier {
    /// Whether robots.txt forbids a spelling, as far as known. None for a URL in normal form, which is checked when it
    /// is served and stays in the seen-set.
    pub(crate) fn forbidden_spelling(
        &mut self,
        index: HostIndex,
        job: JobId,
        one: &Found,
        now: Millis,
    ) -> Option<Skip> {
        if one.url.is_normal() || one.kind != RequestKind::Page {
            return None;
        }
        let limits = self.jobs.get(&job).map(|job| &job.limits).filter(|limits| limits.respect_robots)?;
        let origin = self.hosts.get(index as usize)?.origin(one.url.scheme(), &limits.agent)?;
        let RobotsHandle::Known { robots, expires } = &origin.robots else { return None };
        let verdict = robots.check(one.url.path_and_query());
        if *expires <= now || verdict.allowed {
            return None;
        }
        let skip = Skip::new(SkipReason::RobotsDisallowed, crate::robots_check::forbidden_by(verdict.rule));
        self.rules_of(index).respect_robots().then_some(skip)
    }

    /// The fingerprint of the spelling itself.
    pub(crate) fn spelling_of(&self, url: &Url, round: u32) -> Fingerprint {
        self.key.of(url.as_str(), round)
    }

    /// A new URL was admitted in this spelling. Returns what must be remembered besides its own fingerprint.
    pub(crate) fn note_spelling(
        &mut self,
        job: JobId,
        shard: u16,
        one: &Found,
        round: u32,
    ) -> Vec<Fingerprint> {
        let own = self.spelling_of(&one.url, round);
        let Some(state) = self.jobs.get_mut(&job) else { return Vec::new() };
        if one.kind != RequestKind::Page || state.normal.dropped_parameters(&one.url).is_empty() {
            return Vec::new();
        }
        state.has_spellings = true;
        let noted = vec![spelled(one.fingerprint), own];
        let seen = self.seen.table(job, shard);
        for fingerprint in &noted {
            seen.insert(*fingerprint);
        }
        noted
    }

    /// A known URL was found again. If it is a new spelling that differs only in ignored parameters, it is skipped as
    /// merged, once; its fingerprint must be remembered.
    pub(crate) fn merge_spelling(
        &mut self,
        job: JobId,
        shard: u16,
        one: &Found,
        round: u32,
    ) -> Option<(Skip, Fingerprint)> {
        let state = self.jobs.get_mut(&job)?;
        // Most links are in normal form and already seen: this is all they cost.
        if one.url.is_normal() && !state.has_spellings {
            return None;
        }
        if one.kind != RequestKind::Page || state.merged >= MOST_MERGED {
            return None;
        }
        let seen = self.seen.get_mut(job, shard)?;
        let (detail, fingerprint) = if one.url.is_normal() {
            if !seen.contains(spelled(one.fingerprint)) {
                return None;
            }
            (String::new(), bare(one.fingerprint))
        } else {
            let dropped = state.normal.dropped_parameters(&one.url);
            if dropped.is_empty() {
                return None;
            }
            (dropped.join(" "), self.key.of(one.url.as_str(), round))
        };
        if !seen.insert(fingerprint) {
            return None;
        }
        state.merged += 1;
        Some((Skip::new(SkipReason::Merged, detail), fingerprint))
    }
}
