//! The committer closes batches. For each: archive synced, links synced, catalogue committed; then it notifies frontier
//! and followers. It sleeps until a batch is old or large enough, or the crawl waits for it.

use crate::commit_queue::{CommitQueue, Load};
use crate::duplicates::{self, Duplicates};
use crate::error::EngineError;
use crate::job::Jobs;
use crate::log;
use crate::output_follower::OutputFollower;
use crate::scheduler::Report;
use crate::status::ProcessCounters;
use crate::visit_record::Settlement;
use argiope_frontier::Completion;
use argiope_store::archive::{Appender, Archive, Exchange, Position};
use argiope_store::catalogue::{Batch, Catalogue, Committed, FilePosition, PageRow};
use argiope_store::clock::now;
use argiope_store::follower::Followers;
use argiope_store::links::{LinkBatch, Links};
use crossbeam_channel::Sender;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Cookies that change with every page are not written with every batch.
const KEEP_COOKIES_EVERY: Duration = Duration::from_secs(2);

pub(crate) struct Committer {
    pub(crate) catalogue: Box<dyn Catalogue>,
    pub(crate) archive: Option<Arc<dyn Archive>>,
    /// For the records of failures.
    pub(crate) appender: Option<Box<dyn Appender>>,
    pub(crate) links: Box<dyn Links>,
    /// Notified of every batch.
    pub(crate) followers: Followers,
    pub(crate) output: Option<OutputFollower>,
    /// The jobs whose cookies may have to be stored.
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) cookies_kept_at: Option<Instant>,
    /// None if pages are only counted as visits.
    pub(crate) duplicates: Option<Duplicates>,
    pub(crate) counters: Arc<ProcessCounters>,
    pub(crate) commit_queue: Arc<CommitQueue>,
    pub(crate) reports: Sender<Vec<Report>>,
    pub(crate) batch_age: Duration,
    pub(crate) batch_size: usize,
    /// Other processes store pages of the same jobs.
    pub(crate) in_cluster: bool,
}

/// A batch that is stored.
pub(crate) struct Stored {
    pub(crate) settled: Vec<Settlement>,
    pub(crate) positions: Vec<Position>,
    pub(crate) batch: u64,
    /// How long storing it took.
    pub(crate) took: Duration,
}

impl Committer {
    /// Runs until the queue is closed and empty. Returns the catalogue for later use.
    pub(crate) fn run(mut self) -> Result<Box<dyn Catalogue>, EngineError> {
        let result = self.commit_all();
        match result {
            Ok(()) => self.finish(),
            Err(error) => {
                let _ = self.reports.send(vec![Report::Fatal(error)]);
                Ok(self.catalogue)
            }
        }
    }

