//! `crawl` while another process owns the data directory: submits the jobs to it and shows their progress. If that
//! process ends before they do, this one takes the directory over and continues.

use super::crawl::crawl;
use super::export;
use super::output::print;
use super::progress::{self, CUT_ROWS};
use crate::progress::summary::cut_lines;
use crate::progress::{Display, Narrator, style_for_stdout};
use crate::signals::{Signal, Signals};
use argiope_config::{CrawlSettings, Failure, GlobalOptions};
use argiope_model::JobId;
use argiope_model::display::{bytes, count, counted};
use argiope_service::control::{self, Control, OwnerClient};
use argiope_service::directory;
use argiope_service::job_end::JobEnd;
use argiope_store::catalogue::{CatalogueReader, Job, JobState};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// A submitted job.
struct Watched {
    job: Job,
    settings: CrawlSettings,
    ended: Option<Job>,
}

/// How the watching ended.
enum End {
    AllEnded,
    /// The owner is gone, and jobs are unfinished.
    OwnerGone,
    /// The user only stopped watching.
    Unwatched,
    /// The user stopped the jobs.
    Stopped,
}

pub(crate) fn hand_in(
    jobs: Vec<CrawlSettings>,
    owner: &OwnerClient,
    global: &GlobalOptions,
    display: &Display,
) -> Result<(), Failure> {
    let signals = Signals::listen()?;
    let mut watched = Vec::new();
    for settings in jobs {
        watched.push(submit(settings, owner, global, display)?);
    }
    let numbers: Vec<String> = watched.iter().map(|it| format!("job {}", it.job.id)).collect();
    let pid = directory::owner_pid(&global.data).map_or_else(String::new, |pid| format!(" {pid}"));
    display.message(&format!(
        "{} runs in process{pid}, which owns {}",
        numbers.join(", "),
        global.data.display()
    ));
    match watch(&mut watched, owner, &global.data, &signals, display)? {
        End::AllEnded => conclude(&watched, global),
        End::Unwatched => {
            display.message("no longer watching; 'argiope status' shows the job");
            Err(Failure::silent_interrupt())
        }
        End::Stopped => {
            display.message("the job is stopped; the same command resumes it");
            Err(Failure::silent_interrupt())
        }
        End::OwnerGone => {
            display.message("the process that ran the job has ended; continuing in this one");
            drop(signals);
            let left = watched.into_iter().filter(|it| it.ended.is_none());
            // The changes requested at the start are done.
            let again = |it: Watched| CrawlSettings { fresh: false, retry_failed: false, ..it.settings };
            crawl(left.map(again).collect(), global.quiet, display).map(|_| ())
        }
    }
}

fn submit(
    mut settings: CrawlSettings,
    owner: &OwnerClient,
    global: &GlobalOptions,
    display: &Display,
) -> Result<Watched, Failure> {
    let job = control::hand_in(&mut settings, owner, &|text| display.message(text))?;
    let job = stored(&directory::reader(&global.data)?, job)?;
    Ok(Watched { job, settings, ended: None })
}

fn stored(reader: &dyn CatalogueReader, job: JobId) -> Result<Job, Failure> {
    let found = reader.job(job).map_err(|e| directory::store_failure(&e))?;
    found.ok_or_else(|| Failure::failed(format!("job {job} was deleted")))
}

