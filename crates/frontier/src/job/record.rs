//! The record of a job in one shard, as it is stored.

use super::{JobShard, QueueCounts};
use crate::codec::{CodecError, Reader, put_number, put_text};
use std::collections::HashMap;

/// 2: counts per shard. Version 1 had one record for all of them.
const VERSION: u8 = 2;

impl JobShard {
    /// `sequence` is the last one used; the next owner of the shard continues after it.
    pub(super) fn encode(&self, sequence: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        out.push(VERSION);
        let QueueCounts { queued, delayed, pages, done } = self.counts;
        for number in [sequence, queued, delayed, pages, done] {
            put_number(&mut out, number);
        }
        put_number(&mut out, self.domain_pages.len() as u64);
        for (domain, pages) in &self.domain_pages {
            put_text(&mut out, domain);
            put_number(&mut out, *pages);
        }
        put_number(&mut out, self.scope_hosts.len() as u64);
        for url in &self.scope_hosts {
            put_text(&mut out, url);
        }
        out
    }
}

/// A job in one shard as stored in its record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredJob {
    pub(crate) sequence: u64,
    pub(crate) counts: QueueCounts,
    pub(crate) domain_pages: HashMap<Box<str>, u64>,
    pub(crate) scope_hosts: Vec<Box<str>>,
}

pub(crate) fn decode_job(bytes: &[u8]) -> Result<StoredJob, CodecError> {
    let mut from = Reader { bytes, what: "job" };
    if from.byte()? != VERSION {
        return Err(from.error("unknown version"));
    }
    let sequence = from.number()?;
    // Far beyond any clock, so that later numbers cannot overflow.
    if sequence >> 62 != 0 {
        return Err(from.error("sequence too large"));
    }
    let counts = QueueCounts {
        queued: from.number()?,
        delayed: from.number()?,
        pages: from.number()?,
        done: from.number()?,
    };
    let mut domain_pages = HashMap::new();
    for _ in 0..from.number()? {
        let domain = from.text()?;
        domain_pages.insert(domain.into(), from.number()?);
    }
    let mut scope_hosts = Vec::new();
    for _ in 0..from.number()? {
        scope_hosts.push(from.text()?.into());
    }
    Ok(StoredJob { sequence, counts, domain_pages, scope_hosts })
}

#[cfg(test)]
mod tests {
    use super::super::{Job, JobLimits};
    use super::*;
    use argiope_model::{JobId, JobSpec};

    #[test]
    fn counts_are_read_back_as_they_were_written() {
        let mut job = Job::new(JobId(1), JobLimits::of(&JobSpec::default(), "TestBot"), false);
        job.count(5, |counts| *counts = QueueCounts { queued: 10_000_000, delayed: 3, pages: 77, done: 80 });
        job.shard_mut(5).domain_pages.insert("example.com".into(), 5);
        job.add_scope_host(5, "https://www.example.com/");
        let records: Vec<(u16, Vec<u8>)> = job.take_records(99).collect();
        let [(5, record)] = &records[..] else { panic!("{records:?}") };
        let stored = StoredJob {
            sequence: 99,
            counts: QueueCounts { queued: 10_000_000, delayed: 3, pages: 77, done: 80 },
            domain_pages: HashMap::from([("example.com".into(), 5u64)]),
            scope_hosts: vec!["https://www.example.com/".into()],
        };
        assert_eq!(decode_job(record), Ok(stored));
    }
}
