//! The SQLite catalogue: the contract of the port, and what only a file on a disk can do wrong.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test ends where something is not as it should be"
)]

use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue, SqliteReader};
use argiope_model::{JobId, Millis, Page};
use argiope_store::catalogue::contract::Fixture;
use argiope_store::catalogue::{
    Batch, Catalogue, CatalogueReader, FetchRow, NewJob, PageQuery, PageRow, SkippedRow, UncleanStop, url_key,
};
use argiope_store::error::ErrorKind;
use rusqlite::Connection;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

fn open(path: &Path) -> SqliteCatalogue {
    SqliteCatalogue::open(path, CatalogueSettings::default()).unwrap()
}

fn empty() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let catalogue = open(&directory.path().join("catalog.db"));
    (Box::new(catalogue), Box::new(directory))
}

argiope_store::catalogue_contract!(empty);

fn job(catalogue: &mut SqliteCatalogue) -> JobId {
    let job =
        NewJob { name: None, seeds_hash: "h".into(), spec: "{}".into(), created_at: Millis(1), user: None };
    catalogue.create_job(&job).unwrap().id
}

fn page(job: JobId, number: u64) -> PageRow {
    let url = format!("https://a.test/{number}");
    let page = Page { url: url.clone(), status: Some(200), bytes: Some(1), ..Page::default() };
    PageRow::new(job, url_key(&url), "a.test", page)
}

fn count(reader: &dyn CatalogueReader) -> u64 {
    let mut count = 0;
    reader
        .pages(&PageQuery::default(), &mut |_| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    count
}

#[test]
fn unclean_stops_are_kept_by_job_and_go_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut catalogue = open(&directory.path().join("catalog.db"));
    let (one, two) = (job(&mut catalogue), job(&mut catalogue));
    let stop = |job, at| UncleanStop { job, found_at: Millis(at), recovered_visits: 7 };
    let stops = vec![stop(Some(one), 5), stop(Some(two), 5), stop(None, 9)];
    catalogue.commit(&Batch { unclean_stops: stops.clone(), ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    assert_eq!(reader.unclean_stops(None).unwrap(), stops);
    assert_eq!(reader.unclean_stops(Some(two)).unwrap(), [stop(Some(two), 5)]);
    catalogue.delete_job(two).unwrap();
    assert_eq!(reader.unclean_stops(None).unwrap(), [stop(Some(one), 5), stop(None, 9)]);
}

#[test]
fn a_catalogue_opened_again_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = open(&path);
    let job = job(&mut catalogue);
    let first = catalogue.commit(&Batch { pages: vec![page(job, 1)], ..Batch::default() }).unwrap();
    drop(catalogue);
    let mut catalogue = open(&path);
    let second =
        catalogue.commit(&Batch { pages: vec![page(job, 1), page(job, 2)], ..Batch::default() }).unwrap();
    assert_eq!(second.batch, first.batch + 1);
    assert!(second.pages[0].repeated && !second.pages[1].repeated);
    assert_eq!(second.pages[1].seq, first.pages[0].seq + 1);
}

#[test]
fn what_is_committed_survives_a_writer_that_never_closes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = open(&path);
    let job = job(&mut catalogue);
    catalogue.commit(&Batch { pages: (0..100).map(|n| page(job, n)).collect(), ..Batch::default() }).unwrap();
    // The files as a killed process leaves them: the log has not been copied into the database.
    let copy = directory.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    fs::copy(directory.path().join("catalog.db-wal"), directory.path().join("copy.db-wal")).unwrap();
    let reader = SqliteReader::open(&copy).unwrap();
    assert_eq!(count(&reader), 100);
    drop(reader);
    let mut again = open(&copy);
    again.commit(&Batch { pages: vec![page(job, 100)], ..Batch::default() }).unwrap();
    assert_eq!(again.reader().unwrap().counts(job).unwrap().pages, 101);
}

#[test]
fn a_torn_log_loses_the_last_batches_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = open(&path);
    let job = job(&mut catalogue);
    for part in 0..10 {
        let pages = (0..100).map(|n| page(job, part * 100 + n)).collect();
        catalogue.commit(&Batch { pages, ..Batch::default() }).unwrap();
    }
    let log = fs::read(directory.path().join("catalog.db-wal")).unwrap();
    for cut in [log.len() - 1, log.len() * 2 / 3, log.len() / 2] {
        let copy = directory.path().join(format!("copy{cut}.db"));
        fs::copy(&path, &copy).unwrap();
        fs::write(directory.path().join(format!("copy{cut}.db-wal")), &log[..cut]).unwrap();
        let reader = open(&copy).reader().unwrap();
        let pages = count(reader.as_ref());
        assert_eq!(pages, reader.last_batch().unwrap() * 100, "batches are whole");
        assert_eq!(pages, reader.counts(job).unwrap().pages, "counters are in step");
        assert!(pages < 1000);
        reader.check().unwrap();
    }
}

