//! The contract suites of followers. The tests of a catalogue call `argiope_store::page_source_contract!(open)`, with
//! the same `open` as for [`crate::catalogue_contract!`]; those of a sink call
//! `argiope_store::page_sink_contract!(open)`, where `open()` returns a [`SinkFixture`]. Each check is one test. If
//! `open` returns `None`, because there is no server, it ends at once.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test suite: a violation ends the test")]

use super::{
    CatalogueSource, Commits, CommittedPages, Finished, PageSink, PageSource, Position, RecentSource,
};
use crate::catalogue::{Batch, Catalogue, Committed, NewJob, PageRow, StoredPage, url_key};
use argiope_model::{JobId, Millis, Page};
use std::sync::Arc;

/// One `#[test]` for each check of the contract of sources, with and without recent pages in front of the catalogue.
#[macro_export]
macro_rules! page_source_contract {
    ($open:expr) => {
        $crate::page_source_contract!(@each $open,
            an_empty_catalogue_has_nothing_to_follow,
            pages_come_once_in_commit_order_and_in_bounded_batches,
            reading_continues_after_a_position,
            what_is_committed_later_is_found,
            an_overwritten_page_comes_again,
            a_page_that_left_the_catalogue_does_not_come,
            pages_of_other_jobs_are_passed
        );
    };
    (@each $open:expr, $($check:ident),+) => {
        $(
            #[test]
            fn $check() {
                for recent in [false, true] {
                    let opened: Option<$crate::catalogue::contract::Fixture> = ($open)().into();
                    let Some((mut catalogue, _guard)) = opened else { return };
                    let mut follows =
                        $crate::follower::contract::Followed::new(catalogue.as_mut(), recent);
                    $crate::follower::contract::$check(&mut follows);
                }
            }
        )+
    };
}

/// A catalogue whose commits are followed.
pub struct Followed<'c> {
    catalogue: &'c mut dyn Catalogue,
    commits: Option<Arc<Commits>>,
    pub job: JobId,
}

const LIMIT: usize = 10;

impl Followed<'_> {
    pub fn new(catalogue: &mut dyn Catalogue, recent: bool) -> Followed<'_> {
        let job = new_job(catalogue);
        Followed { catalogue, commits: recent.then(Arc::default), job }
    }

    fn source(&self, job: Option<JobId>) -> Box<dyn PageSource> {
        let source = CatalogueSource::new(self.catalogue.reader().unwrap(), job).with_limit(LIMIT);
        match &self.commits {
            Some(commits) => Box::new(RecentSource::new(commits.read_recent(Position::default()), source)),
            None => Box::new(source),
        }
    }

    fn commit(&mut self, batch: Batch) -> Committed {
        let committed = self.catalogue.commit(&batch).unwrap();
        if let Some(commits) = &self.commits {
            commits.publish(batch.pages, &committed);
        }
        committed
    }

    fn pages(&mut self, numbers: std::ops::Range<u32>) -> Committed {
        let pages = numbers.map(|number| page(self.job, number)).collect();
        self.commit(Batch { pages, ..Batch::default() })
    }
}

fn new_job(catalogue: &mut dyn Catalogue) -> JobId {
    let job =
        NewJob { name: None, seeds_hash: "h".into(), spec: "{}".into(), created_at: Millis(1), user: None };
    catalogue.create_job(&job).unwrap().id
}

fn page(job: JobId, number: u32) -> PageRow {
    let url = format!("https://a.test/{number}");
    let page = Page { url: url.clone(), status: Some(200), ..Page::default() };
    PageRow::new(job, url_key(&url), "a.test", page)
}

fn number_of(stored: &StoredPage) -> u32 {
    stored.row.page.url.rsplit('/').next().unwrap().parse().unwrap()
}

fn numbers(pages: &[StoredPage]) -> Vec<u32> {
    pages.iter().map(number_of).collect()
}

/// Everything after a position: new pages, overwritten ones, and the position at the end.
fn read_all(source: &mut dyn PageSource, mut at: Position) -> (Vec<u32>, Vec<u32>, Position) {
    let (mut new, mut overwritten) = (Vec::new(), Vec::new());
    loop {
        let batch = source.read_after(at).unwrap();
        if batch.reached == at {
            assert!(batch.is_empty(), "pages without a new position: {batch:?}");
            return (new, overwritten, at);
        }
        assert!(batch.reached.page >= at.page && batch.reached.batch >= at.batch);
        new.extend(numbers(&batch.pages));
        overwritten.extend(numbers(&batch.overwritten));
        at = batch.reached;
    }
}

