//! How many rows a second the catalogue in PostgreSQL takes from several writers at once.
//!
//! `ARGIOPE_TEST_POSTGRES=... cargo run --example catalogue_rate_pg -- [PAGES] [BATCH] [WRITERS]`: pages of each writer,
//! each with its request, in a database made for it and dropped again.

mod scratch;

use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Database;
use argiope_model::{ContentHash, FetchTimings, JobId, Millis, Page, SimHash};
use argiope_store::catalogue::{
    Batch, Catalogue, FetchRow, NewJob, OpenGraph, PageQuery, PageRow, RobotsRule, url_key,
};
use scratch::Failure;
use std::ops::ControlFlow;
use std::time::Instant;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut argument = |default: u64| arguments.next().unwrap_or(Ok(default));
    let (pages, size, writers) = (argument(50_000)?, argument(500)?, argument(2)?);
    scratch::with_cluster("argiope_catalogue_rate", 64, |database| measure(database, pages, size, writers))
}

fn measure(database: &Database, pages: u64, size: u64, writers: u64) -> Result<(), Failure> {
    let mut first = PostgresCatalogue::open(database, "first")?;
    let job = first
        .create_job(&NewJob {
            name: None,
            seeds_hash: "0".into(),
            spec: "{}".into(),
            created_at: Millis(0),
            user: None,
        })?
        .id;
    println!("{writers} writers, {pages} pages each, in batches of {size}");
    let clock = Instant::now();
    let waited: f64 = std::thread::scope(|scope| {
        let all: Vec<_> = (0..writers)
            .map(|writer| scope.spawn(move || write(database, job, writer, pages, size)))
            .collect();
        all.into_iter()
            .map(|writer| writer.join().map_err(|_| Failure::from("a writer panicked"))?)
            .sum::<Result<f64, Failure>>()
    })?;
    let rows = (2 * pages * writers) as f64;
    let seconds = clock.elapsed().as_secs_f64();
    println!(
        "writing: {:.0} rows/s, {seconds:.1} s; a commit took {:.1} ms on average",
        rows / seconds,
        waited * 1e3 / (pages * writers / size) as f64
    );
    let (clock, mut count) = (Instant::now(), 0u64);
    first.reader()?.pages(&PageQuery::of(job), &mut |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    println!("reading: {:.0} pages/s", count as f64 / clock.elapsed().as_secs_f64());
    Ok(())
}

/// The seconds its commits took.
fn write(database: &Database, job: JobId, writer: u64, pages: u64, size: u64) -> Result<f64, Failure> {
    let mut catalogue = PostgresCatalogue::open(database, &format!("w{writer}"))?;
    let (mut done, mut waited) = (0, 0.0);
    while done < pages {
        let until = (done + size).min(pages);
        let numbers = writer * pages + done..writer * pages + until;
        let batch = Batch {
            at: Millis(1_767_323_045_678 + until),
            pages: numbers.clone().map(|number| page_row(job, number)).collect(),
            fetches: numbers.map(|number| fetch_row(job, number)).collect(),
            ..Batch::default()
        };
        let clock = Instant::now();
        catalogue.commit(&batch)?;
        waited += clock.elapsed().as_secs_f64();
        done = until;
    }
    Ok(waited)
}

fn page_row(job: JobId, number: u64) -> PageRow {
    let host = format!("site{:03}.example.com", number % 200);
    let url = format!("https://{host}/articles/{}/some-realistic-slug-{number}", number % 17);
    let key = url_key(&url);
    let page = Page {
        final_url: Some(url.clone()),
        status: Some(200),
        depth: 3,
        title: Some(format!("Realistic title of article number {number} - Example Site")),
        description: Some(
            "A description of the length that pages have, which is around one hundred characters".into(),
        ),
        keywords: Some("crawler, pages, example".into()),
        author: Some("Jane Doe".into()),
        language: Some("en".into()),
        canonical: Some(url.clone()),
        content_type: Some("text/html; charset=utf-8".into()),
        bytes: Some(30_000 + number % 1000),
        content_hash: ContentHash::parse(&format!("{key:016x}").repeat(4)),
        simhash: Some(SimHash(key)),
        duplicate_of: None,
        word_count: Some(512),
        topics: Some((0..15).map(|n| format!("topic {}", (number * 7 + n * n) % 5000)).collect()),
        links: Some(42),
        crawled_at: Some(Millis(1_767_323_045_678 + number)),
        fetch_ms: Some(37),
        error: None,
        archive: Some(format!("argiope-20260102030405-00001.warc.gz:{}", number * 12_345)),
        url,
    };
    let mut row = PageRow::new(job, key, host, page);
    row.timings = timings(number);
    row.open_graph = OpenGraph { title: row.page.title.clone(), ..OpenGraph::default() };
    row.source = Some("https://site000.example.com/articles/index".into());
    row.scheduled_at = Millis(1_767_323_000_000);
    row
}

fn fetch_row(job: JobId, number: u64) -> FetchRow {
    let host = format!("site{:03}.example.com", number % 200);
    let url = format!("https://{host}/articles/{}/some-realistic-slug-{number}", number % 17);
    let key = url_key(&url);
    let mut row = FetchRow::new(job, host, url, key);
    row.timings = timings(number);
    row.status = Some(200);
    row.bytes = 12_000;
    row.address = Some("127.0.3.7:443".into());
    row.rule = Some(RobotsRule { text: "Allow: /".into(), line: 2 });
    row.required_delay_ms = 1000;
    row
}

fn timings(number: u64) -> FetchTimings {
    let started = Millis(1_767_323_045_000 + number);
    FetchTimings {
        started,
        ended: Millis(started.0 + 37),
        dns_us: 0,
        connect_us: 0,
        tls_us: 0,
        first_byte_us: 21_000,
        download_us: 16_000,
    }
}
