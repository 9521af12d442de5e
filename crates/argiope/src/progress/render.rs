//! View -> lines. Pure: the same view gives the same lines; colour is added by the caller's [`Style`].

use super::view::View;
use super::waits;
use argiope_engine::{OldestRequest, Phase, Status, WaitingHost};
use argiope_model::display::{bytes, count, counted, elapsed, fit, rate, until};
use std::time::Duration;

/// A narrow terminal gets the note or the title, not both.
const LEAST_FOR_PARTS: usize = 60;
/// For one line, on a narrow terminal.
const MOST_ROWS: usize = 3;
/// A wait that deserves a line of its own.
const LONG: Duration = Duration::from_secs(5);
/// How many of the slowest hosts a terminal shows.
const SLOWEST_SHOWN: usize = 3;

/// Colours of a terminal, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Coloured,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }
}

/// The block that is redrawn on a terminal, each line at most `width` wide.
pub(crate) fn block(view: &View<'_>, width: usize, style: Style) -> Vec<String> {
    let mut lines = vec![headline(view, width, style)];
    for text in [figures(view), work(view)].into_iter().chain(hosts(view)) {
        let rows = wrapped(&text, width.saturating_sub(2), MOST_ROWS);
        lines.extend(rows.into_iter().map(|row| format!("  {row}")));
    }
    let mut detail =
        |text: &str| lines.push(style.dim(&format!("    {}", fit(text, width.saturating_sub(4)))));
    if let Some(slow) = slow_answer(view.status) {
        detail(&slow);
    }
    for host in slowest(view.status).take(SLOWEST_SHOWN) {
        let due = until(host.due.since(view.status.at));
        detail(&format!("{}: {}, due in {due}", host.host, waits::of_host(host.reason)));
    }
    lines
}

/// The URL of the oldest request in flight, if that takes long.
fn slow_answer(status: &Status) -> Option<String> {
    let OldestRequest { url, since } = status.requests.oldest.as_ref()?;
    let waited = status.at.since(*since);
    (waited > LONG).then(|| format!("no response for {} from {url}", until(waited)))
}

/// The hosts with long waits, longest first.
fn slowest(status: &Status) -> impl Iterator<Item = &WaitingHost> {
    status.hosts.slowest.iter().filter(|host| host.due.since(status.at) > LONG)
}

/// Wrapped between words into a limited number of rows; the last one is cut.
fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_last = rows.len() == most;
        match rows.last_mut() {
            Some(row) if is_last || row.chars().count() + 1 + word.chars().count() <= width => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows.iter().map(|row| fit(row, width)).collect()
}

/// One self-contained line, for logs and pipes.
pub(crate) fn plain_line(view: &View<'_>) -> String {
    let parts = [elapsed(view.elapsed), figures(view), work(view)];
    let (slow, note) = (slow_answer(view.status), phase_note(&view.status.phase));
    let parts = parts.into_iter().chain(hosts(view)).chain(slow).chain(note);
    parts.collect::<Vec<String>>().join(" | ")
}

fn headline(view: &View<'_>, width: usize, style: Style) -> String {
    let time = elapsed(view.elapsed);
    let note = phase_note(&view.status.phase);
    let all = format!("{}  {}", note.as_deref().unwrap_or(view.title), time);
    if width < LEAST_FOR_PARTS {
        return fit(&all, width);
    }
    let taken = time.len() + 2 + note.as_ref().map_or(0, |note| note.chars().count() + 2);
    let title = fit(view.title, width.saturating_sub(taken));
    let mut line = format!("{}  {}", style.bold(&title), style.dim(&time));
    if let Some(note) = note {
        line.push_str("  ");
        line.push_str(&style.yellow(&note));
    }
    line
}

fn phase_note(phase: &Phase) -> Option<String> {
    match phase {
        Phase::Running => None,
        Phase::Stopping => Some(String::from("stopping; Ctrl-C again stops at once")),
        Phase::NetworkDown { .. } => Some(String::from("network down: waiting for it to come back")),
        Phase::Held { reason } => Some(format!("waiting: {reason}")),
    }
}

fn figures(view: &View<'_>) -> String {
    let of = view.max_pages.map(|max| format!(" of {}", count(max))).unwrap_or_default();
    let pages = view.pages();
    let noun = if pages == 1 && of.is_empty() { "page" } else { "pages" };
    format!(
        "{}{of} {noun}, {} now, {} overall, {}",
        count(pages),
        rate(view.rate_now),
        rate(view.rate_overall()),
        bytes(view.sum(|job| job.totals.bytes))
    )
}

fn work(view: &View<'_>) -> String {
    let looked_up = match view.status.requests.resolving {
        0 => String::new(),
        names => format!(", {} being looked up", counted(names, "name", "names")),
    };
    format!(
        "{} queued, {} in flight{looked_up}, {} failed, {} skipped",
        count(view.sum(|job| job.queued)),
        count(view.status.requests.in_flight),
        count(view.sum(|job| job.totals.failed)),
        count(view.skipped)
    )
}

