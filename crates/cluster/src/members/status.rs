//! The state of the cluster for an operator.

use super::leader;
use super::losses::{LogLoss, log_losses};
use crate::database::{Cells, Result, Session};
use crate::receiving::ReceivedUrls;
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// The total number of shards, and those without an owner.
    pub shards: u64,
    pub shards_free: u64,
    /// Queued URLs.
    pub queue: u64,
    /// Messages sent to shards and not applied. None if they are in Kafka and it is unreachable.
    pub lag: Option<u64>,
    /// Pages that are stored and not published yet; None if nothing is published.
    pub unpublished: Option<u64>,
    /// The topic `url_ingest`; None if there is none.
    pub url_ingest: Option<ReceivedUrls>,
    pub jobs_running: u64,
    pub leader: Option<String>,
    /// Archive files that are on the workers' disks and not in the object store.
    pub archive_files_on_disks: u64,
    /// Logs with losses that are not accepted.
    pub log_losses: Vec<LogLoss>,
    /// Files lost with a worker's disk, and the pages whose content was in them.
    pub archive_files_lost: u64,
    pub pages_lost: u64,
    /// Link segments on the workers' disks, and those lost with one.
    pub link_segments_on_disks: u64,
    pub link_segments_lost: u64,
    /// Absent workers with files on their disks, and how many.
    pub absent: BTreeMap<String, u64>,
}

/// `lag` counts the inboxes; see [`super::log_lag`] for logs in Kafka.
pub fn cluster_status(session: &mut Session) -> Result<ClusterStatus> {
    let rows = session.query(
        "SELECT worker,
             CASE WHEN lease_until > clock_timestamp() THEN state
                  WHEN seen_at > clock_timestamp() - interval '2 minutes' THEN 'silent' ELSE 'dead' END,
             (SELECT count(*) FROM shards WHERE shards.owner = members.owner), pages, active::bigint, queued,
             joined_at, greatest(0, extract(epoch FROM clock_timestamp() - seen_at))::bigint, note
         FROM members
         UNION ALL
         (SELECT DISTINCT ON (worker) worker, state, 0, pages, 0, 0, joined_at,
             extract(epoch FROM clock_timestamp() - gone_at)::bigint, NULL
         FROM former_members WHERE state = 'dead' AND gone_at > clock_timestamp() - interval '10 minutes'
             AND NOT EXISTS (SELECT 1 FROM members WHERE members.worker = former_members.worker)
         ORDER BY worker, gone_at DESC)
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
             (SELECT count(*) FROM positions WHERE store = 'archive' AND kept_at IS NULL AND lost_at IS NULL),
             (SELECT count(*) FROM positions WHERE store = 'archive' AND lost_at IS NOT NULL),
             (SELECT count(*) FROM crawl_metadata WHERE archive_lost),
             (SELECT count(*) FROM positions WHERE store = 'links' AND kept_at IS NULL AND lost_at IS NULL),
             (SELECT count(*) FROM positions WHERE store = 'links' AND lost_at IS NOT NULL)",
        &[],
    )?;
    let absent = absent_with_files(session)?;
    let lag = leader::lag(session)?;
    let log_losses = log_losses(session)?;
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
            archive_files_lost: cells.number()?,
            pages_lost: cells.number()?,
            link_segments_on_disks: cells.number()?,
            link_segments_lost: cells.number()?,
            absent,
            lag: Some(lag),
            unpublished: None,
            url_ingest: None,
            log_losses,
        })
    };
    read().map_err(|error| session.error(error))
}

fn absent_with_files(session: &mut Session) -> Result<BTreeMap<String, u64>> {
    let rows = session.query(
        "SELECT worker, count(*) FROM positions
         WHERE kept_at IS NULL AND lost_at IS NULL
           AND NOT EXISTS (SELECT FROM members WHERE members.worker = positions.worker)
         GROUP BY worker",
        &[],
    )?;
    let read = |row| -> std::result::Result<(String, u64), tokio_postgres::Error> {
        let mut cells = Cells::of(row);
        Ok((cells.text()?, cells.number()?))
    };
    rows.iter().map(|row| read(row).map_err(|error| session.error(error))).collect()
}

/// Whether a worker of this name holds its lease.
pub fn is_up(session: &mut Session, worker: &str) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM members WHERE worker = $1 AND lease_until > clock_timestamp())";
    session.query_one(sql, &[&worker])?.try_get(0).map_err(|error| session.error(error))
}
