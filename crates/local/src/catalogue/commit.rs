//! One batch, one transaction.

use super::counts::{Changes, Counted};
use super::fetch::{self, RequestKey, request_key};
use super::page::{self, Place};
use super::{Next, SqliteCatalogue, hosts, jobs, resource};
use argiope_model::{JobId, SkipReason};
use argiope_store::catalogue::{
    Batch, Committed, ErrorRow, FetchRow, KEPT_BATCHES, PageKey, PageRow, PlacedPage, RobotsRow, SkippedRow,
    limit_of_cuts, url_key,
};
use rusqlite::{Connection, OptionalExtension, Statement, TransactionBehavior, params};
use sha2::{Digest, Sha256};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

pub(super) fn next_numbers(connection: &Connection) -> rusqlite::Result<Next> {
    let last = connection
        .query_row(
            "SELECT batch, next_page, next_fetch FROM batches ORDER BY batch DESC LIMIT 1",
            [],
            |row| {
                Ok(Next {
                    batch: row.get::<_, i64>(0)? as u64 + 1,
                    page: row.get::<_, i64>(1)? as u64,
                    fetch: row.get::<_, i64>(2)? as u64,
                })
            },
        )
        .optional()?;
    Ok(last.unwrap_or(Next { batch: 1, page: 1, fetch: 1 }))
}

pub(super) fn commit(catalogue: &mut SqliteCatalogue, batch: &Batch) -> rusqlite::Result<Committed> {
    let transaction = catalogue.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut next = catalogue.next;
    let number = next.batch;
    let mut changes = Changes::default();
    let mut placed = Vec::with_capacity(batch.pages.len());
    forget_pages(&transaction, &batch.forgotten, &mut changes)?;
    {
        let mut insert = transaction.prepare_cached(page::INSERT)?;
        for row in &batch.pages {
            let host = catalogue.hosts.of(&transaction, &row.host)?;
            let place = Place { seq: next.page, batch: number, host, repeated: false };
            if insert_page(&mut insert, row, &place)? {
                changes.new_page(row, place.seq);
                forget_refusal(&transaction, row, &mut catalogue.skipped_stored, &mut changes)?;
                placed.push(PlacedPage { seq: place.seq, repeated: false });
                next.page += 1;
            } else {
                let seq = repeat_page(&transaction, row, place, &mut changes)?;
                placed.push(PlacedPage { seq, repeated: true });
            }
        }
        let mut insert = transaction.prepare_cached(fetch::INSERT)?;
        let known = if batch.recovered { known_requests(&transaction, batch)? } else { HashSet::new() };
        for row in batch.fetches.iter().filter(|row| !known.contains(&request_key(row))) {
            let host = catalogue.hosts.of(&transaction, &row.host)?;
            fetch::bind(&mut insert, row, next.fetch, host)?;
            insert.raw_execute()?;
            changes.fetch(row, next.fetch);
            next.fetch += 1;
        }
    }
    resource::store(&transaction, &batch.resources, &mut changes)?;
    let limit = catalogue.skipped_limit;
    store_skipped(&transaction, &batch.skipped, limit, &mut catalogue.skipped_stored, &mut changes)?;
    for row in &batch.hosts {
        hosts::store(&transaction, row)?;
    }
    store_robots(&transaction, &batch.robots)?;
    store_errors(&transaction, &batch.errors)?;
    jobs::update(&transaction, &batch.jobs, &batch.stats)?;
    jobs::note_stops(&transaction, &batch.unclean_stops)?;
    changes.store(&transaction)?;
    store_positions(&transaction, batch)?;
    store_batch(&transaction, batch, number, next)?;
    transaction.commit()?;
    catalogue.next = Next { batch: number + 1, ..next };
    Ok(Committed { batch: number, pages: placed })
}

