//! The summary at the end of a crawl: the result, slow pages, skipped URLs with reasons, where the results are, and
//! which commands to run next. Pure.

use super::render::Style;
use argiope_engine::BlockedBy;
use argiope_model::SkipReason;
use argiope_model::display::{bytes, count, counted, elapsed, percent, rate, until};
use argiope_service::blocked::waiting_urls;
use argiope_service::shell::{command, shell_word};
use argiope_store::cuts::Cuts;
use argiope_store::merged::MergedUrls;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rows of a table; further ones are counted.
const ROWS: usize = 10;
const SLOW_ROWS: usize = 5;
const MERGED_ROWS: usize = 5;

/// The command that resumes an unfinished job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoOn {
    SameCommand,
    /// It was started with `--fresh`, which would start it over again.
    WithoutFresh,
}

impl GoOn {
    fn words(self) -> &'static str {
        match self {
            GoOn::SameCommand => "the same command",
            GoOn::WithoutFresh => "the same command without --fresh",
        }
    }
}

/// How the crawl ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    /// `max_pages` was reached with URLs still queued.
    PageLimit,
    /// By a signal; the same command resumes it.
    Interrupted,
    /// All remaining URLs are blocked for long; with the reasons and the number of URLs, sitemaps not counted.
    Blocked {
        groups: Vec<(BlockedBy, u64)>,
        /// Until the first of them is due.
        next_due: Duration,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockedHost {
    pub(crate) host: String,
    pub(crate) by: BlockedBy,
    pub(crate) urls: u64,
    /// The time, and how long it is until then.
    pub(crate) until: String,
    pub(crate) due: Duration,
    /// Why its robots.txt is unreachable.
    pub(crate) cause: Option<String>,
}

impl BlockedHost {
    fn words(&self) -> String {
        let (at, due) = (&self.until, until(self.due));
        match (self.by, &self.cause) {
            (BlockedBy::RetryAfter, _) => format!("asked for a pause (Retry-After) until {at}, in {due}"),
            (BlockedBy::Retry, _) => format!("due for a retry at {at}, in {due}"),
            // A new start fetches it again at once, so no time is given.
            (BlockedBy::RobotsUnreachable, None) => String::from("robots.txt is unreachable"),
            (BlockedBy::RobotsUnreachable, Some(cause)) => format!("robots.txt is unreachable: {cause}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostSummary {
    pub(crate) host: String,
    pub(crate) pages: u64,
    pub(crate) mean_fetch: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Name or number, as accepted by commands.
    pub(crate) job: String,
    pub(crate) ending: Ending,
    pub(crate) elapsed: Duration,
    /// For the whole job.
    pub(crate) pages: u64,
    /// For this run, which took `elapsed`.
    pub(crate) pages_now: u64,
    pub(crate) hosts: u64,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) queued: u64,
    /// Status -> pages.
    pub(crate) statuses: Vec<(u16, u64)>,
    /// URLs that ended without a response.
    pub(crate) failed: u64,
    /// The error, with or without a response -> URLs.
    pub(crate) errors: Vec<(String, u64)>,
    pub(crate) skipped: Vec<(SkipReason, u64)>,
    /// URLs that differ from a fetched one only in ignored parameters.
    pub(crate) merged: Vec<MergedUrls>,
    /// What limits and trap rules skipped.
    pub(crate) cuts: Cuts,
    /// Requested resources of pages, and how many of them are broken.
    pub(crate) resources: (u64, u64),
    pub(crate) slowest: Vec<HostSummary>,
    /// Hosts that must be waited for, if the crawl ended because of them, and their total number.
    pub(crate) blocked: Vec<BlockedHost>,
    pub(crate) blocked_hosts: u64,
    /// Where the results are; None if they are not stored and there is no next command.
    pub(crate) data: Option<PathBuf>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) archived: bool,
    /// How to resume an unfinished job; None if that is not possible.
    pub(crate) go_on: Option<GoOn>,
    /// A skipped URL, as an example for `why`.
    pub(crate) refused_example: Option<String>,
    /// Why no page was stored, and what to do, if so.
    pub(crate) empty: Option<(String, String)>,
}

impl Summary {
    pub(crate) fn lines(&self, style: Style) -> Vec<String> {
        let mut lines = vec![String::new(), self.headline(style)];
        // Blocked URLs are listed below, with their reasons.
        if let Some((reason, advice)) = self.empty.as_ref().filter(|_| self.blocked.is_empty()) {
            lines.push(format!("  {reason}"));
            lines.push(format!("  {advice}"));
        }
        let skipped: u64 = self.skipped.iter().map(|(_, n)| n).sum();
        let now = match self.pages_now {
            all if all == self.pages => String::new(),
            some => format!(", {} of them", count(some)),
        };
        let failed = match self.failed {
            0 => String::new(),
            some => format!("; {} without a response", counted(some, "URL", "URLs")),
        };
        lines.push(format!(
            "  {} from {}{now} in {}, {}; {} of data in {}{failed}",
            counted(self.pages, "page", "pages"),
            counted(self.hosts, "host", "hosts"),
            elapsed(self.elapsed),
            rate(per_second(self.pages_now, self.elapsed)),
            bytes(self.bytes),
            counted(self.requests, "request", "requests"),
        ));
        if let (resources @ 1.., broken) = self.resources {
            let resources = counted(resources, "resource", "resources");
            lines.push(format!(" {resources} of these pages requested, {} broken", count(broken)));
        }
        self.waits(&mut lines, style);
        let mut statuses: Vec<(String, u64)> =
            self.statuses.iter().map(|(s, n)| (status_words(*s), *n)).collect();
        statuses.push((String::from("no answer"), self.failed));
        let ended = self.pages + self.failed;
        table(&mut lines, style, "By status", statuses, ended);
        table(&mut lines, style, "What went wrong", self.errors.clone(), ended);
        let skips: Vec<(String, u64)> =
            self.skipped.iter().map(|(reason, n)| (reason.as_str().to_owned(), *n)).collect();
        table(&mut lines, style, &format!("Skipped: {}", count(skipped)), skips, skipped);
        self.merged_urls(&mut lines, style);
        lines.extend(cut_lines(&self.cuts, style));
        self.slowest_hosts(&mut lines, style);
        if let Some(data) = &self.data {
            self.places(data, &mut lines, style);
            self.next_steps(data, &mut lines, style);
        }
        lines
    }

    fn headline(&self, style: Style) -> String {
        let job = &self.job;
        match &self.ending {
            Ending::Done if self.empty.is_some() => {
                style.red(&format!("Job {job} has failed: no page was stored."))
            }
            // The same command resumes it.
            Ending::Blocked { .. } if self.empty.is_some() => {
                style.red(&format!("Job {job} is paused: no page was stored."))
            }
            Ending::Done => style.green(&format!("Job {job} is done.")),
            Ending::PageLimit => style.green(&format!(
                "Job {job} is done: the page limit is reached, {} left.",
                counted(self.queued, "URL was", "URLs were")
            )),
            Ending::Interrupted => style.yellow(&format!(
                "Job {job} is interrupted: {} queued.{}",
                counted(self.queued, "URL is", "URLs are"),
                match self.go_on {
                    Some(go_on) => format!(" Run {} to resume.", go_on.words()),
                    None => String::new(),
                }
            )),
            Ending::Blocked { groups, next_due } => {
                let same = self.go_on.unwrap_or(GoOn::SameCommand).words();
                // A new start fetches robots.txt at once; pauses that a host asked for stay.
                let go_on = match groups.iter().all(|(by, _)| *by == BlockedBy::RobotsUnreachable) {
                    true => format!("Run {same} to fetch it again at once."),
                    false => format!("Run {same} in {} to resume.", until(*next_due)),
                };
                let waiting = waiting_urls(groups);
                style.yellow(&format!("Job {job} is paused: {waiting}. {go_on}"))
            }
        }
    }

    fn waits(&self, lines: &mut Vec<String>, style: Style) {
        if self.blocked.is_empty() {
            return;
        }
        lines.push(String::new());
        lines.push(style.bold("What waits"));
        let shown = self.blocked.iter().take(ROWS);
        let widest = shown.clone().map(|host| host.host.chars().count()).max().unwrap_or(0);
        for host in shown {
            let urls = counted(host.urls, "URL", "URLs");
            lines.push(format!("  {:widest$}  {urls}, {}", host.host, host.words()));
        }
        if self.blocked_hosts > ROWS as u64 {
            let more = self.blocked_hosts - ROWS as u64;
            lines.push(format!("  and {}", counted(more, "host more", "hosts more")));
        }
    }

    /// A rule that drops a parameter may drop content; this tells the user.
    fn merged_urls(&self, lines: &mut Vec<String>, style: Style) {
        if self.merged.is_empty() {
            return;
        }
        lines.push(String::new());
        lines.push(style.bold("Merged with another URL by an ignored parameter"));
        for merged in self.merged.iter().take(MERGED_ROWS) {
            let urls = counted(merged.urls, "URL", "URLs");
            lines.push(format!("  {urls} of {} by '{}'", merged.host, merged.parameter));
        }
        if self.merged.len() > MERGED_ROWS {
            let rest = self.merged.iter().skip(MERGED_ROWS);
            lines.push(format!("  and {} more", count(rest.map(|m| m.urls).sum())));
        }
        lines.push(String::from(
            "  to fetch them separately, list the parameters under normal_form.keep_parameters, in the job file \
             or under crawl: in argiope.yaml",
        ));
    }

    fn slowest_hosts(&self, lines: &mut Vec<String>, style: Style) {
        let mut hosts: Vec<&HostSummary> = self.slowest.iter().filter(|host| host.pages > 0).collect();
        if hosts.is_empty() {
            return;
        }
        hosts.sort_by(|a, b| b.mean_fetch.cmp(&a.mean_fetch).then_with(|| a.host.cmp(&b.host)));
        hosts.truncate(SLOW_ROWS);
        lines.push(String::new());
        lines.push(style.bold("Slowest hosts"));
        let widest = hosts.iter().map(|host| host.host.len()).max().unwrap_or(0);
        for host in hosts {
            lines.push(format!(
                "  {:widest$}  {:>7} a page  {}",
                host.host,
                short(host.mean_fetch),
                counted(host.pages, "page", "pages")
            ));
        }
    }

    fn places(&self, data: &Path, lines: &mut Vec<String>, style: Style) {
        lines.push(String::new());
        lines.push(style.bold("Results"));
        if let Some(output) = self.output.as_deref().filter(|path| *path != Path::new("-")) {
            lines.push(format!("  pages    {}", output.display()));
        }
        lines.push(format!("  data     {}", data.display()));
        if self.archived {
            lines.push(format!("  archive  {}", data.join("archive").display()));
        }
    }

    fn next_steps(&self, data: &Path, lines: &mut Vec<String>, style: Style) {
        lines.push(String::new());
        lines.push(style.bold("Next commands"));
        let job = shell_word(&self.job);
        let mut steps = vec![(command(data, &format!("report {job}")), "what was found")];
        if self.pages > 0 {
            let export = format!("export {job} -f csv -o pages.csv");
            steps.push((command(data, &export), "the pages as a table"));
        }
        steps.push((command(data, &format!("audit {job}")), "politeness check"));
        if let Some(url) = &self.refused_example {
            let why = format!("why --job {job} {}", shell_word(url));
            steps.push((command(data, &why), "why it was not fetched"));
        }
        let widest = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0).min(70);
        for (command, what) in steps {
            lines.push(format!("  {command:widest$}  {}", style.dim(&format!("# {what}"))));
        }
    }
}

/// What limits and trap rules skipped: where, how much, an example and the option that fetches it.
pub(crate) fn cut_lines(cuts: &Cuts, style: Style) -> Vec<String> {
    if cuts.cuts.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.bold("Skipped by limits")];
    for cut in &cuts.cuts {
        lines.push(format!("  {}  {}", cut.what(), cut.place));
        let example = cut.example.as_ref().map(|url| format!(", such as {url}")).unwrap_or_default();
        let told: Vec<String> = cut.amount().into_iter().chain(cut.advice()).collect();
        let line = told.join("; ") + &example;
        if !line.is_empty() {
            lines.push(format!("    {line}"));
        }
    }
    let more = cuts.places.saturating_sub(cuts.cuts.len() as u64);
    if more > 0 {
        lines.push(format!("  and {}: see report", counted(more, "place more", "places more")));
    }
    lines
}

