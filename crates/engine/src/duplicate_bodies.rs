//! Finds pages with the same body among those that this process stored recently. The archive does the same for all of its
//! pages, but only once they are durable, and only for bodies with the same content encoding.

use argiope_model::JobId;
use argiope_store::catalogue::PageRow;
use std::collections::{HashMap, VecDeque};

/// Beyond this the oldest are forgotten: about 20 MB.
const MOST: usize = 100_000;

/// The job and half of the content hash.
type Key = (JobId, u128);

#[derive(Default)]
pub(crate) struct DuplicateBodies {
    first: HashMap<Key, Box<str>>,
    order: VecDeque<Key>,
}

impl DuplicateBodies {
    /// Remembers a page, in commit order, or marks it as a duplicate of an earlier one.
    pub(crate) fn mark(&mut self, row: &mut PageRow) {
        let page = &mut row.page;
        if page.duplicate_of.is_some() || page.bytes.unwrap_or(0) == 0 || page.status != Some(200) {
            return;
        }
        let Some(hash) = page.content_hash.and_then(|hash| hash.0.first_chunk().copied()) else { return };
        let key = (row.job, u128::from_be_bytes(hash));
        match self.first.get(&key) {
            Some(first) if **first == *page.url => {}
            Some(first) => page.duplicate_of = Some(first.to_string()),
            None => {
                self.first.insert(key, page.url.as_str().into());
                self.order.push_back(key);
                if self.order.len() > MOST
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.first.remove(&oldest);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{ContentHash, Page};

    fn row(job: u32, url: &str, hash: u8) -> PageRow {
        let page = Page {
            url: url.to_owned(),
            status: Some(200),
            bytes: Some(10),
            content_hash: Some(ContentHash([hash; 32])),
            ..Page::default()
        };
        PageRow::new(JobId(job), 0, "a.test", page)
    }

    fn marked(copies: &mut DuplicateBodies, mut row: PageRow) -> Option<String> {
        copies.mark(&mut row);
        row.page.duplicate_of
    }

    #[test]
    fn a_copy_names_the_first_page_of_its_job_with_that_body() {
        let mut copies = DuplicateBodies::default();
        assert_eq!(marked(&mut copies, row(1, "http://a.test/", b'a')), None);
        assert_eq!(marked(&mut copies, row(1, "http://a.test/b", b'b')), None);
        let first = Some(String::from("http://a.test/"));
        assert_eq!(marked(&mut copies, row(1, "http://a.test/copy", b'a')), first);
        assert_eq!(marked(&mut copies, row(1, "http://a.test/copy2", b'a')), first);
        assert_eq!(marked(&mut copies, row(1, "http://a.test/", b'a')), None, "not of itself");
        assert_eq!(marked(&mut copies, row(2, "http://a.test/other", b'a')), None, "another job");
    }

    #[test]
    fn error_pages_and_empty_bodies_are_not_duplicates() {
        let mut copies = DuplicateBodies::default();
        for url in ["http://a.test/1", "http://a.test/2"] {
            let mut missing = row(1, url, b'c');
            missing.page.status = Some(404);
            assert_eq!(marked(&mut copies, missing), None);
            let mut empty = row(1, url, b'd');
            empty.page.bytes = Some(0);
            assert_eq!(marked(&mut copies, empty), None);
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut copies = DuplicateBodies::default();
        for n in 0..=MOST {
            let mut row = row(1, &format!("http://a.test/{n}"), b'e');
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&(n as u64).to_be_bytes());
            row.page.content_hash = Some(ContentHash(hash));
            copies.mark(&mut row);
        }
        assert_eq!((copies.first.len(), copies.order.len()), (MOST, MOST));
    }
}
