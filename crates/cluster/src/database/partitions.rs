//! The monthly partitions of the large tables. The first writer creates them before they are needed.

use super::error::{DatabaseErrorKind, Result};
use super::session::Session;
use argiope_model::Millis;
use std::collections::BTreeSet;

/// The tables with a partition for each month.
const TABLES: [&str; 2] = ["crawl_metadata", "fetches"];
/// This many following months are created as well.
const AHEAD: u32 = 2;

/// `2024-07`.
pub(crate) fn month_of(at: Millis) -> String {
    let mut text = at.rfc3339();
    text.truncate(7);
    text
}

/// The months whose partitions are known to exist.
#[derive(Debug, Default)]
pub(crate) struct Partitions {
    known: BTreeSet<String>,
}

impl Partitions {
    /// Creates the missing partitions for these months and those that follow.
    pub(crate) fn prepare<'m>(
        &mut self,
        session: &mut Session,
        months: impl IntoIterator<Item = &'m str>,
    ) -> Result<()> {
        for month in months {
            if !self.known.contains(month) {
                for wanted in month_and_following(month) {
                    make(session, &wanted)?;
                    self.known.insert(wanted);
                }
            }
        }
        Ok(())
    }

    /// Creates those of the current month, by the server's clock, and of the following ones.
    pub(crate) fn prepare_present(&mut self, session: &mut Session) -> Result<()> {
        let row = session.query_one("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')", &[])?;
        let month: String = row.try_get(0).map_err(|error| session.error(error))?;
        self.prepare(session, [month.as_str()])
    }

    /// Somebody has removed a partition.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
    }
}

fn month_and_following(month: &str) -> Vec<String> {
    let number = |range: std::ops::Range<usize>| month.get(range).and_then(|text| text.parse::<u32>().ok());
    let (Some(year), Some(of_year)) = (number(0..4), number(5..7)) else { return vec![month.to_owned()] };
    let first = year * 12 + of_year.saturating_sub(1);
    (first..=first + AHEAD)
        .filter(|month| *month < 12 * 10_000)
        .map(|month| format!("{:04}-{:02}", month / 12, month % 12 + 1))
        .collect()
}

/// Created separately and then attached, so that others can write meanwhile; creating it in place would wait for all of
/// them.
fn make(session: &mut Session, month: &str) -> Result<()> {
    let is_month = month.len() == 7
        && month.bytes().enumerate().all(|(at, b)| if at == 4 { b == b'-' } else { b.is_ascii_digit() });
    if !is_month {
        let message = format!("'{month}' is not a month");
        return Err(session.database().error(DatabaseErrorKind::Failed, message));
    }
    for table in TABLES {
        let partition = format!("{table}_{}", month.replace('-', "_"));
        if is_attached(session, table, &partition)? {
            continue;
        }
        // One at a time: a second caller finds it created.
        session.transaction(async |connection| {
            connection.script("SELECT pg_advisory_xact_lock(hashtext('argiope partitions'))").await?;
            let made = connection.query_opt(ATTACHED, &[&table, &partition]).await?;
            if made.is_some() {
                return Ok(());
            }
            connection
                .script(&format!(
                    "CREATE TABLE IF NOT EXISTS {partition} (LIKE {table} INCLUDING ALL);
                     ALTER TABLE {table} ATTACH PARTITION {partition} FOR VALUES IN ('{month}');"
                ))
                .await?;
            Ok(())
        })?;
        tracing::info!(partition, "created a partition");
    }
    Ok(())
}

const ATTACHED: &str = "
    SELECT 1 FROM pg_inherits
    WHERE inhparent = to_regclass($1) AND inhrelid = to_regclass($2)";

fn is_attached(session: &mut Session, table: &str, partition: &str) -> Result<bool> {
    session.query_opt(ATTACHED, &[&table, &partition]).map(|found| found.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_and_the_two_after_it_are_made() {
        assert_eq!(month_and_following("2026-11"), ["2026-11", "2026-12", "2027-01"]);
        assert_eq!(month_and_following("9999-12"), ["9999-12"]);
        assert_eq!(month_of(Millis(0)), "1970-01");
    }
}