pub fn an_empty_catalogue_has_nothing_to_follow(followed: &mut Followed<'_>) {
    let mut source = followed.source(None);
    let (new, overwritten, _) = read_all(source.as_mut(), Position::default());
    assert!(new.is_empty() && overwritten.is_empty());
}

pub fn pages_come_once_in_commit_order_and_in_bounded_batches(followed: &mut Followed<'_>) {
    let mut source = CatalogueSource::new(followed.catalogue.reader().unwrap(), None).with_limit(LIMIT);
    followed.pages(0..25);
    followed.pages(25..32);
    let mut at = Position::default();
    let mut sizes = Vec::new();
    loop {
        let batch = source.read_after(at).unwrap();
        if batch.reached == at {
            break;
        }
        sizes.push(batch.pages.len());
        at = batch.reached;
    }
    assert_eq!(sizes, [10, 10, 10, 2]);
    let (new, ..) = read_all(followed.source(None).as_mut(), Position::default());
    assert_eq!(new, (0..32).collect::<Vec<_>>());
}

pub fn reading_continues_after_a_position(followed: &mut Followed<'_>) {
    let committed = followed.pages(0..12);
    followed.pages(12..20);
    let middle = Position { page: committed.pages[4].seq, batch: 0 };
    let (new, ..) = read_all(followed.source(None).as_mut(), middle);
    assert_eq!(new, (5..20).collect::<Vec<_>>());
}

pub fn what_is_committed_later_is_found(followed: &mut Followed<'_>) {
    let mut source = followed.source(None);
    followed.pages(0..3);
    let (first, _, at) = read_all(source.as_mut(), Position::default());
    followed.pages(3..30);
    followed.pages(30..31);
    let (second, _, at) = read_all(source.as_mut(), at);
    assert_eq!((first.len(), second), (3, (3..31).collect()));
    // A batch without pages.
    followed.commit(Batch::default());
    followed.pages(31..32);
    assert_eq!(read_all(source.as_mut(), at).0, [31]);
}

pub fn an_overwritten_page_comes_again(followed: &mut Followed<'_>) {
    let mut source = followed.source(None);
    followed.pages(0..3);
    let (_, _, at) = read_all(source.as_mut(), Position::default());
    followed.pages(1..2);
    followed.pages(3..4);
    let (new, overwritten, at) = read_all(source.as_mut(), at);
    assert_eq!((new, overwritten), (vec![3], vec![1]));
    let (new, overwritten, _) = read_all(source.as_mut(), at);
    assert!(new.is_empty() && overwritten.is_empty(), "once for each time");
}

pub fn a_page_that_left_the_catalogue_does_not_come(followed: &mut Followed<'_>) {
    followed.pages(0..3);
    let mut source = followed.source(None);
    let forgotten = vec![page(followed.job, 1).key()];
    followed.commit(Batch { forgotten, ..Batch::default() });
    let (new, ..) = read_all(source.as_mut(), Position::default());
    assert_eq!(new, [0, 2]);
    followed.pages(1..2);
    assert_eq!(read_all(source.as_mut(), Position::default()).0, [0, 2, 1]);
}

pub fn pages_of_other_jobs_are_passed(followed: &mut Followed<'_>) {
    let other = new_job(followed.catalogue);
    let own = followed.job;
    let mut source = followed.source(Some(own));
    followed.pages(0..2);
    let pages = (2..40).map(|number| page(other, number)).collect();
    followed.commit(Batch { pages, ..Batch::default() });
    let last = followed.pages(40..41).pages[0].seq;
    let mut at = Position::default();
    let mut taken = Vec::new();
    loop {
        let batch = source.read_after(at).unwrap();
        if batch.reached == at {
            break;
        }
        taken.extend(batch.pages.iter().filter(|stored| stored.row.job == own).map(number_of));
        at = batch.reached;
    }
    assert_eq!((taken, at.page), (vec![0, 1, 40], last));
}

