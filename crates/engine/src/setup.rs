//! Everything before the threads of a crawl start: opens stores, restores the frontier, queues seeds.

use crate::commit_queue::CommitQueue;
use crate::committer::Committer;
use crate::config::{EngineConfig, Ports};
use crate::duplicates::Duplicates;
use crate::engine::OutputFile;
use crate::error::EngineError;
use crate::job::{JobContext, JobStart, Jobs};
use crate::killed;
use crate::log;
use crate::login;
use crate::output_follower::OutputFollower;
use crate::recovery::{KnownVisits, Recoverer, RecoverySummary};
use crate::retry;
use crate::scheduler::{CATALOGUE, Report};
use crate::scope::{ScopeCompiler, domain_policy};
use crate::seeds;
use crate::status::ProcessCounters;
use argiope_frontier::member::{Forever, Lease, Member, Membership};
use argiope_frontier::state::{ShardState, StateBatch};
use argiope_frontier::{Frontier, FrontierConfig, LastStop};
use argiope_model::{FingerprintKey, JobId, Millis};
use argiope_store::archive::Position;
use argiope_store::catalogue::{Batch, Catalogue, JobState, JobUpdate, StoredPage};
use argiope_store::clock::now;
use argiope_store::export::Output;
use argiope_store::follower::Followers;
use crossbeam_channel::Sender;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const CLEAN: &str = "clean";
/// The mark with the time of the first start after a kill. It stays: hosts without state may have been requested until
/// then, which remains true after clean stops.
const KILLED: &str = "killed";
/// One in so many requests is handed out ahead, so that no connection waits for the scheduler.
const AHEAD_SHARE: usize = 4;

/// Everything before the threads start.
pub(crate) struct EngineSetup {
    pub(crate) frontier: Frontier,
    pub(crate) state: Box<dyn ShardState>,
    pub(crate) committer: Committer,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) scope: ScopeCompiler,
    pub(crate) key: FingerprintKey,
    pub(crate) counters: Arc<ProcessCounters>,
    pub(crate) commit_queue: Arc<CommitQueue>,
    link_bytes: u64,
    last_stop: LastStop,
    pub(crate) member: Option<Box<dyn Member>>,
    pub(crate) lease: Arc<dyn Lease>,
}

pub(crate) fn new_frontier(config: &EngineConfig, at: Millis, leased: bool) -> Frontier {
    let frontier = FrontierConfig {
        shards: config.shards,
        concurrency: config.concurrency,
        ahead: config.concurrency / AHEAD_SHARE,
        per_address: config.politeness.per_address().get(),
        max_outstanding: config.max_outstanding,
        window: config.window,
        leased,
        ..FrontierConfig::default()
    };
    let (suffixes, key) = (Arc::clone(&config.suffixes), config.fingerprint_key.clone());
    let mut frontier = Frontier::new(frontier, suffixes, key, Arc::clone(&config.politeness), at);
    frontier.set_usual_proxies(config.fetcher.proxies.reach());
    frontier
}

fn last_stop(marks: &[(Box<str>, u64)], is_new: bool) -> LastStop {
    let mark = |wanted: &str| marks.iter().find(|(name, _)| **name == *wanted).map(|(_, value)| *value);
    match mark(KILLED) {
        _ if is_new => LastStop::Clean,
        _ if mark(CLEAN) != Some(1) => LastStop::Unclean,
        Some(at) => LastStop::CleanAfterKill(Millis(at)),
        None => LastStop::Clean,
    }
}

/// With an archive, an old catalogue is brought up to date from it. Without one the missing pages are lost.
fn check_not_behind(catalogue: &dyn Catalogue, state: &dyn ShardState) -> Result<(), EngineError> {
    let marks = state.marks()?;
    let told = marks.iter().find(|(name, _)| **name == *CATALOGUE).map_or(0, |(_, batch)| *batch);
    if told == 0 || told <= catalogue.reader()?.last_batch()? {
        return Ok(());
    }
    Err(EngineError::Corrupt(String::from(
        "the catalogue is older than the frontier: pages that were stored are missing from it",
    )))
}

