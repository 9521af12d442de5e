//! Followers with sinks that fail, hang and crash. Tests wait for events, never for time.

#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use super::*;
use crate::catalogue::{Committed, PageRow, PlacedPage, StoredPage, url_key};
use crate::error::{ErrorKind, Result, StoreError};
use argiope_model::{JobId, Page};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A catalogue in memory: page n has the number n.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Vec<StoredPage>>>);

impl Pages {
    /// Commits as a committer does: to the catalogue first.
    fn commit(&self, count: u64, commits: &Commits) {
        let mut pages = self.0.lock().unwrap();
        let first = pages.len() as u64 + 1;
        let rows: Vec<PageRow> = (first..first + count).map(page).collect();
        pages.extend((first..).zip(rows.clone()).map(|(seq, row)| StoredPage { seq, row }));
        drop(pages);
        let placed = (first..first + count).map(|seq| PlacedPage { seq, repeated: false }).collect();
        commits.publish(rows, &Committed { batch: first, pages: placed });
    }
}

impl PageSource for Pages {
    fn read_after(&mut self, position: Position) -> Result<Arc<CommittedPages>> {
        let pages = self.0.lock().unwrap();
        let pages: Vec<_> =
            pages.iter().filter(|stored| stored.seq > position.page).take(100).cloned().collect();
        let page = pages.last().map_or(position.page, |stored| stored.seq);
        let reached = Position { page, ..position };
        Ok(Arc::new(CommittedPages { pages, overwritten: Vec::new(), reached }))
    }
}

fn page(number: u64) -> PageRow {
    let url = format!("https://a.test/{number}");
    PageRow::new(JobId(1), url_key(&url), "a.test", Page { url, ..Page::default() })
}

/// How a sink treats a batch before it takes it.
type Script = Box<dyn FnMut() -> Result<()> + Send>;

/// What survives a crash of the sink's process.
#[derive(Default)]
struct Taken {
    numbers: Vec<u64>,
    position: Position,
}

struct Sink {
    taken: Arc<Mutex<Taken>>,
    before: Script,
    /// Between the write and the position.
    between: Script,
    starts_over: bool,
}

fn fine() -> Script {
    Box::new(|| Ok(()))
}

fn sink(taken: &Arc<Mutex<Taken>>, before: Script) -> Sink {
    Sink { taken: Arc::clone(taken), before, between: fine(), starts_over: false }
}

impl PageSink for Sink {
    fn position(&mut self) -> Result<Position> {
        Ok(self.taken.lock().unwrap().position)
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        (self.before)()?;
        self.taken.lock().unwrap().numbers.extend(batch.pages.iter().map(|stored| stored.seq));
        (self.between)()?;
        self.taken.lock().unwrap().position = batch.reached;
        Ok(())
    }

    fn finish(&mut self) -> Result<Finished> {
        if std::mem::take(&mut self.starts_over) {
            *self.taken.lock().unwrap() = Taken::default();
            return Ok(Finished::StartsOver);
        }
        Ok(Finished::Yes)
    }
}

fn away() -> StoreError {
    StoreError::new(ErrorKind::Unreachable, "sink", "does not answer")
}

fn options(first_pause: Duration) -> FollowerOptions {
    FollowerOptions { first_pause, ..FollowerOptions::new("test", LagUnit::Pages, Box::new(|| 0)) }
}

const SHORT: Duration = Duration::from_millis(1);
const FOREVER: Duration = Duration::from_secs(1_000_000);

/// Waits for each permit, and reports that it waits.
fn with_permits() -> (Script, Receiver<()>, SyncSender<()>) {
    let (waits, waiting) = sync_channel(100);
    let (permit, permits) = sync_channel::<()>(1000);
    let script = move || {
        let _ = waits.try_send(());
        let _ = permits.recv();
        Ok(())
    };
    (Box::new(script), waiting, permit)
}

