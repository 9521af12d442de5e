//! The contract suite of the catalogue port. An adapter's tests call `argiope_store::catalogue_contract!(open)`, where
//! `open()` returns an empty catalogue and everything that must live as long as it does, and get one test for each
//! check. If it returns `None`, because there is no server, the test ends at once.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test suite: a violation ends the test"
)]

use super::*;
use argiope_model::{
    ContentHash, FetchTimings, Hop, NormalRules, Page, RequestKind, SimHash, Skip, SkipReason, Url,
};
use std::any::Any;

mod duplicates;

pub use duplicates::{duplicates_are_grouped_by_their_original, originals_are_read_without_their_duplicates};

/// An empty catalogue, and what keeps it alive.
pub type Fixture = (Box<dyn Catalogue>, Box<dyn Any>);

/// One `#[test]` for each check of the contract.
#[macro_export]
macro_rules! catalogue_contract {
    ($open:expr) => {
        $crate::catalogue_contract!(@each $open,
            an_empty_catalogue_knows_nothing,
            a_page_is_read_back_exactly,
            pages_come_in_commit_order_and_know_their_batch,
            a_repeated_page_keeps_its_number_and_is_counted_once,
            a_forgotten_page_is_gone_with_all_that_it_counted,
            another_round_is_another_page,
            noindex_pages_are_returned_only_on_request,
            a_stream_ends_when_told_and_passes_errors_on,
            a_long_stream_has_every_page_once,
            requests_are_read_back_by_host_and_start,
            a_recovered_request_is_stored_once,
            robots_requests_of_one_url_are_all_kept,
            resources_are_stored_beside_pages_and_once,
            refusals_are_stored_once_per_job,
            what_is_attempted_is_not_refused,
            spellings_of_one_url_are_one_page_and_one_refusal,
            what_limits_cut_is_found_by_its_page_and_by_its_job,
            counters_follow_the_rows,
            jobs_are_found_by_name_hash_and_age,
            a_job_goes_through_its_states,
            a_deleted_job_leaves_nothing,
            positions_are_those_of_the_last_batch,
            hosts_and_robots_versions_are_kept,
            errors_and_dead_letters_are_kept,
            figures_for_a_report,
            originals_are_read_without_their_duplicates,
            duplicates_are_grouped_by_their_original,
            what_was_recovered_is_found_by_batch,
            a_reader_sees_what_is_committed_later
        );
    };
    (@each $open:expr, $($check:ident),+) => {
        $(
            #[test]
            fn $check() {
                let opened: Option<$crate::catalogue::contract::Fixture> = ($open)().into();
                let Some((mut catalogue, _guard)) = opened else { return };
                $crate::catalogue::contract::$check(catalogue.as_mut());
            }
        )+
    };
}

fn url(path: &str) -> String {
    format!("https://a.test{path}")
}

fn page_row(job: JobId, path: &str) -> PageRow {
    let url = url(path);
    let page = Page { url: url.clone(), status: Some(200), bytes: Some(100), ..Page::default() };
    PageRow::new(job, url_key(&url), "a.test", page)
}

fn fetch_row(job: JobId, host: &str, path: &str, started: u64) -> FetchRow {
    let url = format!("https://{host}{path}");
    let mut row = FetchRow::new(job, host, url.clone(), url_key(&url));
    row.timings =
        FetchTimings { started: Millis(started), ended: Millis(started + 5), ..FetchTimings::default() };
    row.bytes = 10;
    row
}

fn new_job(catalogue: &mut dyn Catalogue, name: Option<&str>, hash: &str) -> JobId {
    let job = NewJob {
        name: name.map(str::to_owned),
        seeds_hash: hash.to_owned(),
        spec: "{}".to_owned(),
        created_at: Millis(1),
        user: None,
    };
    catalogue.create_job(&job).unwrap().id
}

fn commit_pages(catalogue: &mut dyn Catalogue, pages: Vec<PageRow>) -> Committed {
    catalogue.commit(&Batch { pages, ..Batch::default() }).unwrap()
}

