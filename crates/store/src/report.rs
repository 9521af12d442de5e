//! What a job has found, gathered from any catalogue and written as aligned text.

use crate::catalogue::{
    BriefKind, CatalogueReader, HostFigures, HostOrder, Job, JobCounts, JobState, PageBrief,
};
use crate::error::Result;
use crate::table::{Align, Table, bytes, grouped, milliseconds, shortened};
use argiope_model::Millis;
use serde::Serialize;
use std::fmt;

/// Characters of what is wrong with a page.
const WHAT: usize = 48;

/// How much of each list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportLimits {
    pub pages: usize,
    pub hosts: usize,
}

impl Default for ReportLimits {
    fn default() -> ReportLimits {
        ReportLimits { pages: 10, hosts: 15 }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub job: Job,
    /// What it is doing now.
    pub state: String,
    pub counts: JobCounts,
    pub host_count: u64,
    pub hosts: Vec<HostFigures>,
    pub slow_hosts: Vec<HostFigures>,
    pub slow: Vec<PageBrief>,
    pub broken: Vec<PageBrief>,
    pub redirected: Vec<PageBrief>,
    pub duplicates: Vec<PageBrief>,
    /// From the start of the job to its end, or to now while it runs.
    pub duration_ms: Option<u64>,
}

impl Report {
    /// `state` is what the job is doing as far as the caller knows: whoever runs it may have been killed.
    pub fn gather(
        reader: &dyn CatalogueReader,
        job: &Job,
        state: &str,
        limits: ReportLimits,
        now: Millis,
    ) -> Result<Report> {
        let begun = job.started_at.unwrap_or(job.created_at);
        let runs = state == JobState::Running.as_str();
        let ended = job.finished_at.or(runs.then_some(now));
        Ok(Report {
            state: state.to_owned(),
            counts: reader.counts(job.id)?,
            host_count: reader.host_count(job.id)?,
            hosts: reader.host_figures(job.id, HostOrder::MostPages, limits.hosts)?,
            slow_hosts: reader.host_figures(job.id, HostOrder::Slowest, limits.pages)?,
            slow: reader.briefs(job.id, BriefKind::Slow, limits.pages)?,
            broken: reader.briefs(job.id, BriefKind::Broken, limits.pages)?,
            redirected: reader.briefs(job.id, BriefKind::Redirected, limits.pages)?,
            duplicates: reader.briefs(job.id, BriefKind::Duplicate, limits.pages)?,
            duration_ms: ended.map(|ended| ended.0.saturating_sub(begun.0)),
            job: job.clone(),
        })
    }

    fn broken_count(&self) -> u64 {
        // What ends with a redirect was led nowhere.
        let is_broken = |status: u16| status >= 300 && status != 304;
        let answered = self.counts.by_status.iter().filter(|(status, _)| is_broken(**status));
        answered.map(|(_, count)| count).sum::<u64>() + self.counts.failed
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        section(f, "Statuses", &self.statuses(), None)?;
        section(f, "What went wrong", &self.errors(), None)?;
        section(f, "Skipped", &self.skipped(), None)?;
        section(f, "Hosts", &hosts(&self.hosts), Some((self.host_count, self.hosts.len())))?;
        section(f, "Slowest hosts", &hosts(&self.slow_hosts), None)?;
        section(f, "Slowest pages", &slow(&self.slow), None)?;
        let broken = Some((self.broken_count(), self.broken.len()));
        section(f, "Broken pages", &broken_pages(&self.broken), broken)?;
        let redirected = Some((self.counts.redirected, self.redirected.len()));
        section(f, "Redirects", &redirects(&self.redirected), redirected)?;
        let duplicates = Some((self.counts.duplicates, self.duplicates.len()));
        section(f, "Duplicates", &duplicate_pages(&self.duplicates), duplicates)
    }
}

impl Report {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let job = &self.job;
        let name = job.name.as_deref().unwrap_or("unnamed");
        write!(f, "Job {} ({name}), {}", job.id, self.state)?;
        if let Some(message) = &job.message {
            write!(f, ": {message}")?;
        }
        let counts = &self.counts;
        writeln!(f, "\n\n  pages     {}", grouped(counts.pages))?;
        writeln!(f, "  failed    {}", grouped(counts.failed))?;
        writeln!(f, "  requests  {}", grouped(counts.requests))?;
        writeln!(f, "  hosts     {}", grouped(self.host_count))?;
        writeln!(f, "  skipped   {}", grouped(counts.skipped()))?;
        writeln!(f, "  bytes     {} of pages, {} received", bytes(counts.bytes), bytes(counts.received))?;
        if counts.content_lost > 0 {
            writeln!(f, "  lost      the content of {}, with a worker's disk", grouped(counts.content_lost))?;
        }
        match self.duration_ms {
            // Nobody runs it, and how long it has rested is not its duration.
            None => Ok(()),
            Some(0) => writeln!(f, "  duration  {}", milliseconds(0)),
            Some(ms) => {
                let rate = counts.pages as f64 * 1000.0 / ms as f64;
                writeln!(f, "  duration  {}, {rate:.1} pages/s", milliseconds(ms))
            }
        }
    }

    fn statuses(&self) -> Table {
        let mut table =
            Table::new(&[("status", Align::Left), ("pages", Align::Right), ("share", Align::Right)]);
        let ended = self.counts.pages + self.counts.failed;
        for (status, count) in &self.counts.by_status {
            table.row([status.to_string(), grouped(*count), share(*count, ended)]);
        }
        if self.counts.failed > 0 {
            let failed = self.counts.failed;
            table.row(["no answer".to_owned(), grouped(failed), share(failed, ended)]);
        }
        table
    }