#[test]
fn a_commit_wakes_the_follower() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    let (done, dones) = sync_channel(10);
    let mut sink = sink(&taken, fine());
    sink.between = Box::new(move || {
        let _ = done.send(());
        Ok(())
    });
    let follower = Follower::start(options(FOREVER), PagesFollower::new(pages.clone(), sink)).unwrap();
    commits.wakes(follower.waker());
    for _ in 0..3 {
        pages.commit(2, &commits);
        // Without a wake-up this would wait forever: no timer is involved.
        dones.recv().unwrap();
    }
    assert_eq!(follower.drain(None), Outcome::CaughtUp);
    assert_eq!(taken.lock().unwrap().numbers, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_sink_that_fails_for_a_while_gets_every_page_once() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    let mut failures = 3;
    let before = move || {
        failures -= 1;
        if failures >= 0 { Err(away()) } else { Ok(()) }
    };
    pages.commit(250, &commits);
    let work = PagesFollower::new(pages, sink(&taken, Box::new(before)));
    let follower = Follower::start(options(SHORT), work).unwrap();
    assert_eq!(follower.drain(None), Outcome::CaughtUp);
    assert_eq!(taken.lock().unwrap().numbers, (1..=250).collect::<Vec<_>>());
    assert_eq!(follower.status().error, None);
}

#[test]
fn an_outage_is_shown_while_it_lasts_and_a_drain_gives_up_in_time() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    pages.commit(1, &commits);
    let (failed, failures) = sync_channel(100);
    let before = move || {
        let _ = failed.send(());
        Err(away())
    };
    let work = PagesFollower::new(pages, sink(&taken, Box::new(before)));
    let follower = Follower::start(options(SHORT), work).unwrap();
    // The second failure comes after the first was recorded.
    failures.recv().unwrap();
    failures.recv().unwrap();
    assert!(follower.status().error.unwrap().contains("does not answer"));
    assert_eq!(follower.drain(Some(Duration::ZERO)), Outcome::Stopped);
    assert!(taken.lock().unwrap().numbers.is_empty());
}

#[test]
fn a_drain_without_a_limit_gives_up_on_a_sink_that_never_comes_back() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    pages.commit(1, &commits);
    let work = PagesFollower::new(pages, sink(&taken, Box::new(|| Err(away()))));
    let follower = Follower::start(options(SHORT), work).unwrap();
    assert_eq!(follower.drain(None), Outcome::Failed);
}

#[test]
fn an_error_that_does_not_pass_ends_the_follower_and_is_reported() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    pages.commit(1, &commits);
    let (report, reported) = sync_channel(1);
    let options = FollowerOptions {
        on_failure: Box::new(move |error| report.send(error.kind).unwrap()),
        ..options(FOREVER)
    };
    let before = || Err(StoreError::new(ErrorKind::OutputClosed, "-", "broken pipe"));
    let follower =
        Follower::start(options, PagesFollower::new(pages, sink(&taken, Box::new(before)))).unwrap();
    assert_eq!(reported.recv().unwrap(), ErrorKind::OutputClosed);
    assert_eq!(follower.drain(None), Outcome::Failed);
    assert!(follower.status().error.unwrap().contains("broken pipe"));
}

#[test]
fn a_crash_between_write_and_position_repeats_a_batch_and_loses_none() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    pages.commit(150, &commits);
    let mut crashing = sink(&taken, fine());
    let mut batches = 0;
    crashing.between = Box::new(move || {
        batches += 1;
        // The second batch is written and its position is not.
        if batches == 2 { Err(StoreError::new(ErrorKind::Io, "process", "killed")) } else { Ok(()) }
    });
    let killed = Follower::start(options(FOREVER), PagesFollower::new(pages.clone(), crashing)).unwrap();
    assert_eq!(killed.drain(None), Outcome::Failed);
    pages.commit(10, &commits);
    let next = Follower::start(options(FOREVER), PagesFollower::new(pages, sink(&taken, fine()))).unwrap();
    assert_eq!(next.drain(None), Outcome::CaughtUp);
    let wanted: Vec<u64> = (1..=150).chain(101..=160).collect();
    assert_eq!(taken.lock().unwrap().numbers, wanted);
}

