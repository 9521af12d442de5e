//! The contract of [`Control`], for both who implement it: the process that crawls, and a client on its socket.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be set up has failed"
)]

use argiope_config::{CrawlOptions, CrawlSettings, GlobalOptions, JobIdentity};
use argiope_engine::{JobActivity, Stop};
use argiope_lab::{Lab, LabConfig, PageSize, SiteKind};
use argiope_model::{JobId, JobSpec};
use argiope_server::SocketServer;
use argiope_service::control::{Control, ControlErrorKind, OwnerClient, RetryRequest, job_control};
use argiope_service::job_request::JobRequest;
use argiope_service::local_crawl::LocalCrawl;
use argiope_service::{Place, directory};
use argiope_store::catalogue::{CatalogueReader, Job, JobState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
/// The job that keeps the process running.
const FIRST: JobId = JobId(1);

/// A process that crawls one slow site, and a web with more sites.
struct Site {
    _lab: Lab,
    home: TempDir,
    crawl: LocalCrawl,
    /// Of the hosts that other jobs crawl.
    seeds: Vec<String>,
}

impl Site {
    fn new() -> Site {
        let lab = Lab::start_on_thread(LabConfig {
            hosts: 4,
            pages: 30,
            kinds: vec![SiteKind::Ordinary],
            page_size: PageSize::Small,
            log_capacity: 100_000,
            ..LabConfig::plain()
        })
        .unwrap();
        let home = tempfile::tempdir().unwrap();
        let mut seeds: Vec<String> = lab.seeds().to_vec();
        let first = seeds.remove(0);
        let global =
            GlobalOptions { data: home.path().join("data"), data_given: true, ..GlobalOptions::default() };
        let options = CrawlOptions {
            seeds: vec![first],
            delay: Some(Duration::from_millis(400)),
            allow_private: true,
            ..CrawlOptions::default()
        };
        let settings = CrawlSettings::without_files(&global, &options).unwrap();
        let crawl = LocalCrawl::start(vec![settings], &|_| ()).unwrap();
        Site { _lab: lab, home, crawl, seeds }
    }

    fn data(&self) -> std::path::PathBuf {
        self.home.path().join("data")
    }

    fn stored(&self, job: JobId) -> Option<Job> {
        directory::reader(&self.data()).unwrap().job(job).unwrap()
    }

    fn pages(&self, job: JobId) -> u64 {
        directory::reader(&self.data()).unwrap().counts(job).unwrap().pages
    }

    fn request(&self, name: &str, seed: usize, delay_ms: u64) -> JobRequest {
        let spec = JobSpec {
            name: Some(name.to_owned()),
            seeds: vec![self.seeds[seed].clone()],
            delay: Some(Duration::from_millis(delay_ms)),
            allow_private: true,
            ..JobSpec::default()
        };
        let identity = JobIdentity { key: name.to_owned(), named: true, list_digest: None };
        JobRequest { spec, identity, fresh: false, retry_failed: false }
    }

    fn start(&self, control: &dyn Control, name: &str, seed: usize, delay_ms: u64) -> JobId {
        let accepted = control.submit(self.request(name, seed, delay_ms)).unwrap();
        assert!(accepted.is_new && !accepted.is_running);
        control.start(accepted.job).unwrap();
        accepted.job
    }

    /// Waits until the catalogue has the job in this state.
    fn wait_for(&self, job: JobId, state: JobState) {
        wait(&format!("job {job} is {state}"), || self.stored(job).is_some_and(|job| job.state == state));
    }

    fn end(self) {
        self.crawl.engine.handle().stop(Stop::Now);
        let _ = self.crawl.conclude();
    }
}

fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn activity(control: &dyn Control, job: JobId) -> Option<JobActivity> {
    control.status().unwrap().job(job).map(|job| job.activity)
}

/// Runs a test on the process itself and on a client of its socket.
fn on_both(test: impl Fn(&Site, &dyn Control)) {
    let site = Site::new();
    let running = site.crawl.control();
    test(&site, running.as_ref());
    drop(running);
    site.end();

    let site = Site::new();
    let control: Arc<dyn Control> = site.crawl.control();
    let server = SocketServer::start(&site.data(), control, Arc::new(site.crawl.vitals())).unwrap();
    let client = OwnerClient::connect(&site.data()).unwrap();
    test(&site, &client);
    drop(server);
    assert!(OwnerClient::connect(&site.data()).is_none(), "the socket goes with its server");
    site.end();
}

#[test]
fn a_job_that_is_added_runs_beside_the_others_to_its_end() {
    on_both(|site, control| {
        let job = site.start(control, "second", 0, 0);
        site.wait_for(job, JobState::Completed);
        assert_eq!(site.pages(job), 30);
        wait("the status says so", || activity(control, job) == Some(JobActivity::Ended));
        assert_eq!(activity(control, FIRST), Some(JobActivity::Running));
        let again = control.submit(site.request("second", 0, 0)).unwrap();
        assert!(again.is_new, "a finished job starts anew");
        let totals = control.status().unwrap().job(job).unwrap().totals.clone();
        assert_eq!(totals.pages, 30);
    });
}

#[test]
fn seeds_of_a_list_are_sent_before_the_start() {
    on_both(|site, control| {
        let accepted = control.submit(site.request("list", 0, 0)).unwrap();
        control.add_seeds(accepted.job, site.seeds[1..].to_vec()).unwrap();
        let error = control.add_seeds(accepted.job, vec![String::from("no url")]).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::Invalid);
        control.start(accepted.job).unwrap();
        site.wait_for(accepted.job, JobState::Completed);
        assert_eq!(site.pages(accepted.job), 30 * site.seeds.len() as u64);
        let error = control.start(accepted.job).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::NotFound, "it has started");
    });
}

