//! Members and the shards they have, by the database's clock.

use super::budget;
use super::leader::declare_dead;
use crate::database::{Connection, Result, Session};
use argiope_frontier::LastStop;
use argiope_frontier::ownership::Seat;
use argiope_model::Millis;
use argiope_store::clock::now;
use std::time::Duration;

/// What a worker reports with every renewal.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub pages: u64,
    pub active: u32,
    pub queued: u64,
    pub hosts: u64,
    /// The problem, if there is one.
    pub note: Option<String>,
}

/// A shard as stored in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) owner: Option<String>,
    pub(super) epoch: i64,
    /// Whether its lease holds.
    pub(super) holds: bool,
}

impl Row {
    pub(super) fn seat(&self) -> Seat<'_> {
        match &self.owner {
            None => Seat::Free,
            Some(_) if !self.holds => Seat::Lapsed,
            Some(owner) => Seat::Owned(owner),
        }
    }
}

/// The current state of the table.
#[derive(Debug, Default)]
pub(super) struct Renewed {
    /// All shards, in order.
    pub(super) shards: Vec<Row>,
    /// The workers that are alive and stay, by owner name.
    pub(super) working: Vec<String>,
}

/// A shard that has just been taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) shard: u16,
    pub(super) epoch: i64,
    pub(super) applied: u64,
    pub(super) last_stop: LastStop,
    /// What its log has lost.
    pub(super) loss: Option<String>,
}

/// The leases of one member.
#[derive(Clone, Debug)]
pub(super) struct Leases {
    pub(super) owner: String,
    pub(super) worker: String,
    pub(super) length: Duration,
}

impl Leases {
    fn seconds(&self) -> f64 {
        self.length.as_secs_f64()
    }

    pub(super) fn join(&self, session: &mut Session) -> Result<()> {
        // A name belongs to a disk: an earlier process with this name and without a lease is not waited for.
        let former = session.query(
            "SELECT owner FROM members WHERE worker = $1 AND owner <> $2 AND lease_until < clock_timestamp()",
            &[&self.worker, &self.owner],
        )?;
        for row in former {
            let owner: String = row.try_get(0).map_err(|error| session.error(error))?;
            declare_dead(session, &owner, Duration::ZERO)?;
        }
        session.query(
            "INSERT INTO members (owner, worker, state, lease_until)
             VALUES ($1, $2, 'working', clock_timestamp() + make_interval(secs => $3))
             ON CONFLICT (owner) DO NOTHING",
            &[&self.owner, &self.worker, &self.seconds()],
        )?;
        Ok(())
    }

    /// None if this member was declared dead meanwhile. However long ago the last renewal was: a shard with its name
    /// has had no other owner since, because taking a shard changes the name in a transaction that locks its row.
    pub(super) fn renew(&self, session: &mut Session, figures: &Figures) -> Result<Option<Renewed>> {
        let (pages, queued) = (signed(figures.pages), signed(figures.queued));
        let (active, hosts) = (i32::try_from(figures.active).unwrap_or(i32::MAX), signed(figures.hosts));
        session.transaction(async |client| {
            let alive = client
                .execute(
                    "UPDATE members SET seen_at = clock_timestamp(), pages = $3, active = $4, queued = $5,
                         hosts = $6, note = $7, lease_until = clock_timestamp() + make_interval(secs => $2)
                     WHERE owner = $1",
                    &[&self.owner, &self.seconds(), &pages, &active, &queued, &hosts, &figures.note],
                )
                .await?;
            if alive == 0 {
                return Ok(None);
            }
            client
                .execute(
                    // In the lock order that everybody uses.
                    "UPDATE shards SET lease_until = clock_timestamp() + make_interval(secs => $2)
                     WHERE shard IN (SELECT shard FROM shards WHERE owner = $1 ORDER BY shard FOR NO KEY UPDATE)",
                    &[&self.owner, &self.seconds()],
                )
                .await?;
            self.look(client).await.map(Some)
        })
    }

    pub(super) fn look_now(&self, session: &mut Session) -> Result<Renewed> {
        session.repeat(async |client| self.look(client).await)
    }

    /// The current owners.
    async fn look(&self, client: &Connection) -> std::result::Result<Renewed, tokio_postgres::Error> {
        let mut renewed = Renewed::default();
        let shards = "SELECT owner, epoch, coalesce(lease_until >= clock_timestamp(), false) FROM shards ORDER BY shard";
        for row in client.query(shards, &[]).await? {
            renewed.shards.push(Row {
                owner: row.try_get(0)?,
                epoch: row.try_get(1)?,
                holds: row.try_get(2)?,
            });
        }
        let working = "SELECT owner FROM members WHERE state = 'working' AND lease_until > clock_timestamp() ORDER BY owner";
        for row in client.query(working, &[]).await? {
            renewed.working.push(row.try_get(0)?);
        }
        Ok(renewed)
    }

