//! Changes of jobs by users. Members see them when they look at the table of jobs.

use super::budget::id;
use crate::database::{Result, Session};
use argiope_model::JobId;
use argiope_store::catalogue::JobState;

/// Rows deleted at once with a job, so that nobody waits long for their locks.
const PIECE: i64 = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobMove {
    Done,
    /// It has ended, in this state.
    Finished(String),
    Unknown,
}

/// Sets the state of a job that has not ended. The leader may end it at the same moment: one of the two wins.
pub fn move_open_job(
    session: &mut Session,
    job: JobId,
    state: JobState,
    message: Option<&str>,
) -> Result<JobMove> {
    let mut tries = 0;
    session.transaction(async |client| {
        tries += 1;
        let sql = "SELECT state FROM jobs WHERE id = $1 FOR UPDATE";
        let Some(row) = client.query_opt(sql, &[&id(job)]).await? else { return Ok(JobMove::Unknown) };
        let found: String = row.try_get(0)?;
        if JobState::parse(&found).is_some_and(JobState::is_finished) {
            // After a broken connection this may be what the first try has done.
            let is_ours = tries > 1 && found == state.as_str();
            return Ok(if is_ours { JobMove::Done } else { JobMove::Finished(found) });
        }
        client
            .execute(
                "UPDATE jobs SET state = $2, message = $3,
                     started_at = CASE WHEN $4 THEN coalesce(started_at, clock_timestamp()) ELSE started_at END,
                     finished_at = CASE WHEN $5 THEN clock_timestamp() END
                 WHERE id = $1",
                &[&id(job), &state.as_str(), &message, &(state == JobState::Running), &state.is_finished()],
            )
            .await?;
        Ok(JobMove::Done)
    })
}

/// Replaces the settings of a job; members apply them from the next request on.
pub fn set_job_spec(session: &mut Session, job: JobId, spec: &str) -> Result<()> {
    session.query("UPDATE jobs SET spec = $2 WHERE id = $1", &[&id(job), &spec])?;
    Ok(())
}

/// Removes what the frontier has of a job that has ended: its queues, its seen-set, its budget. The catalogue has it
/// still.
pub fn forget_job(session: &mut Session, job: JobId) -> Result<()> {
    for table in ["urls", "seen"] {
        let sql = format!(
            "WITH gone AS (
                 DELETE FROM {table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {table} WHERE job = $1 LIMIT {PIECE}))
                 RETURNING 1
             ) SELECT count(*) FROM gone"
        );
        loop {
            let row = session.query_one(&sql, &[&id(job)])?;
            let gone: i64 = row.try_get(0).map_err(|error| session.error(error))?;
            if gone == 0 {
                break;
            }
        }
    }
    session.transaction(async |client| {
        for table in
            ["frontier_jobs", "frontier_blocked", "budgets", "grants", "job_seeds", "ingests", "log_sent"]
        {
            client.execute(&format!("DELETE FROM {table} WHERE job = $1"), &[&id(job)]).await?;
        }
        Ok(())
    })
}

/// Whether any worker holds its lease.
pub fn any_is_up(session: &mut Session) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM members WHERE lease_until > clock_timestamp())";
    session.query_one(sql, &[])?.try_get(0).map_err(|error| session.error(error))
}
