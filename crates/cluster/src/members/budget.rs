//! Pages of a job's `max_pages` that owners may still store. They are taken in pieces, smaller and smaller, and of one page
//! near the end; what an owner has not used goes back when it leaves, or when it is found dead.

use super::leases::signed;
use crate::database::{Connection, Result, Session};
use argiope_model::JobId;

/// The largest piece.
const MOST: i64 = 1_000;
/// A piece is this share of what each member would get.
const SHARE: i64 = 4;

/// The row from which pages are taken. Safe to be called again: a limit that has grown adds to it.
pub fn set_budget(session: &mut Session, job: JobId, old_max: Option<u64>, max: u64) -> Result<()> {
    let more = signed(max.saturating_sub(old_max.unwrap_or(0)));
    session.query(
        "INSERT INTO budgets (job, left_over) VALUES ($1, $2)
         ON CONFLICT (job) DO UPDATE SET left_over = budgets.left_over + $3::bigint",
        &[&id(job), &signed(max), &if old_max.is_some() { more } else { 0 }],
    )?;
    Ok(())
}

/// How many pages `owner` may store in addition; 0 if there are none left now.
pub(super) fn take(session: &mut Session, job: JobId, owner: &str) -> Result<u64> {
    let taken = session.transaction(async |client| {
        let members: i64 = client.query_one("SELECT count(*) FROM members", &[]).await?.try_get(0)?;
        let row = client
            .query_opt(
                "WITH before AS (SELECT left_over FROM budgets WHERE job = $1 FOR UPDATE)
                 UPDATE budgets b
                 SET left_over = b.left_over - least(b.left_over, least($2::bigint, greatest(1, b.left_over / ($3::bigint * $4::bigint))))
                 FROM before WHERE b.job = $1 RETURNING before.left_over - b.left_over",
                &[&id(job), &MOST, &members.max(1), &SHARE],
            )
            .await?;
        let taken: i64 = row.map(|row| row.try_get(0)).transpose()?.unwrap_or(0);
        if taken > 0 {
            client
                .execute(
                    "INSERT INTO grants (job, owner, taken) VALUES ($1, $2, $3)
                     ON CONFLICT (job, owner) DO UPDATE SET taken = grants.taken + $3",
                    &[&id(job), &owner, &taken],
                )
                .await?;
        }
        Ok(taken)
    })?;
    Ok(u64::try_from(taken).unwrap_or(0))
}

/// Pages that `owner` has taken and does not need.
pub(super) fn give_back(session: &mut Session, job: JobId, owner: &str, pages: u64) -> Result<()> {
    session.transaction(async |client| {
        let taken = client
            .execute(
                "UPDATE grants SET taken = taken - $3 WHERE job = $1 AND owner = $2 AND taken >= $3",
                &[&id(job), &owner, &signed(pages)],
            )
            .await?;
        if taken > 0 {
            client
                .execute(
                    "UPDATE budgets SET left_over = left_over + $2 WHERE job = $1",
                    &[&id(job), &signed(pages)],
                )
                .await?;
        }
        Ok(())
    })
}

/// What a dead owner had taken and not stored goes back. Its row among the members is gone in the same transaction, so that
/// it can store nothing more.
pub(super) async fn return_of_dead(
    client: &Connection,
    owner: &str,
) -> std::result::Result<(), tokio_postgres::Error> {
    for row in client.query("DELETE FROM grants WHERE owner = $1 RETURNING job, taken", &[&owner]).await? {
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
                "UPDATE budgets SET left_over = left_over + greatest(0, $2::bigint) WHERE job = $1",
                &[&job, &(taken - stored)],
            )
            .await?;
    }
    Ok(())
}

pub(super) fn id(job: JobId) -> i32 {
    i32::try_from(job.0).unwrap_or(i32::MAX)
}
