//! Rows as a crawl stores them, for measurements of a catalogue.

use argiope_model::{ContentHash, FetchTimings, JobId, Millis, Page, SimHash};
use argiope_store::catalogue::{FetchRow, OpenGraph, PageRow, RobotsRule, url_key};

pub(crate) fn page_row(job: JobId, number: u64, topics: Option<Vec<String>>) -> PageRow {
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
        topics,
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

pub(crate) fn fetch_row(job: JobId, number: u64) -> FetchRow {
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
