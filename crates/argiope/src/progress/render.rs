//! Snapshot -> lines. Pure: the same snapshot gives the same lines; colour is added by the caller's [`Style`].

use super::snapshot::{Phase, Snapshot, Waiting};
use argiope_model::display::{bytes, count, counted, elapsed, fit, rate, until};
use std::time::Duration;

/// A narrow terminal gets the note or the title, not both.
const LEAST_FOR_PARTS: usize = 60;
/// For one line, on a narrow terminal.
const MOST_ROWS: usize = 3;
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
pub(crate) fn block(snapshot: &Snapshot, width: usize, style: Style) -> Vec<String> {
    let mut lines = vec![headline(snapshot, width, style)];
    for text in [figures(snapshot), work(snapshot)].into_iter().chain(hosts(snapshot)) {
        let rows = wrapped(&text, width.saturating_sub(2), MOST_ROWS);
        lines.extend(rows.into_iter().map(|row| format!("  {row}")));
    }
    let mut detail =
        |text: &str| lines.push(style.dim(&format!("    {}", fit(text, width.saturating_sub(4)))));
    if let Some((url, waited)) = &snapshot.slow_answer {
        detail(&slow_answer(url, *waited));
    }
    for host in snapshot.slowest.iter().take(SLOWEST_SHOWN) {
        let due = host.due.map(|due| format!(", due in {}", until(due))).unwrap_or_default();
        detail(&format!("{}: {}{due}", host.host, host.reason.of_one()));
    }
    lines
}

fn slow_answer(url: &str, waited: Duration) -> String {
    format!("no response for {} from {url}", until(waited))
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
pub(crate) fn plain_line(snapshot: &Snapshot) -> String {
    let parts = [elapsed(snapshot.elapsed), figures(snapshot), work(snapshot)];
    let slow = snapshot.slow_answer.as_ref().map(|(url, waited)| slow_answer(url, *waited));
    let parts = parts.into_iter().chain(hosts(snapshot)).chain(slow).chain(phase_note(&snapshot.phase));
    parts.collect::<Vec<String>>().join(" | ")
}

fn headline(snapshot: &Snapshot, width: usize, style: Style) -> String {
    let time = elapsed(snapshot.elapsed);
    let note = phase_note(&snapshot.phase);
    let all = format!("{}  {}", note.as_deref().unwrap_or(&snapshot.title), time);
    if width < LEAST_FOR_PARTS {
        return fit(&all, width);
    }
    let taken = time.len() + 2 + note.as_ref().map_or(0, |note| note.chars().count() + 2);
    let title = fit(&snapshot.title, width.saturating_sub(taken));
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
        Phase::NetworkDown => Some(String::from("network down: waiting for it to come back")),
        Phase::Held(why) => Some(format!("waiting: {why}")),
    }
}

fn figures(snapshot: &Snapshot) -> String {
    let of = snapshot.max_pages.map(|max| format!(" of {}", count(max))).unwrap_or_default();
    let noun = if snapshot.pages == 1 && of.is_empty() { "page" } else { "pages" };
    format!(
        "{}{of} {noun}, {} now, {} overall, {}",
        count(snapshot.pages),
        rate(snapshot.rate_now),
        rate(snapshot.rate_overall),
        bytes(snapshot.bytes)
    )
}

fn work(snapshot: &Snapshot) -> String {
    let looked_up = match snapshot.looked_up {
        0 => String::new(),
        names => format!(", {} being looked up", counted(names, "name", "names")),
    };
    format!(
        "{} queued, {} in flight{looked_up}, {} failed, {} skipped",
        count(snapshot.queued),
        count(snapshot.in_flight),
        count(snapshot.failed),
        count(snapshot.skipped)
    )
}

/// "4 hosts active, 39 waiting: 37 in their crawl delay, next due in 0.4 s; 2 backing off"; empty if unknown.
fn hosts(snapshot: &Snapshot) -> Option<String> {
    let active = counted(snapshot.hosts_active?, "host active", "hosts active");
    let mut waiting: Vec<&Waiting> = snapshot.waiting.iter().filter(|group| group.hosts > 0).collect();
    let retries = retries(snapshot.retries, snapshot.next_retry).map(|text| format!("; {text}"));
    let retries = retries.unwrap_or_default();
    if waiting.is_empty() {
        return Some(format!("{active}, none waiting{retries}"));
    }
    waiting.sort_by_key(|group| group.reason);
    let groups: Vec<String> = waiting
        .iter()
        .map(|group| {
            let due = group.next_due.map(|due| format!(", next due in {}", until(due))).unwrap_or_default();
            format!("{} {}{due}", count(group.hosts), group.reason.of_group(group.hosts))
        })
        .collect();
    Some(format!("{active}, {} waiting: {}{retries}", count(snapshot.hosts_waiting()), groups.join("; ")))
}

