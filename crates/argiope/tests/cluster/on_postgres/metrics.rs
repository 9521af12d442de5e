//! `/metrics` of a worker: every family has figures of its crawl, of its place in the cluster and of its uploads.

#[path = "../../../../server/tests/metrics/families.rs"]
mod families;

use crate::listening::{free_address, get};
use crate::site::Site;
use crate::store::Store;
use families::{COUNTED, DELAY, FAMILIES, TIMEOUT, families_of, wait_until_fed};
use std::collections::BTreeSet;

/// Of a worker that uploads its archive, besides those of any process that crawls.
const OF_A_WORKER: [&str; 6] = [
    "argiope_archive_bytes_uploaded",
    "argiope_archive_bytes_waiting",
    "argiope_archive_files_uploaded",
    "argiope_archive_files_waiting",
    "argiope_shards_owned",
    "argiope_workers_desired",
];
/// What it has while the store is away.
const WHILE_AWAY: [&str; 4] = [
    "argiope_archive_bytes_waiting",
    "argiope_archive_files_waiting",
    "argiope_shards_owned",
    "argiope_workers_desired",
];
/// What it counts once the store is back.
const ONCE_BACK: [&str; 2] = ["argiope_archive_bytes_uploaded_total", "argiope_archive_files_uploaded_total"];

#[test]
fn a_worker_feeds_every_family_on_s3() {
    let Some(mut site) = Site::new("metrics") else { return };
    let Some(store) = Store::on_s3(&mut site, "  archive_file_age: 1s\n") else { return };
    site.run(&["cluster", "init"]).ok();
    let lab = families::lab();
    let port = free_address();
    let mut worker = site.worker_with("one", &["--listen", &port]);
    let metrics = || get(&port, "/metrics");
    let milliseconds = |time: std::time::Duration| format!("{}ms", time.as_millis());
    site.submit(&lab, &["--delay", &milliseconds(DELAY), "--timeout", &milliseconds(TIMEOUT)]);
    // Files wait for as long as the store is away, so that they are seen to wait.
    store.server("stop");
    wait_until_fed(&[&COUNTED[..], &WHILE_AWAY].concat(), metrics);
    store.server("start");
    let text = wait_until_fed(&ONCE_BACK, metrics);
    let wanted: BTreeSet<&str> = FAMILIES.into_iter().chain(OF_A_WORKER).collect();
    assert_eq!(families_of(&text), wanted, "a family that is new needs a line in a list");
    worker.kill();
}
