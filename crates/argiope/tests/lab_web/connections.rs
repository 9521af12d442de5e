//! Connections are kept while their hosts wait for their turn, as the lab counts them.

use crate::desk::{Desk, expected, sorted};
use argiope_lab::{Lab, LabConfig, PageSize};
use std::collections::HashSet;

const HOSTS: u32 = 400;

#[test]
fn more_hosts_than_requests_at_a_time_take_one_connection_each() {
    let config = LabConfig {
        hosts: HOSTS,
        pages: 4,
        page_size: PageSize::Small,
        log_capacity: 10_000,
        ..LabConfig::plain()
    };
    let (desk, lab) = (Desk::new(), Lab::start_on_thread(config).unwrap());
    desk.write("seeds", &lab.seeds().join("\n"));
    desk.crawl(&[], &["--list", "seeds", "--delay", "0", "--concurrency", "16"]).ok();
    assert_eq!(sorted(&desk.pages(), "url"), expected(&lab));
    let connections: HashSet<u64> = lab.access_log().iter().map(|entry| entry.connection).collect();
    assert_eq!(connections.len(), HOSTS as usize);
}
