//! How many pages a second the catalogue takes, and what a page costs in CPU time.
//!
//! `cargo run --profile quick --example catalogue_rate -- [PAGES] [BATCH] [PAGE_BYTES] [CHECKPOINT_MB] [CACHE_MB]`

use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue};
use argiope_model::{ContentHash, FetchTimings, JobId, Millis, Page, SimHash};
use argiope_store::catalogue::{
    Batch, Catalogue, FetchRow, NewJob, OpenGraph, PageQuery, PageRow, RobotsRule, url_key,
};
use std::ops::ControlFlow;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut argument = |default: u64| arguments.next().unwrap_or(Ok(default));
    let pages = argument(50_000)?;
    let size = argument(1000)?;
    let defaults = CatalogueSettings::default();
    let settings = CatalogueSettings {
        page_bytes: u32::try_from(argument(u64::from(defaults.page_bytes))?)?,
        checkpoint_bytes: u32::try_from(argument(u64::from(defaults.checkpoint_bytes >> 20))? << 20)?,
        cache_bytes: u32::try_from(argument(u64::from(defaults.cache_bytes >> 20))? << 20)?,
    };
    let directory = tempfile::tempdir_in(".")?;
    let path = directory.path().join("catalog.db");
    let mut catalogue = SqliteCatalogue::open(&path, settings)?;
    let job = catalogue.create_job(&NewJob {
        name: None,
        seeds_hash: "0".into(),
        spec: "{}".into(),
        created_at: Millis(0),
        user: None,
    })?;
    println!("{pages} pages in batches of {size}, {settings:?}");
    let (mut spent, mut elapsed) = (0.0, 0.0);
    let mut done = 0;
    while done < pages {
        let until = (done + size).min(pages);
        let batch = Batch {
            at: Millis(1_767_323_045_678 + until),
            pages: (done..until).map(|number| page_row(job.id, number)).collect(),
            fetches: (done..until).map(|number| fetch_row(job.id, number)).collect(),
            ..Batch::default()
        };
        let (cpu, clock) = (cpu_seconds()?, Instant::now());
        catalogue.commit(&batch)?;
        spent += cpu_seconds()? - cpu;
        elapsed += clock.elapsed().as_secs_f64();
        if until * 5 / pages > done * 5 / pages {
            let each = 1e6 / until as f64;
            println!("{until:>9} pages: {:6.2} us CPU, {:6.2} us clock a page", spent * each, elapsed * each);
        }
        done = until;
    }
    let reader = catalogue.reader()?;
    let (cpu, mut count) = (cpu_seconds()?, 0u64);
    reader.pages(&PageQuery::of(job.id), &mut |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    println!("reading: {:6.2} us CPU a page", (cpu_seconds()? - cpu) * 1e6 / count as f64);
    drop(reader);
    let (cpu, clock) = (cpu_seconds()?, Instant::now());
    drop(catalogue);
    println!("closing: {:.2} s CPU, {:.2} s", cpu_seconds()? - cpu, clock.elapsed().as_secs_f64());
    println!("size: {:.0} bytes a page", std::fs::metadata(&path)?.len() as f64 / pages as f64);
    Ok(())
}

/// User and system time of this process.
fn cpu_seconds() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or("0").parse()?;
    Ok(nanoseconds / 1e9)
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
        topics: None,
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
