//! The cluster as an operator sees it.

use super::leader;
use crate::database::{Cells, Result, Session};
use serde::Serialize;

/// A worker; its fields in this order.
#[derive(Clone, Debug, Serialize)]
pub struct MemberStatus {
    pub name: String,
    /// working, leaving, silent, dead
    pub state: String,
    pub shards: u64,
    pub pages: u64,
    pub active: u64,
    pub queued: u64,
    pub joined_at: String,
    pub seen_seconds_ago: u64,
    pub note: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ClusterStatus {
    pub workers: Vec<MemberStatus>,
    /// In all, and those that nobody has.
    pub shards: u64,
    pub shards_free: u64,
    /// URLs that wait.
    pub queue: u64,
    /// Messages that were sent to shards and not taken in. None where they are in Kafka and it cannot be asked.
    pub lag: Option<u64>,
    /// Pages that are stored and not published yet; None where nothing is published.
    pub unpublished: Option<u64>,
    pub jobs_running: u64,
    pub leader: Option<String>,
    /// Files of the archive that are on the workers' disks, in no object store.
    pub archive_files_on_disks: u64,
}

/// `lag` is that of the inboxes; see [`super::log_lag`] where the logs are in Kafka.
pub fn cluster_status(session: &mut Session) -> Result<ClusterStatus> {
    let rows = session.query(
        "SELECT worker,
             CASE WHEN lease_until > clock_timestamp() THEN state
                  WHEN seen_at > clock_timestamp() - interval '2 minutes' THEN 'silent' ELSE 'dead' END,
             (SELECT count(*) FROM shards WHERE shards.owner = members.owner), pages, active::bigint, queued,
             joined_at, greatest(0, extract(epoch FROM clock_timestamp() - seen_at))::bigint, note
         FROM members
         UNION ALL
         SELECT worker, state, 0, pages, 0, 0, joined_at,
             extract(epoch FROM clock_timestamp() - gone_at)::bigint, NULL
         FROM former_members WHERE state = 'dead' AND gone_at > clock_timestamp() - interval '10 minutes'
         ORDER BY 1, 7",
        &[],
    )?;
    let mut workers = Vec::with_capacity(rows.len());
    for row in &rows {
        let read = |row| -> std::result::Result<MemberStatus, tokio_postgres::Error> {
            let mut cells = Cells::of(row);
            Ok(MemberStatus {
                name: cells.text()?,
                state: cells.text()?,
                shards: cells.number()?,
                pages: cells.number()?,
                active: cells.number()?,
                queued: cells.number()?,
                joined_at: cells.time()?.rfc3339(),
                seen_seconds_ago: cells.number()?,
                note: cells.optional_text()?,
            })
        };
        workers.push(read(row).map_err(|error| session.error(error))?);
    }
    let row = session.query_one(
        "SELECT (SELECT count(*) FROM shards),
             (SELECT count(*) FROM shards WHERE owner IS NULL OR lease_until < clock_timestamp()),
             (SELECT count(*) FROM urls), (SELECT count(*) FROM jobs WHERE state = 'running'),
             (SELECT worker FROM leader JOIN members USING (owner) WHERE leader.lease_until > clock_timestamp()),
             (SELECT count(*) FROM positions WHERE store = 'archive' AND kept_at IS NULL)",
        &[],
    )?;
    let lag = leader::lag(session)?;
    let read = || -> std::result::Result<ClusterStatus, tokio_postgres::Error> {
        let mut cells = Cells::of(&row);
        Ok(ClusterStatus {
            workers,
            shards: cells.number()?,
            shards_free: cells.number()?,
            queue: cells.number()?,
            jobs_running: cells.number()?,
            leader: cells.optional_text()?,
            archive_files_on_disks: cells.number()?,
            lag: Some(lag),
            unpublished: None,
        })
    };
    read().map_err(|error| session.error(error))
}
