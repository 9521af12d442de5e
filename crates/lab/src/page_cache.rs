//! Compressed pages, kept once they were created, like in a cache in front of a server: [`crate::server`] sends copies.
//! When it is full, no page is added; evicting pages would miss every time in a crawl that requests each page once.

use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a page costs beside its bytes: its entry in the table and the table's free room.
const ENTRY_BYTES: usize = 96;

/// A site and the number of one of its ordinary pages.
pub(crate) type PageKey = (u32, u32);

pub(crate) struct PageCache {
    capacity_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    pages: HashMap<PageKey, Bytes>,
    bytes: usize,
}

impl PageCache {
    pub(crate) fn new(capacity_bytes: usize) -> PageCache {
        PageCache { capacity_bytes, kept: Mutex::default() }
    }

    pub(crate) fn get(&self, key: PageKey) -> Option<Bytes> {
        self.locked().pages.get(&key).cloned()
    }

    /// Keeps a page if there is room. Two connections may have made it at the same time: both made the same.
    pub(crate) fn keep(&self, key: PageKey, page: &Bytes) {
        let cost = page.len() + ENTRY_BYTES;
        let mut kept = self.locked();
        if kept.bytes + cost <= self.capacity_bytes && kept.pages.insert(key, page.clone()).is_none() {
            kept.bytes += cost;
        }
    }

    /// A poisoned lock holds whole pages all the same: at worst the sum is of one page too few.
    fn locked(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_kept_until_the_cache_is_full_and_not_beyond() {
        let cache = PageCache::new(2 * (1000 + ENTRY_BYTES));
        let page = Bytes::from(vec![1; 1000]);
        for number in [0, 0, 1, 2] {
            cache.keep((7, number), &page);
        }
        assert_eq!((cache.get((7, 0)), cache.get((7, 1))), (Some(page.clone()), Some(page)));
        assert_eq!((cache.get((7, 2)), cache.get((8, 0))), (None, None));
    }

    #[test]
    fn a_cache_of_no_bytes_keeps_nothing() {
        let cache = PageCache::new(0);
        cache.keep((0, 0), &Bytes::new());
        assert_eq!(cache.get((0, 0)), None);
    }
}