#[test]
fn a_slow_sink_holds_up_no_commit_and_no_memory() {
    let (pages, commits) = (Pages::default(), Arc::<Commits>::default());
    let taken: Arc<Mutex<Taken>> = Arc::default();
    let (before, waiting, permit) = with_permits();
    let recent = commits.read_recent(Position::default());
    let work = PagesFollower::new(RecentSource::new(recent, pages.clone()), sink(&taken, before));
    let (committed, followed) = (Arc::clone(&commits), Arc::clone(&taken));
    let behind = move || committed.last_page() - followed.lock().unwrap().position.page;
    let options = FollowerOptions::new("slow", LagUnit::Pages, Box::new(behind));
    let follower = Follower::start(options, work).unwrap();
    let followers = Followers::default();
    followers.add(&follower);
    commits.wakes(follower.waker());
    pages.commit(200, &commits);
    waiting.recv().unwrap();
    // The sink has the first batch and is blocked. Every commit below returns all the same.
    for _ in 0..200 {
        pages.commit(100, &commits);
        assert!(commits.held_pages() <= 8000);
    }
    assert!(taken.lock().unwrap().numbers.is_empty());
    let status = followers.statuses().remove(0);
    assert_eq!((status.name.as_str(), status.behind, status.error), ("slow", 20_200, None));
    drop(permit);
    assert_eq!(follower.drain(None), Outcome::CaughtUp);
    assert_eq!(taken.lock().unwrap().numbers, (1..=20_200).collect::<Vec<_>>());
    assert_eq!((follower.status().behind, commits.held_pages()), (0, 0));
    drop(follower);
    assert!(followers.statuses().is_empty());
}

#[test]
fn fresh_pages_are_not_read_back_from_the_catalogue() {
    struct Forbidden;
    impl PageSource for Forbidden {
        fn read_after(&mut self, position: Position) -> Result<Arc<CommittedPages>> {
            panic!("read after {position:?}");
        }
    }
    let commits = Arc::<Commits>::default();
    commits.begin_at(Position { page: 7, batch: 3 });
    let at = Position { page: 7, batch: 3 };
    let mut source = RecentSource::new(commits.read_recent(at), Forbidden);
    assert_eq!(source.read_after(at).unwrap().reached, at);
    let committed = |batch, seqs: &[u64], repeated| Committed {
        batch,
        pages: seqs.iter().map(|seq| PlacedPage { seq: *seq, repeated }).collect(),
    };
    commits.publish(vec![page(8), page(9)], &committed(5, &[8, 9], false));
    commits.publish(vec![page(8)], &committed(6, &[8], true));
    commits.publish(vec![page(10)], &committed(9, &[10], false));
    let first = source.read_after(at).unwrap();
    assert_eq!((first.pages.len(), first.overwritten.len()), (2, 0));
    let second = source.read_after(first.reached).unwrap();
    assert_eq!((second.pages.len(), second.overwritten.len()), (0, 1));
    let third = source.read_after(second.reached).unwrap();
    assert_eq!((third.pages.len(), third.reached), (1, Position { page: 10, batch: 9 }));
    assert!(source.read_after(third.reached).unwrap().is_empty());
}

#[test]
fn a_sink_that_starts_over_gets_everything_again() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    pages.commit(120, &commits);
    let over = Sink { starts_over: true, ..sink(&taken, fine()) };
    let follower = Follower::start(options(FOREVER), PagesFollower::new(pages, over)).unwrap();
    assert_eq!(follower.drain(None), Outcome::CaughtUp);
    assert_eq!(taken.lock().unwrap().numbers, (1..=120).collect::<Vec<_>>());
}

#[test]
fn a_follower_that_is_dropped_ends_at_once() {
    let (pages, commits, taken) = (Pages::default(), Commits::default(), Arc::default());
    pages.commit(1, &commits);
    let (failed, failures) = sync_channel(100);
    let before = move || {
        let _ = failed.send(());
        Err(away())
    };
    let follower =
        Follower::start(options(FOREVER), PagesFollower::new(pages, sink(&taken, Box::new(before)))).unwrap();
    failures.recv().unwrap();
    // In a pause that would take days.
    drop(follower);
    assert!(taken.lock().unwrap().numbers.is_empty());
}
