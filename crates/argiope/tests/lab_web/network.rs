//! The network goes away and comes back: nothing is lost, and no URL is blamed for it.

use crate::BRISK;
use crate::desk::{Desk, expected, lab, sorted, wait_until};
use argiope_lab::{Lab, LabConfig, Outage, PageSize, SiteKind};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Retries as they are by default would hide a failure that was counted: there are none.
const CONFIG: &str = "\
crawl: {timeout: 1s}
politeness:
  default_delay: 300ms
  adaptive: false
  retries: false
  robots: {timeout: 1s}
";

fn outage(outage: Outage) {
    let config = LabConfig {
        hosts: 28,
        pages: 12,
        page_size: PageSize::Small,
        log_capacity: 10_000,
        ..LabConfig::plain()
    };
    let (runtime, desk, lab) = (Runtime::new().unwrap(), Desk::new(), Lab::start_on_thread(config).unwrap());
    desk.write("argiope.yaml", CONFIG);
    let crawl = desk.start_crawl(&lab.seeds(), &[]);
    wait_until(|| lab.access_log().len() > 100);
    runtime.block_on(lab.set_outage(outage)).unwrap();
    wait_until(|| desk.status().is_some_and(|status| status.to_string().contains("network")));
    wait_until(|| desk.status().is_some_and(|status| status["hosts_active"] == 0));
    // While it is away a host is tried every five seconds, and not each every 300 ms. That is requests in a time: there is
    // nothing else to wait for. They are the crawl's own count, as nobody takes down those that are refused.
    let before = requests(&desk);
    std::thread::sleep(Duration::from_secs(3));
    let probes = requests(&desk) - before;
    assert!(probes <= 3, "hosts are asked on and on: {probes} requests");
    runtime.block_on(lab.set_outage(Outage::None)).unwrap();
    let run = crawl.wait().ok();
    assert!(run.stderr.contains("network down"), "{}", run.stderr);
    let pages = desk.pages();
    let failed: Vec<_> = pages.iter().filter(|page| page["error"].is_string()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(sorted(&pages, "url"), expected(&lab));
    assert_eq!(desk.run(&["audit", "--json"]).ok().json()["violation_count"], 0);
}

/// How many requests this run has made: `this run  99 pages in 100 requests, ...`.
fn requests(desk: &Desk) -> u64 {
    let text = desk.run(&["status"]).ok().stdout;
    let (_, of_run) = text.split_once("this run").unwrap_or_else(|| panic!("{text}"));
    let (before, _) = of_run.split_once(" request").unwrap_or_else(|| panic!("{text}"));
    let number: String = before.rsplit(' ').next().unwrap().chars().filter(char::is_ascii_digit).collect();
    number.parse().unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn a_crawl_ends_though_many_of_its_hosts_are_dead() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 5, 0));
    desk.write("argiope.yaml", BRISK);
    // Nobody listens there any more.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut seeds = lab.seeds();
    seeds.extend((1..=40).map(|n| format!("http://127.0.9.{n}:{port}/")));
    let run = desk.crawl(&seeds, &[]).ok();
    assert!(run.stdout.contains("is paused: "), "{}", run.stdout);
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
    let skipped = desk.run(&["export", "--what", "skipped"]).ok().json_lines();
    let unreachable = skipped.iter().filter(|row| row["reason"] == "robots_unreachable").count();
    assert_eq!(unreachable, 40, "{skipped:?}");
}

#[test]
fn a_crawl_pauses_during_a_network_outage_and_loses_no_url() {
    outage(Outage::Silent);
}

#[test]
fn a_crawl_pauses_while_every_connection_is_refused_and_loses_no_url() {
    outage(Outage::Refused);
}
