//! `crawl -o FILE` on a real catalogue: every page once, in commit order, through crashes at any moment.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test ends where something is not as it should be"
)]

use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue};
use argiope_model::{JobId, Millis, Page};
use argiope_store::catalogue::{Batch, Catalogue, NewJob, OutputPosition, PageQuery, PageRow, url_key};
use argiope_store::error::ErrorKind;
use argiope_store::export::{Format, Output, OutputProgress, export_pages, export_skipped, write_atomically};
use argiope_store::follower::contract::SinkFixture;
use argiope_store::follower::{CatalogueSource, PageSink, PagesFollower};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file, and its way from the catalogue.
type Following = PagesFollower<CatalogueSource, Output>;

struct Crawl {
    directory: tempfile::TempDir,
    catalogue: SqliteCatalogue,
    job: JobId,
}

impl Crawl {
    fn new() -> Crawl {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("catalog.db");
        let mut catalogue = SqliteCatalogue::open(&path, CatalogueSettings::default()).unwrap();
        let job = new_job(&mut catalogue);
        Crawl { directory, catalogue, job }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Opens the output and writes what it lacks, as a crawl does when it starts.
    fn open(&mut self, path: &Path) -> argiope_store::error::Result<Following> {
        let output = Output::open(&mut self.catalogue, self.job, path, false, Millis(0))?;
        let source = CatalogueSource::new(self.catalogue.reader()?, Some(self.job));
        let mut following = PagesFollower::new(source, output);
        following.catch_up()?;
        Ok(following)
    }

    /// Commits pages with the position of the output so far; then the follower writes them.
    fn step(&mut self, following: &mut Following, pages: Vec<PageRow>) {
        let outputs = vec![following.sink().progress().position()];
        self.catalogue.commit(&Batch { pages, outputs, ..Batch::default() }).unwrap();
        following.catch_up().unwrap();
    }

    fn pages(&self, numbers: std::ops::Range<u64>) -> Vec<PageRow> {
        numbers.map(|number| page(self.job, number)).collect()
    }
}

fn finish(mut following: Following) -> OutputPosition {
    following.finish_all().unwrap();
    following.sink().progress().position()
}

fn new_job(catalogue: &mut SqliteCatalogue) -> JobId {
    let job =
        NewJob { name: None, seeds_hash: "h".into(), spec: "{}".into(), created_at: Millis(0), user: None };
    catalogue.create_job(&job).unwrap().id
}

fn page(job: JobId, number: u64) -> PageRow {
    let url = format!("https://a.test/{number}");
    let page = Page {
        url: url.clone(),
        status: Some(200),
        title: Some(format!("page, \"{number}\"")),
        ..Page::default()
    };
    PageRow::new(job, url_key(&url), "a.test", page)
}

/// The numbers of the pages in a file of JSON lines.
fn numbers(path: &Path) -> Vec<u64> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| {
            let page: Page = serde_json::from_str(line).unwrap();
            page.url.rsplit('/').next().unwrap().parse().unwrap()
        })
        .collect()
}

#[test]
fn the_file_follows_the_catalogue() {
    let mut crawl = Crawl::new();
    let path = crawl.file("pages.jsonl");
    let mut output = crawl.open(&path).unwrap();
    crawl.step(&mut output, crawl.pages(0..3));
    assert_eq!(numbers(&path), [0, 1, 2], "pages are there as soon as they are written");
    let mut hidden = page(crawl.job, 3);
    hidden.noindex = true;
    let other = new_job(&mut crawl.catalogue);
    crawl.step(&mut output, vec![hidden, page(other, 4), page(crawl.job, 5), page(crawl.job, 0)]);
    assert_eq!(numbers(&path), [0, 1, 2, 5], "no noindex page, no other job's, none twice");
    let end = finish(output);
    assert_eq!(end.length, fs::metadata(&path).unwrap().len());
}

#[test]
fn a_resume_cuts_what_was_not_stored_and_catches_up() {
    let mut crawl = Crawl::new();
    let path = crawl.file("pages.jsonl");
    let mut output = crawl.open(&path).unwrap();
    crawl.step(&mut output, crawl.pages(0..10));
    crawl.step(&mut output, crawl.pages(10..20));
    // Killed: the second batch is in the file but its position is not stored; a third is only in the catalogue.
    drop(output);
    crawl.catalogue.commit(&Batch { pages: crawl.pages(20..25), ..Batch::default() }).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, b"{\"url\": \"half a li").unwrap();
    drop(file);
    let mut output = crawl.open(&path).unwrap();
    crawl.step(&mut output, crawl.pages(25..30));
    assert_eq!(numbers(&path), (0..30).collect::<Vec<_>>());
}

