//! The leader's work, done once for all members: ends finished jobs, declares members dead, deletes applied messages,
//! and creates partitions ahead. The leader holds the row `leader` by the database's clock; everything here may be done
//! twice.

use super::budget;
use super::leases::signed;
use crate::database::{Partitions, Result, Session};
use argiope_frontier::ownership::Observation;
use std::time::{Duration, Instant};

/// A leader must have read the lease table for this many leases without interruption before it declares a member dead:
/// while the database was unavailable, or this process suspended, nobody could renew.
const PATIENCE: u32 = 2;
const REAP_EVERY: Duration = Duration::from_secs(5);
const PARTITIONS_EVERY: Duration = Duration::from_secs(3600);
/// Rows of inboxes that are deleted at once.
const CLEARED: i64 = 20_000;

/// Within a transaction: jobs do not end while something new comes for them, and nothing new comes while they end.
pub(crate) const HOLD_JOBS: &str = "SELECT pg_advisory_xact_lock(hashtext('argiope jobs'))";

/// One statement sees one moment: a URL is in a queue, in an inbox or log, or done. A job with URLs and without a
/// single page has failed, as on one machine.
const END_DONE: &str = "
    UPDATE jobs SET finished_at = clock_timestamp(),
        state = CASE WHEN empty THEN 'failed' ELSE 'completed' END,
        message = CASE WHEN empty THEN 'no page was stored' END
    FROM (SELECT id AS job, EXISTS (
            SELECT 1 FROM job_counts c
            WHERE c.job = id AND c.count > 0 AND (c.class = 'skip' OR (c.class, c.word) = ('total', 'failed'))
        ) AND NOT EXISTS (
            SELECT 1 FROM job_counts c WHERE c.job = id AND c.count > 0 AND c.class = 'status'
        ) AS empty FROM jobs WHERE state = 'running') AS ending
    WHERE ending.job = jobs.id AND state = 'running' AND NOT kept_open
        AND NOT EXISTS (SELECT 1 FROM urls WHERE urls.job = jobs.id)
        AND jobs.id IN (SELECT id FROM settled_jobs)
        AND NOT EXISTS (SELECT 1 FROM log_losses)";

/// Messages in the logs are applied first: the job may continue with a higher limit.
const END_AT_LIMIT: &str = "
    UPDATE jobs SET state = 'completed', finished_at = clock_timestamp(), message = 'max_pages is reached'
    FROM budgets
    WHERE jobs.state = 'running' AND budgets.job = jobs.id AND budgets.left_over <= 0
        AND jobs.id IN (SELECT id FROM settled_jobs)
        AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.job = jobs.id AND g.taken > (
            SELECT count(*) FROM crawl_metadata m
            WHERE m.job = g.job AND m.status_code IS NOT NULL AND starts_with(m.worker_id, g.owner || '/')
        ))";

/// If every shard with URLs of a job reports that they are blocked for long, the job is paused instead of waiting, as
/// on one machine. One statement sees one moment.
const PAUSE_BLOCKED: &str = include_str!("sql/pause_blocked.sql");

#[derive(Debug)]
pub(super) struct Leader {
    owner: String,
    length: Duration,
    last_reap: Option<Instant>,
    last_partitions: Option<Instant>,
}

impl Leader {
    pub(super) fn new(owner: &str, length: Duration) -> Leader {
        Leader { owner: owner.to_owned(), length, last_reap: None, last_partitions: None }
    }

    /// Takes or keeps the leadership if possible, and does what is due.
    pub(super) fn work(&mut self, session: &mut Session, observation: &Observation) -> Result<()> {
        let row = session.query_opt(
            "UPDATE leader SET owner = $1, lease_until = clock_timestamp() + make_interval(secs => $2)
             WHERE owner = $1 OR owner IS NULL OR lease_until < clock_timestamp() RETURNING 1",
            &[&self.owner, &self.length.as_secs_f64()],
        )?;
        if row.is_none() {
            return Ok(());
        }
        self.end_jobs(session)?;
        if due(&mut self.last_reap, REAP_EVERY) {
            clear_inboxes(session)?;
            if observation.has_lasted(PATIENCE * self.length) {
                self.reap(session)?;
            }
        }
        if due(&mut self.last_partitions, PARTITIONS_EVERY) {
            Partitions::default().prepare_present(session)?;
        }
        Ok(())
    }