#[test]
fn a_paused_job_sends_nothing_until_it_is_resumed() {
    on_both(|site, control| {
        let job = site.start(control, "pauses", 0, 100);
        wait("its first pages", || site.pages(job) > 2);
        control.pause(job).unwrap();
        site.wait_for(job, JobState::Paused);
        // What was in flight when it was paused is over when nothing is in progress.
        wait("nothing is in progress", || control.status().unwrap().job(job).unwrap().in_progress == 0);
        assert_eq!(activity(control, job), Some(JobActivity::Paused));
        let before = control.status().unwrap();
        let requests = |status: &argiope_engine::Status, id| status.job(id).unwrap().totals.requests;
        // Others go on meanwhile: so the time in which it would have sent some has passed.
        wait("the first job goes on", || {
            requests(&control.status().unwrap(), FIRST) >= requests(&before, FIRST) + 3
        });
        assert_eq!(requests(&control.status().unwrap(), job), requests(&before, job));
        control.resume(job).unwrap();
        site.wait_for(job, JobState::Completed);
        assert_eq!(site.pages(job), 30);
    });
}

#[test]
fn a_job_that_is_stopped_can_be_resumed_and_a_cancelled_one_starts_anew() {
    on_both(|site, control| {
        let job = site.start(control, "stops", 0, 100);
        wait("its first pages", || site.pages(job) > 2);
        control.stop(job).unwrap();
        site.wait_for(job, JobState::Paused);
        wait("it has ended here", || activity(control, job) == Some(JobActivity::Ended));
        let again = control.submit(site.request("stops", 0, 0)).unwrap();
        assert_eq!((again.job, again.is_new), (job, false));
        control.start(job).unwrap();
        site.wait_for(job, JobState::Completed);
        assert_eq!(site.pages(job), 30, "no page is missing and none is twice");

        let other = site.start(control, "cancelled", 1, 100);
        wait("its first pages", || site.pages(other) > 2);
        control.cancel(other).unwrap();
        site.wait_for(other, JobState::Cancelled);
        let error = control.cancel(other).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::Conflict);
        assert!(control.submit(site.request("cancelled", 1, 0)).unwrap().is_new);
    });
}

