use super::*;
use crate::embedded::{EmbeddedReader, EmbeddedWriter, WriterOptions};
use crate::hits::{Hits, Request};
use crate::index::IndexReader;
use crate::query::parse;
use argiope_model::{JobId, Page};
use argiope_store::catalogue::{PageRow, url_key};
use argiope_store::error::{ErrorKind, StoreError};
use argiope_store::follower::contract::SinkFixture;
use argiope_store::follower::{Follower, FollowerOptions, LagUnit, Outcome};
use std::sync::Mutex;
use tempfile::TempDir;

fn text_of(stored: &StoredPage) -> Result<Option<PageText>> {
    let url = &stored.row.page.url;
    if url.ends_with(".png") {
        return Ok(None);
    }
    let links =
        vec![LinkText { target: url_key("https://a.test/linked"), text: String::from("the spinneret") }];
    Ok(Some(PageText { title: Some(String::from("Titled")), text: format!("text of {url}"), links }))
}

type TextOf = fn(&StoredPage) -> Result<Option<PageText>>;

fn sink(directory: &TempDir) -> IndexSink<EmbeddedWriter, TextOf> {
    let writer = EmbeddedWriter::open(&directory.path().join("index"), WriterOptions::default()).unwrap();
    IndexSink::new(writer, text_of, Arc::new(PublicSuffixes::bundled()))
}

fn search(directory: &TempDir, query: &str) -> Hits {
    let reader = EmbeddedReader::open(&directory.path().join("index")).unwrap().unwrap();
    reader.search(&Request { limit: 100, ..Request::new(parse(query).unwrap()) }).unwrap()
}

fn urls(directory: &TempDir, query: &str) -> Vec<String> {
    search(directory, query).hits.into_iter().map(|hit| hit.url).collect()
}

fn page(number: u64, url: &str, change: impl FnOnce(&mut PageRow)) -> StoredPage {
    let page = Page { url: url.into(), status: Some(200), ..Page::default() };
    let mut row = PageRow::new(JobId(1), url_key(url), "a.test", page);
    change(&mut row);
    StoredPage { seq: number, row }
}

fn batch(pages: Vec<StoredPage>, overwritten: Vec<StoredPage>, number: u64) -> CommittedPages {
    let last = pages.last().map_or(0, |stored| stored.seq);
    CommittedPages { pages, overwritten, reached: Position { page: last, batch: number } }
}

struct Fixture(TempDir);

impl SinkFixture for Fixture {
    fn open(&mut self) -> Box<dyn PageSink> {
        Box::new(sink(&self.0))
    }

    fn taken(&mut self) -> Vec<String> {
        let mut taken = urls(&self.0, "site:a.test");
        // An index has no order of its own.
        taken.sort_by_key(|url| url.rsplit('/').next().unwrap().parse::<u32>().unwrap());
        taken
    }

    fn job(&self) -> JobId {
        JobId(1)
    }
}

/// What was taken is found when it is committed, which a sink does by itself after a while.
struct Committing<Sink>(Sink);

impl<W: IndexWriter, T: PageTexts> PageSink for Committing<IndexSink<W, T>> {
    fn position(&mut self) -> Result<Position> {
        self.0.position()
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        self.0.store(batch)?;
        self.0.commit()
    }

    fn finish(&mut self) -> Result<Finished> {
        self.0.finish()
    }
}

#[test]
fn what_was_not_committed_comes_again() {
    let directory = TempDir::new().unwrap();
    let pages = |first: u64| {
        let pages = (first..first + 3).map(|n| page(n, &format!("https://a.test/{n}"), |_| ())).collect();
        batch(pages, Vec::new(), first)
    };
    sink(&directory).store(&pages(1)).unwrap();
    let mut continued = sink(&directory);
    assert_eq!(continued.position().unwrap(), Position::default());
    continued.store(&pages(1)).unwrap();
    continued.finish().unwrap();
    drop(continued);
    let mut continued = sink(&directory);
    assert_eq!(continued.position().unwrap().page, 3);
    continued.store(&pages(4)).unwrap();
    continued.finish().unwrap();
    assert_eq!(urls(&directory, "site:a.test").len(), 6);
}

mod sink {
    use super::*;

    struct Committed(Fixture);

    impl SinkFixture for Committed {
        fn open(&mut self) -> Box<dyn PageSink> {
            Box::new(Committing(super::sink(&self.0.0)))
        }

        fn taken(&mut self) -> Vec<String> {
            self.0.taken()
        }

        fn job(&self) -> JobId {
            self.0.job()
        }
    }

    fn open() -> Option<Box<dyn SinkFixture>> {
        Some(Box::new(Committed(Fixture(TempDir::new().unwrap()))))
    }

    argiope_store::page_sink_contract!(open);
}

