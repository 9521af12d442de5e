//! `/metrics` of a process that crawls: every family has figures of the crawl.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod families;

use argiope_config::{CrawlOptions, CrawlSettings, GlobalOptions};
use argiope_engine::Stop;
use argiope_server::SocketServer;
use argiope_service::directory::socket_path;
use argiope_service::local_crawl::LocalCrawl;
use families::{COUNTED, DELAY, FAMILIES, TIMEOUT, families_of, wait_until_fed};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

fn metrics(data: &Path) -> String {
    let mut stream = UnixStream::connect(socket_path(data)).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_crawl_feeds_every_family() {
    let lab = families::lab();
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let global = GlobalOptions { data: data.clone(), data_given: true, ..GlobalOptions::default() };
    let options = CrawlOptions {
        seeds: lab.seeds(),
        delay: Some(DELAY),
        timeout: Some(TIMEOUT),
        allow_private: true,
        ..CrawlOptions::default()
    };
    let settings = CrawlSettings::without_files(&global, &options).unwrap();
    let crawl = LocalCrawl::start(vec![settings], &|_| ()).unwrap();
    let server = SocketServer::start(&data, crawl.control(), Arc::new(crawl.vitals())).unwrap();

    let text = wait_until_fed(&COUNTED, || metrics(&data));
    assert_eq!(families_of(&text), BTreeSet::from(FAMILIES), "a family that is new needs a line in the list");
    drop(server);
    crawl.engine.handle().stop(Stop::Now);
    let _ = crawl.conclude();
}
