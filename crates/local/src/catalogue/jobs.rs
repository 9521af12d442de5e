//! Jobs, their states and their time series.

use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{Job, JobState, JobStats, JobUpdate, NewJob, UncleanStop};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

const COLUMNS: &str =
    "SELECT id, name, seeds_hash, spec, state, message, created_at, started_at, finished_at, user FROM jobs";

pub(super) fn create(connection: &Connection, job: &NewJob) -> rusqlite::Result<Job> {
    let state = Job::FIRST_STATE;
    connection.execute(
        "INSERT INTO jobs (name, seeds_hash, spec, state, created_at, user) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![job.name, job.seeds_hash, job.spec, state.as_str(), job.created_at.0 as i64, job.user],
    )?;
    let number = connection.last_insert_rowid();
    let id = u32::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, number))?;
    Ok(Job::created(JobId(id), job))
}

pub(super) fn delete(connection: &mut Connection, job: JobId) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (table, column) in [
        ("pages", "job"),
        ("fetches", "job"),
        ("resources", "job"),
        ("skipped", "job"),
        ("errors", "job"),
        ("job_counts", "job"),
        ("job_stats", "job"),
        ("outputs", "job"),
        ("unclean_stops", "job"),
        ("jobs", "id"),
    ] {
        transaction.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), [job.0])?;
    }
    transaction.commit()
}

pub(super) fn update(
    connection: &Connection,
    updates: &[JobUpdate],
    stats: &[(JobId, JobStats)],
) -> rusqlite::Result<()> {
    for update in updates {
        let state = update.state.map(JobState::as_str);
        let at = update.at.0 as i64;
        let starts = update.state == Some(JobState::Running);
        let ends = update.state.is_some_and(JobState::is_finished);
        connection.prepare_cached(include_str!("sql/job_update.sql"))?.execute(params![
            update.job.0,
            state,
            update.message,
            update.spec,
            starts.then_some(at),
            ends.then_some(at)
        ])?;
    }
    for (job, point) in stats {
        connection.prepare_cached(include_str!("sql/stats_insert.sql"))?.execute(params![
            job.0,
            point.at.0 as i64,
            point.pages as i64,
            point.failed as i64,
            point.skipped as i64,
            point.bytes as i64,
            point.pending as i64,
            point.in_progress as i64,
            point.hosts_active as i64,
            point.hosts_waiting as i64
        ])?;
    }
    Ok(())
}

pub(super) fn note_stops(connection: &Connection, stops: &[UncleanStop]) -> rusqlite::Result<()> {
    for stop in stops {
        connection.execute(
            "INSERT INTO unclean_stops (job, found_at, recovered_visits) VALUES (?1, ?2, ?3)",
            params![stop.job.map(|job| job.0), stop.found_at.0 as i64, stop.recovered_visits as i64],
        )?;
    }
    Ok(())
}

pub(super) fn unclean_stops(
    connection: &Connection,
    job: Option<JobId>,
) -> rusqlite::Result<Vec<UncleanStop>> {
    connection
        .prepare_cached(
            "SELECT job, found_at, recovered_visits FROM unclean_stops
             WHERE ?1 IS NULL OR job = ?1 ORDER BY id",
        )?
        .query_map([job.map(|job| job.0)], |row| {
            Ok(UncleanStop {
                job: row.get::<_, Option<u32>>(0)?.map(JobId),
                found_at: Millis(row.get::<_, i64>(1)? as u64),
                recovered_visits: row.get::<_, i64>(2)? as u64,
            })
        })?
        .collect()
}

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    let instant = |ms: i64| Millis(ms as u64);
    let word: String = row.get(4)?;
    let state = JobState::parse(&word).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(4, Type::Text, format!("unknown state '{word}'").into())
    })?;
    Ok(Job {
        id: JobId(row.get(0)?),
        name: row.get(1)?,
        seeds_hash: row.get(2)?,
        spec: row.get(3)?,
        state,
        message: row.get(5)?,
        created_at: row.get(6).map(instant)?,
        started_at: row.get::<_, Option<i64>>(7)?.map(instant),
        finished_at: row.get::<_, Option<i64>>(8)?.map(instant),
        user: row.get(9)?,
    })
}

pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<Job>> {
    connection.prepare_cached(&format!("{COLUMNS} ORDER BY id"))?.query_map([], job)?.collect()
}

pub(super) fn by_id(connection: &Connection, id: JobId) -> rusqlite::Result<Option<Job>> {
    connection.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?.query_row([id.0], job).optional()
}

/// A name takes precedence over a hash.
pub(super) fn find(connection: &Connection, name_or_hash: &str) -> rusqlite::Result<Option<Job>> {
    let sql =
        format!("{COLUMNS} WHERE name = ?1 OR seeds_hash = ?1 ORDER BY name IS ?1 DESC, id DESC LIMIT 1");
    connection.prepare_cached(&sql)?.query_row([name_or_hash], job).optional()
}

pub(super) fn latest(connection: &Connection) -> rusqlite::Result<Option<Job>> {
    connection.prepare_cached(&format!("{COLUMNS} ORDER BY id DESC LIMIT 1"))?.query_row([], job).optional()
}

pub(super) fn stats(connection: &Connection, job: JobId, since: Millis) -> rusqlite::Result<Vec<JobStats>> {
    let number = |number: i64| number as u64;
    connection
        .prepare_cached(include_str!("sql/stats_select.sql"))?
        .query_map(params![job.0, since.0.min(i64::MAX as u64) as i64], |row| {
            Ok(JobStats {
                at: Millis(row.get(0).map(number)?),
                pages: row.get(1).map(number)?,
                failed: row.get(2).map(number)?,
                skipped: row.get(3).map(number)?,
                bytes: row.get(4).map(number)?,
                pending: row.get(5).map(number)?,
                in_progress: row.get(6).map(number)?,
                hosts_active: row.get(7).map(number)?,
                hosts_waiting: row.get(8).map(number)?,
            })
        })?
        .collect()
}
