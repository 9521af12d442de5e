//! How the committer of this process notifies followers: that there are new pages, and the pages themselves while they
//! are fresh, so that a follower that keeps up need not read them from the catalogue.
//!
//! Publishing never waits. Fresh pages are kept up to a limit; the oldest are dropped first, and a follower that comes
//! too late for them reads the catalogue.

use super::{CommittedPages, PageSource, Position, Waker};
use crate::catalogue::{Committed, PageRow, StoredPage};
use crate::error::Result;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Fresh pages that are kept for followers. Two batches of the largest size.
const HELD_PAGES: usize = 8000;

#[derive(Default)]
pub struct Commits {
    state: Mutex<State>,
    last_page: AtomicU64,
}

#[derive(Default)]
struct State {
    wakers: Vec<Waker>,
    /// The position of each reader of fresh pages, by its number.
    readers: Vec<(u64, Position)>,
    next_reader: u64,
    /// Oldest first, without gaps.
    recent: VecDeque<Recent>,
    held: usize,
    /// After the last batch that added or changed pages.
    reached: Position,
}

struct Recent {
    after: Position,
    pages: Arc<CommittedPages>,
}

impl Recent {
    fn size(&self) -> usize {
        self.pages.pages.len() + self.pages.overwritten.len()
    }
}

impl State {
    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.recent.pop_front() {
            self.held = self.held.saturating_sub(oldest.size());
        }
    }

    /// Drops pages that every reader has passed.
    fn drop_passed(&mut self) {
        let slowest = self.readers.iter().map(|(_, at)| (at.page, at.batch)).min();
        while let Some(oldest) = self.recent.front() {
            let reached = (oldest.pages.reached.page, oldest.pages.reached.batch);
            if slowest.is_some_and(|slowest| reached > slowest) {
                return;
            }
            self.drop_oldest();
        }
    }
}

impl Commits {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes it now, and after every commit that adds or changes pages.
    pub fn wakes(&self, waker: Waker) {
        waker.wake();
        self.lock().wakers.push(waker);
    }

    /// The position of the catalogue before the first batch of this process.
    pub fn begin_at(&self, reached: Position) {
        self.lock().reached = reached;
        self.last_page.store(reached.page, Ordering::Release);
    }

    /// The number of the last page that this process knows to be committed.
    pub fn last_page(&self) -> u64 {
        self.last_page.load(Ordering::Acquire)
    }

    /// For a follower that reads fresh pages from here. It reads those published from now on.
    pub fn read_recent(self: &Arc<Self>, from: Position) -> RecentPages {
        let mut state = self.lock();
        let number = state.next_reader;
        state.next_reader += 1;
        state.readers.push((number, from));
        drop(state);
        RecentPages { commits: Arc::clone(self), number }
    }

    /// How many fresh pages are held.
    pub fn held_pages(&self) -> usize {
        self.lock().held
    }

    /// A batch with these pages was committed.
    pub fn publish(&self, pages: Vec<PageRow>, committed: &Committed) {
        if pages.is_empty() {
            return;
        }
        let mut state = self.lock();
        let after = state.reached;
        let mut reached = Position { page: after.page, batch: committed.batch };
        let is_read = !state.readers.is_empty();
        let mut batch = CommittedPages::default();
        if is_read {
            batch.pages.reserve_exact(pages.len());
        }
        for (row, placed) in pages.into_iter().zip(&committed.pages) {
            reached.page = reached.page.max(placed.seq);
            if is_read {
                let to = if placed.repeated { &mut batch.overwritten } else { &mut batch.pages };
                to.push(StoredPage { seq: placed.seq, row });
            }
        }
        state.reached = reached;
        self.last_page.fetch_max(reached.page, Ordering::AcqRel);
        if is_read {
            batch.reached = reached;
            let recent = Recent { after, pages: Arc::new(batch) };
            state.held += recent.size();
            state.recent.push_back(recent);
            while state.held > HELD_PAGES {
                state.drop_oldest();
            }
        }
        state.wakers.retain(Waker::wake);
    }
}

/// One follower's access to the fresh pages.
pub struct RecentPages {
    commits: Arc<Commits>,
    number: u64,
}

impl RecentPages {
    fn after(&self, position: Position) -> Found {
        let mut state = self.commits.lock();
        for (_, at) in state.readers.iter_mut().filter(|(number, _)| *number == self.number) {
            *at = position;
        }
        state.drop_passed();
        if !is_beyond(state.reached, position) {
            return Found::Nothing;
        }
        let follows = |recent: &&Recent| {
            // A batch between the two numbers overwrote nothing, or it would have been published.
            recent.after.page == position.page
                && recent.after.batch <= position.batch
                && is_beyond(recent.pages.reached, position)
        };
        match state.recent.iter().find(follows) {
            Some(recent) => Found::Held(Arc::clone(&recent.pages)),
            None => Found::InCatalogue,
        }
    }
}

/// The pages after a position.
enum Found {
    /// The batch that begins exactly there.
    Held(Arc<CommittedPages>),
    InCatalogue,
    Nothing,
}

fn is_beyond(reached: Position, position: Position) -> bool {
    reached.page > position.page || reached.batch > position.batch
}

impl Drop for RecentPages {
    fn drop(&mut self) {
        let mut state = self.commits.lock();
        state.readers.retain(|(number, _)| *number != self.number);
        state.drop_passed();
    }
}

/// Fresh pages while they are kept, the catalogue's otherwise. For a process that is the only writer.
pub struct RecentSource<Catalogue> {
    recent: RecentPages,
    catalogue: Catalogue,
}

impl<Catalogue: PageSource> RecentSource<Catalogue> {
    pub fn new(recent: RecentPages, catalogue: Catalogue) -> RecentSource<Catalogue> {
        RecentSource { recent, catalogue }
    }
}

impl<Catalogue: PageSource> PageSource for RecentSource<Catalogue> {
    fn read_after(&mut self, position: Position) -> Result<Arc<CommittedPages>> {
        match self.recent.after(position) {
            Found::Held(pages) => Ok(pages),
            Found::Nothing => Ok(Arc::new(CommittedPages { reached: position, ..CommittedPages::default() })),
            Found::InCatalogue => self.catalogue.read_after(position),
        }
    }
}