fn watch(
    watched: &mut [Watched],
    owner: &OwnerClient,
    data: &Path,
    signals: &Signals,
    display: &Display,
) -> Result<End, Failure> {
    let started = Instant::now();
    let reader = directory::reader(data)?;
    let titles: Vec<String> = watched.iter().map(|it| progress::title(&it.job, &it.settings.job)).collect();
    let jobs: Vec<JobId> = watched.iter().map(|it| it.job.id).collect();
    let max_pages = watched.iter().map(|it| it.settings.job.max_pages).sum();
    let mut narrator = Narrator::of_jobs(titles.join(", "), max_pages, jobs.clone());
    loop {
        match signals.wait(LOOK_EVERY) {
            Some(Signal::Stop) => {
                display.finish();
                match ask_what_to_stop(signals) {
                    Some(true) => {
                        for job in &jobs {
                            owner.stop(*job).map_err(control::refused)?;
                        }
                        return Ok(End::Stopped);
                    }
                    Some(false) => return Ok(End::Unwatched),
                    None => {}
                }
            }
            Some(Signal::Reload) => {
                display
                    .message("SIGHUP: send it to the process that runs the job, which has the configuration");
            }
            Some(Signal::Wake) | None => {}
        }
        let status = owner.status();
        for it in watched.iter_mut().filter(|it| it.ended.is_none()) {
            let job = stored(&reader, it.job.id)?;
            let runs = status.as_ref().is_ok_and(|status| {
                status.job(job.id).is_some_and(|job| job.activity != argiope_engine::JobActivity::Ended)
            });
            let is_over = job.state.is_finished() || job.state == JobState::Paused;
            if is_over && !runs {
                it.ended = Some(job);
            }
        }
        if watched.iter().all(|it| it.ended.is_some()) {
            display.finish();
            return Ok(End::AllEnded);
        }
        match status {
            Ok(status) => display.update(&narrator.view(&status, started.elapsed())),
            // It may be busy; if it is gone, its lock is free.
            Err(_) if directory::is_owned(data) => {}
            Err(_) => {
                display.finish();
                return Ok(End::OwnerGone);
            }
        }
    }
}

/// Some(true): stop the job. Some(false): only stop watching. None: continue.
fn ask_what_to_stop(signals: &Signals) -> Option<bool> {
    let mut terminal = std::io::stderr();
    if !std::io::stdin().is_terminal() || !terminal.is_terminal() {
        return Some(false);
    }
    let _ = write!(terminal, "\nStop the job too [s], only stop watching [w], or continue [c]? ");
    let _ = terminal.flush();
    let (to, answered) = mpsc::sync_channel(1);
    let read = move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        let _ = to.send(read.map(|_| line));
    };
    if std::thread::Builder::new().name(String::from("answer")).spawn(read).is_err() {
        return Some(false);
    }
    loop {
        match answered.recv_timeout(Duration::from_millis(50)) {
            Ok(Ok(line)) => {
                return match line.trim() {
                    "s" | "stop" => Some(true),
                    "c" | "continue" => None,
                    _ => Some(false),
                };
            }
            Ok(Err(_)) | Err(mpsc::RecvTimeoutError::Disconnected) => return Some(false),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        // Ctrl-C was pressed again.
        if signals.wait(Duration::ZERO) == Some(Signal::Stop) {
            return Some(false);
        }
    }
}

fn conclude(watched: &[Watched], global: &GlobalOptions) -> Result<(), Failure> {
    let reader = directory::reader(&global.data)?;
    let mut failure = None;
    for it in watched {
        let Some(job) = &it.ended else { continue };
        if let Some(output) = &it.settings.output {
            export::pages_to(&global.data, job, &output.path())?;
        }
        let end = JobEnd::of(&reader, job.clone(), Some(&global.data), CUT_ROWS)?;
        if !global.quiet {
            print(&short_summary(&end, ""))?;
        }
        failure = failure.or(end.empty.map(|empty| empty.failure()));
    }
    failure.map_or(Ok(()), Err)
}

/// The final message about a job that another process has run. `with` ends the hint.
pub(super) fn short_summary(end: &JobEnd, with: &str) -> String {
    let JobEnd { job, counts, cuts, empty } = end;
    let name = job.name.clone().unwrap_or_else(|| job.id.to_string());
    let why = job.message.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    let mut cuts = cut_lines(cuts, style_for_stdout()).join("\n");
    if !cuts.is_empty() {
        cuts = format!("{}\n\n", cuts.trim_start());
    }
    format!(
        "Job {name} is {}{why}: {}, {} failed, {} skipped, {}\n{cuts}\
         'argiope export {id}', 'argiope report {id}' and 'argiope audit {id}' show more{with}\n",
        if empty.is_some() { "without a page" } else { job.state.as_str() },
        counted(counts.pages, "page", "pages"),
        count(counts.failed),
        count(counts.skipped()),
        bytes(counts.bytes),
        id = job.id,
    )
}
