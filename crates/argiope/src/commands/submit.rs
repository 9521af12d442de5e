//! `crawl` on a cluster: submits the job to the workers, shows its progress, and ends with it.

use crate::commands::output::print;
use crate::commands::progress::{self, CUT_ROWS};
use crate::commands::watch::short_summary;
use crate::outage::{Doing, Stopping, Waiting};
use crate::progress::{Display, View};
use crate::signals::{Signal, Signals};
use argiope_config::{CrawlSettings, Failure};
use argiope_engine::{JobActivity, JobStatus, RateMeter, RequestFigures, Status, Totals};
use argiope_model::JobId;
use argiope_model::display::counted;
use argiope_service::cluster::ClusterPlace;
use argiope_service::cluster_job::{ClusterProgress, Following, Look, Submission};
use argiope_service::outage::Outages;
use argiope_store::catalogue::Job;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the absence of workers is reported.
const SAY_EVERY: Duration = Duration::from_secs(10);

pub(crate) fn run(
    settings: CrawlSettings,
    place: &ClusterPlace,
    detach: bool,
    quiet: bool,
    display: &Display,
) -> Result<(), Failure> {
    let notice = |text: &str| display.message(text);
    let mut submission = Submission::prepare(place, settings, &notice)?;
    let signals = Signals::listen()?;
    let stopping = Stopping::watch(&signals, place, display);
    let waiting = |doing| Waiting { display, doing, signals: Some((&signals, &stopping)) };
    let submitting = waiting(Doing::Submitting);
    let job = submission.submit(Outages::of(place, &submitting), &notice)?;
    if detach {
        return print(&format!("{}\n", job.id));
    }
    stopping.follows();
    let waiting = waiting(Doing::Following);
    let outages = Outages::of(place, &waiting);
    let mut following = submission.follow(&job, outages)?;
    match follow(&mut following, &job, &signals, display, (&waiting, outages))? {
        None => Err(Failure::silent_interrupt()),
        Some(ended) => {
            let end = following.conclude(&ended, CUT_ROWS, outages)?;
            if !quiet {
                print(&short_summary(&end, ", each with this --config"))?;
            }
            end.empty.map_or(Ok(()), |empty| Err(empty.failure()))
        }
    }
}

/// The job when it is over, or none if the user has paused it.
fn follow(
    following: &mut Following<'_>,
    job: &Job,
    signals: &Signals,
    display: &Display,
    (waiting, outages): (&Waiting<'_>, Outages<'_>),
) -> Result<Option<Job>, Failure> {
    let mut shown = Shown {
        job: job.id,
        title: progress::title(job, &following.settings.job),
        max_pages: following.settings.job.max_pages,
        pages_before: following.pages_before,
        began: Instant::now(),
        meter: RateMeter::default(),
        said_at: None,
    };
    loop {
        match signals.wait(LOOK_EVERY) {
            Some(Signal::Stop) => {
                match following.pause() {
                    // It is unreachable, and nobody has noticed before.
                    Err(failure) if failure.may_pass => return Err(waiting.interrupted()),
                    paused => paused?,
                }
                following.finish(outages)?;
                display.finish();
                display.message("the job is paused; the same command resumes it");
                return Ok(None);
            }
            Some(Signal::Reload) => {
                display.message("SIGHUP: send it to the workers, which have the politeness settings");
            }
            Some(Signal::Wake) | None => {}
        }
        match following.look(outages)? {
            Look::Over(job) => {
                following.finish(outages)?;
                display.finish();
                return Ok(Some(job));
            }
            Look::Running(progress) => shown.show(&progress, following.place(), display),
        }
    }
}

/// What the display shows of a job that the workers run.
struct Shown {
    job: JobId,
    title: String,
    max_pages: Option<u64>,
    pages_before: u64,
    began: Instant,
    meter: RateMeter,
    said_at: Option<Instant>,
}

impl Shown {
    fn show(&mut self, progress: &ClusterProgress, place: &str, display: &Display) {
        let ClusterProgress { counts, queued, workers, in_flight } = progress;
        if *workers == 0 && self.said_at.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
            self.said_at = Some(Instant::now());
            display.message(&format!(
                "no worker is running on {place}; the job waits for one (start it with 'argiope worker')"
            ));
        }
        let elapsed = self.began.elapsed();
        let totals =
            Totals { pages: counts.pages, failed: counts.failed, bytes: counts.bytes, ..Totals::default() };
        let job = JobStatus {
            job: self.job,
            activity: JobActivity::Running,
            queued: *queued,
            delayed: 0,
            in_progress: 0,
            totals,
        };
        let requests = RequestFigures { in_flight: *in_flight, ..RequestFigures::default() };
        display.update(&View {
            status: &Status { jobs: vec![job], requests, ..Status::default() },
            title: &format!("{} on {}", self.title, counted(*workers, "worker", "workers")),
            only: None,
            elapsed,
            max_pages: self.max_pages,
            pages_before: self.pages_before,
            rate_now: self.meter.sample(elapsed, counts.pages),
            skipped: counts.skipped(),
            has_hosts: false,
        });
    }
}