#[test]
fn pages_that_must_not_be_found_are_not() {
    let directory = TempDir::new().unwrap();
    let mut sink = sink(&directory);
    let pages = vec![
        page(1, "https://a.test/1", |_| ()),
        page(2, "https://a.test/2", |row| row.noindex = true),
        page(3, "https://a.test/3", |row| row.page.status = None),
        page(4, "https://a.test/4", |row| row.page.status = Some(302)),
        page(5, "https://a.test/5.png", |_| ()),
        page(6, "https://a.test/6", |row| row.page.status = Some(404)),
    ];
    sink.store(&batch(pages, Vec::new(), 1)).unwrap();
    sink.finish().unwrap();
    assert_eq!(urls(&directory, "text"), ["https://a.test/1"]);
    assert_eq!(urls(&directory, "text status:404"), ["https://a.test/6"]);
}

#[test]
fn a_later_round_replaces_a_page_or_removes_it() {
    let directory = TempDir::new().unwrap();
    let mut sink = sink(&directory);
    let (one, two) = ("https://a.test/1", "https://a.test/2");
    sink.store(&batch(vec![page(1, one, |_| ()), page(2, two, |_| ())], Vec::new(), 1)).unwrap();
    sink.finish().unwrap();
    assert_eq!(urls(&directory, "text").len(), 2);
    let later = |number, url: &str, noindex| {
        page(number, url, |row| (row.round, row.noindex, row.page.title) = (1, noindex, Some("Later".into())))
    };
    sink.store(&batch(vec![later(3, one, false), later(4, two, true)], Vec::new(), 2)).unwrap();
    sink.finish().unwrap();
    assert_eq!(urls(&directory, "text"), [one]);
    assert_eq!(urls(&directory, "title:later"), [one]);
    let overwritten = vec![page(3, one, |row| row.noindex = true)];
    sink.store(&CommittedPages { pages: Vec::new(), overwritten, reached: Position { page: 4, batch: 3 } })
        .unwrap();
    sink.finish().unwrap();
    assert!(urls(&directory, "text").is_empty());
    assert_eq!(sink.position().unwrap(), Position { page: 4, batch: 3 });
}

#[test]
fn several_rounds_in_one_batch_are_the_last_one() {
    let directory = TempDir::new().unwrap();
    let mut sink = sink(&directory);
    let url = "https://a.test/1";
    let round = |number: u32, noindex| {
        page(number.into(), url, move |row| (row.round, row.noindex) = (number, noindex))
    };
    sink.store(&batch(vec![round(1, false), round(2, false), round(3, true)], Vec::new(), 1)).unwrap();
    sink.finish().unwrap();
    assert!(urls(&directory, "text").is_empty());
}

#[test]
fn a_page_is_found_by_the_text_of_links_to_it() {
    let directory = TempDir::new().unwrap();
    let mut sink = sink(&directory);
    let pages = vec![page(1, "https://a.test/1", |_| ()), page(2, "https://a.test/linked", |_| ())];
    sink.store(&batch(pages, Vec::new(), 1)).unwrap();
    sink.finish().unwrap();
    assert_eq!(urls(&directory, "spinneret"), ["https://a.test/linked"]);
}

/// Fails once, in the middle of a batch.
#[test]
fn after_an_error_no_page_is_missing() {
    let directory = TempDir::new().unwrap();
    let failures = Arc::new(Mutex::new(1));
    let texts = {
        let failures = Arc::clone(&failures);
        move |stored: &StoredPage| {
            let mut left = failures.lock().unwrap();
            if stored.seq == 7 && *left > 0 {
                *left -= 1;
                return Err(StoreError::new(ErrorKind::Unreachable, "archive", "away"));
            }
            text_of(stored)
        }
    };
    let writer = EmbeddedWriter::open(&directory.path().join("index"), WriterOptions::default()).unwrap();
    let sink = IndexSink::new(writer, texts, Arc::new(PublicSuffixes::bundled()));
    let options = FollowerOptions {
        first_pause: Duration::from_millis(1),
        ..FollowerOptions::new("search index", LagUnit::Pages, Box::new(|| 0))
    };
    let follower = Follower::start(options, IndexFollower::new(Ten, sink)).unwrap();
    assert_eq!(follower.drain(None), Outcome::CaughtUp);
    assert_eq!(*failures.lock().unwrap(), 0);
    assert_eq!(urls(&directory, "text").len(), 10);
}

/// Ten pages, three at a time.
struct Ten;

impl PageSource for Ten {
    fn read_after(&mut self, position: Position) -> Result<Arc<CommittedPages>> {
        let numbers = position.page + 1..=(position.page + 3).min(10);
        let pages: Vec<_> = numbers.map(|n| page(n, &format!("https://a.test/{n}"), |_| ())).collect();
        let page = pages.last().map_or(position.page, |stored| stored.seq);
        Ok(Arc::new(CommittedPages {
            pages,
            overwritten: Vec::new(),
            reached: Position { page, ..position },
        }))
    }
}