impl EngineSetup {
    pub(crate) fn open(
        config: &EngineConfig,
        ports: Ports,
        starts: &[JobStart],
        reports: &Sender<Vec<Report>>,
        counters: &Arc<ProcessCounters>,
        commit_queue: &Arc<CommitQueue>,
        leased: bool,
    ) -> Result<EngineSetup, EngineError> {
        let at = now();
        let Ports { state, catalogue, archive, mut links } = ports;
        if archive.is_none() && !leased {
            check_not_behind(catalogue.as_ref(), state.as_ref())?;
        }
        let link_bytes = links.truncate_to(catalogue.links_position()?.unwrap_or_default())?;
        let mut frontier = new_frontier(config, at, leased);
        let jobs = Arc::new(Jobs::default());
        let mut opens = HashMap::new();
        let policy = domain_policy(&config.politeness)?;
        for start in starts {
            let job = JobContext::new(start, &config.suffixes, Arc::clone(&policy), at)?;
            opens.insert(start.id, job.limits());
            jobs.insert(Arc::new(job));
        }
        let last_stop = last_stop(&state.marks()?, config.is_new);
        if !leased {
            frontier.restore(state.as_ref(), &opens, last_stop, at)?;
        }
        if !leased {
            frontier.forget_robots_failures(state.as_ref(), at)?;
        }
        if config.forget_failures {
            frontier.forget_failures(at);
        }
        let scope = ScopeCompiler::new(&config.suffixes, policy, starts);
        for (id, limits) in opens {
            frontier.open_job(id, limits);
            if let Some(job) = jobs.get(id) {
                scope.widen(&job, &frontier);
            }
        }
        let maps_hosts = starts.iter().any(|start| start.graph.is_some());
        let duplicates = if maps_hosts { None } else { Some(Duplicates::new(catalogue.reader()?)) };
        let committer = Committer {
            catalogue,
            archive,
            appender: None,
            links,
            jobs: Arc::clone(&jobs),
            cookies_kept_at: None,
            followers: Followers::default(),
            output: None,
            duplicates,
            counters: Arc::clone(counters),
            commit_queue: Arc::clone(commit_queue),
            reports: reports.clone(),
            batch_age: config.batch_age,
            batch_size: config.batch_size,
            in_cluster: false,
        };
        Ok(EngineSetup {
            frontier,
            state,
            committer,
            jobs,
            scope,
            key: config.fingerprint_key.clone(),
            counters: Arc::clone(counters),
            commit_queue: Arc::clone(commit_queue),
            link_bytes,
            last_stop,
            member: None,
            lease: Arc::new(Forever),
        })
    }

    pub(crate) fn recover(&mut self) -> Result<RecoverySummary, EngineError> {
        let (link_bytes, unclean) = (self.link_bytes, self.last_stop == LastStop::Unclean);
        let Some(archive) = self.committer.archive.clone() else {
            return Ok(RecoverySummary { link_bytes, unclean, ..RecoverySummary::default() });
        };
        let summary = Recoverer {
            archive,
            committer: &mut self.committer,
            frontier: &mut self.frontier,
            state: self.state.as_mut(),
            jobs: &self.jobs,
            scope: &self.scope,
            key: &self.key,
            known: KnownVisits::default(),
        }
        .run()?;
        Ok(RecoverySummary { link_bytes, unclean, ..summary })
    }

    pub(crate) fn retry_failed(&mut self, job: JobId) -> Result<u64, EngineError> {
        let (mut queued, mut after) = (0, 0);
        loop {
            let failed = retry::failures_after(self.committer.catalogue.reader()?.as_ref(), job, after)?;
            let Some(last) = failed.last() else { return Ok(queued) };
            after = last.seq;
            queued += self.put_back(job, &failed)?;
        }
    }

    /// First durably into the queue, then out of the catalogue.
    pub(crate) fn put_back(&mut self, job: JobId, pages: &[StoredPage]) -> Result<u64, EngineError> {
        let at = now();
        let Some(job) = self.jobs.get(job) else { return Ok(0) };
        let mut queued = 0;
        for chunk in pages.chunks(retry::CHUNK) {
            let changes = self.frontier.take_changes();
            self.state.apply(changes)?;
            let (new, forgotten) =
                retry::requeue(&mut self.frontier, self.state.as_ref(), &job.normal, chunk, at)?;
            let changes = self.frontier.take_changes();
            self.state.apply(changes)?;
            self.state.sync()?;
            self.committer.catalogue.commit(&Batch { at, forgotten, ..Batch::default() })?;
            queued += new;
        }
        Ok(queued)
    }

    /// A job that has ended is resumed if it has queued URLs.
    pub(crate) fn reopen(&mut self, job: JobId) -> Result<(), EngineError> {
        let changes = self.frontier.take_changes();
        self.state.apply(changes)?;
        self.state.sync()?;
        let left = self.frontier.progress(job).is_some_and(|progress| !progress.is_finished());
        let known = self.committer.catalogue.reader()?.job(job)?;
        if left && known.is_some_and(|job| job.state.is_finished()) {
            let update = JobUpdate {
                job,
                state: Some(JobState::Paused),
                message: Some(String::from("failures are queued again")),
                spec: None,
                at: now(),
            };
            self.committer.catalogue.commit(&Batch { at: now(), jobs: vec![update], ..Batch::default() })?;
        }
        Ok(())
    }