/// "4 hosts active, 39 waiting: 37 in their crawl delay, next due in 0.4 s; 2 backing off"; empty if unknown.
fn hosts(view: &View<'_>) -> Option<String> {
    if !view.has_hosts {
        return None;
    }
    let status = view.status;
    let active = counted(status.hosts.active, "host active", "hosts active");
    let next_retry = status.next_retry.map(|due| due.since(status.at));
    let retries = retries(view.sum(|job| job.delayed), next_retry).map(|text| format!("; {text}"));
    let retries = retries.unwrap_or_default();
    Some(match waits::hosts_waiting(&status.hosts) {
        0 => format!("{active}, none waiting{retries}"),
        waiting => format!("{active}, {} waiting: {}{retries}", count(waiting), waits::groups(status)),
    })
}

/// "1 URL waits for its retry, next in 12 s"; None if none waits.
pub(crate) fn retries(urls: u64, next: Option<Duration>) -> Option<String> {
    let next = next.map(|due| format!(", next in {}", until(due))).unwrap_or_default();
    (urls > 0)
        .then(|| format!("{}{next}", counted(urls, "URL waits for its retry", "URLs wait for their retry")))
}

#[cfg(test)]
mod tests {
    use super::super::view::Narrator;
    use super::*;
    use argiope_engine::{JobStatus, Totals, WaitingHosts};
    use argiope_model::{JobId, Millis, WaitReason};

    const NOW: Millis = Millis(1_000_000);

    fn after(wait: Duration) -> Millis {
        Millis(NOW.0 + wait.as_millis() as u64)
    }

    fn before(wait: Duration) -> Millis {
        Millis(NOW.0 - wait.as_millis() as u64)
    }

    fn group(reason: WaitReason, hosts: u64, wait: Duration) -> WaitingHosts {
        WaitingHosts { reason, hosts, next_due: after(wait) }
    }

    fn job() -> JobStatus {
        JobStatus {
            job: JobId(1),
            activity: Default::default(),
            queued: 0,
            delayed: 0,
            in_progress: 0,
            totals: Totals::default(),
        }
    }

    fn status() -> Status {
        let mut status = Status { at: NOW, jobs: vec![job()], ..Status::default() };
        let job = &mut status.jobs[0];
        job.queued = 1_204_332;
        job.totals = Totals { pages: 12_345, failed: 12, bytes: 420_000_000, ..Totals::default() };
        status.requests.in_flight = 41;
        status.hosts.active = 4;
        status.hosts.waiting = vec![
            group(WaitReason::DnsRetry, 2, Duration::from_secs(28)),
            group(WaitReason::CrawlDelay, 37, Duration::from_millis(340)),
            group(WaitReason::BreakerOpen, 0, Duration::ZERO),
        ];
        status.hosts.slowest = vec![WaitingHost {
            host: String::from("news.example.com"),
            reason: WaitReason::Parked,
            due: after(Duration::from_secs(3600)),
        }];
        status
    }

