//! How fast a worker's archive leaves its disk for an object store: whole files, then pages of their own.
//!
//! ```sh
//! eval "$(scripts/servers env)"
//! cargo run --profile quick -p argiope-cluster --example upload_rate -- [PAGES] [BYTES]
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement for the terminal"
)]

use argiope_cluster::objects::{Layout, ObjectSettings, UploadOptions, Uploader, open};
use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_store::archive::contract::Sample;
use argiope_store::archive::{Appended, Archive, Position};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() {
    let variable = |name: &str| std::env::var(name).ok();
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>().expect("a number"));
    let (pages, bytes) = (numbers.next().unwrap_or(2000), numbers.next().unwrap_or(30_000));
    let settings = ObjectSettings {
        bucket: variable("ARGIOPE_TEST_S3_BUCKET").expect("ARGIOPE_TEST_S3_BUCKET: see scripts/servers env"),
        region: variable("AWS_REGION"),
        endpoint: variable("ARGIOPE_TEST_S3"),
    };
    let objects = open(&settings, &variable).unwrap();
    for layout in [Layout::Warc, Layout::Objects] {
        let directory = tempfile::tempdir().unwrap();
        let name = format!("rate-{}", std::process::id());
        let options = ArchiveOptions { name: name.clone(), revisits: false, ..ArchiveOptions::default() };
        let spool = Arc::new(FileArchive::open(directory.path(), options).unwrap());
        let mut appender = spool.appender().unwrap();
        let mut last: Option<Appended> = None;
        for number in 0..pages {
            let page = Sample::page(u32::try_from(number).unwrap(), bytes);
            let sample = Sample::of(&format!("https://{name}.example/{number}"), page.body().to_vec());
            last = Some(appender.append(&sample.exchange()).unwrap());
        }
        appender.finish().unwrap();
        spool.sync().unwrap();
        let position: Position = last.expect("a page").position();
        spool.committed(std::slice::from_ref(&position));

        let begun = Instant::now();
        let options = UploadOptions { layout, ..UploadOptions::default() };
        let uploader = Uploader::start(spool, objects.clone(), options, Box::new(|_| Ok(()))).unwrap();
        let status = uploader.drain(Duration::from_secs(600));
        let seconds = begun.elapsed().as_secs_f64();
        assert_eq!(status.uploaded_files, 1, "{status:?}");
        let megabytes = position.length as f64 / 1e6;
        println!(
            "{layout:?}: {pages} pages, {megabytes:.1} MB in {seconds:.2} s: {:.0} pages and {:.1} MB a second",
            pages as f64 / seconds,
            megabytes / seconds
        );
    }
}
