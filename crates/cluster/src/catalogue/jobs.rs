//! Jobs, their states and their time series.

use crate::database::{Answer, Cells, DatabaseErrorKind, Result, Session, Time};
use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{Job, JobState, JobStats, NewJob};
use tokio_postgres::Row;

const COLUMNS: &str =
    "id, name, seeds_hash, spec, state, message, created_at, started_at, finished_at, \"user\"";

/// Rows deleted at once with a job, so that nobody waits long for their locks.
const PIECE: i64 = 10_000;

pub(super) fn create(session: &mut Session, job: &NewJob) -> Result<Job> {
    let state = Job::FIRST_STATE;
    let sql = "INSERT INTO jobs (name, seeds_hash, spec, state, created_at, \"user\")
               VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
    // Not repeated when the connection breaks: it would be created twice.
    if session.is_broken() {
        session.reconnect()?;
    }
    let id: i32 = session.run(async |connection| {
        let row = connection
            .query_one(
                sql,
                &[&job.name, &job.seeds_hash, &job.spec, &state.as_str(), &Time(job.created_at), &job.user],
            )
            .await?;
        row.try_get(0)
    })?;
    Ok(Job::created(JobId(id as u32), job))
}

/// In pieces, because there may be millions. The job itself is deleted last: after an interruption it can be deleted
/// again.
pub(super) fn delete(session: &mut Session, job: JobId) -> Result<()> {
    let id = job.0 as i32;
    for table in ["crawl_metadata", "fetches", "resources", "skipped", "errors"] {
        let sql = format!(
            "DELETE FROM {table} WHERE job = $1 AND id <= (
                 SELECT max(id) FROM (SELECT id FROM {table} WHERE job = $1 ORDER BY id LIMIT {PIECE}) AS piece)"
        );
        while session.repeat(async |connection| connection.execute(&sql, &[&id]).await)? > 0 {}
    }
    session.transaction(async |connection| {
        for table in ["job_counts", "job_stats", "outputs"] {
            connection.execute(&format!("DELETE FROM {table} WHERE job = $1"), &[&id]).await?;
        }
        connection.execute("DELETE FROM jobs WHERE id = $1", &[&id]).await?;
        Ok(())
    })
}

/// None if its state is unknown.
fn job(row: &Row) -> Answer<Option<Job>> {
    let mut from = Cells::of(row);
    let id = JobId(from.small()?);
    let name = from.take()?;
    let seeds_hash = from.take()?;
    let spec = from.take()?;
    let state: &str = from.take()?;
    let Some(state) = JobState::parse(state) else { return Ok(None) };
    Ok(Some(Job {
        id,
        name,
        seeds_hash,
        spec,
        state,
        message: from.optional_text()?,
        created_at: from.time()?,
        started_at: from.optional_time()?,
        finished_at: from.optional_time()?,
        user: from.take()?,
    }))
}

fn decoded(session: &Session, row: &Row) -> Result<Job> {
    job(row)
        .map_err(|error| session.error(error))?
        .ok_or_else(|| session.database().error(DatabaseErrorKind::Damaged, "a job has an unknown state"))
}

pub(super) fn all(session: &mut Session) -> Result<Vec<Job>> {
    let rows = session.query(&format!("SELECT {COLUMNS} FROM jobs ORDER BY id"), &[])?;
    rows.iter().map(|row| decoded(session, row)).collect()
}

pub(super) fn by_id(session: &mut Session, id: JobId) -> Result<Option<Job>> {
    let row = session.query_opt(&format!("SELECT {COLUMNS} FROM jobs WHERE id = $1"), &[&(id.0 as i32)])?;
    row.map(|row| decoded(session, &row)).transpose()
}

/// A name takes precedence over a hash.
pub(super) fn find(session: &mut Session, name_or_hash: &str) -> Result<Option<Job>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs WHERE name = $1 OR seeds_hash = $1
         ORDER BY name IS NOT DISTINCT FROM $1 DESC, id DESC LIMIT 1"
    );
    let row = session.query_opt(&sql, &[&name_or_hash])?;
    row.map(|row| decoded(session, &row)).transpose()
}

pub(super) fn latest(session: &mut Session) -> Result<Option<Job>> {
    let row = session.query_opt(&format!("SELECT {COLUMNS} FROM jobs ORDER BY id DESC LIMIT 1"), &[])?;
    row.map(|row| decoded(session, &row)).transpose()
}

pub(super) fn stats(session: &mut Session, job: JobId, since: Millis) -> Result<Vec<JobStats>> {
    let sql = "SELECT at, pages, failed, skipped, bytes, pending, in_progress, hosts_active, hosts_waiting
               FROM job_stats WHERE job = $1 AND at >= $2 ORDER BY at";
    let rows = session.query(sql, &[&(job.0 as i32), &Time(since)])?;
    let point = |row: &Row| {
        let mut from = Cells::of(row);
        Ok(JobStats {
            at: from.time()?,
            pages: from.number()?,
            failed: from.number()?,
            skipped: from.number()?,
            bytes: from.number()?,
            pending: from.number()?,
            in_progress: from.number()?,
            hosts_active: from.number()?,
            hosts_waiting: from.number()?,
        })
    };
    rows.iter().map(point).collect::<Answer<Vec<_>>>().map_err(|error| session.error(error))
}
