//! Hosts have their own rows; pages and requests refer to them by number.

use argiope_model::Millis;
use argiope_store::catalogue::HostRow;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;

/// The size of the cache. When it is full it is cleared: the hosts in use are soon back.
const REMEMBERED: usize = 1 << 17;

#[derive(Default)]
pub(super) struct HostIds {
    known: HashMap<Box<str>, i64>,
}

impl HostIds {
    /// The number of a host, which gets one if needed.
    pub(super) fn of(&mut self, connection: &Connection, host: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.known.get(host) {
            return Ok(*id);
        }
        let found = connection
            .prepare_cached("SELECT id FROM hosts WHERE host = ?1")?
            .query_row([host], |row| row.get(0))
            .optional()?;
        let id = match found {
            Some(id) => id,
            None => connection.prepare_cached("INSERT INTO hosts (host) VALUES (?1)")?.insert([host])?,
        };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(host.into(), id);
        Ok(id)
    }

    pub(super) fn forget(&mut self) {
        self.known.clear();
    }
}

pub(super) fn store(connection: &Connection, row: &HostRow) -> rusqlite::Result<()> {
    connection.prepare_cached(include_str!("sql/host_upsert.sql"))?.execute(params![
        row.host,
        row.root_domain,
        row.robots_text,
        row.robots_fetched_at.map(|at| at.0 as i64),
        row.robots_status,
        row.crawl_delay_ms.map(|ms| ms as i64),
        row.delay_ms as i64,
        row.is_allowed,
        row.page_count as i64,
        row.error_count as i64,
        row.bytes as i64,
        row.last_request_at.map(|at| at.0 as i64),
    ])?;
    Ok(())
}

pub(super) fn find(connection: &Connection, host: &str) -> rusqlite::Result<Option<HostRow>> {
    let number = |number: i64| number as u64;
    let instant = |ms: i64| Millis(ms as u64);
    connection
        .prepare_cached(include_str!("sql/host_select.sql"))?
        .query_row([host], |row| {
            Ok(HostRow {
                host: row.get(0)?,
                root_domain: row.get(1)?,
                robots_text: row.get(2)?,
                robots_fetched_at: row.get::<_, Option<i64>>(3)?.map(instant),
                robots_status: row.get(4)?,
                crawl_delay_ms: row.get::<_, Option<i64>>(5)?.map(number),
                delay_ms: row.get(6).map(number)?,
                is_allowed: row.get(7)?,
                page_count: row.get(8).map(number)?,
                error_count: row.get(9).map(number)?,
                bytes: row.get(10).map(number)?,
                last_request_at: row.get::<_, Option<i64>>(11)?.map(instant),
            })
        })
        .optional()
}