/// Removes pages and their counts. Files that list them are rewritten; a pipe cannot be.
fn forget_pages(connection: &Connection, keys: &[PageKey], changes: &mut Changes) -> rusqlite::Result<()> {
    let mut delete = connection.prepare_cached(include_str!("sql/page_forget.sql"))?;
    let mut jobs = BTreeSet::new();
    for key in keys {
        let mut rows =
            delete.query(params![key.url_key as i64, key.job.0, key.round, key.started.0 as i64])?;
        let Some(gone) = rows.next()? else { continue };
        let error: Option<String> = gone.get(1)?;
        let counted = Counted {
            status: gone.get(0)?,
            error: error.as_deref(),
            bytes: gone.get::<_, Option<i64>>(2)?.unwrap_or(0) as u64,
            noindex: gone.get(3)?,
            duplicate: gone.get(4)?,
            redirected: gone.get(5)?,
        };
        changes.forgotten_page(key.job, &counted);
        jobs.insert(key.job);
    }
    for job in jobs {
        connection
            .prepare_cached("UPDATE outputs SET seq = 0, length = 0 WHERE job = ?1 AND path <> '-'")?
            .execute([job.0])?;
    }
    Ok(())
}

/// False if the page is there already.
fn insert_page(insert: &mut Statement<'_>, row: &PageRow, place: &Place) -> rusqlite::Result<bool> {
    page::bind(insert, row, place)?;
    match insert.raw_execute() {
        Ok(_) => Ok(true),
        Err(rusqlite::Error::SqliteFailure(failure, _))
            if failure.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Overwrites a page in place and corrects its counts.
fn repeat_page(
    connection: &Connection,
    row: &PageRow,
    place: Place,
    changes: &mut Changes,
) -> rusqlite::Result<u64> {
    let mut find = connection.prepare_cached(include_str!("sql/page_counted.sql"))?;
    let mut rows = find.query(params![row.url_key as i64, row.job.0, row.round])?;
    let found = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let seq = found.get::<_, i64>(0)? as u64;
    let error: Option<String> = found.get(2)?;
    let before = Counted {
        status: found.get(1)?,
        error: error.as_deref(),
        bytes: found.get::<_, Option<i64>>(3)?.unwrap_or(0) as u64,
        noindex: found.get(4)?,
        duplicate: found.get(5)?,
        redirected: found.get(6)?,
    };
    changes.repeated_page(row.job, &before, &Counted::of(row));
    let mut update = connection.prepare_cached(page::UPDATE)?;
    page::bind(&mut update, row, &Place { seq, repeated: true, ..place })?;
    update.raw_execute()?;
    Ok(seq)
}

/// The stored requests that may equal one of a recovered batch: those of all batches closed since the earliest of its
/// requests started.
fn known_requests(connection: &Connection, batch: &Batch) -> rusqlite::Result<HashSet<RequestKey>> {
    let Some(earliest) = batch.fetches.iter().map(|row| row.timings.started.0).min() else {
        return Ok(HashSet::new());
    };
    let first: i64 = connection.query_row(
        "SELECT coalesce(max(next_fetch), 0) FROM batches WHERE at < ?1",
        [earliest as i64],
        |row| row.get(0),
    )?;
    let mut statement =
        connection.prepare("SELECT url_key, started, attempt, hop FROM fetches WHERE id >= ?1")?;
    let keys = statement.query_map([first], |row| {
        Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64, row.get(2)?, row.get(3)?))
    })?;
    keys.collect()
}

fn store_skipped(
    connection: &Connection,
    rows: &[SkippedRow],
    limit: u64,
    stored: &mut HashMap<JobId, u64>,
    changes: &mut Changes,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(include_str!("sql/skipped_insert.sql"))?;
    for row in rows {
        let count = stored_refusals(connection, row.job, stored)?;
        let limit = if SkipReason::CUTS.contains(&row.reason) { limit_of_cuts(limit) } else { limit };
        if *count >= limit {
            changes.skip(row);
            continue;
        }
        let new = insert.execute(params![
            row.stored_key() as i64,
            row.job.0,
            row.reason.as_str(),
            row.url,
            row.detail,
            row.source,
            row.url_key as i64,
            row.amount as i64
        ])?;
        if new > 0 {
            *count += 1;
            changes.skip(row);
        }
    }
    Ok(())
}