/// "1 URL waits for its retry, next in 12 s"; None if none waits.
pub(crate) fn retries(urls: u64, next: Option<Duration>) -> Option<String> {
    let next = next.map(|due| format!(", next in {}", until(due))).unwrap_or_default();
    (urls > 0)
        .then(|| format!("{}{next}", counted(urls, "URL waits for its retry", "URLs wait for their retry")))
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::{WaitReason, WaitingHost};
    use super::*;

    #[test]
    fn one_host_waits_in_its_own_delay() {
        let group = |reason, hosts| Waiting { reason, hosts, next_due: None };
        let waiting = vec![group(WaitReason::CrawlDelay, 1), group(WaitReason::OutsideTimeWindow, 2)];
        let text = hosts(&Snapshot { waiting, ..snapshot() }).unwrap();
        assert!(text.contains("3 waiting: 1 in its crawl delay; 2 outside their time window"), "{text}");
    }

    fn snapshot() -> Snapshot {
        Snapshot {
            title: String::from("example.com"),
            phase: Phase::Running,
            elapsed: Duration::from_secs(192),
            pages: 12_345,
            max_pages: None,
            rate_now: 82.14,
            rate_overall: 64.3,
            queued: 1_204_332,
            retries: 0,
            next_retry: None,
            in_flight: 41,
            looked_up: 0,
            slow_answer: None,
            failed: 12,
            skipped: 1203,
            bytes: 420_000_000,
            hosts_active: Some(4),
            waiting: vec![
                Waiting { reason: WaitReason::BackingOff, hosts: 2, next_due: Some(Duration::from_secs(28)) },
                Waiting {
                    reason: WaitReason::CrawlDelay,
                    hosts: 37,
                    next_due: Some(Duration::from_millis(340)),
                },
                Waiting { reason: WaitReason::BreakerOpen, hosts: 0, next_due: None },
            ],
            slowest: vec![WaitingHost {
                host: String::from("news.example.com"),
                reason: WaitReason::RetryAfter,
                due: Some(Duration::from_secs(3600)),
            }],
        }
    }

    #[test]
    fn a_terminal_shows_what_goes_on_and_what_is_waited_for() {
        assert_eq!(
            block(&snapshot(), 110, Style::Plain),
            [
                "example.com  3m 12s",
                "  12,345 pages, 82.1/s now, 64.3/s overall, 420.0 MB",
                "  1,204,332 queued, 41 in flight, 12 failed, 1,203 skipped",
                "  4 hosts active, 39 waiting: 37 in their crawl delay, next due in 0.4 s; 2 backing off, next due in 28 s",
                "    news.example.com: long pause by Retry-After, due in 1h 00m",
            ]
        );
    }

    #[test]
    fn an_answer_that_takes_long_is_named() {
        let slow = Snapshot {
            looked_up: 1,
            slow_answer: Some((String::from("https://slow.test/x"), Duration::from_secs(12))),
            ..snapshot()
        };
        let shown = block(&slow, 110, Style::Plain);
        assert!(shown[2].contains("41 in flight, 1 name being looked up, 12 failed"), "{shown:?}");
        assert_eq!(shown[4], "    no response for 12 s from https://slow.test/x");
        assert!(plain_line(&slow).contains(" | no response for 12 s from https://slow.test/x"));
    }

    #[test]
    fn a_narrow_terminal_shows_all_reasons_for_waiting() {
        let shown = block(&snapshot(), 80, Style::Plain);
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
        let mut narrow = snapshot();
        narrow.phase = Phase::Stopping;
        narrow.title = "a-very-long-name.".repeat(20);
        for width in [0, 1, 20, 59, 60, 80] {
            for line in block(&narrow, width, Style::Plain) {
                assert!(line.chars().count() <= width.max(4), "{width}: {line}");
            }
        }
        assert!(block(&narrow, 10, Style::Plain).iter().any(|line| line.ends_with('…')));
    }

    #[test]
    fn colours_change_no_text() {
        let plain = block(&snapshot(), 110, Style::Plain).join("\n");
        let coloured = block(&snapshot(), 110, Style::Coloured).join("\n");
        let stripped = regex::Regex::new("\x1b\\[[0-9]*m").unwrap().replace_all(&coloured, "").into_owned();
        assert_eq!(stripped, plain);
        assert_ne!(coloured, plain);
    }

    #[test]
    fn a_plain_line_stands_by_itself() {
        let mut one = Snapshot { pages: 1, hosts_active: Some(1), failed: 1, ..Snapshot::default() };
        assert_eq!(
            plain_line(&one),
            "0s | 1 page, 0.0/s now, 0.0/s overall, 0 B | 0 queued, 0 in flight, 1 failed, 0 skipped | \
             1 host active, none waiting"
        );
        one.phase = Phase::NetworkDown;
        one.max_pages = Some(500);
        let line = plain_line(&one);
        assert!(line.contains("| 1 of 500 pages,"), "{line}");
        assert!(line.ends_with(" | network down: waiting for it to come back"), "{line}");
    }

    #[test]
    fn retries_are_told_where_nothing_else_is_waited_for() {
        let mut one = Snapshot { queued: 1, retries: 1, hosts_active: Some(0), ..Snapshot::default() };
        one.next_retry = Some(Duration::from_secs(12));
        assert!(
            plain_line(&one)
                .ends_with("0 hosts active, none waiting; 1 URL waits for its retry, next in 12 s"),
            "{}",
            plain_line(&one)
        );
        let many = Snapshot { retries: 1200, next_retry: Some(Duration::from_secs(3)), ..snapshot() };
        let line = plain_line(&many);
        assert!(line.ends_with("in 28 s; 1,200 URLs wait for their retry, next in 3.0 s"), "{line}");
    }

    #[test]
    fn every_phase_but_running_is_named() {
        assert_eq!(phase_note(&Phase::Running), None);
        for phase in [Phase::Stopping, Phase::NetworkDown] {
            let shown = block(&Snapshot { phase: phase.clone(), ..snapshot() }, 110, Style::Plain);
            assert!(shown[0].contains(&phase_note(&phase).unwrap()), "{shown:?}");
        }
    }
}