    /// Takes those of the shards that nobody holds at this moment. The epoch is raised, so their last owner can write
    /// nothing more.
    pub(super) fn take(&self, session: &mut Session, shards: &[u16]) -> Result<Vec<Taken>> {
        let shards: Vec<i32> = shards.iter().map(|shard| i32::from(*shard)).collect();
        let rows = session.query(
            "WITH free AS (
                 SELECT shard, owner IS NULL AND clean AS clean FROM shards
                 WHERE shard = ANY($2) AND (owner IS NULL OR lease_until < clock_timestamp())
                     AND EXISTS (SELECT 1 FROM members WHERE owner = $1)
                 ORDER BY shard FOR UPDATE
             )
             UPDATE shards SET owner = $1, epoch = epoch + 1, clean = false,
                 lease_until = clock_timestamp() + make_interval(secs => $3),
                 killed_at = CASE WHEN free.clean THEN killed_at ELSE clock_timestamp() END
             FROM free WHERE shards.shard = free.shard
             RETURNING shards.shard, epoch, applied, free.clean,
                 (extract(epoch FROM clock_timestamp() - killed_at) * 1000)::bigint,
                 (SELECT what FROM log_losses WHERE log_losses.shard = shards.shard)",
            &[&self.owner, &shards, &self.seconds()],
        )?;
        let mut taken = Vec::with_capacity(rows.len());
        for row in rows {
            let read = || -> std::result::Result<Taken, tokio_postgres::Error> {
                let (clean, killed_ago): (bool, Option<i64>) = (row.try_get(3)?, row.try_get(4)?);
                Ok(Taken {
                    shard: u16::try_from(row.try_get::<_, i32>(0)?).unwrap_or(u16::MAX),
                    epoch: row.try_get(1)?,
                    applied: row.try_get::<_, i64>(2)? as u64,
                    last_stop: match killed_ago {
                        _ if !clean => LastStop::Unclean,
                        Some(ago) => LastStop::CleanAfterKill(before_now(ago)),
                        None => LastStop::Clean,
                    },
                    loss: row.try_get(5)?,
                })
            };
            taken.push(read().map_err(|error| session.error(error))?);
        }
        Ok(taken)
    }

    /// Releases a shard. `clean` if its hosts' next request times are stored.
    pub(super) fn release(&self, session: &mut Session, shard: u16, clean: bool) -> Result<()> {
        session.query(
            "UPDATE shards SET owner = NULL, lease_until = NULL, clean = $3, epoch = epoch + 1
             WHERE shard = $2 AND owner = $1",
            &[&self.owner, &i32::from(shard), &clean],
        )?;
        Ok(())
    }

    /// Returns their number.
    pub(super) fn release_all(&self, session: &mut Session, clean: bool) -> Result<usize> {
        let released = session.query(
            "UPDATE shards SET owner = NULL, lease_until = NULL, clean = $2, epoch = epoch + 1 WHERE owner = $1
             RETURNING shard",
            &[&self.owner, &clean],
        )?;
        Ok(released.len())
    }

    /// Others need not wait for it, and it gets no more shards.
    pub(super) fn announce_leave(&self, session: &mut Session) -> Result<()> {
        session.query("UPDATE members SET state = 'leaving' WHERE owner = $1", &[&self.owner])?;
        Ok(())
    }

    /// The unused part of its budget grants is available to others from now on.
    pub(super) fn leave(&self, session: &mut Session) -> Result<()> {
        session.transaction(async |client| {
            client
                .execute(
                    "WITH gone AS (DELETE FROM members WHERE owner = $1 RETURNING *)
                     INSERT INTO former_members (owner, worker, state, joined_at, pages)
                     SELECT owner, worker, 'left', joined_at, pages FROM gone ON CONFLICT DO NOTHING",
                    &[&self.owner],
                )
                .await?;
            budget::return_of_gone(client, &self.owner).await
        })
    }
}

/// This many milliseconds ago by the clock of this machine, whatever the database's clock shows.
fn before_now(ago: i64) -> Millis {
    Millis(now().0.saturating_sub(u64::try_from(ago).unwrap_or(0)))
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