#[test]
fn a_file_that_is_no_database_is_corrupt_and_the_next_step_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    fs::write(&path, "this is a text and not a database at all, however long it may be".repeat(100)).unwrap();
    let error = SqliteCatalogue::open(&path, CatalogueSettings::default()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.to_string().contains("catalog.db") && error.to_string().contains("backup"), "{error}");
    assert_eq!(SqliteReader::open(&path).err().unwrap().kind, ErrorKind::Corrupt);
}

#[test]
fn another_programs_database_is_not_taken_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    let error = SqliteCatalogue::open(&path, CatalogueSettings::default()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    let tables: i64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn damage_within_the_file_is_found_by_the_check() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = open(&path);
    let job = job(&mut catalogue);
    catalogue
        .commit(&Batch { pages: (0..5000).map(|n| page(job, n)).collect(), ..Batch::default() })
        .unwrap();
    drop(catalogue);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let error = SqliteReader::open(&path).unwrap().check().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.to_string().contains("restore it from a backup"), "{error}");
}

#[test]
fn a_newer_schema_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    drop(open(&path));
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'", [])
        .unwrap();
    for error in
        [SqliteCatalogue::open(&path, CatalogueSettings::default()).err(), SqliteReader::open(&path).err()]
    {
        let error = error.unwrap();
        assert_eq!(error.kind, ErrorKind::TooNew);
        assert!(error.to_string().contains("schema version 99"), "{error}");
    }
}

#[test]
fn a_missing_catalogue_is_not_made_by_reading() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    assert_eq!(SqliteReader::open(&path).err().unwrap().kind, ErrorKind::NotFound);
    assert!(!path.exists());
}

#[test]
fn a_full_disk_stores_nothing_of_the_batch_and_the_next_one_works() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = open(&path);
    let job = job(&mut catalogue);
    catalogue.commit(&Batch { pages: vec![page(job, 1)], ..Batch::default() }).unwrap();
    catalogue.limit_size(Some(200)).unwrap();
    let mut many = Batch { pages: (2..20_000).map(|n| page(job, n)).collect(), ..Batch::default() };
    many.fetches = vec![FetchRow::new(job, "new.test", "https://new.test/", 5)];
    let error = catalogue.commit(&many).unwrap_err();
    assert_eq!(error.kind, ErrorKind::DiskFull);
    assert_eq!(count(catalogue.reader().unwrap().as_ref()), 1);
    catalogue.limit_size(None).unwrap();
    let committed = catalogue.commit(&many).unwrap();
    assert_eq!((committed.batch, committed.pages[0].seq), (2, 2));
    let reader = catalogue.reader().unwrap();
    assert_eq!((count(reader.as_ref()), reader.counts(job).unwrap().pages), (19_999, 19_999));
    let mut fetches = 0;
    reader
        .fetches(Some(job), &mut |row| {
            assert_eq!(row.host, "new.test", "a host learned in the failed batch is not taken for known");
            fetches += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(fetches, 1);
}

#[test]
fn a_writer_waits_for_no_reader() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = open(&path);
    let job = job(&mut catalogue);
    catalogue.commit(&Batch { pages: (0..10).map(|n| page(job, n)).collect(), ..Batch::default() }).unwrap();
    let reader = SqliteReader::open(&path).unwrap();
    let mut next = 100;
    let mut seen = 0;
    reader
        .pages(&PageQuery::of(job), &mut |_| {
            catalogue.commit(&Batch { pages: vec![page(job, next)], ..Batch::default() }).unwrap();
            next += 1;
            seen += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(seen, 10, "a piece of a stream is one snapshot");
    assert_eq!(count(&reader), 20);
}

#[test]
fn refusals_beyond_the_limit_are_counted_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("catalog.db");
    let mut catalogue = open(&path);
    let job = job(&mut catalogue);
    catalogue.limit_skipped(10);
    let row = |n: u64| SkippedRow {
        job,
        url_key: n,
        url: format!("https://b.test/{n}"),
        reason: argiope_model::SkipReason::OutOfScope,
        detail: String::new(),
        source: None,
        amount: 0,
    };
    catalogue.commit(&Batch { skipped: (0..8).map(row).collect(), ..Batch::default() }).unwrap();
    drop(catalogue);
    let mut catalogue = open(&path);
    catalogue.limit_skipped(10);
    catalogue.commit(&Batch { skipped: (5..25).map(row).collect(), ..Batch::default() }).unwrap();
    let reader = catalogue.reader().unwrap();
    let mut stored = 0;
    reader
        .skipped(Some(job), &mut |_| {
            stored += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(stored, 10);
    // 8 of the first batch, 2 stored and 15 only counted of the second; 3 were known.
    assert_eq!(reader.counts(job).unwrap().skipped(), 25);
    // What a trap rule holds back has a little room of its own.
    let trap = |n: u64| SkippedRow { reason: argiope_model::SkipReason::Trap, ..row(n) };
    catalogue.commit(&Batch { skipped: (100..103).map(trap).collect(), ..Batch::default() }).unwrap();
    let mut traps = 0;
    reader
        .cuts(job, &mut |_| {
            traps += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!((traps, reader.counts(job).unwrap().by_skip[&argiope_model::SkipReason::Trap]), (1, 3));
}

mod follower {
    argiope_store::page_source_contract!(super::empty);
}
