//! Schema versions. Each script runs once, in order; concurrent callers wait for one.

use super::address::Database;
use super::connection::{Answer, Connection};
use super::error::{DatabaseError, DatabaseErrorKind};

/// The schema version is the number of scripts that have run.
const SCRIPTS: [&str; 12] = [
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_members.sql"),
    include_str!("migrations/0003_state.sql"),
    include_str!("migrations/0004_archive.sql"),
    include_str!("migrations/0005_takeovers.sql"),
    include_str!("migrations/0006_log.sql"),
    include_str!("migrations/0007_ingest_topic.sql"),
    include_str!("migrations/0008_settled_jobs.sql"),
    include_str!("migrations/0009_log_losses.sql"),
    include_str!("migrations/0010_files.sql"),
    include_str!("migrations/0011_cuts.sql"),
    include_str!("migrations/0012_resources.sql"),
];

pub(super) const CURRENT: i32 = SCRIPTS.len() as i32;

/// Schema changes hold this lock until the end of the transaction.
pub(super) const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtext('argiope schema'))";

/// The current version; `None` without a schema.
pub(super) async fn version(connection: &Connection) -> Answer<Option<i32>> {
    // Checked first, because a failed statement would end the transaction.
    let exists = connection.query_one("SELECT to_regclass('argiope_cluster') IS NOT NULL", &[]).await?;
    if !exists.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    let row = connection.query_opt("SELECT schema_version FROM argiope_cluster", &[]).await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// Runs the missing scripts within the caller's transaction and under its lock.
pub(super) async fn run(connection: &Connection, from: i32) -> Answer<()> {
    for script in SCRIPTS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        connection.script(script).await?;
    }
    Ok(())
}

pub(super) fn too_new(database: &Database, version: i32) -> DatabaseError {
    let message = format!(
        "the schema has version {version}, this program supports {CURRENT}; use the newer argiope everywhere"
    );
    database.error(DatabaseErrorKind::TooNew, message)
}

pub(super) fn too_old(database: &Database, version: i32) -> DatabaseError {
    let message = format!(
        "the schema has version {version}, this program needs {CURRENT}; run argiope cluster init once"
    );
    database.error(DatabaseErrorKind::TooOld, message)
}
