//! The catalogue: the contract of the port, and what only many writers and a server can do wrong.

use super::scratch::Scratch;
use argiope_cluster::catalogue::{PostgresCatalogue, PostgresReader};
use argiope_model::{FetchTimings, JobId, Millis, Page, SkipReason};
use argiope_store::catalogue::contract::Fixture;
use argiope_store::catalogue::{
    Batch, Catalogue, CatalogueReader, Committed, FetchRow, NewJob, PageQuery, PageRow, SkippedRow, url_key,
};
use argiope_store::error::StoreError;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

fn empty() -> Option<Fixture> {
    let scratch = Scratch::with_cluster()?;
    Some((Box::new(open(&scratch, "w")), Box::new(scratch)))
}

argiope_store::catalogue_contract!(empty);

fn open(scratch: &Scratch, worker: &str) -> PostgresCatalogue {
    PostgresCatalogue::open(&scratch.database(), worker).unwrap()
}

fn job(catalogue: &mut PostgresCatalogue) -> JobId {
    let job =
        NewJob { name: None, seeds_hash: "h".into(), spec: "{}".into(), created_at: Millis(1), user: None };
    catalogue.create_job(&job).unwrap().id
}

fn page(job: JobId, number: u64) -> PageRow {
    let url = format!("https://a.test/{number}");
    let page = Page { url: url.clone(), status: Some(200), bytes: Some(1), ..Page::default() };
    PageRow::new(job, url_key(&url), "a.test", page)
}

fn fetch(job: JobId, number: u64) -> FetchRow {
    let url = format!("https://a.test/{number}");
    let mut row = FetchRow::new(job, "a.test", url.clone(), url_key(&url));
    row.timings = FetchTimings { started: Millis(number), ended: Millis(number), ..FetchTimings::default() };
    row
}

fn batch(job: JobId, numbers: std::ops::Range<u64>) -> Batch {
    Batch {
        pages: numbers.clone().map(|number| page(job, number)).collect(),
        fetches: numbers.map(|number| fetch(job, number)).collect(),
        ..Batch::default()
    }
}

/// As the engine does: until the server is back.
fn commit_at_last(catalogue: &mut PostgresCatalogue, batch: &Batch) -> Committed {
    loop {
        match catalogue.commit(batch) {
            Ok(committed) => return committed,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

fn seqs(reader: &dyn CatalogueReader, query: &PageQuery) -> Result<Vec<u64>, StoreError> {
    let mut seqs = Vec::new();
    reader.pages(query, &mut |stored| {
        seqs.push(stored.seq);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(seqs)
}

#[test]
fn a_reader_that_follows_many_writers_misses_nothing() {
    const WRITERS: u64 = 4;
    const BATCHES: u64 = 25;
    let Some(scratch) = Scratch::with_cluster() else { return };
    let job = job(&mut open(&scratch, "w"));
    let written = AtomicBool::new(false);
    let (read, batches): (Vec<u64>, HashSet<u64>) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let mut catalogue = open(&scratch, &format!("w{writer}"));
                scope.spawn(move || {
                    let numbers = (0..BATCHES).map(|n| {
                        let first = writer * 100_000 + n * 10;
                        // Every batch repeats one page of the batch before.
                        let range = first.saturating_sub(1).max(writer * 100_000)..first + 10;
                        catalogue.commit(&batch(job, range)).unwrap().batch
                    });
                    numbers.collect::<Vec<u64>>()
                })
            })
            .collect();
        let follower = scope.spawn(|| {
            let reader = PostgresReader::open(&scratch.database()).unwrap();
            let mut read = Vec::new();
            loop {
                let all = written.load(Ordering::SeqCst);
                let after_seq = read.last().copied().unwrap_or(0);
                read.extend(seqs(&reader, &PageQuery { after_seq, ..PageQuery::of(job) }).unwrap());
                if all {
                    return read;
                }
            }
        });
        let batches = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        written.store(true, Ordering::SeqCst);
        (follower.join().unwrap(), batches)
    });
    assert_eq!(read.len() as u64, WRITERS * BATCHES * 10, "every page once");
    assert!(read.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(batches.len() as u64, WRITERS * BATCHES, "every batch has a number of its own");
    let counts = PostgresReader::open(&scratch.database()).unwrap().counts(job).unwrap();
    assert_eq!(counts.pages, WRITERS * BATCHES * 10, "counters are in step");
}

#[test]
fn what_is_committed_while_connections_break_is_there_once() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut catalogue = open(&scratch, "w");
    let job = job(&mut catalogue);
    scratch.while_connections_break(|| {
        for n in 0..40u64 {
            let committed = commit_at_last(&mut catalogue, &batch(job, n * 10..n * 10 + 10));
            assert!(committed.pages.iter().all(|placed| !placed.repeated), "{n}: {committed:?}");
        }
    });
    let reader = PostgresReader::open(&scratch.database()).unwrap();
    assert_eq!(seqs(&reader, &PageQuery::of(job)).unwrap(), (1..=400).collect::<Vec<u64>>());
    let counts = reader.counts(job).unwrap();
    assert_eq!((counts.pages, counts.requests), (400, 400), "the history has each request once");
    assert_eq!(scratch.number("SELECT count(*) FROM fetches"), 400);
}

#[test]
fn a_page_that_is_twice_in_a_batch_is_stored_as_it_was_last() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut catalogue = open(&scratch, "w");
    let job = job(&mut catalogue);
    let mut later = page(job, 1);
    later.page.status = Some(404);
    let pages = vec![page(job, 1), page(job, 2), later];
    let placed = catalogue.commit(&Batch { pages, ..Batch::default() }).unwrap().pages;
    assert_eq!(placed[0].seq, placed[2].seq);
    assert_ne!(placed[0].seq, placed[1].seq);
    assert_eq!(placed.iter().map(|placed| placed.repeated).collect::<Vec<_>>(), [false, false, true]);
    let counts = catalogue.reader().unwrap().counts(job).unwrap();
    assert_eq!((counts.pages, counts.by_status), (2, [(200, 1), (404, 1)].into()));
}