/// A sink with a reader of its output. Dropping the sink simulates a kill.
pub trait SinkFixture {
    /// Opens the sink as a process does when it starts.
    fn open(&mut self) -> Box<dyn PageSink>;

    /// If the position is stored by another writer's next write: that write.
    fn store_position(&mut self) {}

    /// The URLs that readers see, in order.
    fn taken(&mut self) -> Vec<String>;

    /// The job whose pages it takes.
    fn job(&self) -> JobId;
}

/// One `#[test]` for each check of the contract of sinks.
#[macro_export]
macro_rules! page_sink_contract {
    ($open:expr) => {
        $crate::page_sink_contract!(@each $open,
            a_new_sink_begins_at_the_beginning,
            a_sink_takes_pages_in_their_order,
            a_killed_sink_continues_without_a_gap,
            a_batch_that_comes_twice_does_no_harm
        );
    };
    (@each $open:expr, $($check:ident),+) => {
        $(
            #[test]
            fn $check() {
                let opened: Option<Box<dyn $crate::follower::contract::SinkFixture>> = ($open)().into();
                let Some(mut fixture) = opened else { return };
                $crate::follower::contract::$check(fixture.as_mut());
            }
        )+
    };
}

/// Batches of three pages, numbered from 1.
fn batches(job: JobId, count: u32) -> Vec<CommittedPages> {
    let pages = |first: u32| {
        (first..first + 3).map(|number| StoredPage { seq: number.into(), row: page(job, number) }).collect()
    };
    (0..count)
        .map(|batch| CommittedPages {
            pages: pages(batch * 3 + 1),
            overwritten: Vec::new(),
            reached: Position { page: u64::from(batch * 3 + 3), batch: u64::from(batch + 1) },
        })
        .collect()
}

fn urls(numbers: std::ops::RangeInclusive<u32>) -> Vec<String> {
    numbers.map(|number| format!("https://a.test/{number}")).collect()
}

/// Does what a follower does: writes everything after the sink's position.
fn continue_from(sink: &mut dyn PageSink, batches: &[CommittedPages]) {
    let at = sink.position().unwrap();
    for batch in batches.iter().filter(|batch| batch.reached.page > at.page) {
        let pages = batch.pages.iter().filter(|stored| stored.seq > at.page).cloned().collect();
        sink.store(&CommittedPages { pages, ..batch.clone() }).unwrap();
    }
}

fn each_once(urls: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for url in urls {
        if !once.contains(&url) {
            once.push(url);
        }
    }
    once
}

pub fn a_new_sink_begins_at_the_beginning(fixture: &mut dyn SinkFixture) {
    assert_eq!(fixture.open().position().unwrap().page, 0);
}

pub fn a_sink_takes_pages_in_their_order(fixture: &mut dyn SinkFixture) {
    let batches = batches(fixture.job(), 2);
    let mut sink = fixture.open();
    continue_from(sink.as_mut(), &batches);
    assert_eq!(sink.position().unwrap().page, 6);
    assert_eq!(sink.finish().unwrap(), Finished::Yes);
    assert_eq!(fixture.taken(), urls(1..=6));
}

pub fn a_killed_sink_continues_without_a_gap(fixture: &mut dyn SinkFixture) {
    let batches = batches(fixture.job(), 4);
    let mut sink = fixture.open();
    continue_from(sink.as_mut(), &batches[..1]);
    fixture.store_position();
    continue_from(sink.as_mut(), &batches[..3]);
    drop(sink);
    let mut sink = fixture.open();
    assert!(sink.position().unwrap().page <= 9, "not beyond what it took");
    continue_from(sink.as_mut(), &batches);
    drop(sink);
    assert_eq!(each_once(fixture.taken()), urls(1..=12));
}

pub fn a_batch_that_comes_twice_does_no_harm(fixture: &mut dyn SinkFixture) {
    let batches = batches(fixture.job(), 2);
    // Killed after the write and before the position.
    for _ in 0..3 {
        let mut sink = fixture.open();
        continue_from(sink.as_mut(), &batches[..1]);
    }
    continue_from(fixture.open().as_mut(), &batches);
    assert_eq!(each_once(fixture.taken()), urls(1..=6));
}
