//! Decides about records of `url_ingest`: which URLs go to which job, and why others do not.

use super::Addresses;
use super::jobs::TargetJobs;
use super::progress::{Example, Reached};
use super::record::{IngestRecord, JobName};
use crate::database::{DatabaseError, Session};
use crate::kafka::RecordRun;
use crate::members::recently_fetched;
use argiope_model::{JobId, Url};
use argiope_store::catalogue::url_key;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Rejected records that are kept as examples, of those judged together.
const MOST_EXAMPLES: usize = 20;
/// Of the reason of each, in characters.
const LONGEST_REASON: usize = 300;

/// A URL for a job.
pub(super) struct AcceptedUrl {
    pub(super) job: JobId,
    pub(super) url: Url,
    pub(super) priority: u8,
    partition: u16,
    skip_recent_days: Option<u32>,
}

/// What became of the records that were read together.
#[derive(Default)]
pub(super) struct JudgedRecords {
    pub(super) reached: BTreeMap<u16, Reached>,
    pub(super) accepted: Vec<AcceptedUrl>,
    pub(super) examples: Vec<Example>,
}

/// Why a record is not used.
enum Rejection {
    /// The record itself is wrong.
    Unusable(String),
    /// The URL was fetched recently, or the rules of its job refuse it.
    LeftOut(String),
}

impl Addresses {
    /// `read` begins at `positions`.
    pub(super) fn judge(
        &self,
        session: &mut Session,
        positions: &[(u16, i64)],
        read: &[(u16, RecordRun)],
    ) -> Result<JudgedRecords, DatabaseError> {
        let positions: HashMap<u16, i64> = positions.iter().copied().collect();
        let records: Vec<(u16, i64, Result<IngestRecord, String>)> = read
            .iter()
            .flat_map(|(partition, run)| run.records.iter().map(move |record| (*partition, record)))
            .map(|(partition, (offset, value))| (partition, *offset, IngestRecord::read(value)))
            .collect();
        let jobs = TargetJobs::load(
            session,
            self,
            records.iter().filter_map(|(_, _, record)| record.as_ref().ok()),
        )?;
        let mut judged = JudgedRecords::default();
        for (partition, run) in read {
            let before = positions.get(partition).copied().unwrap_or(0);
            let one = Reached { before, next: run.next, ..Reached::default() };
            judged.reached.insert(*partition, one);
            if let Some(why) = &run.unreadable {
                judged.reject(*partition, run.next - 1, Rejection::Unusable(why.clone()));
            }
        }
        for (partition, offset, record) in records {
            match record
                .map_err(Rejection::Unusable)
                .and_then(|record| self.judge_one(&jobs, partition, record))
            {
                Ok(accepted) => {
                    judged.reached.entry(partition).or_default().taken += 1;
                    judged.accepted.push(accepted);
                }
                Err(rejection) => judged.reject(partition, offset, rejection),
            }
        }
        Ok(judged)
    }

    fn judge_one(
        &self,
        jobs: &TargetJobs,
        partition: u16,
        record: IngestRecord,
    ) -> Result<AcceptedUrl, Rejection> {
        let Some(job) = jobs.named(&record.job) else {
            return Err(Rejection::Unusable(match record.job {
                JobName::Number(number) => format!("job {number} is unknown or has ended"),
                JobName::Name(name) => format!("job '{name}' is unknown or has ended"),
            }));
        };
        let url = (self.read_url)(&job.spec, &record.url).map_err(Rejection::Unusable)?;
        job.rules.judge(&url, 0).map_err(|skip| {
            Rejection::LeftOut(format!("'{}' is {}: {}", url, skip.reason.as_str(), skip.detail))
        })?;
        let IngestRecord { priority, skip_recent_days, .. } = record;
        Ok(AcceptedUrl { job: job.id, url, priority, partition, skip_recent_days })
    }
}

impl JudgedRecords {
    fn reject(&mut self, partition: u16, offset: i64, rejection: Rejection) {
        let reached = self.reached.entry(partition).or_default();
        let why = match rejection {
            Rejection::Unusable(why) => {
                reached.bad += 1;
                why
            }
            Rejection::LeftOut(why) => {
                reached.left_out += 1;
                why
            }
        };
        if self.examples.len() < MOST_EXAMPLES {
            // It may quote the record, which may be long.
            let why = why.chars().take(LONGEST_REASON).collect();
            self.examples.push(Example { partition, offset, why });
        }
    }
}

/// Drops URLs that were fetched within as many days as their records say.
pub(super) fn leave_out_recent(
    session: &mut Session,
    judged: &mut JudgedRecords,
) -> Result<(), DatabaseError> {
    let key = |found: &AcceptedUrl| format!("{:016x}", url_key(found.url.normal()));
    let mut by_days: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for found in &judged.accepted {
        if let Some(days) = found.skip_recent_days {
            by_days.entry(days).or_default().push(key(found));
        }
    }
    let mut recent = HashSet::new();
    for (days, keys) in by_days {
        let fetched = recently_fetched(session, &keys, days)?;
        recent.extend(fetched.into_iter().map(|key| (days, key)));
    }
    let JudgedRecords { reached, accepted, .. } = judged;
    accepted.retain(|one| {
        let is_recent = one.skip_recent_days.is_some_and(|days| recent.contains(&(days, key(one))));
        if is_recent {
            let of = reached.entry(one.partition).or_default();
            (of.taken, of.left_out) = (of.taken - 1, of.left_out + 1);
        }
        !is_recent
    });
    Ok(())
}
