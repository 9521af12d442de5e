//! The socket in the data directory: what others ask of the process that owns it. One line of JSON is asked, one line is
//! answered.

use crate::data::{self, socket_path};
use argiope_engine::{EngineHandle, Status, Why, failures_after};
use argiope_model::{JobId, Url};
use argiope_store::catalogue::CatalogueReader;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// No question is longer.
const LONGEST: u64 = 64 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
/// The snapshot is at hand; the frontier answers `why` when its turn is over.
const STATUS_PATIENCE: Duration = Duration::from_secs(4);
/// All pages of the job are looked through.
const RETRY_PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum Question {
    Status,
    /// `url` is in normal form.
    Why {
        job: u32,
        url: String,
    },
    Pause,
    Resume,
    /// Asks again for what has failed, for URLs whose robots.txt was unreachable, and for these pages.
    Retry {
        job: u32,
        failed: bool,
        blocked: bool,
        /// In normal form.
        urls: Vec<String>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(crate) enum Reply {
    /// For each job that it runs.
    Status {
        jobs: Vec<Live>,
    },
    Why {
        why: Why,
    },
    Retried {
        queued: u64,
    },
    Done,
    Failed {
        error: String,
    },
}

/// A running job in numbers; those of pages, requests, bytes and hosts are of all jobs of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Live {
    pub(crate) job: u32,
    pub(crate) pages: u64,
    pub(crate) failed: u64,
    pub(crate) bytes: u64,
    pub(crate) requests: u64,
    pub(crate) queued: u64,
    /// Of the queued: those that wait for a time of their own, and how long the first of them waits.
    pub(crate) retries: u64,
    pub(crate) next_retry_ms: Option<u64>,
    /// Handed out and not stored yet; of those, asked for now.
    pub(crate) in_progress: u64,
    pub(crate) in_flight: u64,
    pub(crate) hosts: u64,
    pub(crate) hosts_active: u64,
    pub(crate) hosts_waiting: u64,
    /// `network down`, `stopping`, or nothing.
    pub(crate) paused: Option<String>,
}

impl Live {
    fn of(status: &Status, job: JobId) -> Live {
        let (queued, delayed, in_progress) =
            status.job(job).map(|job| (job.queued, job.delayed, job.in_progress)).unwrap_or_default();
        Live {
            job: job.0,
            pages: status.totals.pages,
            failed: status.totals.failed,
            bytes: status.totals.bytes,
            requests: status.totals.requests,
            queued,
            retries: delayed,
            next_retry_ms: status
                .next_retry
                .map(|due| u64::try_from(due.since(status.at).as_millis()).unwrap_or(u64::MAX)),
            in_progress,
            in_flight: in_progress.min(status.requests.in_flight),
            hosts: status.hosts.known,
            hosts_active: status.hosts.active,
            hosts_waiting: status.hosts.waiting_count(),
            paused: status.phase.pause_reason().map(str::to_owned),
        }
    }
}

/// Answers until it is dropped.
pub(crate) struct ControlServer {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ControlServer {
    /// A crawl goes on without it: what cannot listen only says so.
    pub(crate) fn start(directory: &Path, engine: EngineHandle, jobs: Vec<JobId>) -> Option<ControlServer> {
        let path = &socket_path(directory);
        let directory = directory.to_owned();
        let _ = std::fs::remove_file(path);
        let listener = match UnixListener::bind(path) {
            Ok(listener) => listener,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "no control socket");
                return None;
            }
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("control".into())
            .spawn(move || {
                for stream in listener.incoming() {
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    if let Ok(stream) = stream {
                        let _ = serve(stream, &directory, &engine, &jobs);
                    }
                }
            })
            .ok()?;
        Some(ControlServer { path: path.to_owned(), stop, thread: Some(thread) })
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let woken = UnixStream::connect(&self.path).is_ok();
        if woken && let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn serve(stream: UnixStream, directory: &Path, engine: &EngineHandle, jobs: &[JobId]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(LONGEST)).read_line(&mut line)?;
    let reply = match serde_json::from_str::<Question>(&line) {
        Ok(question) => reply_to(question, directory, engine, jobs),
        Err(error) => Reply::Failed { error: error.to_string() },
    };
    let mut text = serde_json::to_vec(&reply)?;
    text.push(b'\n');
    (&stream).write_all(&text)
}

fn reply_to(question: Question, directory: &Path, engine: &EngineHandle, jobs: &[JobId]) -> Reply {
    match question {
        Question::Retry { job, failed, blocked, urls } => {
            if blocked {
                engine.forget_robots_failures();
            }
            match retry(directory, engine, JobId(job), failed, &urls) {
                Ok(queued) => Reply::Retried { queued },
                Err(error) => Reply::Failed { error },
            }
        }
        Question::Status => {
            let status = engine.status();
            Reply::Status { jobs: jobs.iter().map(|job| Live::of(&status, *job)).collect() }
        }
        Question::Why { job, url } => {
            let why = Url::from_stored(&url).ok().and_then(|url| engine.why(JobId(job), &url));
            match why {
                Some(why) => Reply::Why { why },
                None => Reply::Failed { error: String::from("the crawl is ending") },
            }
        }
        Question::Pause => done(jobs.iter().try_for_each(|job| engine.pause(*job))),
        Question::Resume => done(jobs.iter().try_for_each(|job| engine.resume(*job))),
    }
}

fn done(result: Result<(), argiope_engine::CommandError>) -> Reply {
    match result {
        Ok(()) => Reply::Done,
        Err(error) => Reply::Failed { error: error.to_string() },
    }
}

fn retry(
    directory: &Path,
    engine: &EngineHandle,
    job: JobId,
    failed: bool,
    urls: &[String],
) -> Result<u64, String> {
    let reader = data::reader(directory).map_err(|failure| failure.messages.join("; "))?;
    let store = |error: argiope_store::error::StoreError| error.to_string();
    let put_back = |pages| engine.requeue(job, pages).ok_or_else(|| String::from("the crawl is ending"));
    let mut named = Vec::new();
    for url in urls {
        named.extend(reader.page(Some(job), url).map_err(store)?);
    }
    let mut queued = if named.is_empty() { 0 } else { put_back(named)? };
    let mut after = 0;
    if failed {
        loop {
            let pages = failures_after(&reader, job, after).map_err(store)?;
            let Some(last) = pages.last() else { break };
            after = last.seq;
            queued += put_back(pages)?;
        }
    }
    Ok(queued)
}

/// Who owns a data directory now.
#[derive(Debug)]
pub(crate) enum Owner {
    /// These jobs.
    Running(Vec<Live>),
    Nobody,
    /// It has the socket and does not answer, for this reason.
    Silent(String),
}

impl Owner {
    pub(crate) fn of(directory: &Path) -> Owner {
        match ask(&socket_path(directory), &Question::Status) {
            Asked::Answered(Reply::Status { jobs }) => Owner::Running(jobs),
            Asked::Answered(Reply::Failed { error }) | Asked::Silent(error) => Owner::Silent(error),
            Asked::Answered(_) => Owner::Silent(String::from("it answers something else")),
            Asked::Nobody => Owner::Nobody,
        }
    }

    /// What the owner says of a job, if that is one it runs.
    pub(crate) fn runs(&self, job: JobId) -> Option<&Live> {
        match self {
            Owner::Running(jobs) => jobs.iter().find(|live| live.job == job.0),
            Owner::Nobody | Owner::Silent(_) => None,
        }
    }
}

/// The jobs that a process runs, for a message: `job 3`, `jobs 3 and 4`.
pub(crate) fn named(jobs: &[Live]) -> String {
    let mut numbers: Vec<String> = jobs.iter().map(|live| live.job.to_string()).collect();
    match numbers.pop() {
        Some(last) if numbers.is_empty() => format!("job {last}"),
        Some(last) => format!("jobs {} and {last}", numbers.join(", ")),
        None => String::from("no job"),
    }
}

/// What came of a question.
#[derive(Debug)]
pub(crate) enum Asked {
    Answered(Reply),
    /// Nobody listens.
    Nobody,
    /// Somebody listens, and no usable answer came.
    Silent(String),
}

/// Asks the owner of a data directory.
pub(crate) fn ask(path: &Path, question: &Question) -> Asked {
    let Ok(stream) = UnixStream::connect(path) else { return Asked::Nobody };
    match exchange(&stream, question) {
        Ok(reply) => Asked::Answered(reply),
        Err(error) => Asked::Silent(error.to_string()),
    }
}

fn exchange(stream: &UnixStream, question: &Question) -> std::io::Result<Reply> {
    let patience = match question {
        Question::Why { .. } => PATIENCE * 2,
        Question::Retry { .. } => RETRY_PATIENCE,
        Question::Status | Question::Pause | Question::Resume => STATUS_PATIENCE,
    };
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let mut text = serde_json::to_vec(question)?;
    text.push(b'\n');
    let mut to = stream;
    to.write_all(&text)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_question_is_one_line_and_read_as_it_was_asked(job in any::<u32>(), url in any::<String>()) {
            let line = serde_json::to_string(&Question::Why { job, url: url.clone() })?;
            prop_assert!(!line.contains('\n'));
            let read = serde_json::from_str(&line)?;
            let Question::Why { job: read_job, url: read } = read else {
                return Err(TestCaseError::fail(line));
            };
            prop_assert_eq!((read_job, read), (job, url));
        }

        #[test]
        fn no_line_is_a_question_by_chance(line in "\\PC{0,40}|[{}\\[\\]\":a-z,]{0,40}|\\[{0,500}") {
            prop_assert!(serde_json::from_str::<Question>(&line).is_err());
        }
    }
}