    fn end_jobs(&self, session: &mut Session) -> Result<()> {
        session.transaction(async |client| {
            client.execute(HOLD_JOBS, &[]).await?;
            client.execute(END_DONE, &[]).await?;
            client.execute(END_AT_LIMIT, &[]).await?;
            client.execute(PAUSE_BLOCKED, &[]).await?;
            Ok(())
        })
    }

    /// A member is dead when its lease expired at least one lease duration ago.
    fn reap(&self, session: &mut Session) -> Result<()> {
        let dead = session.query(
            "SELECT owner FROM members WHERE lease_until < clock_timestamp() - make_interval(secs => $1)",
            &[&self.length.as_secs_f64()],
        )?;
        for row in dead {
            let owner: String = row.try_get(0).map_err(|error| session.error(error))?;
            // It may have come back at this very moment.
            if declare_dead(session, &owner, self.length)? {
                tracing::warn!(owner, "worker declared dead; its shards go to others");
            }
        }
        Ok(())
    }
}

pub(crate) fn leads(session: &mut Session, owner: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM leader WHERE owner = $1 AND lease_until > clock_timestamp()";
    Ok(session.query_opt(sql, &[&owner])?.is_some())
}

fn due(last: &mut Option<Instant>, every: Duration) -> bool {
    let is_due = last.is_none_or(|last| last.elapsed() >= every);
    if is_due {
        *last = Some(Instant::now());
    }
    is_due
}

/// Applied messages, and those of jobs that have ended.
fn clear_inboxes(session: &mut Session) -> Result<()> {
    session.query(
        "DELETE FROM inbox WHERE (shard, seq) IN (
             SELECT inbox.shard, inbox.seq FROM inbox JOIN shards USING (shard)
             WHERE inbox.seq <= shards.applied LIMIT $1
         )",
        &[&CLEARED],
    )?;
    session.query(
        "DELETE FROM log_sent WHERE job IN (
             SELECT id FROM jobs WHERE state IN ('completed', 'failed', 'cancelled')
         )",
        &[],
    )?;
    Ok(())
}

/// If its lease has been expired for this long: nothing is written in its name any more, and others may take what it
/// had.
pub(super) fn declare_dead(session: &mut Session, owner: &str, after: Duration) -> Result<bool> {
    let died = session.transaction(async |client| {
        let died = client
            .execute(
                "WITH gone AS (
                     DELETE FROM members
                     WHERE owner = $1 AND lease_until < clock_timestamp() - make_interval(secs => $2) RETURNING *
                 )
                 INSERT INTO former_members (owner, worker, state, joined_at, pages)
                 SELECT owner, worker, 'dead', joined_at, pages FROM gone ON CONFLICT DO NOTHING",
                &[&owner, &after.as_secs_f64()],
            )
            .await?;
        if died > 0 {
            client
                .execute(
                    "UPDATE shards SET owner = NULL, lease_until = NULL, clean = false, epoch = epoch + 1
                     WHERE owner = $1",
                    &[&owner],
                )
                .await?;
            budget::return_of_gone(client, owner).await?;
        }
        Ok(died)
    })?;
    Ok(died > 0)
}

/// For tests and displays: how many messages wait in all inboxes.
pub(super) fn lag(session: &mut Session) -> Result<u64> {
    let row = session.query_one(
        "SELECT count(*) FROM inbox JOIN shards USING (shard) WHERE inbox.seq > shards.applied",
        &[],
    )?;
    let lag: i64 = row.try_get(0).map_err(|error| session.error(error))?;
    Ok(u64::try_from(lag.max(signed(0))).unwrap_or(0))
}
