//! Spellings of one URL at admission. The first spelling found is the one that is fetched; what this module adds is that a
//! spelling which robots.txt forbids does not stand in the way of one that it allows, and that URLs are counted which are
//! not fetched because only ignored parameters tell them from one that is.

use crate::admit::Found;
use crate::frontier::Frontier;
use crate::host::RobotsHandle;
use crate::ready::HostIndex;
use argiope_model::{Fingerprint, JobId, Millis, RequestKind, Skip, SkipReason, Url};

/// Merged URLs that are told apart in one job. A site that makes up parameters without end costs no more memory than this.
const MOST_MERGED: u64 = 1_000_000;

/// Among the fingerprints of a URL: one of its spellings that was admitted has ignored parameters.
fn spelled(url: Fingerprint) -> Fingerprint {
    Fingerprint(url.0 ^ 0x7370_656c_6c65_6421)
}

/// The spelling without ignored parameters was merged with such a one.
fn bare(url: Fingerprint) -> Fingerprint {
    Fingerprint(url.0 ^ 0x6261_7265_2075_726c)
}

impl Frontier {
    /// What robots.txt has against a spelling, as far as it is known. None for a URL in normal form: that is judged when its
    /// turn comes, and keeps its place among what was seen.
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

    /// A new URL has been admitted in this spelling. Gives back what is to be remembered of it beside its own fingerprint.
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

    /// A URL that was seen comes again. If it is another spelling than before, told from it by ignored parameters only, it is
    /// refused as merged, once; its fingerprint is to be remembered.
    pub(crate) fn merge_spelling(
        &mut self,
        job: JobId,
        shard: u16,
        one: &Found,
        round: u32,
    ) -> Option<(Skip, Fingerprint)> {
        let state = self.jobs.get_mut(&job)?;
        // Most links are in normal form and lead to what was seen: this is all that they cost.
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