#[test]
fn pages_lie_in_the_partition_of_the_month_they_were_scheduled_in() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut catalogue = open(&scratch, "w");
    let job = job(&mut catalogue);
    let mut old = page(job, 1);
    old.scheduled_at = Millis::parse_rfc3339("2024-07-31T23:59:59.999Z").unwrap();
    old.page.topics = Some(vec!["shoes".into(), "running shoes".into()]);
    let pages = vec![old.clone(), page(job, 2)];
    catalogue.commit(&Batch { pages, ..Batch::default() }).unwrap();
    assert_eq!(scratch.number("SELECT count(*) FROM crawl_metadata_2024_07"), 1);
    let query =
        "SELECT url_hash FROM crawl_metadata WHERE year_month = '2024-07' AND topics @> ARRAY['shoes']";
    assert_eq!(scratch.value(query), format!("{:016x}", old.url_key));
    assert_eq!(scratch.number("SELECT count(*) FROM crawl_metadata_2024_09"), 0, "two months are made ahead");
    // An operator drops a month; what comes later finds its place all the same.
    scratch.ask("DROP TABLE crawl_metadata_2024_07");
    let placed = catalogue.commit(&Batch { pages: vec![old], ..Batch::default() }).unwrap().pages;
    assert!(!placed[0].repeated);
    assert_eq!(scratch.number("SELECT count(*) FROM crawl_metadata_2024_07"), 1);
}

#[test]
fn beyond_its_limit_a_refusal_is_only_counted() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut catalogue = open(&scratch, "w");
    let job = job(&mut catalogue);
    catalogue.limit_skipped(3);
    for part in 0..3 {
        let row = |n: u64| SkippedRow {
            job,
            url_key: part * 10 + n,
            url: format!("https://b.test/{part}/{n}"),
            reason: SkipReason::OutOfScope,
            detail: String::new(),
            source: None,
            amount: 0,
        };
        catalogue.commit(&Batch { skipped: (0..2).map(row).collect(), ..Batch::default() }).unwrap();
    }
    assert_eq!(scratch.number("SELECT count(*) FROM skipped"), 3);
    assert_eq!(catalogue.reader().unwrap().counts(job).unwrap().skipped(), 6);
}

#[test]
fn each_worker_has_positions_of_its_own() {
    use argiope_store::catalogue::FilePosition;
    use argiope_store::links::LinksPosition;
    let Some(scratch) = Scratch::with_cluster() else { return };
    for (worker, length) in [("a", 10), ("b", 20)] {
        let archive = vec![FilePosition { file: "one.warc.gz".into(), length }];
        let links = Some(LinksPosition { segment: 1, length });
        open(&scratch, worker).commit(&Batch { archive, links, ..Batch::default() }).unwrap();
    }
    for (worker, length) in [("a", 10), ("b", 20)] {
        let reader = open(&scratch, worker).reader().unwrap();
        assert_eq!(reader.archive_positions().unwrap()[0].length, length);
        assert_eq!(reader.links_position().unwrap().unwrap().length, length);
    }
}

#[test]
fn nothing_of_a_batch_that_fails_is_stored() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut catalogue = open(&scratch, "w");
    let job = job(&mut catalogue);
    scratch.ask("ALTER TABLE hosts ADD CONSTRAINT none CHECK (false)");
    let mut batch = batch(job, 0..5);
    batch.hosts.push(argiope_store::catalogue::HostRow { host: "a.test".into(), ..Default::default() });
    assert!(!catalogue.commit(&batch).unwrap_err().is_retryable());
    for table in ["crawl_metadata", "fetches", "batches", "job_counts"] {
        assert_eq!(scratch.number(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    scratch.ask("ALTER TABLE hosts DROP CONSTRAINT none");
    assert_eq!(catalogue.commit(&batch).unwrap().batch, 1);
}

mod follower {
    argiope_store::page_source_contract!(super::empty);
}