#[test]
fn a_job_that_does_not_run_is_changed_in_the_catalogue_and_resumed_here() {
    on_both(|site, control| {
        let job = site.start(control, "rests", 0, 100);
        wait("its first pages", || site.pages(job) > 2);
        control.stop(job).unwrap();
        site.wait_for(job, JobState::Paused);
        control.pause(job).unwrap();
        let mut spec = site.request("rests", 0, 0).spec;
        spec.max_pages = Some(20);
        control.change(job, spec).unwrap();
        assert!(site.stored(job).unwrap().spec.contains("\"max_pages\":20"));
        control.resume(job).unwrap();
        site.wait_for(job, JobState::Completed);
        assert_eq!(site.pages(job), 20);
        for refused in [control.pause(job), control.resume(job), control.cancel(job)] {
            assert_eq!(refused.unwrap_err().kind, ControlErrorKind::Conflict);
        }
    });
}

#[test]
fn jobs_of_a_directory_are_controlled_by_its_owner() {
    let site = Site::new();
    let control: Arc<dyn Control> = site.crawl.control();
    let server = SocketServer::start(&site.data(), Arc::clone(&control), Arc::new(site.crawl.vitals()));
    let place = Place::Directory(site.data());
    job_control(&place).pause(FIRST).unwrap();
    assert_eq!(activity(control.as_ref(), FIRST), Some(JobActivity::Paused));
    job_control(&place).resume(FIRST).unwrap();
    assert_eq!(activity(control.as_ref(), FIRST), Some(JobActivity::Running));
    drop((control, server));
    site.end();
}

#[test]
fn a_deleted_job_leaves_no_row_and_no_queue() {
    on_both(|site, control| {
        let job = site.start(control, "deleted", 0, 50);
        wait("its first pages", || site.pages(job) > 2);
        control.delete(job).unwrap();
        assert_eq!(site.stored(job), None);
        assert_eq!(site.pages(job), 0);
        assert!(control.status().unwrap().job(job).is_none());
        let error = control.delete(job).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::NotFound);
        // The same pages again: nothing of it is remembered.
        let again = site.start(control, "deleted", 0, 0);
        site.wait_for(again, JobState::Completed);
        assert_eq!(site.pages(again), 30);
    });
}

#[test]
fn limits_and_delay_change_while_a_job_runs() {
    on_both(|site, control| {
        let job = site.start(control, "changes", 0, 3_600_000);
        // Its robots.txt is requested, then its delay begins.
        let requests = || control.status().unwrap().job(job).unwrap().totals.requests;
        wait("its first request", || requests() >= 1);
        let mut spec = site.request("changes", 0, 0).spec;
        spec.max_pages = Some(5);
        control.change(job, spec.clone()).unwrap();
        // With its old delay the first page would be requested in an hour.
        site.wait_for(job, JobState::Completed);
        assert_eq!(site.pages(job), 5);
        let stored = site.stored(job).unwrap();
        assert_eq!(stored.message.as_deref(), Some("max_pages is reached"));
        assert!(stored.spec.contains("\"max_pages\":5"), "{}", stored.spec);
        spec.archive = false;
        let error = control.change(job, spec).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::Invalid, "{error}");
    });
}

#[test]
fn what_differs_for_the_whole_process_is_refused() {
    on_both(|site, control| {
        let mut request = site.request("public", 0, 0);
        request.spec.allow_private = false;
        let error = control.submit(request).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::Invalid);
        assert!(error.detail.contains("--allow-private"), "{error}");
        assert!(site.stored(JobId(2)).is_none(), "nothing is stored of it");
        let unknown = JobId(77);
        for refused in [control.pause(unknown), control.resume(unknown), control.stop(unknown)] {
            assert_eq!(refused.unwrap_err().kind, ControlErrorKind::NotFound);
        }
    });
}

#[test]
fn the_running_job_is_found_and_not_started_twice() {
    on_both(|site, control| {
        let job = site.start(control, "twice", 0, 100);
        let again = control.submit(site.request("twice", 0, 100)).unwrap();
        assert_eq!((again.job, again.is_new, again.is_running), (job, false, true));
        let retried = control.retry(job, RetryRequest { failed: true, ..RetryRequest::default() }).unwrap();
        assert_eq!(retried.queued, 0);
        let why = control.why(job, &site.seeds[0]).unwrap();
        assert!(!why.steps.is_empty());
    });
}
