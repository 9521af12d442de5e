//! Pages of a job's `max_pages` that owners may still store. They are granted in pieces that get smaller, down to one
//! page near the end. An owner returns what it has not used when it leaves, or when it is declared dead.

use super::leases::signed;
use crate::database::{Connection, Result, Session};
use argiope_model::JobId;

/// The largest piece.
const MOST: i64 = 1_000;
/// A piece is this share of an equal part per member.
const SHARE: i64 = 4;

/// The row from which pages are granted. Safe to call again: increases of the limit are added, decreases subtracted;
/// the value is negative while more is granted than the limit allows. A job that had no limit may have stored pages:
/// they count.
pub fn set_budget(session: &mut Session, job: JobId, old_max: Option<u64>, max: u64) -> Result<()> {
    session.query(
        "INSERT INTO budgets (job, left_over, max_pages)
         VALUES ($1, $2 - (
             SELECT coalesce(sum(count), 0) FROM job_counts WHERE job = $1 AND class = 'status'
         )::bigint, $2)
         ON CONFLICT (job) DO UPDATE
         SET left_over = budgets.left_over + $2 - coalesce(budgets.max_pages, $3, $2), max_pages = $2",
        &[&id(job), &signed(max), &old_max.map(signed)],
    )?;
    Ok(())
}

/// How many more pages `owner` may store; 0 if there are none left now. If a request was executed but its response was
/// lost, `held` reveals that, and its pages are returned now.
pub(super) fn take(session: &mut Session, job: JobId, owner: &str, held: u64) -> Result<u64> {
    let taken = session.transaction(async |client| {
        if !is_member(client, owner).await? {
            return Ok(0);
        }
        let members: i64 = client.query_one("SELECT count(*) FROM members", &[]).await?.try_get(0)?;
        // Locked until the end of the transaction: concurrent requests wait.
        let left = "SELECT left_over FROM budgets WHERE job = $1 FOR UPDATE";
        let left: i64 =
            client.query_opt(left, &[&id(job)]).await?.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
        let before = "SELECT taken FROM grants WHERE job = $1 AND owner = $2";
        let before: Option<i64> =
            client.query_opt(before, &[&id(job), &owner]).await?.map(|row| row.try_get(0)).transpose()?;
        let unknown = before.unwrap_or(0) - signed(held);
        if unknown > 0 {
            return Ok(unknown);
        }
        let pages = piece(left, members);
        if pages > 0 {
            let less = "UPDATE budgets SET left_over = left_over - $2 WHERE job = $1";
            client.execute(less, &[&id(job), &pages]).await?;
            client
                .execute(
                    "INSERT INTO grants (job, owner, taken) VALUES ($1, $2, $3)
                     ON CONFLICT (job, owner) DO UPDATE SET taken = grants.taken + $3",
                    &[&id(job), &owner, &pages],
                )
                .await?;
        }
        Ok(pages)
    })?;
    Ok(u64::try_from(taken).unwrap_or(0))
}

/// The member's row is locked until the end of the transaction: a leader that declares it dead waits, and then finds
/// all its grants.
async fn is_member(client: &Connection, owner: &str) -> std::result::Result<bool, tokio_postgres::Error> {
    let row = client.query_opt("SELECT 1 FROM members WHERE owner = $1 FOR KEY SHARE", &[&owner]).await?;
    Ok(row.is_some())
}

fn piece(left: i64, members: i64) -> i64 {
    (left / (members.max(1) * SHARE)).clamp(1, MOST).min(left.max(0))
}

/// `owner` now holds at most `held` pages: the rest of its grant is returned. Calling it twice has no further effect.
pub(super) fn give_back(session: &mut Session, job: JobId, owner: &str, held: u64) -> Result<()> {
    session.transaction(async |client| {
        if !is_member(client, owner).await? {
            return Ok(());
        }
        client.query("SELECT 1 FROM budgets WHERE job = $1 FOR UPDATE", &[&id(job)]).await?;
        client
            .execute(
                "WITH before AS (SELECT taken FROM grants WHERE job = $1 AND owner = $2),
                 kept AS (
                     UPDATE grants SET taken = $3 WHERE job = $1 AND owner = $2 AND taken > $3 RETURNING taken
                 )
                 UPDATE budgets SET left_over = left_over + before.taken - kept.taken
                 FROM before, kept WHERE budgets.job = $1",
                &[&id(job), &owner, &signed(held)],
            )
            .await?;
        Ok(())
    })
}

/// Returns what an owner that is gone was granted and has not stored. Its member row is deleted in the same
/// transaction, so that it can store nothing more.
pub(super) async fn return_of_gone(
    client: &Connection,
    owner: &str,
) -> std::result::Result<(), tokio_postgres::Error> {
    let taken = "WITH gone AS (DELETE FROM grants WHERE owner = $1 RETURNING job, taken)
                 SELECT job, taken FROM gone ORDER BY job";
    for row in client.query(taken, &[&owner]).await? {
        let (job, taken): (i32, i64) = (row.try_get(0)?, row.try_get(1)?);
        let stored: i64 = client
            .query_one(
                "SELECT count(*) FROM crawl_metadata
                 WHERE job = $1 AND status_code IS NOT NULL AND worker_id LIKE $2 ESCAPE '!'",
                &[&job, &format!("{}/%", owner.replace('!', "!!").replace('%', "!%").replace('_', "!_"))],
            )
            .await?
            .try_get(0)?;
        client
            .execute(
                "UPDATE budgets SET left_over = left_over + $2::bigint WHERE job = $1",
                &[&job, &(taken - stored)],
            )
            .await?;
    }
    Ok(())
}

pub(super) fn id(job: JobId) -> i32 {
    i32::try_from(job.0).unwrap_or(i32::MAX)
}