/// A URL may be skipped on one page and admitted from another: one that was requested does not count as skipped.
fn forget_refusal(
    connection: &Connection,
    row: &PageRow,
    stored: &mut HashMap<JobId, u64>,
    changes: &mut Changes,
) -> rusqlite::Result<()> {
    let count = stored_refusals(connection, row.job, stored)?;
    if *count == 0 {
        return Ok(());
    }
    let mut forget = connection.prepare_cached(include_str!("sql/skipped_forget.sql"))?;
    // A merged URL is stored under its own spelling; this is the one that was fetched.
    let spelling = Some(url_key(&row.page.url)).filter(|key| *key != row.url_key);
    for key in [Some(row.url_key), spelling].into_iter().flatten() {
        let reason: Option<String> =
            forget.query_row(params![key as i64, row.job.0], |found| found.get(0)).optional()?;
        if let Some(reason) = reason {
            *count = count.saturating_sub(1);
            if let Some(reason) =
                SkipReason::parse(&reason).filter(|reason| *reason != SkipReason::OverLinkLimit)
            {
                changes.forget_skip(row.job, reason);
            }
        }
    }
    Ok(())
}

/// How many skipped URLs of a job are stored; read when first needed.
fn stored_refusals<'s>(
    connection: &Connection,
    job: JobId,
    stored: &'s mut HashMap<JobId, u64>,
) -> rusqlite::Result<&'s mut u64> {
    match stored.entry(job) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(unknown) => {
            let count =
                connection.query_row("SELECT count(*) FROM skipped WHERE job = ?1", [job.0], |found| {
                    found.get::<_, i64>(0)
                })?;
            Ok(unknown.insert(count as u64))
        }
    }
}

fn store_robots(connection: &Connection, rows: &[RobotsRow]) -> rusqlite::Result<()> {
    for row in rows {
        let hash: [u8; 32] = Sha256::digest(&row.body).into();
        connection
            .prepare_cached("INSERT INTO robots_bodies (hash, body) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
            .execute(params![hash, row.body])?;
        connection.prepare_cached(include_str!("sql/robots_insert.sql"))?.execute(params![
            row.origin,
            row.fetched_at.0 as i64,
            row.status,
            hash
        ])?;
    }
    Ok(())
}

fn store_errors(connection: &Connection, rows: &[ErrorRow]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(include_str!("sql/error_insert.sql"))?;
    for row in rows {
        insert.execute(params![
            row.url_key as i64,
            row.job.0,
            row.round,
            row.attempt,
            row.host,
            row.url,
            row.kind,
            row.message,
            row.status,
            row.at.0 as i64,
            row.dead_letter
        ])?;
    }
    Ok(())
}

fn store_positions(connection: &Connection, batch: &Batch) -> rusqlite::Result<()> {
    let mut position = connection.prepare_cached(include_str!("sql/position_upsert.sql"))?;
    for file in &batch.archive {
        position.execute(params!["archive", file.file, file.length as i64])?;
    }
    if let Some(links) = batch.links {
        position.execute(params!["links", links.segment.to_string(), links.length as i64])?;
    }
    let mut output = connection.prepare_cached(include_str!("sql/output_upsert.sql"))?;
    for reached in &batch.outputs {
        output.execute(params![reached.job.0, reached.path, reached.seq as i64, reached.length as i64])?;
    }
    Ok(())
}

fn store_batch(connection: &Connection, batch: &Batch, number: u64, next: Next) -> rusqlite::Result<()> {
    // The time of a batch shows which requests cannot be in it; a caller's slow clock must not break that.
    let last_end = batch.fetches.iter().map(|row: &FetchRow| row.timings.ended.0).max().unwrap_or(0);
    connection
        .prepare_cached("INSERT INTO batches (batch, at, next_page, next_fetch) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            number as i64,
            batch.at.0.max(last_end) as i64,
            next.page as i64,
            next.fetch as i64
        ])?;
    if let Some(old) = number.checked_sub(KEPT_BATCHES) {
        connection.prepare_cached("DELETE FROM batches WHERE batch < ?1")?.execute([old as i64])?;
    }
    Ok(())
}
