//! The results of a job, collected from any catalogue and written as aligned text.

use crate::broken::BrokenUrl;
use crate::catalogue::{
    BriefKind, CatalogueReader, DuplicateGroup, HostFigures, HostOrder, Job, JobCounts, JobState, PageBrief,
};
use crate::cuts::{self, Cut, Cuts};
use crate::error::Result;
use crate::merged::{self, MergedUrls};
use crate::table::{Align, Table, bytes, grouped, milliseconds, shortened};
use argiope_model::{JobSpec, Millis};
use serde::Serialize;
use std::fmt;

/// Pairs of host and parameter.
const MERGED: usize = 10;

/// Pages shown of a group of duplicates.
const GROUP_EXAMPLES: usize = 3;

/// Characters of an error text that are shown.
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
    /// What limits and trap rules skipped.
    pub cuts: Cuts,
    pub host_count: u64,
    pub hosts: Vec<HostFigures>,
    pub slow_hosts: Vec<HostFigures>,
    pub slow: Vec<PageBrief>,
    /// Those with the most links, and how many there are.
    pub broken: Vec<BrokenUrl>,
    pub broken_count: u64,
    pub redirected: Vec<PageBrief>,
    pub duplicates: Vec<PageBrief>,
    /// Duplicates of the same page, largest groups first.
    pub duplicate_groups: Vec<DuplicateGroup>,
    /// How many of the oldest pages later ones were not compared with any more (`duplicate_limit`).
    pub originals_forgotten: u64,
    /// URLs that differ from a fetched one only in ignored parameters.
    pub merged: Vec<MergedUrls>,
    /// From the start of the job to its end, or to now while it runs.
    pub duration_ms: Option<u64>,
}

