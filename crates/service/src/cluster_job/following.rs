//! Follows a job of a cluster to its end, and writes its pages to a file meanwhile.

use crate::cluster::{ClusterPlace, database_failure};
use crate::directory;
use crate::job_end::JobEnd;
use crate::outage::Outages;
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{cluster_status, queued_urls, set_job_state};
use argiope_config::{CrawlSettings, Failure};
use argiope_model::JobId;
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Job, JobCounts, JobState};
use argiope_store::clock::now;
use argiope_store::export::Output;
use argiope_store::follower::{CatalogueSource, PagesFollower};
use std::time::Duration;

/// Within which a server that is up answers the smallest request.
const PULSE_LIMIT: Duration = Duration::from_secs(5);

/// The file of `-o`. It reads new pages with every status.
type OutputFollower = PagesFollower<CatalogueSource, Output>;

pub struct Following<'p> {
    place: &'p ClusterPlace,
    pub settings: CrawlSettings,
    job: JobId,
    session: Session,
    catalogue: PostgresCatalogue,
    reader: Box<dyn CatalogueReader>,
    pulse: Session,
    output: Option<OutputFollower>,
    /// Pages that the job had when following began.
    pub pages_before: u64,
}

/// How a job is.
pub enum Look {
    Running(ClusterProgress),
    /// It is finished or paused, and all of its pages are written.
    Over(Job),
}

#[derive(Clone, Debug)]
pub struct ClusterProgress {
    pub counts: JobCounts,
    pub queued: u64,
    /// Workers that are up.
    pub workers: u64,
    /// Requests of all workers in flight, whatever the job.
    pub in_flight: u64,
}

impl<'p> Following<'p> {
    pub(super) fn open(
        place: &'p ClusterPlace,
        settings: CrawlSettings,
        job: JobId,
        session: Session,
        mut catalogue: PostgresCatalogue,
        outages: Outages<'_>,
    ) -> Result<Following<'p>, Failure> {
        let store = |e| directory::store_failure(&e);
        let counts = || catalogue.reader().and_then(|reader| reader.counts(job)).map_err(store);
        let pages_before = outages.outlast(counts)?.pages;
        let reader = outages.outlast(|| catalogue.reader().map_err(store))?;
        let pulse =
            outages.outlast(|| place.database.connect(PULSE_LIMIT).map_err(|e| database_failure(&e)))?;
        let output = match &settings.output {
            Some(output) => {
                let (path, noindex) = (output.path(), settings.job.index_noindex);
                let mut open = || {
                    let output = Output::open(&mut catalogue, job, &path, noindex, now())?;
                    let source = CatalogueSource::new(catalogue.reader()?, Some(job));
                    Ok(PagesFollower::new(source, output))
                };
                Some(outages.outlast(|| open().map_err(store))?)
            }
            None => None,
        };
        Ok(Following { place, settings, job, session, catalogue, reader, pulse, output, pages_before })
    }

    /// Looks how the job is, and writes the pages that came since the last look.
    pub fn look(&mut self, outages: Outages<'_>) -> Result<Look, Failure> {
        outages.outlast(|| {
            // Other requests may take long: this one finds out soon that the server does not answer.
            self.pulse.ping().map_err(|e| database_failure(&e))?;
            self.look_once()
        })
    }

    fn look_once(&mut self) -> Result<Look, Failure> {
        let store = |e| directory::store_failure(&e);
        let job = self
            .reader
            .job(self.job)
            .map_err(store)?
            .ok_or_else(|| Failure::failed(format!("job {} was deleted meanwhile", self.job)))?;
        // After reading the job's state, so that the pages include everything up to its end.
        if let Some(output) = &mut self.output {
            output.catch_up().map_err(store)?;
        }
        if job.state.is_finished() || job.state == JobState::Paused {
            return Ok(Look::Over(job));
        }
        self.progress().map(Look::Running)
    }

    fn progress(&mut self) -> Result<ClusterProgress, Failure> {
        let failed = |e| database_failure(&e);
        let counts = self.reader.counts(self.job).map_err(|e| directory::store_failure(&e))?;
        let queued = queued_urls(&mut self.session).map_err(failed)?;
        let status = cluster_status(&mut self.session).map_err(failed)?;
        Ok(ClusterProgress {
            counts,
            queued: queued.get(&self.job).copied().unwrap_or(0),
            workers: status.workers.iter().filter(|worker| worker.state == "working").count() as u64,
            in_flight: status.workers.iter().map(|worker| worker.active).sum(),
        })
    }

    /// Pauses the job at once, or fails: a server that hangs would carry it out later.
    pub fn pause(&mut self) -> Result<(), Failure> {
        let paused = self.pulse.ping().and_then(|()| {
            set_job_state(&mut self.session, self.job, JobState::Paused.as_str(), None, Some("interrupted"))
        });
        paused.map_err(|e| database_failure(&e))
    }

    /// Completes the file of `-o`.
    pub fn finish(&mut self, outages: Outages<'_>) -> Result<(), Failure> {
        let Some(mut output) = self.output.take() else { return Ok(()) };
        let store = |e| directory::store_failure(&e);
        outages.outlast(|| output.finish_all().map_err(store))?;
        let position = output.sink().progress().position();
        let batch = Batch { at: now(), outputs: vec![position], ..Batch::default() };
        outages.outlast(|| self.catalogue.commit(&batch).map(|_| ()).map_err(store))
    }

    /// How a job ended that is over. `cuts` of each kind are named.
    pub fn conclude(&self, job: &Job, cuts: usize, outages: Outages<'_>) -> Result<JobEnd, Failure> {
        outages.outlast(|| {
            let reader = self.catalogue.reader().map_err(|e| directory::store_failure(&e))?;
            JobEnd::of(reader.as_ref(), job.clone(), None, cuts)
        })
    }

    /// For messages.
    pub fn place(&self) -> &str {
        self.place.database.place()
    }
}
