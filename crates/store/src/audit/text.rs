//! The audit for people.

use super::{AuditReport, Rule, Violation};
use crate::table::{Align, Table, grouped, milliseconds};
use std::fmt::{self, Write};

/// Hosts and violations in the text; the JSON form has more.
const SHOWN_HOSTS: usize = 20;
const SHOWN_VIOLATIONS: usize = 20;

impl AuditReport {
    /// `0 violations in 1,204 requests to 12 hosts`
    pub fn verdict(&self) -> String {
        format!(
            "{} in {} to {}",
            counted(self.violation_count, "violation"),
            counted(self.requests, "request"),
            counted(self.host_count, "host")
        )
    }
}

/// `1 request`, `1,204 requests`
fn counted(count: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(count), if count == 1 { "" } else { "s" })
}

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict())?;
        let were = if self.robots_checked == 1 { "was" } else { "were" };
        let checked = counted(self.robots_checked, "request");
        writeln!(f, "{checked} {were} checked against the robots.txt in force at the time")?;
        if self.killed > 0 {
            writeln!(
                f,
                "the crawl was killed {}; requests that were in flight at that time are not in this list (their \
                 number is not known)",
                counted(self.killed, "time")
            )?;
        }
        for job in &self.robots_ignored_by {
            writeln!(
                f,
                "job {job} ignored robots.txt (--ignore-robots): it did not request it, so violations show only \
                 where another job did"
            )?;
        }
        if !self.hosts.is_empty() {
            let mut table = Table::new(&[
                ("host", Align::Left),
                ("requests", Align::Right),
                ("delay", Align::Right),
                ("least gap", Align::Right),
                ("median gap", Align::Right),
                ("at once", Align::Right),
                ("violations", Align::Right),
            ]);
            let gap = |gap: Option<u64>| gap.map_or_else(|| "-".to_owned(), milliseconds);
            for host in self.hosts.iter().take(SHOWN_HOSTS) {
                table.row([
                    host.host.clone(),
                    grouped(host.requests),
                    match (host.least_required_ms, host.required_ms) {
                        (least, most) if least == most => milliseconds(most),
                        (least, most) => format!("{} to {}", milliseconds(least), milliseconds(most)),
                    },
                    gap(host.min_gap_ms),
                    gap(host.median_gap_ms),
                    host.max_in_flight.to_string(),
                    grouped(host.violations),
                ]);
            }
            write!(f, "\n{table}")?;
            more(f, self.host_count, SHOWN_HOSTS, "host")?;
        }
        for violation in self.violations.iter().take(SHOWN_VIOLATIONS) {
            write!(f, "\n{violation}")?;
        }
        more(f, self.violation_count, SHOWN_VIOLATIONS, "violation")
    }
}

fn more(f: &mut fmt::Formatter<'_>, all: u64, shown: usize, what: &str) -> fmt::Result {
    match all.checked_sub(shown as u64) {
        Some(rest) if rest > 0 => writeln!(f, "and {} more", counted(rest, what)),
        _ => Ok(()),
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = String::new();
        match self.rule {
            Rule::Delay => write!(
                first,
                "{}: requested again after {} instead of {}",
                self.host,
                milliseconds(self.actual),
                milliseconds(self.required)
            )?,
            Rule::InFlight => {
                write!(
                    first,
                    "{}: {} requests at a time instead of {}",
                    self.host, self.actual, self.required
                )?;
            }
            Rule::Robots => write!(first, "{}: robots.txt forbids a fetched URL", self.host)?,
        }
        writeln!(f, "{first}")?;
        for (word, request) in self.previous.iter().map(|p| ("before", p)).chain([("then", &self.request)]) {
            writeln!(
                f,
                "  {word:<6} {} to {}  {} {} (job {})",
                request.started.rfc3339(),
                request.ended.rfc3339(),
                request.kind.as_str(),
                request.url,
                request.job
            )?;
        }
        Ok(())
    }
}