fn collect<T>(read: impl FnOnce(Each<'_, T>) -> Result<()>) -> Vec<T> {
    let mut rows = Vec::new();
    read(&mut |row| {
        rows.push(row);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    rows
}

fn urls_of(pages: &[StoredPage]) -> Vec<&str> {
    pages.iter().map(|stored| stored.row.page.url.as_str()).collect()
}

pub fn an_empty_catalogue_knows_nothing(catalogue: &mut dyn Catalogue) {
    let reader = catalogue.reader().unwrap();
    assert_eq!(reader.last_batch().unwrap(), 0);
    assert!(reader.jobs().unwrap().is_empty() && reader.latest_job().unwrap().is_none());
    assert!(collect(|each| reader.pages(&PageQuery::default(), each)).is_empty());
    assert!(collect(|each| reader.fetches(None, each)).is_empty());
    assert!(reader.page(None, "https://a.test/").unwrap().is_none());
    assert_eq!(reader.counts(JobId(1)).unwrap(), JobCounts::default());
    assert!(reader.archive_positions().unwrap().is_empty() && reader.links_position().unwrap().is_none());
    reader.check().unwrap();
}

pub fn a_page_is_read_back_exactly(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let mut full = page_row(job, "/full");
    full.page = Page {
        url: url("/full"),
        final_url: Some(url("/there")),
        status: Some(301),
        depth: 7,
        title: Some("Tïtle \"with\" 'quotes' \u{0} and nul".into()),
        description: Some(String::new()),
        keywords: Some("a, b".into()),
        author: Some("1e5".into()),
        language: Some("007".into()),
        canonical: Some(url("/canonical")),
        content_type: Some("text/html".into()),
        bytes: Some(u64::MAX >> 12),
        content_hash: ContentHash::parse(&"0123456789abcdef".repeat(4)),
        simhash: Some(SimHash(u64::MAX)),
        duplicate_of: Some(url("/first")),
        word_count: Some(u32::MAX),
        topics: Some(vec!["a;b".into(), "ü".into()]),
        links: Some(0),
        crawled_at: Some(Millis(1_767_323_045_678)),
        fetch_ms: Some(250),
        error: Some("truncated: at 10 MB".into()),
        archive: Some("a-00001.warc.gz:123456".into()),
    };
    full.url_key = u64::MAX;
    full.round = 3;
    full.retry_count = 2;
    full.redirects = vec![Hop { url: Url::from_stored(&url("/full")).unwrap(), status: 301 }];
    full.timings = FetchTimings {
        started: Millis(1_767_323_045_000),
        ended: Millis(1_767_323_045_250),
        dns_us: 1,
        connect_us: 2,
        tls_us: 3,
        first_byte_us: u32::MAX,
        download_us: 5,
    };
    full.open_graph = OpenGraph {
        title: Some("og".into()),
        description: Some("ogd".into()),
        image: Some("ogi".into()),
        kind: Some("article".into()),
    };
    full.headings = vec!["One".into(), "Two".into()];
    full.noindex = true;
    full.nofollow = true;
    full.priority = 9;
    full.source = Some(url("/"));
    full.scheduled_at = Millis(5);
    full.next_crawl_at = Some(Millis(6));
    full.crawl_count = 4;
    full.error_count = 1;
    full.worker_id = Some("w1".into());
    full.etag = Some("\"x\"".into());
    full.last_modified = Some("yesterday".into());
    // The least values, and an empty list in place of an unknown one.
    let mut odd = page_row(job, "/odd");
    odd.page.content_hash = Some(ContentHash([0; 32]));
    odd.page.simhash = Some(SimHash(0));
    odd.page.crawled_at = Some(Millis(0));
    odd.page.topics = Some(Vec::new());
    let bare = PageRow::new(job, 5, "b.test", Page { url: "https://b.test/".into(), ..Page::default() });
    let rows = vec![full, odd, bare];
    commit_pages(catalogue, rows.clone());
    let reader = catalogue.reader().unwrap();
    let query = PageQuery { include_noindex: true, ..PageQuery::of(job) };
    let read: Vec<PageRow> =
        collect(|each| reader.pages(&query, each)).into_iter().map(|stored| stored.row).collect();
    assert_eq!(read, rows);
}

pub fn pages_come_in_commit_order_and_know_their_batch(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let other = new_job(catalogue, None, "i");
    let first =
        commit_pages(catalogue, vec![page_row(job, "/b"), page_row(other, "/x"), page_row(job, "/a")]);
    let second = commit_pages(catalogue, vec![page_row(job, "/c")]);
    assert_eq!(second.batch, first.batch + 1);
    let seqs: Vec<u64> = first.pages.iter().chain(&second.pages).map(|placed| placed.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
    let reader = catalogue.reader().unwrap();
    assert_eq!(reader.last_batch().unwrap(), second.batch);
    let pages = collect(|each| reader.pages(&PageQuery::of(job), each));
    assert_eq!(urls_of(&pages), [url("/b"), url("/a"), url("/c")]);
    assert_eq!(pages[2].seq, second.pages[0].seq);
    let after = PageQuery { after_seq: first.pages[0].seq, ..PageQuery::of(job) };
    assert_eq!(urls_of(&collect(|each| reader.pages(&after, each))), [url("/a"), url("/c")]);
    assert_eq!(collect(|each| reader.pages(&PageQuery::default(), each)).len(), 4);
    assert_eq!(reader.page(Some(job), &url("/c")).unwrap().unwrap().seq, second.pages[0].seq);
    assert!(reader.page(Some(other), &url("/c")).unwrap().is_none());
}

pub fn a_repeated_page_keeps_its_number_and_is_counted_once(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let first = commit_pages(catalogue, vec![page_row(job, "/a"), page_row(job, "/b")]);
    let mut again = page_row(job, "/a");
    again.page.status = Some(404);
    again.page.bytes = Some(7);
    let second = commit_pages(catalogue, vec![again, page_row(job, "/c")]);
    assert_eq!(second.pages[0], PlacedPage { seq: first.pages[0].seq, repeated: true });
    assert!(!second.pages[1].repeated && second.pages[1].seq > first.pages[1].seq);
    let reader = catalogue.reader().unwrap();
    let pages = collect(|each| reader.pages(&PageQuery::of(job), each));
    assert_eq!(urls_of(&pages), [url("/a"), url("/b"), url("/c")]);
    assert_eq!(pages[0].row.page.status, Some(404));
    let counts = reader.counts(job).unwrap();
    assert_eq!((counts.pages, counts.bytes), (3, 207));
    assert_eq!(counts.by_status, [(200, 2), (404, 1)].into());
}

pub fn a_forgotten_page_is_gone_with_all_that_it_counted(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let mut failed = page_row(job, "/a");
    failed.page.status = None;
    failed.page.bytes = None;
    failed.page.error = Some("timeout: first byte after 30 s".into());
    let first = commit_pages(catalogue, vec![failed.clone(), page_row(job, "/b")]);
    let reached = OutputPosition { job, path: "/out.jsonl".into(), seq: first.pages[1].seq, length: 90 };
    let outputs = vec![reached, OutputPosition { job, path: "-".into(), seq: 2, length: 90 }];
    catalogue.commit(&Batch { outputs, ..Batch::default() }).unwrap();
    let unknown = page_row(job, "/never").key();
    // It was stored again by somebody who was quicker.
    let newer = PageKey { started: Millis(99), ..page_row(job, "/b").key() };
    catalogue.commit(&Batch { forgotten: vec![failed.key(), unknown, newer], ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    assert_eq!(urls_of(&collect(|each| reader.pages(&PageQuery::of(job), each))), [url("/b")]);
    assert!(reader.page(Some(job), &url("/a")).unwrap().is_none());
    let counts = reader.counts(job).unwrap();
    assert_eq!((counts.pages, counts.failed, counts.bytes), (1, 0, 100));
    assert_eq!(counts.by_error, [].into());
    // A file is rewritten; output to a pipe cannot be undone.
    let position = |path| reader.output_position(job, path).unwrap().unwrap();
    assert_eq!((position("/out.jsonl").seq, position("/out.jsonl").length), (0, 0));
    assert_eq!(position("-").seq, 2);
    // It comes back as a new page, even with the batch that forgets it.
    let again = Batch {
        forgotten: vec![page_row(job, "/b").key()],
        pages: vec![page_row(job, "/a"), page_row(job, "/b")],
        ..Batch::default()
    };
    let again = catalogue.commit(&again).unwrap();
    assert!(
        again.pages.iter().all(|placed| !placed.repeated && placed.seq > first.pages[1].seq),
        "{again:?}"
    );
    let counts = catalogue.reader().unwrap().counts(job).unwrap();
    assert_eq!((counts.pages, counts.failed, counts.bytes), (2, 0, 200));
}

pub fn another_round_is_another_page(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let mut again = page_row(job, "/a");
    again.round = 1;
    commit_pages(catalogue, vec![page_row(job, "/a"), again]);
    let reader = catalogue.reader().unwrap();
    assert_eq!(collect(|each| reader.pages(&PageQuery::of(job), each)).len(), 2);
    assert_eq!(reader.page(None, &url("/a")).unwrap().unwrap().row.round, 1);
}

pub fn noindex_pages_are_returned_only_on_request(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let mut hidden = page_row(job, "/hidden");
    hidden.noindex = true;
    commit_pages(catalogue, vec![hidden, page_row(job, "/shown")]);
    let reader = catalogue.reader().unwrap();
    assert_eq!(urls_of(&collect(|each| reader.pages(&PageQuery::of(job), each))), [url("/shown")]);
    let all = PageQuery { include_noindex: true, ..PageQuery::of(job) };
    assert_eq!(collect(|each| reader.pages(&all, each)).len(), 2);
    assert_eq!(reader.counts(job).unwrap().noindex, 1);
}

pub fn a_stream_ends_when_told_and_passes_errors_on(catalogue: &mut dyn Catalogue) {
    use crate::error::{ErrorKind, StoreError};
    let job = new_job(catalogue, None, "h");
    commit_pages(catalogue, (0..5).map(|n| page_row(job, &format!("/{n}"))).collect());
    let reader = catalogue.reader().unwrap();
    let mut seen = 0;
    reader
        .pages(&PageQuery::of(job), &mut |_| {
            seen += 1;
            Ok(if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .unwrap();
    assert_eq!(seen, 2);
    let failed = reader
        .pages(&PageQuery::of(job), &mut |_| Err(StoreError::new(ErrorKind::DiskFull, "out", "full")))
        .unwrap_err();
    assert_eq!(failed.kind, ErrorKind::DiskFull);
}

pub fn a_long_stream_has_every_page_once(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let other = new_job(catalogue, None, "i");
    for part in 0..5 {
        let pages =
            (0..1000).map(|n| page_row(if n % 3 == 0 { other } else { job }, &format!("/{part}/{n}")));
        commit_pages(catalogue, pages.collect());
    }
    let reader = catalogue.reader().unwrap();
    let pages = collect(|each| reader.pages(&PageQuery::of(job), each));
    assert_eq!(pages.len(), 3330);
    assert!(pages.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    assert_eq!(collect(|each| reader.pages_after_batch(2, each)).len(), 3000);
}

pub fn requests_are_read_back_by_host_and_start(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let mut full = fetch_row(job, "a.test", "/full", 20);
    full.scheduled_url = Some(url("/from"));
    full.url_key = url_key(&url("/from"));
    full.kind = RequestKind::Sitemap;
    full.round = 1;
    full.attempt = 2;
    full.hop = 3;
    full.outcome = FetchOutcome::Redirect;
    full.timings.dns_us = 1;
    full.timings.download_us = 5;
    full.status = Some(302);
    full.error = Some("reset: x".into());
    full.address = Some("127.0.0.1:443".into());
    full.rule = Some(RobotsRule { text: "Allow: /".into(), line: 4 });
    full.required_delay_ms = 1000;
    full.per_host = 2;
    full.worker_id = Some("w".into());
    let rows = vec![fetch_row(job, "b.test", "/", 1), full.clone(), fetch_row(job, "a.test", "/", 10)];
    catalogue.commit(&Batch { fetches: rows.clone(), ..Batch::default() }).unwrap();
    let other = new_job(catalogue, None, "i");
    catalogue
        .commit(&Batch { fetches: vec![fetch_row(other, "a.test", "/", 15)], ..Batch::default() })
        .unwrap();
    let reader = catalogue.reader().unwrap();
    let read = collect(|each| reader.fetches(Some(job), each));
    assert_eq!(read, [rows[2].clone(), full.clone(), rows[0].clone()]);
    let starts: Vec<u64> =
        collect(|each| reader.fetches(None, each)).iter().map(|row| row.timings.started.0).collect();
    assert_eq!(starts, [10, 15, 20, 1]);
    assert_eq!(reader.fetches_of(Some(job), &url("/from"), 10).unwrap(), [full.clone()]);
    assert_eq!(reader.hops_to(job, &full.url, 10).unwrap(), [full.clone()]);
    assert!(reader.hops_to(job, &rows[0].url, 10).unwrap().is_empty(), "it was scheduled itself");
    assert!(reader.hops_to(other, &full.url, 10).unwrap().is_empty());
    // Of two that started in the same millisecond, the one that ended first came first.
    let third = new_job(catalogue, None, "k");
    let ending = |at| {
        let mut row = fetch_row(third, "c.test", "/", 50);
        row.timings.ended = Millis(at);
        row
    };
    catalogue.commit(&Batch { fetches: vec![ending(52), ending(51)], ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    let read = collect(|each| reader.fetches(Some(third), each));
    assert_eq!(read.iter().map(|row| row.timings.ended.0).collect::<Vec<_>>(), [51, 52]);
    let mut delays = reader.host_delays(job).unwrap();
    delays.sort();
    assert_eq!(delays, [(String::from("a.test"), 1000), (String::from("b.test"), 0)]);
    assert_eq!(reader.host_delays(other).unwrap(), [(String::from("a.test"), 0)]);
}

pub fn a_recovered_request_is_stored_once(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let batch = |rows: &[FetchRow], recovered| Batch {
        at: Millis(100),
        fetches: rows.to_vec(),
        recovered,
        ..Batch::default()
    };
    let old = fetch_row(job, "a.test", "/old", 1);
    let known = fetch_row(job, "a.test", "/known", 50);
    let mut retried = known.clone();
    retried.attempt = 1;
    retried.timings.started = Millis(60);
    catalogue.commit(&batch(std::slice::from_ref(&old), false)).unwrap();
    catalogue.commit(&batch(std::slice::from_ref(&known), false)).unwrap();
    catalogue.commit(&batch(&[known.clone(), retried.clone(), old.clone()], true)).unwrap();
    let reader = catalogue.reader().unwrap();
    assert_eq!(collect(|each| reader.fetches(Some(job), each)), [old, known, retried]);
    let counts = reader.counts(job).unwrap();
    assert_eq!((counts.requests, counts.received), (3, 30));
}

pub fn robots_requests_of_one_url_are_all_kept(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    for day in 0..3 {
        let mut row = fetch_row(job, "a.test", "/robots.txt", day * 86_400_000);
        row.kind = RequestKind::Robots;
        catalogue.commit(&Batch { fetches: vec![row], ..Batch::default() }).unwrap();
    }
    let reader = catalogue.reader().unwrap();
    assert_eq!(collect(|each| reader.fetches(Some(job), each)).len(), 3);
}

pub fn resources_are_stored_beside_pages_and_once(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let other = new_job(catalogue, None, "i");
    let row = |job, path: &str, status| ResourceRow {
        status,
        source: Some(url("/")),
        fetched_at: Millis(7),
        ..ResourceRow::new(job, url(path))
    };
    let full = ResourceRow {
        round: 2,
        final_url: Some(url("/moved")),
        error: Some("truncated: x".into()),
        content_type: Some("image/png".into()),
        bytes: Some(u64::MAX),
        fetch_ms: 12,
        archive: Some("a.warc.gz:7".into()),
        ..row(job, "/full", Some(200))
    };
    let missing = row(job, "/missing", Some(404));
    let rows = vec![full.clone(), missing.clone(), row(other, "/full", None), row(job, "/heals", None)];
    let batch = Batch { resources: rows, pages: vec![page_row(job, "/full")], ..Batch::default() };
    assert!(!Batch { pages: Vec::new(), ..batch.clone() }.is_empty());
    catalogue.commit(&batch).unwrap();
    let reader = catalogue.reader().unwrap();
    let counts = reader.counts(job).unwrap();
    assert_eq!((counts.pages, counts.resources, counts.broken_resources), (1, 3, 2));
    let healed = row(job, "/heals", Some(200));
    catalogue
        .commit(&Batch {
            resources: vec![healed.clone(), healed.clone(), missing.clone()],
            ..Batch::default()
        })
        .unwrap();
    let counts = reader.counts(job).unwrap();
    assert_eq!((counts.pages, counts.resources, counts.broken_resources), (1, 3, 1));
    let expected = [full.clone(), missing.clone(), healed];
    assert_eq!(collect(|each| reader.resources(Some(job), each)), expected);
    assert_eq!(collect(|each| reader.resources(None, each)).len(), 4);
    assert_eq!(reader.resource(Some(job), &url("/full")).unwrap(), Some(full));
    assert_eq!(reader.resource(None, &url("/full")).unwrap().unwrap().job, other);
    assert_eq!(reader.resource(Some(other), &url("/missing")).unwrap(), None);
    assert!(reader.page(Some(job), &url("/missing")).unwrap().is_none(), "it is not a page");
    catalogue.delete_job(job).unwrap();
    assert!(collect(|each| reader.resources(Some(job), each)).is_empty());
}

pub fn refusals_are_stored_once_per_job(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let other = new_job(catalogue, None, "i");
    let row = |job, path: &str, detail: &str| SkippedRow {
        job,
        url_key: url_key(&url(path)),
        url: url(path),
        reason: SkipReason::OutOfScope,
        detail: detail.to_owned(),
        source: Some(url("/")),
        amount: 0,
    };
    let commit = |catalogue: &mut dyn Catalogue, skipped| {
        catalogue.commit(&Batch { skipped, ..Batch::default() }).unwrap();
    };
    commit(catalogue, vec![row(job, "/a", "first"), row(other, "/a", "other"), row(job, "/a", "second")]);
    let trap = SkippedRow { reason: SkipReason::Trap, ..row(job, "/b", "deep") };
    commit(catalogue, vec![row(job, "/a", "third"), trap.clone()]);
    let reader = catalogue.reader().unwrap();
    assert_eq!(collect(|each| reader.skipped(Some(job), each)), [row(job, "/a", "first"), trap.clone()]);
    assert_eq!(collect(|each| reader.skipped(None, each)).len(), 3);
    let numbered = collect(|each| reader.skipped_after(Some(job), 0, each));
    let [(first, _), (second, _)] = numbered[..] else { panic!("{numbered:?}") };
    assert!(0 < first && first < second);
    assert_eq!(collect(|each| reader.skipped_after(Some(job), first, each)), [(second, trap.clone())]);
    assert_eq!(collect(|each| reader.skipped_after(Some(job), second, each)), []);
    assert_eq!(reader.skipped_url(Some(job), &url("/b")).unwrap(), Some(trap));
    assert_eq!(reader.skipped_url(None, &url("/a")).unwrap().unwrap().job, other);
    assert_eq!(reader.skipped_url(Some(other), &url("/b")).unwrap(), None);
    let counts = reader.counts(job).unwrap();
    assert_eq!(counts.by_skip, [(SkipReason::OutOfScope, 1), (SkipReason::Trap, 1)].into());
}

pub fn spellings_of_one_url_are_one_page_and_one_refusal(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let rules = NormalRules::default();
    let parse = |text: &str| Url::parse(&url(text), &rules).unwrap();
    let row = |text: &str, reason| SkippedRow::new(job, &parse(text), Skip::new(reason, "x"), None);
    let page = |text: &str| {
        let found = parse(text);
        let page = Page { url: found.as_str().to_owned(), status: Some(200), ..Page::default() };
        PageRow::new(job, found.identity().key_u64(), "a.test", page)
    };
    let refused = vec![
        row("/no?b=1&a=2", SkipReason::Filtered),
        row("/no?a=2&b=1", SkipReason::Filtered),
        row("/page?ref=1", SkipReason::Merged),
        row("/page?ref=2", SkipReason::Merged),
        row("/page?ref=1", SkipReason::Merged),
    ];
    catalogue.commit(&Batch { skipped: refused, ..Batch::default() }).unwrap();
    let pages = vec![page("/page?ref=2"), page("/x//y")];
    catalogue.commit(&Batch { pages, ..Batch::default() }).unwrap();
    let late = vec![
        row("/page?ref=2", SkipReason::Merged),
        row("/page?ref=3", SkipReason::Merged),
        row("/x/y", SkipReason::Filtered),
    ];
    catalogue.commit(&Batch { skipped: late, ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    let left: Vec<String> =
        collect(|each| reader.skipped(Some(job), each)).into_iter().map(|row| row.url).collect();
    assert_eq!(left, [url("/no?b=1&a=2"), url("/page?ref=1"), url("/page?ref=3")]);
    let counts = reader.counts(job).unwrap();
    assert_eq!(counts.by_skip, [(SkipReason::Filtered, 1), (SkipReason::Merged, 2)].into());
    let found = |text: &str| reader.page(Some(job), parse(text).normal()).unwrap().map(|p| p.row.page.url);
    assert_eq!(found("/page?ref=77"), Some(url("/page?ref=2")));
    assert_eq!(found("/x/y"), Some(url("/x//y")));
    let refused = reader.skipped_url(Some(job), parse("/no?a=2&b=1").normal()).unwrap();
    assert_eq!(refused.map(|row| row.url), Some(url("/no?b=1&a=2")));
}

pub fn what_is_attempted_is_not_refused(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let other = new_job(catalogue, None, "i");
    let row = |job, path: &str| SkippedRow {
        job,
        url_key: url_key(&url(path)),
        url: url(path),
        reason: SkipReason::Filtered,
        detail: "nofollow".to_owned(),
        source: Some(url("/")),
        amount: 0,
    };
    let links = SkippedRow { reason: SkipReason::TooManyLinks, amount: 169, ..row(job, "/many") };
    let beyond = |path: &str| SkippedRow { reason: SkipReason::OverLinkLimit, ..row(job, path) };
    let refusals = vec![
        row(job, "/before"),
        row(job, "/never"),
        row(other, "/before"),
        beyond("/with"),
        beyond("/over"),
    ];
    catalogue.commit(&Batch { skipped: refusals, ..Batch::default() }).unwrap();
    let pages = vec![page_row(job, "/before"), page_row(job, "/with"), page_row(job, "/many")];
    let skipped = vec![row(job, "/with"), links.clone()];
    catalogue.commit(&Batch { pages, skipped, ..Batch::default() }).unwrap();
    let late = vec![row(job, "/before"), row(job, "/with"), links.clone()];
    catalogue.commit(&Batch { skipped: late, ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    let expected = [row(job, "/never"), beyond("/over"), as_stored(links)];
    assert_eq!(collect(|each| reader.skipped(Some(job), each)), expected);
    assert_eq!(reader.skipped_url(Some(job), &url("/before")).unwrap(), None);
    let counts = reader.counts(job).unwrap();
    assert_eq!(counts.by_skip, [(SkipReason::Filtered, 1), (SkipReason::TooManyLinks, 169)].into());
    assert_eq!(reader.counts(other).unwrap().skipped(), 1, "another job's skipped URL stays");
}

/// A row about a page has a key of its own.
fn as_stored(row: SkippedRow) -> SkippedRow {
    SkippedRow { url_key: row.stored_key(), ..row }
}

pub fn what_limits_cut_is_found_by_its_page_and_by_its_job(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let other = new_job(catalogue, None, "i");
    let row = |job, path: &str, reason, amount| SkippedRow {
        job,
        url_key: url_key(&url(path)),
        url: url(path),
        reason,
        detail: format!("{reason} of {path}"),
        source: Some(url("/")),
        amount,
    };
    let links = row(job, "/big", SkipReason::TooManyLinks, 5);
    let body = row(job, "/big", SkipReason::BodyTruncated, 1_000_000);
    let trap = row(job, "/trap/1", SkipReason::Trap, 0);
    let long = row(job, "/long", SkipReason::UrlTooLong, 0);
    let skipped = vec![
        row(job, "/elsewhere", SkipReason::OutOfScope, 0),
        links.clone(),
        body.clone(),
        trap.clone(),
        long.clone(),
        row(job, "/over", SkipReason::OverLinkLimit, 0),
        row(other, "/trap/1", SkipReason::Trap, 0),
    ];
    let pages = vec![page_row(job, "/big")];
    for _ in 0..2 {
        let (pages, skipped) = (pages.clone(), skipped.clone());
        catalogue.commit(&Batch { pages, skipped, recovered: true, ..Batch::default() }).unwrap();
    }
    let reader = catalogue.reader().unwrap();
    let (links, body) = (as_stored(links), as_stored(body));
    assert_eq!(collect(|each| reader.cuts(job, each)), [links.clone(), body.clone(), trap, long]);
    assert_eq!(reader.notes(job, &url("/big")).unwrap(), [links, body], "the page is there, and so are they");
    assert_eq!(reader.notes(job, &url("/trap/1")).unwrap(), []);
    assert_eq!(reader.notes(other, &url("/big")).unwrap(), []);
    let expected = [
        (SkipReason::OutOfScope, 1),
        (SkipReason::Trap, 1),
        (SkipReason::TooManyLinks, 5),
        (SkipReason::UrlTooLong, 1),
        (SkipReason::BodyTruncated, 1),
    ];
    assert_eq!(reader.counts(job).unwrap().by_skip, expected.into());
}

pub fn counters_follow_the_rows(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let mut failed = page_row(job, "/failed");
    failed.page.status = None;
    failed.page.bytes = None;
    failed.page.error = Some("timeout: no byte within 30 s".into());
    let mut copy = page_row(job, "/copy");
    copy.page.duplicate_of = Some(url("/"));
    copy.redirects = vec![Hop { url: Url::from_stored(&url("/copy")).unwrap(), status: 302 }];
    let fetches = vec![fetch_row(job, "a.test", "/", 1), fetch_row(job, "a.test", "/b", 2)];
    let pages = vec![page_row(job, "/"), failed, copy];
    catalogue.commit(&Batch { pages, fetches, ..Batch::default() }).unwrap();
    let counts = catalogue.reader().unwrap().counts(job).unwrap();
    assert_eq!((counts.pages, counts.failed, counts.bytes), (2, 1, 200));
    assert_eq!((counts.requests, counts.received), (2, 20));
    assert_eq!((counts.duplicates, counts.redirected), (1, 1));
    assert_eq!(counts.by_status, [(200, 2)].into());
    assert_eq!(counts.by_error, [("timeout".to_owned(), 1)].into());
}

pub fn jobs_are_found_by_name_hash_and_age(catalogue: &mut dyn Catalogue) {
    let first = new_job(catalogue, Some("shop"), "aa");
    let second = new_job(catalogue, None, "bb");
    let third = new_job(catalogue, Some("shop"), "cc");
    let tricky = new_job(catalogue, None, "shop");
    let reader = catalogue.reader().unwrap();
    assert_eq!(reader.find_job("shop").unwrap().unwrap().id, third);
    assert_eq!(reader.find_job("aa").unwrap().unwrap().id, first);
    assert_eq!(reader.find_job("bb").unwrap().unwrap().id, second);
    assert!(reader.find_job("nothing").unwrap().is_none());
    assert_eq!(reader.latest_job().unwrap().unwrap().id, tricky);
    let ids: Vec<JobId> = reader.jobs().unwrap().iter().map(|job| job.id).collect();
    assert_eq!(ids, [first, second, third, tricky]);
    assert_eq!(reader.job(first).unwrap().unwrap().name.as_deref(), Some("shop"));
}

pub fn a_job_goes_through_its_states(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let mut change = |state, message: Option<&str>, at| {
        let message = message.map(str::to_owned);
        let update = JobUpdate { job, state, message, spec: None, at: Millis(at) };
        catalogue.commit(&Batch { jobs: vec![update], ..Batch::default() }).unwrap();
        catalogue.reader().unwrap().job(job).unwrap().unwrap()
    };
    assert_eq!(change(Some(JobState::Running), None, 10).started_at, Some(Millis(10)));
    let paused = change(Some(JobState::Paused), Some("network down"), 20);
    assert_eq!((paused.state, paused.message.as_deref()), (JobState::Paused, Some("network down")));
    let again = change(Some(JobState::Running), None, 30);
    assert_eq!((again.started_at, again.message), (Some(Millis(10)), None));
    let ended = change(Some(JobState::Completed), None, 40);
    assert_eq!((ended.state, ended.finished_at), (JobState::Completed, Some(Millis(40))));
    let point = JobStats { at: Millis(5), pages: 7, ..JobStats::default() };
    let later = JobStats { at: Millis(9), pages: 9, ..JobStats::default() };
    let update =
        JobUpdate { job, state: None, message: None, spec: Some("{\"depth\":1}".into()), at: Millis(50) };
    let stats = vec![(job, point), (job, later)];
    catalogue.commit(&Batch { jobs: vec![update], stats, ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    let stored = reader.job(job).unwrap().unwrap();
    assert_eq!((stored.spec.as_str(), stored.state), ("{\"depth\":1}", JobState::Completed));
    assert_eq!(reader.stats(job, Millis(0)).unwrap(), [point, later]);
    assert_eq!(reader.stats(job, Millis(6)).unwrap(), [later]);
}

pub fn a_deleted_job_leaves_nothing(catalogue: &mut dyn Catalogue) {
    let kept = new_job(catalogue, None, "kept");
    let gone = new_job(catalogue, None, "gone");
    let placed = commit_pages(catalogue, vec![page_row(kept, "/"), page_row(gone, "/")]);
    let fetches = vec![fetch_row(gone, "a.test", "/", 1), fetch_row(kept, "a.test", "/", 2)];
    catalogue.commit(&Batch { fetches, ..Batch::default() }).unwrap();
    catalogue.delete_job(gone).unwrap();
    let reader = catalogue.reader().unwrap();
    assert!(reader.job(gone).unwrap().is_none());
    assert_eq!(reader.counts(gone).unwrap(), JobCounts::default());
    assert_eq!(collect(|each| reader.pages(&PageQuery::default(), each)).len(), 1);
    assert_eq!(collect(|each| reader.fetches(None, each)).len(), 1);
    assert!(new_job(catalogue, None, "new") > gone, "ids are not used again");
    let next = commit_pages(catalogue, vec![page_row(kept, "/next")]);
    assert!(next.pages[0].seq > placed.pages[1].seq, "numbers are not used again");
}

pub fn positions_are_those_of_the_last_batch(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let file = |name: &str, length| FilePosition { file: name.to_owned(), length };
    let output = |seq, length| OutputPosition { job, path: "/x/pages.jsonl".into(), seq, length };
    let mut commit = |archive, segment, length, out| {
        let links = Some(LinksPosition { segment, length });
        catalogue.commit(&Batch { archive, links, outputs: vec![out], ..Batch::default() }).unwrap();
    };
    commit(vec![file("a", 10)], 9, 5, output(1, 100));
    commit(vec![file("a", 20), file("b", 1)], 10, 3, output(2, 200));
    let reader = catalogue.reader().unwrap();
    assert_eq!(reader.archive_positions().unwrap(), [file("a", 20), file("b", 1)]);
    assert_eq!(reader.links_position().unwrap(), Some(LinksPosition { segment: 10, length: 3 }));
    assert_eq!(reader.output_position(job, "/x/pages.jsonl").unwrap(), Some(output(2, 200)));
    assert_eq!(reader.output_position(job, "/y/pages.jsonl").unwrap(), None);
}

pub fn hosts_and_robots_versions_are_kept(catalogue: &mut dyn Catalogue) {
    let host = HostRow {
        host: "a.test".into(),
        root_domain: "a.test".into(),
        robots_text: Some("User-agent: *".into()),
        robots_fetched_at: Some(Millis(5)),
        robots_status: Some(200),
        crawl_delay_ms: Some(2000),
        delay_ms: 2000,
        is_allowed: true,
        page_count: 3,
        error_count: 1,
        bytes: 99,
        last_request_at: Some(Millis(7)),
    };
    let later = HostRow {
        robots_text: None,
        robots_fetched_at: None,
        robots_status: None,
        page_count: 4,
        ..host.clone()
    };
    let robots = |at, body: &str| RobotsRow {
        origin: "https://a.test".into(),
        fetched_at: Millis(at),
        status: Some(200),
        body: body.into(),
    };
    let versions = vec![robots(1, "one"), robots(2, "one"), robots(3, "")];
    let mut batch = Batch { hosts: vec![host.clone()], robots: versions.clone(), ..Batch::default() };
    catalogue.commit(&batch).unwrap();
    batch.hosts = vec![later];
    catalogue.commit(&batch).unwrap();
    let reader = catalogue.reader().unwrap();
    assert_eq!(reader.host("a.test").unwrap(), Some(HostRow { page_count: 4, ..host }));
    assert_eq!(reader.host("b.test").unwrap(), None);
    assert_eq!(reader.robots("https://a.test").unwrap(), versions);
    assert!(reader.robots("http://a.test").unwrap().is_empty());
}

pub fn errors_and_dead_letters_are_kept(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let row = |attempt, dead_letter| ErrorRow {
        job,
        url_key: url_key(&url("/a")),
        url: url("/a"),
        host: "a.test".into(),
        round: 0,
        attempt,
        kind: "timeout".into(),
        message: "no byte within 30 s".into(),
        status: None,
        at: Millis(9),
        dead_letter,
    };
    let batch = Batch { errors: vec![row(0, false), row(1, true)], ..Batch::default() };
    catalogue.commit(&batch).unwrap();
    catalogue.commit(&batch).unwrap();
    let reader = catalogue.reader().unwrap();
    assert_eq!(collect(|each| reader.errors(job, false, each)), [row(0, false), row(1, true)]);
    assert_eq!(collect(|each| reader.errors(job, true, each)), [row(1, true)]);
}

pub fn figures_for_a_report(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let timed = |host: &str, path: &str, status, fetch_ms| {
        let mut row = page_row(job, path);
        row.host = host.to_owned();
        row.page.status = status;
        row.page.fetch_ms = Some(fetch_ms);
        row
    };
    let mut moved = timed("a.test", "/moved", Some(200), 30);
    moved.redirects = vec![Hop { url: Url::from_stored(&url("/moved")).unwrap(), status: 301 }];
    moved.page.final_url = Some(url("/there"));
    moved.page.duplicate_of = Some(url("/1"));
    let mut gone = timed("a.test", "/gone", Some(404), 20);
    gone.source = Some(url("/1"));
    let dead = timed("b.test", "/dead", None, 500);
    let mut circle = timed("b.test", "/circle", Some(302), 1);
    circle.page.error = Some("redirect: loop".into());
    commit_pages(catalogue, vec![timed("a.test", "/1", Some(200), 10), gone, dead, moved, circle]);
    let reader = catalogue.reader().unwrap();
    assert_eq!(reader.host_count(job).unwrap(), 2);
    let hosts = reader.host_figures(job, HostOrder::MostPages, 10).unwrap();
    let expected = HostFigures {
        host: "a.test".into(),
        pages: 3,
        failed: 0,
        bytes: 300,
        mean_fetch_ms: 20,
        max_fetch_ms: 30,
    };
    assert_eq!((hosts.len(), &hosts[0]), (2, &expected));
    assert_eq!(reader.host_figures(job, HostOrder::Slowest, 1).unwrap()[0].host, "b.test");
    assert_eq!(reader.host_figures(job, HostOrder::MostFailures, 1).unwrap()[0].failed, 1);
    let urls = |kind, limit| -> Vec<String> {
        reader.briefs(job, kind, limit).unwrap().into_iter().map(|brief| brief.url).collect()
    };
    assert_eq!(urls(BriefKind::Slow, 2), [url("/dead"), url("/moved")]);
    assert_eq!(urls(BriefKind::Broken, 9), [url("/gone"), url("/dead"), url("/circle")]);
    assert_eq!(urls(BriefKind::Redirected, 9), [url("/moved")]);
    assert_eq!(urls(BriefKind::Duplicate, 9), [url("/moved")]);
    assert_eq!(reader.briefs(job, BriefKind::Broken, 1).unwrap()[0].source, Some(url("/1")));
    assert_eq!(reader.briefs(job, BriefKind::Redirected, 1).unwrap()[0].final_url, Some(url("/there")));
}

pub fn what_was_recovered_is_found_by_batch(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let batch = |pages: &[&str], started| Batch {
        at: Millis(started + 10),
        pages: pages.iter().map(|path| page_row(job, path)).collect(),
        fetches: pages.iter().map(|path| fetch_row(job, "a.test", path, started)).collect(),
        ..Batch::default()
    };
    let first = catalogue.commit(&batch(&["/1", "/2"], 100)).unwrap().batch;
    let second = catalogue.commit(&batch(&["/3"], 200)).unwrap().batch;
    catalogue.commit(&batch(&["/1", "/4"], 300)).unwrap();
    let reader = catalogue.reader().unwrap();
    let pages = |batch| -> Vec<String> {
        collect(|each| reader.pages_after_batch(batch, each))
            .into_iter()
            .map(|stored| stored.row.page.url)
            .collect()
    };
    assert_eq!(pages(second), [url("/1"), url("/4")], "a page recorded again belongs to its last batch");
    assert_eq!(pages(first), [url("/1"), url("/3"), url("/4")]);
    assert_eq!(pages(0).len(), 4);
    let starts = |batch| -> Vec<u64> {
        collect(|each| reader.fetches_after_batch(batch, each))
            .iter()
            .map(|row| row.timings.started.0)
            .collect()
    };
    assert_eq!(starts(second), [300, 300]);
    assert_eq!(starts(first), [200, 300, 300]);
    assert!(starts(second + 1).is_empty());
}

pub fn a_reader_sees_what_is_committed_later(catalogue: &mut dyn Catalogue) {
    let job = new_job(catalogue, None, "h");
    let reader = catalogue.reader().unwrap();
    assert!(collect(|each| reader.pages(&PageQuery::of(job), each)).is_empty());
    commit_pages(catalogue, vec![page_row(job, "/a")]);
    assert_eq!(collect(|each| reader.pages(&PageQuery::of(job), each)).len(), 1);
}