    fn errors(&self) -> Table {
        let mut table = Table::new(&[("error", Align::Left), ("urls", Align::Right)]);
        let mut errors: Vec<_> = self.counts.by_error.iter().collect();
        errors.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (kind, count) in errors {
            table.row([kind.clone(), grouped(*count)]);
        }
        table
    }

    fn skipped(&self) -> Table {
        let mut table = Table::new(&[("reason", Align::Left), ("urls", Align::Right)]);
        let mut reasons: Vec<_> = self.counts.by_skip.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons {
            table.row([reason.to_string(), grouped(*count)]);
        }
        table
    }
}

/// A title and its table, with how many there are in all; nothing where the table is empty.
fn section(f: &mut fmt::Formatter<'_>, title: &str, table: &Table, all: Option<(u64, usize)>) -> fmt::Result {
    if table.is_empty() {
        return Ok(());
    }
    match all {
        Some((all, shown)) if all > shown as u64 => {
            write!(f, "\n{title} ({} of {})\n{table}", grouped(shown as u64), grouped(all))
        }
        _ => write!(f, "\n{title}\n{table}"),
    }
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { String::from("-") } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

fn hosts(figures: &[HostFigures]) -> Table {
    let mut table = Table::new(&[
        ("host", Align::Left),
        ("pages", Align::Right),
        ("failed", Align::Right),
        ("bytes", Align::Right),
        ("mean", Align::Right),
        ("slowest", Align::Right),
    ]);
    for host in figures {
        table.row([
            host.host.clone(),
            grouped(host.pages),
            grouped(host.failed),
            bytes(host.bytes),
            milliseconds(host.mean_fetch_ms),
            milliseconds(host.max_fetch_ms),
        ]);
    }
    table
}

fn slow(pages: &[PageBrief]) -> Table {
    let mut table = Table::new(&[("time", Align::Right), ("url", Align::Left)]);
    for page in pages {
        let time = page.fetch_ms.map_or_else(|| "-".to_owned(), |ms| milliseconds(u64::from(ms)));
        table.row([time, page.url.clone()]);
    }
    table
}

fn broken_pages(pages: &[PageBrief]) -> Table {
    let mut table = Table::new(&[("what", Align::Left), ("url", Align::Left), ("found on", Align::Left)]);
    for page in pages {
        let what = match (page.status, &page.error) {
            (Some(status @ 300..400), Some(error)) => shortened(&format!("{status} {error}"), WHAT),
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => shortened(error, WHAT),
            (None, None) => "-".to_owned(),
        };
        table.row([what, page.url.clone(), page.source.clone().unwrap_or_else(|| "-".to_owned())]);
    }
    table
}

fn redirects(pages: &[PageBrief]) -> Table {
    let mut table = Table::new(&[("from", Align::Left), ("to", Align::Left)]);
    for page in pages {
        table.row([page.url.clone(), page.final_url.clone().unwrap_or_default()]);
    }
    table
}

fn duplicate_pages(pages: &[PageBrief]) -> Table {
    let mut table = Table::new(&[("page", Align::Left), ("same as", Align::Left)]);
    for page in pages {
        table.row([page.url.clone(), page.duplicate_of.clone().unwrap_or_default()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::JobState;
    use argiope_model::{JobId, SkipReason};

    fn report() -> Report {
        let brief = |url: &str| PageBrief {
            url: url.into(),
            final_url: Some("https://a.test/there".into()),
            status: Some(404),
            fetch_ms: Some(1234),
            error: None,
            duplicate_of: Some("https://a.test/first".into()),
            source: Some("https://a.test/".into()),
        };
        Report {
            job: Job {
                id: JobId(3),
                name: Some("shop".into()),
                seeds_hash: "ff".into(),
                spec: "{}".into(),
                state: JobState::Completed,
                message: None,
                created_at: Millis(0),
                started_at: Some(Millis(0)),
                finished_at: Some(Millis(10_000)),
                user: None,
            },
            counts: JobCounts {
                pages: 1480,
                failed: 20,
                bytes: 45_000_000,
                requests: 1600,
                received: 15_000_000,
                by_status: [(200, 1400), (404, 80)].into(),
                by_error: [("timeout".to_owned(), 5), ("dns".to_owned(), 15)].into(),
                by_skip: [(SkipReason::Trap, 2), (SkipReason::OutOfScope, 900)].into(),
                ..JobCounts::default()
            },
            host_count: 1,
            hosts: vec![HostFigures { host: "a.test".into(), pages: 1500, ..HostFigures::default() }],
            slow_hosts: Vec::new(),
            slow: vec![brief("https://a.test/slow")],
            broken: vec![brief("https://a.test/gone")],
            redirected: vec![brief("https://a.test/moved")],
            duplicates: vec![brief("https://a.test/copy")],
            state: JobState::Completed.as_str().to_owned(),
            duration_ms: Some(10_000),
        }
    }

    #[test]
    fn the_report_says_what_was_found() {
        let text = report().to_string();
        for part in [
            "Job 3 (shop), completed",
            "pages     1,480\n  failed    20\n",
            "10.0 s, 148.0 pages/s",
            "no answer",
            "93.3 %",
            "1.2 s  https://a.test/slow",
            "Broken pages (1 of 100)",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        // The most frequent come first.
        assert!(text.find("dns").unwrap() < text.find("timeout").unwrap());
        assert!(text.find("out_of_scope").unwrap() < text.find("trap").unwrap());
        assert!(!text.contains("Slowest hosts"), "an empty section is left out");
    }

    #[test]
    fn lines_have_no_spaces_at_their_end() {
        assert!(report().to_string().lines().all(|line| line.trim_end() == line));
    }

    #[test]
    fn the_report_is_also_json() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["counts"]["by_skip"]["out_of_scope"], 900);
        assert_eq!(json["job"]["state"], "completed");
    }
}