    fn commit_all(&mut self) -> Result<(), EngineError> {
        let mut load = Load::default();
        while self.commit_queue.take(self.batch_age, self.batch_size, &mut load) {
            let tasks = std::mem::take(&mut load.tasks);
            let stored = self.commit(&mut load, false)?;
            tasks.into_iter().for_each(|task| task(self.catalogue.as_mut()));
            if self.cookies_kept_at.is_none_or(|at| at.elapsed() >= KEEP_COOKIES_EVERY) {
                self.keep_cookies();
            }
            if self.reports.send(vec![Report::Stored(stored)]).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Changed cookies of the jobs that store them.
    fn keep_cookies(&mut self) {
        self.cookies_kept_at = Some(Instant::now());
        for job in self.jobs.all() {
            job.cookies.keep();
        }
    }

    /// Stores a batch in the order that makes it crash-safe.
    pub(crate) fn commit(&mut self, load: &mut Load, recovered: bool) -> Result<Stored, EngineError> {
        let started = Instant::now();
        let Load { records, links, jobs, .. } = load;
        let mut batch = Batch {
            at: now(),
            jobs: std::mem::take(jobs),
            recovered,
            pages: Vec::with_capacity(records.len()),
            fetches: Vec::with_capacity(records.len()),
            ..Batch::default()
        };
        let mut settled = Vec::with_capacity(records.len());
        let mut pages_of = Vec::with_capacity(records.len());
        let mut positions: HashMap<Arc<str>, u64> = HashMap::new();
        for mut record in records.drain(..) {
            if let Some(late) = record.late.take() {
                record.position = self.append_late(&late.metadata, late.address)?.or(record.position);
            }
            if let Some(Position { file, length }) = record.position {
                let reached = positions.entry(file).or_default();
                *reached = length.max(*reached);
            }
            let place = batch.pages.len();
            let page = record.page.is_some().then_some(place);
            batch.pages.extend(record.page);
            batch.forgotten.append(&mut record.forgotten);
            batch.fetches.extend(record.fetch);
            batch.resources.extend(record.resource);
            batch.skipped.append(&mut record.skipped);
            batch.errors.extend(record.error);
            batch.hosts.extend(record.host);
            batch.robots.extend(record.robots);
            if let Some(of_page) = &record.links {
                links.extend(of_page);
            }
            if let Some(one) = record.settlement {
                settled.push(one);
                pages_of.push(page);
            }
        }
        self.mark_duplicates(&mut batch.pages, &mut settled, &pages_of)?;
        if !batch.skipped.is_empty() {
            self.counters
                .skipped(&batch.skipped, |job| self.jobs.get(job).map(|job| Arc::clone(&job.counters)));
        }
        let positions: Vec<Position> =
            positions.into_iter().map(|(file, length)| Position { file, length }).collect();
        let committed = self.store(&mut batch, links, &positions)?;
        let took = started.elapsed();
        self.counters.committed(took);
        log::stored(&batch, committed.batch, took);
        self.followers.commits().publish(batch.pages, &committed);
        if self.in_cluster {
            count_once(&mut settled, &pages_of, &committed);
        }
        Ok(Stored { settled, positions, batch: committed.batch, took })
    }

    /// What duplicates link to is not handed on, where their job says so.
    fn mark_duplicates(
        &mut self,
        pages: &mut [PageRow],
        settled: &mut [Settlement],
        pages_of: &[Option<usize>],
    ) -> Result<(), EngineError> {
        let Some(duplicates) = &mut self.duplicates else { return Ok(()) };
        let marked = duplicates.mark(pages, &self.jobs, self.in_cluster)?;
        for (settled, place) in settled.iter_mut().zip(pages_of) {
            let follows = || self.jobs.get(settled.visit.job).is_none_or(|job| job.spec.follow_duplicates);
            if place.is_some_and(|place| marked.is_dispensable(place)) && !follows() {
                duplicates::unfollow(settled);
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        batch: &mut Batch,
        links: &LinkBatch,
        positions: &[Position],
    ) -> Result<Committed, EngineError> {
        if let Some(archive) = &self.archive
            && !positions.is_empty()
        {
            archive.sync()?;
            batch.archive = positions
                .iter()
                .map(|p| FilePosition { file: p.file.to_string(), length: p.length })
                .collect();
        }
        if !links.is_empty() {
            self.links.append(links)?;
            batch.links = Some(self.links.sync()?);
        }
        if let Some(output) = &self.output {
            batch.outputs.push(output.position(batch.forgotten.iter().map(|key| key.job)));
        }
        let committed = self.catalogue.commit(batch)?;
        if let Some(reached) = batch.links {
            self.links.committed(reached);
        }
        if let Some(archive) = &self.archive {
            archive.committed(positions);
        }
        Ok(committed)
    }

    fn append_late(
        &mut self,
        metadata: &argiope_store::warc::VisitMetadata,
        address: Option<std::net::IpAddr>,
    ) -> Result<Option<Position>, EngineError> {
        let Some(appender) = &mut self.appender else { return Ok(None) };
        let exchange = Exchange { metadata, address, request_head: None, response: None, previous: None };
        Ok(Some(appender.append(&exchange)?.position()))
    }

    fn finish(mut self) -> Result<Box<dyn Catalogue>, EngineError> {
        self.keep_cookies();
        if let Some(appender) = self.appender.take() {
            appender.finish()?;
        }
        if let Some(output) = self.output.take()
            && let Some(position) = output.finish()?
        {
            self.catalogue.commit(&Batch { at: now(), outputs: vec![position], ..Batch::default() })?;
        }
        Ok(self.catalogue)
    }
}

/// A page that another process stored before it lost the shard was charged to that one's budget.
fn count_once(settled: &mut [Settlement], pages_of: &[Option<usize>], committed: &Committed) {
    for (settled, page) in settled.iter_mut().zip(pages_of) {
        let placed = page.and_then(|place| committed.pages.get(place));
        if placed.is_some_and(|placed| placed.repeated)
            && let Completion::Done { counted } = &mut settled.completion
        {
            *counted = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_another_worker_has_stored_is_not_counted_again() {
        use argiope_store::catalogue::PlacedPage;
        let done = |counted| Settlement {
            token: None,
            ticket: None,
            visit: crate::sample::visit("http://a.test/x"),
            completion: Completion::Done { counted },
            discoveries: Vec::new(),
            note: None,
            scope_host: None,
        };
        // Two pages, of which the second is there already, and a visit without a page.
        let mut settled = [done(true), done(true), done(true)];
        let page = |repeated| PlacedPage { seq: 1, repeated };
        let committed = Committed { batch: 1, pages: vec![page(false), page(true)] };
        count_once(&mut settled, &[Some(0), Some(1), None], &committed);
        let counted = settled.map(|settled| settled.completion);
        let [first, second, third] = [true, false, true].map(|counted| Completion::Done { counted });
        assert_eq!(counted, [first, second, third]);
    }
}