impl Report {
    /// `state` is the state of the job as the caller knows it: its process may have been killed. `broken` is the number of broken
    /// URLs, and those with the most links.
    pub fn gather(
        reader: &dyn CatalogueReader,
        job: &Job,
        state: &str,
        limits: ReportLimits,
        now: Millis,
        (broken_count, broken): (u64, Vec<BrokenUrl>),
    ) -> Result<Report> {
        let begun = job.started_at.unwrap_or(job.created_at);
        let runs = state == JobState::Running.as_str();
        let ended = job.finished_at.or(runs.then_some(now));
        let counts = reader.counts(job.id)?;
        Ok(Report {
            state: state.to_owned(),
            cuts: cuts::gather(reader, job.id, &counts, limits.pages)?,
            host_count: reader.host_count(job.id)?,
            hosts: reader.host_figures(job.id, HostOrder::MostPages, limits.hosts)?,
            slow_hosts: reader.host_figures(job.id, HostOrder::Slowest, limits.pages)?,
            slow: reader.briefs(job.id, BriefKind::Slow, limits.pages)?,
            broken,
            broken_count,
            redirected: reader.briefs(job.id, BriefKind::Redirected, limits.pages)?,
            duplicates: reader.briefs(job.id, BriefKind::Duplicate, limits.pages)?,
            duplicate_groups: reader.duplicate_groups(job.id, limits.pages, GROUP_EXAMPLES)?,
            originals_forgotten: originals_forgotten(job, &counts),
            merged: merged::gather(reader, job.id)?,
            counts,
            duration_ms: ended.map(|ended| ended.0.saturating_sub(begun.0)),
            job: job.clone(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        section(f, "Statuses", &self.statuses(), None)?;
        section(f, "What went wrong", &self.errors(), None)?;
        section(f, "Skipped", &self.skipped(), None)?;
        section(f, "Merged with another URL by an ignored parameter", &self.merged(), None)?;
        let places = Some((self.cuts.places, self.cuts.cuts.len()));
        section(f, "Skipped by limits", &cut_places(&self.cuts.cuts), places)?;
        section(f, "Hosts", &hosts(&self.hosts), Some((self.host_count, self.hosts.len())))?;
        // If all hosts are listed above, a second table of them adds nothing.
        if self.host_count > self.hosts.len() as u64 {
            section(f, "Slowest hosts", &slow_hosts(&self.slow_hosts), None)?;
        }
        section(f, "Slowest pages", &slow(&self.slow), None)?;
        let broken = Some((self.broken_count, self.broken.len()));
        section(f, "Broken links", &broken_links(&self.broken), broken)?;
        let redirected = Some((self.counts.redirected, self.redirected.len()));
        section(f, "Redirects", &redirects(&self.redirected), redirected)?;
        let shown = self.duplicate_groups.iter().map(|group| group.count).sum::<u64>();
        let duplicates = Some((self.counts.duplicates, usize::try_from(shown).unwrap_or(usize::MAX)));
        section(f, "Duplicates", &duplicate_groups(&self.duplicate_groups), duplicates)?;
        match self.originals_forgotten {
            0 => Ok(()),
            gone => writeln!(
                f,
                "\n  The {} oldest pages were not compared with later ones (duplicate_limit).",
                grouped(gone)
            ),
        }
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
        if counts.resources > 0 {
            let (resources, broken) = (grouped(counts.resources), grouped(counts.broken_resources));
            writeln!(f, "  resources {resources}, {broken} of them broken")?;
        }
        writeln!(f, "  bytes     {} of pages, {} received", bytes(counts.bytes), bytes(counts.received))?;
        if counts.content_lost > 0 {
            writeln!(f, "  lost      the content of {}, with a worker's disk", grouped(counts.content_lost))?;
        }
        match self.duration_ms {
            // It is not running, and the time since it stopped is not part of its duration.
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

impl Report {
    fn merged(&self) -> Table {
        let mut table = Table::new(&[
            ("urls", Align::Right),
            ("host", Align::Left),
            ("parameter", Align::Left),
            ("for example", Align::Left),
        ]);
        for merged in self.merged.iter().take(MERGED) {
            let MergedUrls { host, parameter, urls, example } = merged;
            table.row([grouped(*urls), host.clone(), parameter.clone(), example.clone()]);
        }
        table
    }
}

/// A title and its table, with the total number of rows; empty if the table is empty.
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

fn slow_hosts(figures: &[HostFigures]) -> Table {
    let mut table = Table::new(&[("mean", Align::Right), ("slowest", Align::Right), ("host", Align::Left)]);
    for host in figures {
        table.row([milliseconds(host.mean_fetch_ms), milliseconds(host.max_fetch_ms), host.host.clone()]);
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

fn cut_places(cuts: &[Cut]) -> Table {
    let columns = [
        ("what", Align::Left),
        ("how much", Align::Right),
        ("option", Align::Left),
        ("where", Align::Left),
        ("example", Align::Left),
    ];
    let mut table = Table::new(&columns);
    for cut in cuts {
        let example = cut.example.clone().unwrap_or_else(|| "-".to_owned());
        let amount = cut.amount().unwrap_or_else(|| "-".to_owned());
        table.row([cut.what(), amount, cut.option.to_owned(), cut.place.clone(), example]);
    }
    table
}

/// The pages with the links, one per line, as far as they are listed.
fn broken_links(urls: &[BrokenUrl]) -> Table {
    let mut table = Table::new(&[
        ("what", Align::Left),
        ("links", Align::Right),
        ("url", Align::Left),
        ("linked from", Align::Left),
    ]);
    for broken in urls {
        let what = match (broken.status, &broken.error) {
            (Some(status @ 300..400), Some(error)) => shortened(&format!("{status} {error}"), WHAT),
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => shortened(error, WHAT),
            (None, None) => "-".to_owned(),
        };
        let first = broken.examples.first().or(broken.first_source.as_ref());
        let first = first.cloned().unwrap_or_else(|| "-".to_owned());
        table.row([what, grouped(broken.links), broken.url.clone(), first]);
        for source in broken.examples.iter().skip(1) {
            table.row([String::new(), String::new(), String::new(), source.clone()]);
        }
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

fn duplicate_groups(groups: &[DuplicateGroup]) -> Table {
    let mut table =
        Table::new(&[("copies", Align::Right), ("original", Align::Left), ("duplicates", Align::Left)]);
    for group in groups {
        let mut examples = group.examples.iter();
        let first = examples.next().cloned().unwrap_or_default();
        table.row([grouped(group.count), group.original.clone(), first]);
        for url in examples {
            table.row([String::new(), String::new(), url.clone()]);
        }
        let more = group.count.saturating_sub(group.examples.len() as u64);
        if more > 0 {
            table.row([String::new(), String::new(), format!("and {} more", grouped(more))]);
        }
    }
    table
}

/// Pages with status 200 that are no duplicates are what later pages are compared with, up to the limit of the job.
fn originals_forgotten(job: &Job, counts: &JobCounts) -> u64 {
    let spec = serde_json::from_str::<JobSpec>(&job.spec).unwrap_or_default();
    let good = counts.by_status.get(&200).copied().unwrap_or_default();
    match spec.duplicate_limit {
        0 => 0,
        limit => good.saturating_sub(counts.duplicates).saturating_sub(limit),
    }
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
                duplicates: 7,
                by_status: [(200, 1400), (404, 80)].into(),
                by_error: [("timeout".to_owned(), 5), ("dns".to_owned(), 15)].into(),
                by_skip: [(SkipReason::Trap, 2), (SkipReason::OutOfScope, 900)].into(),
                ..JobCounts::default()
            },
            cuts: Cuts {
                cuts: vec![Cut {
                    reason: SkipReason::TooManyLinks,
                    rule: None,
                    place: "https://a.test/index".into(),
                    count: 1690,
                    example: None,
                    option: "--max-links N",
                }],
                places: 1,
            },
            host_count: 1,
            hosts: vec![HostFigures { host: "a.test".into(), pages: 1500, ..HostFigures::default() }],
            slow_hosts: vec![HostFigures { host: "a.test".into(), pages: 1500, ..HostFigures::default() }],
            slow: vec![brief("https://a.test/slow")],
            broken: vec![BrokenUrl {
                url: "https://a.test/gone".into(),
                status: Some(404),
                error: None,
                first_source: Some("https://a.test/".into()),
                links: 1204,
                examples: vec!["https://a.test/one".into(), "https://a.test/two".into()],
            }],
            broken_count: 100,
            redirected: vec![brief("https://a.test/moved")],
            duplicates: vec![brief("https://a.test/copy")],
            duplicate_groups: vec![DuplicateGroup {
                original: "https://a.test/first".into(),
                count: 3,
                examples: vec!["https://a.test/copy".into(), "https://a.test/print".into()],
            }],
            originals_forgotten: 1200,
            merged: vec![MergedUrls {
                host: "a.test".into(),
                parameter: "ref".into(),
                urls: 1234,
                example: "https://a.test/?ref=dev".into(),
            }],
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
            "Broken links (1 of 100)\n  what  links  url                  linked from\n  \
             404   1,204  https://a.test/gone  https://a.test/one\n                                    https://a.test/two\n",
            "1,234  a.test  ref        https://a.test/?ref=dev",
            "Duplicates (3 of 7)\n  copies  original              duplicates\n       \
             3  https://a.test/first  https://a.test/copy\n                                https://a.test/print\n",
            "and 1 more\n\n  The 1,200 oldest pages were not compared",
            "link limit  1,690 links  --max-links N  https://a.test/index",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        // The most frequent come first.
        assert!(text.find("dns").unwrap() < text.find("timeout").unwrap());
        assert!(text.find("out_of_scope").unwrap() < text.find("trap").unwrap());
    }

    #[test]
    fn hosts_are_listed_a_second_time_only_where_the_first_list_is_cut() {
        assert!(!report().to_string().contains("Slowest hosts"), "all hosts are in the first list");
        let many = Report { host_count: 2, ..report() }.to_string();
        assert!(many.contains("Hosts (1 of 2)") && many.contains("Slowest hosts\n"), "{many}");
        assert!(!Report { duplicate_groups: Vec::new(), ..report() }.to_string().contains("Duplicates"));
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
