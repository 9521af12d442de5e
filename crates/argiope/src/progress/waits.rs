//! The hosts that wait, in words. Reasons with the same words are shown as one group.

use argiope_engine::{HostFigures, Status};
use argiope_model::WaitReason;
use argiope_model::display::{count, until};
use std::collections::BTreeMap;
use std::time::Duration;

/// The words for a reason. Groups are shown in the order of `place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Words {
    place: u8,
    /// For one host by name: "news.example.com: in its crawl delay".
    host: &'static str,
    /// "1 in its crawl delay"
    one: &'static str,
    /// "37 in their crawl delay"
    many: &'static str,
}

fn words(place: u8, host: &'static str, one: &'static str, many: &'static str) -> Words {
    Words { place, host, one, many }
}

fn words_of(reason: WaitReason) -> Words {
    let same = |place, host, group| words(place, host, group, group);
    match reason {
        WaitReason::CrawlDelay => {
            words(0, "in its crawl delay", "in its crawl delay", "in their crawl delay")
        }
        WaitReason::RobotsRetry | WaitReason::DnsRetry => same(1, "backing off after errors", "backing off"),
        WaitReason::Parked | WaitReason::RetryAfter => {
            same(2, "in a long pause (Retry-After)", "in a long pause (Retry-After)")
        }
        WaitReason::BreakerOpen | WaitReason::Suspended => {
            same(3, "breaker open after failures", "with the breaker open")
        }
        WaitReason::RobotsUnreachable => same(4, "robots.txt unreachable", "with robots.txt unreachable"),
        WaitReason::OutsideWindow => {
            words(5, "outside its time window", "outside its time window", "outside their time window")
        }
    }
}

/// For one host: "in its crawl delay".
pub(super) fn of_host(reason: WaitReason) -> &'static str {
    words_of(reason).host
}

/// Hosts that wait for a time of their own, or for other requests to their address.
pub(super) fn hosts_waiting(hosts: &HostFigures) -> u64 {
    hosts.waiting_count() + hosts.at_address
}

/// "37 in their crawl delay, next due in 0.4 s; 2 backing off, next due in 28 s"; empty if no host waits.
pub(super) fn groups(status: &Status) -> String {
    let mut groups: BTreeMap<Words, (u64, Duration)> = BTreeMap::new();
    for group in status.hosts.waiting.iter().filter(|group| group.hosts > 0) {
        let due = group.next_due.since(status.at);
        let (hosts, next_due) = groups.entry(words_of(group.reason)).or_insert((0, due));
        *hosts += group.hosts;
        *next_due = due.min(*next_due);
    }
    let timed = groups.iter().map(|(words, (hosts, due))| {
        let text = if *hosts == 1 { words.one } else { words.many };
        format!("{} {text}, next due in {}", count(*hosts), until(*due))
    });
    let at_address = status.hosts.at_address;
    let at_address = (at_address > 0).then(|| format!("{} whose address is busy", count(at_address)));
    timed.chain(at_address).collect::<Vec<String>>().join("; ")
}