#[test]
fn a_killed_crawl_resumed_at_any_byte_has_every_page_once() {
    let mut crawl = Crawl::new();
    let path = crawl.file("pages.csv");
    let mut output = crawl.open(&path).unwrap();
    crawl.step(&mut output, crawl.pages(0..4));
    crawl.step(&mut output, crawl.pages(4..8));
    let stored = output.sink().progress().position();
    drop(output);
    crawl.catalogue.commit(&Batch { outputs: vec![stored.clone()], ..Batch::default() }).unwrap();
    let whole = fs::read(&path).unwrap();
    // Longer than the stored position, exactly it, shorter (a machine that lost power), and gone.
    for length in [whole.len(), whole.len() - 1, 10, 0] {
        fs::write(&path, &whole[..length]).unwrap();
        crawl.catalogue.commit(&Batch { outputs: vec![stored.clone()], ..Batch::default() }).unwrap();
        drop(crawl.open(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), whole, "after a cut to {length}");
    }
    fs::remove_file(&path).unwrap();
    drop(crawl.open(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[test]
fn a_new_file_gets_the_whole_job() {
    let mut crawl = Crawl::new();
    crawl.catalogue.commit(&Batch { pages: crawl.pages(0..2500), ..Batch::default() }).unwrap();
    let path = crawl.file("late.jsonl");
    let output = crawl.open(&path).unwrap();
    assert_eq!(numbers(&path), (0..2500).collect::<Vec<_>>());
    drop(output);
    let csv = crawl.file("late.csv");
    drop(crawl.open(&csv).unwrap());
    assert_eq!(csv::Reader::from_path(&csv).unwrap().records().count(), 2500);
}

#[test]
fn a_file_of_someone_else_is_left_alone() {
    let mut crawl = Crawl::new();
    let path = crawl.file("mine.jsonl");
    fs::write(&path, "precious").unwrap();
    let error = crawl.open(&path).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.to_string().contains("not written by this job"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    // Another job's output is someone else's, too.
    let taken = crawl.file("taken.jsonl");
    drop(crawl.open(&taken).unwrap());
    crawl.job = new_job(&mut crawl.catalogue);
    assert_eq!(crawl.open(&taken).err().unwrap().kind, ErrorKind::Usage);
}

#[test]
fn a_crash_between_claim_and_creation_leaves_the_file_ours() {
    let mut crawl = Crawl::new();
    let path = crawl.file("pages.jsonl");
    let resolved = fs::canonicalize(crawl.directory.path()).unwrap().join("pages.jsonl");
    let claim = OutputPosition { job: crawl.job, path: resolved.display().to_string(), seq: 0, length: 0 };
    crawl.catalogue.commit(&Batch { outputs: vec![claim], ..Batch::default() }).unwrap();
    fs::write(&path, "").unwrap();
    assert!(crawl.open(&path).is_ok());
}

#[test]
fn names_that_cannot_be_streamed_are_refused() {
    let mut crawl = Crawl::new();
    for name in ["pages.json", "pages.txt", "pages"] {
        let path = crawl.file(name);
        let error = crawl.open(&path).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Usage, "{name}");
        assert!(error.to_string().contains(".jsonl or .csv"), "{error}");
        assert!(!path.exists());
    }
    let directory = crawl.directory.path().to_owned();
    assert_eq!(crawl.open(&directory).err().unwrap().kind, ErrorKind::Usage);
    let nowhere = crawl.file("missing/pages.jsonl");
    assert_eq!(crawl.open(&nowhere).err().unwrap().kind, ErrorKind::NotFound);
}

#[test]
fn a_file_is_rewritten_after_its_pages_are_retried() {
    let mut crawl = Crawl::new();
    let path = crawl.file("pages.jsonl");
    let mut output = crawl.open(&path).unwrap();
    crawl.step(&mut output, crawl.pages(0..4));
    // In the middle of a run: the file has both until its end.
    let forgotten = vec![page(crawl.job, 1).key()];
    output.sink().progress().out_of_date();
    let outputs = vec![output.sink().progress().position()];
    crawl.catalogue.commit(&Batch { forgotten, outputs, ..Batch::default() }).unwrap();
    crawl.step(&mut output, vec![page(crawl.job, 1)]);
    let end = finish(output);
    assert_eq!(numbers(&path), [0, 2, 3, 1]);
    assert_eq!(end.length, fs::metadata(&path).unwrap().len());
    crawl.catalogue.commit(&Batch { outputs: vec![end], ..Batch::default() }).unwrap();
    // Between two runs.
    let forgotten = vec![page(crawl.job, 0).key()];
    crawl.catalogue.commit(&Batch { forgotten, ..Batch::default() }).unwrap();
    let mut output = crawl.open(&path).unwrap();
    assert_eq!(numbers(&path), [2, 3, 1]);
    crawl.step(&mut output, vec![page(crawl.job, 0)]);
    assert_eq!(numbers(&path), [2, 3, 1, 0]);
}

#[test]
fn a_device_takes_what_it_gets() {
    let mut crawl = Crawl::new();
    let mut output = crawl.open(Path::new("/dev/null")).unwrap();
    crawl.step(&mut output, crawl.pages(0..3));
    assert!(finish(output).length > 0);
}

#[test]
fn an_export_of_a_catalogue_is_whole_in_every_format() {
    let mut crawl = Crawl::new();
    crawl.catalogue.commit(&Batch { pages: crawl.pages(0..1234), ..Batch::default() }).unwrap();
    let reader = crawl.catalogue.reader().unwrap();
    for format in Format::ALL {
        let path = crawl.file(&format!("export.{}", format.as_str()));
        let query = PageQuery::of(crawl.job);
        let count = write_atomically(&path, |to| export_pages(reader.as_ref(), &query, format, to)).unwrap();
        assert_eq!(count, 1234);
        let text = fs::read_to_string(&path).unwrap();
        match format {
            Format::Jsonl => assert_eq!(text.lines().count(), 1234),
            Format::Json => assert_eq!(serde_json::from_str::<Vec<Page>>(&text).unwrap().len(), 1234),
            Format::Csv => assert_eq!(csv::Reader::from_reader(text.as_bytes()).records().count(), 1234),
        }
    }
}

#[test]
fn refusals_are_exported_with_their_reason() {
    let mut crawl = Crawl::new();
    let row = argiope_store::catalogue::SkippedRow {
        job: crawl.job,
        url_key: url_key("https://b.test/,"),
        url: "https://b.test/,".into(),
        reason: argiope_model::SkipReason::RobotsDisallowed,
        detail: "Disallow: / (line 2)".into(),
        source: None,
        amount: 0,
    };
    crawl.catalogue.commit(&Batch { skipped: vec![row], ..Batch::default() }).unwrap();
    let reader = crawl.catalogue.reader().unwrap();
    let mut text = Vec::new();
    assert_eq!(export_skipped(reader.as_ref(), Some(crawl.job), Format::Csv, &mut text).unwrap(), 1);
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "url,reason,detail,source\n\"https://b.test/,\",robots_disallowed,Disallow: / (line 2),\n"
    );
    let mut text = Vec::new();
    export_skipped(reader.as_ref(), Some(crawl.job), Format::Jsonl, &mut text).unwrap();
    let line: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(line["reason"], "robots_disallowed");
    assert_eq!(line["source"], serde_json::Value::Null);
}

/// An output whose position goes with somebody else's commits.
struct File {
    crawl: Crawl,
    progress: Option<Arc<OutputProgress>>,
}

impl SinkFixture for File {
    fn open(&mut self) -> Box<dyn PageSink> {
        let path = self.crawl.file("pages.jsonl");
        let output =
            Output::open(&mut self.crawl.catalogue, self.crawl.job, &path, false, Millis(0)).unwrap();
        self.progress = Some(Arc::clone(output.progress()));
        Box::new(output)
    }

    fn store_position(&mut self) {
        let outputs = self.progress.iter().map(|progress| progress.position()).collect();
        self.crawl.catalogue.commit(&Batch { outputs, ..Batch::default() }).unwrap();
    }

    fn taken(&mut self) -> Vec<String> {
        let text = fs::read_to_string(self.crawl.file("pages.jsonl")).unwrap();
        let urls: Vec<String> =
            text.lines().map(|line| serde_json::from_str::<Page>(line).unwrap().url).collect();
        let mut once = urls.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), urls.len(), "a file has every page once");
        urls
    }

    fn job(&self) -> JobId {
        self.crawl.job
    }
}

mod sink {
    use super::{Crawl, File};
    use argiope_store::follower::contract::SinkFixture;

    fn open() -> Box<dyn SinkFixture> {
        Box::new(File { crawl: Crawl::new(), progress: None })
    }

    argiope_store::page_sink_contract!(open);
}