    fn view(status: &Status) -> View<'_> {
        View {
            status,
            title: "example.com",
            only: None,
            elapsed: Duration::from_secs(192),
            max_pages: None,
            pages_before: 0,
            rate_now: 82.14,
            skipped: 1203,
            has_hosts: true,
        }
    }

    #[test]
    fn one_host_waits_in_its_own_delay() {
        let mut status = status();
        status.hosts.waiting = vec![
            group(WaitReason::CrawlDelay, 1, Duration::from_secs(6)),
            group(WaitReason::OutsideWindow, 2, Duration::from_secs(7)),
        ];
        status.hosts.at_address = 1;
        let text = hosts(&view(&status)).unwrap();
        let wanted = "4 waiting: 1 in its crawl delay, next due in 6.0 s; 2 outside their time window, next due in 7.0 s; \
                      1 whose address is busy";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn reasons_with_the_same_words_are_one_group() {
        let mut status = status();
        status.hosts.waiting = vec![
            group(WaitReason::Suspended, 1, Duration::from_secs(30)),
            group(WaitReason::BreakerOpen, 2, Duration::from_secs(20)),
        ];
        let text = hosts(&view(&status)).unwrap();
        assert!(text.ends_with("3 waiting: 3 with the breaker open, next due in 20 s"), "{text}");
    }

    #[test]
    fn a_terminal_shows_what_goes_on_and_what_is_waited_for() {
        assert_eq!(
            block(&view(&status()), 110, Style::Plain),
            [
                "example.com  3m 12s",
                "  12,345 pages, 82.1/s now, 64.3/s overall, 420.0 MB",
                "  1,204,332 queued, 41 in flight, 12 failed, 1,203 skipped",
                "  4 hosts active, 39 waiting: 37 in their crawl delay, next due in 0.4 s; 2 backing off, next due in 28 s",
                "    news.example.com: in a long pause (Retry-After), due in 1h 00m",
            ]
        );
    }

    #[test]
    fn an_answer_that_takes_long_is_named() {
        let mut slow = status();
        slow.requests.resolving = 1;
        let since = before(Duration::from_secs(12));
        slow.requests.oldest = Some(OldestRequest { url: String::from("https://slow.test/x"), since });
        let slow = view(&slow);
        let shown = block(&slow, 110, Style::Plain);
        assert!(shown[2].contains("41 in flight, 1 name being looked up, 12 failed"), "{shown:?}");
        assert_eq!(shown[4], "    no response for 12 s from https://slow.test/x");
        assert!(plain_line(&slow).contains(" | no response for 12 s from https://slow.test/x"));
    }

    #[test]
    fn a_narrow_terminal_shows_all_reasons_for_waiting() {
        let shown = block(&view(&status()), 80, Style::Plain);
        assert_eq!(
            shown[3..5],
            [
                "  4 hosts active, 39 waiting: 37 in their crawl delay, next due in 0.4 s; 2",
                "  backing off, next due in 28 s",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let stopping = Status { phase: Phase::Stopping, ..status() };
        let title = "a-very-long-name.".repeat(20);
        let narrow = View { title: &title, ..view(&stopping) };
        for width in [0, 1, 20, 59, 60, 80] {
            for line in block(&narrow, width, Style::Plain) {
                assert!(line.chars().count() <= width.max(4), "{width}: {line}");
            }
        }
        assert!(block(&narrow, 10, Style::Plain).iter().any(|line| line.ends_with('…')));
    }

    #[test]
    fn colours_change_no_text() {
        let plain = block(&view(&status()), 110, Style::Plain).join("\n");
        let coloured = block(&view(&status()), 110, Style::Coloured).join("\n");
        let stripped = regex::Regex::new("\x1b\\[[0-9]*m").unwrap().replace_all(&coloured, "").into_owned();
        assert_eq!(stripped, plain);
        assert_ne!(coloured, plain);
    }

    #[test]
    fn a_plain_line_stands_by_itself() {
        let mut one = Status { jobs: vec![job()], ..Status::default() };
        one.jobs[0].totals = Totals { pages: 1, failed: 1, ..Totals::default() };
        one.hosts.active = 1;
        assert_eq!(
            plain_line(&View {
                elapsed: Duration::ZERO,
                rate_now: 0.0,
                skipped: 0,
                pages_before: 1,
                ..view(&one)
            }),
            "0s | 1 page, 0.0/s now, 0.0/s overall, 0 B | 0 queued, 0 in flight, 1 failed, 0 skipped | \
             1 host active, none waiting"
        );
        one.phase = Phase::NetworkDown { since: NOW };
        let line = plain_line(&View { max_pages: Some(500), ..view(&one) });
        assert!(line.contains("| 1 of 500 pages,"), "{line}");
        assert!(line.ends_with(" | network down: waiting for it to come back"), "{line}");
    }

    #[test]
    fn retries_are_told_where_nothing_else_is_waited_for() {
        let mut one = Status { at: NOW, jobs: vec![job()], ..Status::default() };
        (one.jobs[0].queued, one.jobs[0].delayed) = (1, 1);
        one.next_retry = Some(after(Duration::from_secs(12)));
        let line = plain_line(&view(&one));
        let end = "0 hosts active, none waiting; 1 URL waits for its retry, next in 12 s";
        assert!(line.ends_with(end), "{line}");
        let mut many = status();
        many.jobs[0].delayed = 1200;
        many.next_retry = Some(after(Duration::from_secs(3)));
        let line = plain_line(&view(&many));
        assert!(line.ends_with("in 28 s; 1,200 URLs wait for their retry, next in 3.0 s"), "{line}");
    }

    #[test]
    fn only_the_jobs_that_are_asked_for_count() {
        let mut status = status();
        status.jobs.push(JobStatus { job: JobId(2), queued: 7, ..job() });
        let mut narrator = Narrator::of_jobs(String::new(), None, vec![JobId(2)]);
        let line = plain_line(&narrator.view(&status, Duration::from_secs(1)));
        assert!(line.contains(" | 7 queued, 41 in flight, 0 failed, 0 skipped | "), "{line}");
    }

    #[test]
    fn every_phase_but_running_is_named() {
        assert_eq!(phase_note(&Phase::Running), None);
        let held = Phase::Held { reason: String::from("the disk is full") };
        for phase in [Phase::Stopping, Phase::NetworkDown { since: NOW }, held] {
            let shown = block(&view(&Status { phase: phase.clone(), ..status() }), 110, Style::Plain);
            assert!(shown[0].contains(&phase_note(&phase).unwrap()), "{shown:?}");
        }
    }
}
