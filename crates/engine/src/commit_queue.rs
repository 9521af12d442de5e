//! The queue before the committer: records, jobs and tasks that wait for the next batch.

use crate::visit_record::VisitRecord;
use argiope_store::catalogue::{Catalogue, JobUpdate};
use argiope_store::links::LinkBatch;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The queue of the next batch. The scheduler bounds it: it sends no requests while the queue is full.
pub(crate) struct CommitQueue {
    room: usize,
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

/// Runs on the catalogue's only writer.
pub(crate) type CatalogueTask = Box<dyn FnOnce(&mut dyn Catalogue) + Send>;

/// The contents of a batch. Two of them alternate, so that their memory is reused.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) records: Vec<VisitRecord>,
    /// Buffers of the records, except those that bring their own.
    pub(crate) links: LinkBatch,
    pub(crate) jobs: Vec<JobUpdate>,
    /// Tasks to run after all of it is stored.
    pub(crate) tasks: Vec<CatalogueTask>,
    /// The weight of all records, in visits: see [`VisitRecord::weight`].
    weight: usize,
}

#[derive(Default)]
struct Waiting {
    load: Load,
    flush: bool,
    closed: bool,
}

/// Memory beyond this is freed after a batch.
const KEPT_RECORDS: usize = 4096;
const KEPT_LINK_BYTES: usize = 16 << 20;

impl Load {
    pub(crate) fn of(records: Vec<VisitRecord>) -> Load {
        Load { records, ..Load::default() }
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.jobs.is_empty() && self.tasks.is_empty()
    }

    fn clear(&mut self) {
        self.records.clear();
        self.records.shrink_to(KEPT_RECORDS);
        self.weight = 0;
        self.jobs.clear();
        self.tasks.clear();
        self.links.clear();
        self.links.shrink_to(KEPT_LINK_BYTES);
    }
}

impl CommitQueue {
    pub(crate) fn with_room_for(records: usize) -> CommitQueue {
        CommitQueue { room: records, waiting: Mutex::default(), wake: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A few records wake nobody, unless they are waited for: the committer has a timer.
    pub(crate) fn put_all(&self, records: Vec<VisitRecord>) {
        let mut waiting = self.lock();
        for mut record in records {
            record.links.take().iter().for_each(|links| waiting.load.links.extend(links));
            waiting.load.weight += record.weight();
            waiting.load.records.push(record);
        }
        if waiting.flush {
            self.wake.notify_one();
        }
    }

    pub(crate) fn put(&self, record: VisitRecord) {
        self.put_all(vec![record]);
    }

    pub(crate) fn put_job(&self, update: JobUpdate) {
        self.lock().load.jobs.push(update);
    }

    /// Runs a task when everything queued before it is stored. It is dropped if the queue is closed.
    pub(crate) fn put_task(&self, task: CatalogueTask) {
        let mut waiting = self.lock();
        if !waiting.closed {
            waiting.load.tasks.push(task);
            waiting.flush = true;
            self.wake.notify_one();
        }
    }

    /// Records being stored do not count.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().load.weight >= self.room
    }

    /// Close the batch now, or with the next record: fetch slots are free, and no URL is ready.
    pub(crate) fn flush(&self) {
        self.lock().flush = true;
        self.wake.notify_one();
    }

    /// No more records will come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Waits for a reason to close a batch and takes it, in exchange for one that is stored. False once closed and empty.
    pub(crate) fn take(&self, age: Duration, size: usize, load: &mut Load) -> bool {
        let deadline = Instant::now() + age;
        load.clear();
        let mut waiting = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let due = left.is_zero() || waiting.load.weight >= size || waiting.flush;
            if waiting.closed || (due && !waiting.load.is_empty()) {
                waiting.flush = false;
                std::mem::swap(&mut waiting.load, load);
                return !load.is_empty();
            }
            let wait = if left.is_zero() { age } else { left };
            waiting = self.wake.wait_timeout(waiting, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_with_their_items_and_once() {
        use argiope_model::JobId;
        let commit_queue = CommitQueue::with_room_for(100);
        let mut load = Load::default();
        for page in ["https://a.test/1", "https://a.test/2"] {
            let mut links = LinkBatch::new();
            links.push(JobId(1), page, std::iter::empty());
            commit_queue.put(VisitRecord { links: Some(links), ..VisitRecord::default() });
            commit_queue.flush();
            assert!(commit_queue.take(Duration::ZERO, 1, &mut load));
            let mut sources = Vec::new();
            argiope_store::links::decode(load.links.as_bytes(), &mut |found| {
                sources.push(found.source.to_owned());
                Ok(())
            })
            .unwrap();
            assert_eq!((load.records.len(), sources), (1, vec![page.to_owned()]));
        }
    }

    #[test]
    fn pages_with_many_links_fill_the_queue_and_close_a_batch_sooner() {
        use argiope_model::{JobId, SkipReason};
        use argiope_store::catalogue::SkippedRow;
        let commit_queue = CommitQueue::with_room_for(300);
        let row = |n: u32| SkippedRow {
            job: JobId(1),
            url_key: n.into(),
            url: format!("https://a.test/{n}"),
            reason: SkipReason::OutOfScope,
            detail: String::new(),
            source: None,
            amount: 0,
        };
        let large = || VisitRecord { skipped: (0..10_000).map(row).collect(), ..VisitRecord::default() };
        commit_queue.put(large());
        commit_queue.put(large());
        assert!(!commit_queue.is_full());
        commit_queue.put(large());
        assert!(commit_queue.is_full());
        let mut load = Load::default();
        assert!(commit_queue.take(Duration::from_secs(3600), 200, &mut load), "by its weight");
        assert_eq!(load.records.len(), 3);
        assert!(!commit_queue.is_full());
    }

    #[test]
    fn a_batch_closes_on_size_on_a_flush_and_at_the_end() {
        let commit_queue = CommitQueue::with_room_for(100);
        let long = Duration::from_secs(3600);
        for _ in 0..3 {
            commit_queue.put(VisitRecord::default());
        }
        let take = |size| {
            let mut load = Load::default();
            commit_queue.take(long, size, &mut load).then_some(load.records.len())
        };
        assert_eq!(take(3), Some(3));
        commit_queue.put(VisitRecord::default());
        commit_queue.flush();
        assert_eq!(take(3), Some(1));
        // The response was reported before its page was processed.
        commit_queue.flush();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| take(3));
            commit_queue.put(VisitRecord::default());
            assert_eq!(taken.join().unwrap(), Some(1));
        });
        commit_queue.put(VisitRecord::default());
        commit_queue.close();
        assert_eq!(take(3), Some(1));
        assert_eq!(take(3), None);
    }
}
