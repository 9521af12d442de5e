//! What submitting a job needs: the job's state and seeds, the messages that carry URLs to the shards, and queue sizes.

use super::budget::id;
use crate::database::{Connection, Result, Session};
use argiope_frontier::admission::{SitemapHints, priority};
use argiope_frontier::message::{MOST_FOUND, Message};
use argiope_frontier::{Discovery, Found};
use argiope_model::{FingerprintKey, JobId, Millis, PublicSuffixes, RequestKind, Url, Visit, shard_of};
use std::collections::{BTreeMap, HashMap};

/// A message for a shard.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub shard: u16,
    pub job: u32,
    pub message: Vec<u8>,
}

impl Outgoing {
    pub(crate) fn as_ref(&self) -> OutgoingRef<'_> {
        OutgoingRef { shard: self.shard, job: self.job, message: &self.message }
    }
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutgoingRef<'m> {
    pub(crate) shard: u16,
    pub(crate) job: u32,
    pub(crate) message: &'m [u8],
}

/// Addresses messages to the shards of a cluster.
pub struct Addressing<'a> {
    pub suffixes: &'a PublicSuffixes,
    pub key: &'a FingerprintKey,
    pub shards: u16,
}

impl Addressing<'_> {
    /// Messages that have these URLs admitted as seeds of a job.
    pub fn seeds(&self, job: JobId, urls: &[Url], now: Millis) -> Vec<Outgoing> {
        let priority = |url: &Url| priority(url, 0, true, SitemapHints::default(), 0, now);
        self.messages(job, urls.iter().map(|url| (url.clone(), priority(url))))
    }

    /// Messages that announce to all owners that the job was submitted or resumed.
    pub fn begin(&self, job: JobId, fresh: bool) -> Vec<Outgoing> {
        let message = Message::Begin { job, fresh }.encode();
        (0..self.shards).map(|shard| Outgoing { shard, job: job.0, message: message.clone() }).collect()
    }

    /// Messages that repeat visits which have ended.
    pub fn again(&self, visits: Vec<Visit>) -> Vec<Outgoing> {
        let outgoing = |visit: Visit| {
            let shard = shard_of(self.suffixes.root_domain(visit.url.host()), self.shards);
            let job = visit.job.0;
            Outgoing { shard, job, message: Message::Again(visit).encode() }
        };
        visits.into_iter().map(outgoing).collect()
    }

    /// Messages that have these URLs admitted, with given priorities.
    pub(crate) fn messages(&self, job: JobId, urls: impl IntoIterator<Item = (Url, u8)>) -> Vec<Outgoing> {
        let mut by_shard: BTreeMap<u16, Vec<Found>> = BTreeMap::new();
        for (url, priority) in urls {
            let shard = shard_of(self.suffixes.root_domain(url.host()), self.shards);
            let fingerprint = self.key.of(url.normal(), 0);
            let found = Found { fingerprint, priority, url, kind: RequestKind::Page, previous: None };
            by_shard.entry(shard).or_default().push(found);
        }
        let mut outgoing = Vec::new();
        for (shard, found) in by_shard {
            for piece in found.chunks(MOST_FOUND) {
                let discovery = Discovery {
                    job,
                    round: 0,
                    depth: 0,
                    source: None,
                    found: piece.to_vec(),
                    not_before: None,
                };
                let message = Message::Found(discovery).encode();
                outgoing.push(Outgoing { shard, job: job.0, message });
            }
        }
        outgoing
    }
}

/// Appends to the inboxes, within the caller's transaction. Counters are locked in ascending order of the shards, which
/// prevents deadlocks.
pub(crate) async fn append(
    client: &Connection,
    outgoing: &[OutgoingRef<'_>],
) -> std::result::Result<(), tokio_postgres::Error> {
    let mut sorted = outgoing.to_vec();
    sorted.sort_by_key(|one| one.shard);
    let (shards, jobs): (Vec<i32>, Vec<i32>) =
        sorted.iter().map(|one| (i32::from(one.shard), i32::try_from(one.job).unwrap_or(0))).unzip();
    let messages: Vec<&[u8]> = sorted.iter().map(|one| one.message).collect();
    client
        .execute(
            "WITH new AS (
                 SELECT shard, job, message, row_number() OVER (PARTITION BY shard ORDER BY place) AS place
                 FROM unnest($1::integer[], $2::integer[], $3::bytea[]) WITH ORDINALITY
                     AS n(shard, job, message, place)
             ), locked AS (
                 SELECT shard FROM inbox_counters WHERE shard IN (SELECT shard FROM new) ORDER BY shard FOR UPDATE
             ), counted AS (
                 SELECT new.shard, count(*) AS many FROM new JOIN locked USING (shard) GROUP BY new.shard
             ), raised AS (
                 UPDATE inbox_counters c SET sent = c.sent + counted.many FROM counted
                 WHERE c.shard = counted.shard RETURNING c.shard, c.sent - counted.many AS before
             )
             INSERT INTO inbox (shard, seq, job, message)
             SELECT new.shard, raised.before + new.place, new.job, new.message FROM new JOIN raised USING (shard)",
            &[&shards, &jobs, &messages],
        )
        .await?;
    Ok(())
}

/// Seeds that determine the job's scope, in addition to those in its settings.
pub fn set_job_seeds(session: &mut Session, job: JobId, seeds: &[&Url]) -> Result<()> {
    let urls: Vec<&str> = seeds.iter().map(|url| url.as_str()).collect();
    session.query(
        "INSERT INTO job_seeds (job, url) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING",
        &[&id(job), &urls],
    )?;
    Ok(())
}

/// `state` as the table of jobs spells it. `spec` replaces the job's settings if given.
pub fn set_job_state(
    session: &mut Session,
    job: JobId,
    state: &str,
    spec: Option<&str>,
    message: Option<&str>,
) -> Result<()> {
    session.query(
        "UPDATE jobs SET state = $2, message = $4, spec = coalesce($3, spec),
             started_at = CASE WHEN $2 = 'running' THEN coalesce(started_at, clock_timestamp()) ELSE started_at END,
             finished_at = CASE WHEN $2 IN ('completed', 'failed', 'cancelled') THEN clock_timestamp() END
         WHERE id = $1",
        &[&id(job), &state, &spec, &message],
    )?;
    Ok(())
}

/// A job that is kept open does not end when all its URLs are done: more may come.
pub fn keep_job_open(session: &mut Session, job: JobId, is_kept: bool) -> Result<()> {
    session.query("UPDATE jobs SET kept_open = $2 WHERE id = $1", &[&id(job), &is_kept])?;
    Ok(())
}

/// Queued URLs by job, without those in inboxes.
pub fn queued_urls(session: &mut Session) -> Result<HashMap<JobId, u64>> {
    let mut queued = HashMap::new();
    for row in session.query("SELECT job, count(*) FROM urls GROUP BY job", &[])? {
        let read = || -> std::result::Result<(i32, i64), tokio_postgres::Error> {
            Ok((row.try_get(0)?, row.try_get(1)?))
        };
        let (job, count) = read().map_err(|error| session.error(error))?;
        queued.insert(JobId(u32::try_from(job).unwrap_or(0)), u64::try_from(count).unwrap_or(0));
    }
    Ok(queued)
}