/// "4 ms"; from a second on like a wait.
fn short(time: Duration) -> String {
    if time < Duration::from_secs(1) { format!("{} ms", time.as_millis()) } else { until(time) }
}

fn per_second(pages: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { pages as f64 / elapsed.as_secs_f64() }
}

fn table(lines: &mut Vec<String>, style: Style, title: &str, mut rows: Vec<(String, u64)>, whole: u64) {
    rows.retain(|(_, n)| *n > 0);
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = rows.split_off(rows.len().min(ROWS));
    if !rest.is_empty() {
        rows.push((
            format!("{} more", counted(rest.len() as u64, "kind", "kinds")),
            rest.iter().map(|r| r.1).sum(),
        ));
    }
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let numbers = rows.iter().map(|(_, n)| count(*n).len()).max().unwrap_or(0);
    lines.push(String::new());
    lines.push(style.bold(title));
    for (name, n) in rows {
        lines.push(format!("  {name:widest$}  {:>numbers$}  {:>7}", count(n), percent(n, whole)));
    }
}

/// The meaning of the most frequent statuses.
fn status_words(status: u16) -> String {
    let words = match status {
        200 => "OK",
        204 => "no content",
        301 | 308 => "moved",
        302 | 303 | 307 => "found elsewhere",
        304 => "not modified",
        400 => "bad request",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not found",
        410 => "gone",
        429 => "too many requests",
        451 => "unavailable for legal reasons",
        500 => "server error",
        502 => "bad gateway",
        503 => "unavailable",
        504 => "gateway timeout",
        _ => return status.to_string(),
    };
    format!("{status} {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        Summary {
            job: String::from("3"),
            ending: Ending::Done,
            elapsed: Duration::from_secs(192),
            pages: 12_342,
            pages_now: 12_342,
            hosts: 41,
            requests: 12_801,
            bytes: 420_000_000,
            queued: 0,
            statuses: vec![(404, 342), (200, 12_000)],
            failed: 3,
            errors: vec![(String::from("timeout"), 3)],
            skipped: vec![
                (SkipReason::OutOfScope, 1000),
                (SkipReason::RobotsDisallowed, 203),
                (SkipReason::Trap, 0),
            ],
            cuts: Cuts::default(),
            resources: (0, 0),
            slowest: vec![
                HostSummary { host: "a.test".into(), pages: 1, mean_fetch: Duration::from_millis(120) },
                HostSummary { host: "slow.test".into(), pages: 12, mean_fetch: Duration::from_millis(2400) },
            ],
            blocked: Vec::new(),
            blocked_hosts: 0,
            data: Some(PathBuf::from("./argiope-data")),
            output: Some(PathBuf::from("out.jsonl")),
            archived: true,
            go_on: Some(GoOn::SameCommand),
            merged: vec![MergedUrls {
                host: String::from("a.test"),
                parameter: String::from("ref"),
                urls: 1234,
                example: String::from("https://a.test/?ref=dev"),
            }],
            refused_example: Some(String::from("https://a.test/private?x=1&y=2")),
            empty: None,
        }
    }

    #[test]
    fn what_limits_held_back_is_named_with_the_option_that_fetches_it() {
        let cut = |reason, rule, place: &str, example: Option<&str>, option| argiope_store::cuts::Cut {
            reason,
            rule,
            place: place.to_owned(),
            count: 1690,
            example: example.map(str::to_owned),
            option,
        };
        let example = Some("https://a.test/browse?visit=5");
        let cuts = Cuts {
            cuts: vec![
                cut(
                    SkipReason::Trap,
                    Some("near_duplicates"),
                    "a.test/browse?visit=*",
                    example,
                    "--no-traps",
                ),
                cut(SkipReason::TooManyLinks, None, "https://a.test/index", None, "--max-links N"),
            ],
            places: 3,
        };
        let expected = [
            "",
            "Skipped by limits",
            "  trap: near_duplicates  a.test/browse?visit=*",
            "    1,690 URLs; fetch with --no-traps, such as https://a.test/browse?visit=5",
            "  link limit  https://a.test/index",
            "    1,690 links; fetch with --max-links N",
            "  and 1 place more: see report",
        ];
        assert_eq!(cut_lines(&cuts, Style::Plain), expected);
        assert_eq!(cut_lines(&Cuts::default(), Style::Plain), [""; 0]);
    }

    #[test]
    fn the_summary_tells_how_it_went_and_what_to_do_next() {
        let expected = "
Job 3 is done.
  12,342 pages from 41 hosts in 3m 12s, 64.3/s; 420.0 MB of data in 12,801 requests; 3 URLs without a response

By status
  200 OK         12,000   97.2 %
  404 not found     342    2.8 %
  no answer           3    0.0 %

What went wrong
  timeout  3    0.0 %

Skipped: 1,203
  out_of_scope       1,000   83.1 %
  robots_disallowed    203   16.9 %

Merged with another URL by an ignored parameter
  1,234 URLs of a.test by 'ref'
  to fetch them separately, list the parameters under normal_form.keep_parameters, in the job file or under crawl: in \
argiope.yaml

Slowest hosts
  slow.test    2.4 s a page  12 pages
  a.test      120 ms a page  1 page

Results
  pages    out.jsonl
  data     ./argiope-data
  archive  ./argiope-data/archive

Next commands
  argiope report 3                                      # what was found
  argiope export 3 -f csv -o pages.csv                  # the pages as a table
  argiope audit 3                                       # politeness check
  argiope why --job 3 'https://a.test/private?x=1&y=2'  # why it was not fetched";
        assert_eq!(summary().lines(Style::Plain).join("\n"), expected);
    }

    #[test]
    fn commands_name_a_data_directory_of_ones_own() {
        let mut other = summary();
        other.data = Some(PathBuf::from("/srv/my crawl"));
        let text = other.lines(Style::Plain).join("\n");
        assert!(text.contains("argiope --data '/srv/my crawl' report 3"), "{text}");
    }

    #[test]
    fn a_crawl_that_went_on_tells_its_rate_from_this_run() {
        let resumed = Summary { pages_now: 192, ..summary() }.lines(Style::Plain)[2].clone();
        assert!(
            resumed.starts_with("  12,342 pages from 41 hosts, 192 of them in 3m 12s, 1.0/s;"),
            "{resumed}"
        );
    }

    #[test]
    fn data_that_is_not_kept_is_not_pointed_at() {
        let text = Summary { data: None, ..summary() }.lines(Style::Plain).join("\n");
        assert!(!text.contains("Results") && !text.contains("Next commands"), "{text}");
        let ending = Ending::Interrupted;
        let text = Summary { data: None, go_on: None, ending, ..summary() }.lines(Style::Plain).join("\n");
        assert!(text.contains("is interrupted") && !text.contains("to resume"), "{text}");
    }

    #[test]
    fn an_empty_crawl_has_no_empty_tables() {
        let empty = Summary {
            pages: 0,
            pages_now: 0,
            elapsed: Duration::ZERO,
            failed: 0,
            statuses: Vec::new(),
            errors: Vec::new(),
            skipped: Vec::new(),
            slowest: Vec::new(),
            output: Some(PathBuf::from("-")),
            archived: false,
            go_on: None,
            merged: Vec::new(),
            refused_example: None,
            ..summary()
        };
        let text = empty.lines(Style::Plain).join("\n");
        for absent in ["By status", "What went wrong", "Skipped", "Slowest", "pages    ", "archive", "why"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
    }

    #[test]
    fn every_ending_says_how_to_go_on() {
        let ended = |ending| Summary { ending, queued: 7, ..summary() }.lines(Style::Plain)[1].clone();
        assert!(ended(Ending::Interrupted).contains("7 URLs are queued. Run the same command to resume."));
        assert!(ended(Ending::PageLimit).contains("7 URLs were left"));
        let blocked = |groups| ended(Ending::Blocked { groups, next_due: Duration::from_secs(7200) });
        assert!(blocked(vec![(BlockedBy::RobotsUnreachable, 2)]).ends_with(
            "is paused: 2 URLs wait, their robots.txt is unreachable. Run the same command to fetch it again at once."
        ));
        assert!(
            blocked(vec![(BlockedBy::RetryAfter, 2)])
                .ends_with(". Run the same command in 2h 00m to resume.")
        );
        let mixed =
            vec![(BlockedBy::Retry, 1), (BlockedBy::RetryAfter, 1), (BlockedBy::RobotsUnreachable, 0)];
        assert!(
            blocked(mixed).contains(
                ": 1 URL waits, its host asked for a pause (Retry-After); 1 URL waits for its retry."
            )
        );
        assert!(blocked(vec![(BlockedBy::RetryAfter, 0)]).contains(": a sitemap waits, its host asked"));
    }

    #[test]
    fn a_crawl_without_a_page_is_not_called_done() {
        let waits =
            Ending::Blocked { groups: vec![(BlockedBy::RobotsUnreachable, 1)], next_due: Duration::ZERO };
        for (ending, state) in [(Ending::Done, "has failed"), (waits, "is paused")] {
            let empty =
                Some((String::from("http://a.test/: dns: no such name"), String::from("check the name")));
            let lines = Summary { ending, empty, pages: 0, pages_now: 0, ..summary() }.lines(Style::Plain);
            assert_eq!(
                lines[1..4],
                [
                    &format!("Job 3 {state}: no page was stored."),
                    "  http://a.test/: dns: no such name",
                    "  check the name"
                ]
            );
            assert!(!lines.join("\n").contains("done"));
            assert!(!lines.join("\n").contains("export"), "there is no page to export");
        }
    }

    #[test]
    fn what_waits_is_told_by_host_with_cause_and_time() {
        let host = |host: &str, by, cause: Option<&str>| BlockedHost {
            host: host.into(),
            by,
            urls: 1,
            until: String::from("2026-01-02T03:04:05Z"),
            due: Duration::from_secs(7200),
            cause: cause.map(String::from),
        };
        let mut blocked = vec![
            host("a.test", BlockedBy::RetryAfter, None),
            host("bad.test", BlockedBy::RobotsUnreachable, Some("tls: invalid peer certificate")),
        ];
        let lines = Summary { blocked: blocked.clone(), blocked_hosts: 2, ..summary() }.lines(Style::Plain);
        assert_eq!(
            lines[3..7],
            [
                "",
                "What waits",
                "  a.test    1 URL, asked for a pause (Retry-After) until 2026-01-02T03:04:05Z, in 2h 00m",
                "  bad.test  1 URL, robots.txt is unreachable: tls: invalid peer certificate",
            ]
        );
        // A reason is shown once in the summary.
        let empty = Some((String::from("invalid peer certificate"), String::from("x")));
        let text = Summary { empty, blocked: blocked.clone(), ..summary() }.lines(Style::Plain).join("\n");
        assert_eq!(text.matches("invalid peer certificate").count(), 1, "{text}");
        blocked.extend((0..20).map(|n| host(&format!("c{n}.test"), BlockedBy::Retry, None)));
        let text = Summary { blocked, blocked_hosts: 500, ..summary() }.lines(Style::Plain).join("\n");
        assert!(text.contains("\n  and 490 hosts more\n"), "{text}");
    }

    #[test]
    fn many_kinds_are_summed_up() {
        let mut many = summary();
        many.errors = (0..15).map(|n| (format!("kind {n:02}"), 20 - n)).collect();
        let text = many.lines(Style::Plain).join("\n");
        assert!(text.contains("5 kinds more"), "{text}");
    }

    #[test]
    fn words_are_quoted_for_a_shell_where_needed() {
        assert_eq!(shell_word("nightly-2"), "nightly-2");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