    /// Becomes a member of a cluster.
    pub(crate) fn join(&mut self, membership: Membership) -> Result<RecoverySummary, EngineError> {
        let recovery = self.take_up_archive()?;
        self.open_appender()?;
        self.lease = membership.lease;
        self.member = Some(membership.member);
        self.committer.in_cluster = true;
        Ok(recovery)
    }

    /// What an earlier process of this member left in the archive is cut to what the catalogue has. Later visits are
    /// not completed: their URLs are still queued, maybe at another member, and are fetched again.
    fn take_up_archive(&mut self) -> Result<RecoverySummary, EngineError> {
        let summary = RecoverySummary { link_bytes: self.link_bytes, ..RecoverySummary::default() };
        let Some(archive) = &self.committer.archive else { return Ok(summary) };
        let known = self.committer.catalogue.reader()?.archive_positions()?;
        let known: Vec<Position> =
            known.into_iter().map(|p| Position { file: p.file.into(), length: p.length }).collect();
        let cuts = archive.truncate_to(&known)?;
        cuts.iter().for_each(log::cut_off);
        Ok(RecoverySummary { cuts: cuts.len() as u64, ..summary })
    }

    /// Before anything of a job is stored: a job that cannot log in does not start.
    pub(crate) fn log_in(&mut self, config: &EngineConfig, starts: &[JobStart]) -> Result<(), EngineError> {
        for start in starts {
            if let (Some(form), Some(job)) = (&start.session.login, self.jobs.get(start.id)) {
                login::log_in(config, &mut self.frontier, &job, form)?;
                job.cookies.keep();
            }
        }
        Ok(())
    }

    /// From here on the jobs run: the state is no longer clean, seeds are offered, output is opened.
    pub(crate) fn begin(
        &mut self,
        starts: &[JobStart],
        output: Option<OutputFile>,
        recovered: u64,
    ) -> Result<(), EngineError> {
        let at = now();
        // First of all: a file that cannot be written leaves the job as it was.
        if let Some(OutputFile { job, path }) = output {
            let noindex = self.jobs.get(job).is_some_and(|job| job.spec.index_noindex);
            let Committer { catalogue, followers, reports, .. } = &mut self.committer;
            let output = Output::open(catalogue.as_mut(), job, &path, noindex, at)?;
            let output = OutputFollower::start(output, catalogue.reader()?, followers, reports.clone())?;
            self.committer.output = Some(output);
        }
        let mut marks = vec![(CLEAN.into(), 0)];
        if self.last_stop == LastStop::Unclean {
            marks.push((KILLED.into(), at.0));
        }
        self.state.apply(StateBatch { changes: Vec::new(), marks })?;
        let killed = (self.last_stop == LastStop::Unclean).then_some(recovered);
        let batch = killed::first_batch(self.committer.catalogue.as_ref(), starts, killed, at)?;
        self.committer.catalogue.commit(&batch)?;
        for start in starts {
            self.offer_seeds(start, at)?;
        }
        self.state.sync()?;
        self.open_appender()
    }

    fn open_appender(&mut self) -> Result<(), EngineError> {
        if let Some(archive) = &self.committer.archive {
            self.committer.appender = Some(archive.appender()?);
        }
        Ok(())
    }

    fn offer_seeds(&mut self, start: &JobStart, at: Millis) -> Result<(), EngineError> {
        for (host, visits) in start.graph.iter().flat_map(|rules| &rules.visited) {
            self.frontier.visited_host(start.id, host, *visits);
        }
        for chunk in start.seeds.chunks(seeds::CHUNK) {
            let graph = start.graph.as_ref();
            let skipped = seeds::offer(&mut self.frontier, &self.key, start.id, graph, chunk, at);
            if !skipped.is_empty() {
                self.committer.catalogue.commit(&Batch { at, skipped, ..Batch::default() })?;
            }
            let changes = self.frontier.take_changes();
            self.state.apply(changes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_the_last_process_ended_is_read_from_its_marks() {
        let of = |marks: &[(&str, u64)]| {
            let marks: Vec<(Box<str>, u64)> =
                marks.iter().map(|(name, value)| ((*name).into(), *value)).collect();
            last_stop(&marks, false)
        };
        assert_eq!(of(&[(CLEAN, 1)]), LastStop::Clean);
        assert_eq!(of(&[(CLEAN, 0)]), LastStop::Unclean);
        assert_eq!(of(&[]), LastStop::Unclean, "there is a state, and nobody has closed it");
        assert_eq!(of(&[(CLEAN, 1), (KILLED, 50)]), LastStop::CleanAfterKill(Millis(50)));
        assert_eq!(of(&[(CLEAN, 0), (KILLED, 50)]), LastStop::Unclean, "killed again");
        assert_eq!(last_stop(&[], true), LastStop::Clean, "nothing was ever asked from here");
    }
}
