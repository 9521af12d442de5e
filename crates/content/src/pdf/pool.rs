//! The parent's side: as many children as may run at once, each with one file at a time, killed when it takes too long and
//! replaced when it is gone.

use super::content::PdfContent;
use super::protocol::{Answer, LONGEST_ANSWER, receive, send};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

#[derive(Clone, Debug)]
pub struct PoolSettings {
    /// The program whose command, with these arguments, calls [`super::child_main`]: mostly this one.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// Children at once, and so files.
    pub children: usize,
    /// After so many files a child is replaced, so that what it has not given back is.
    pub files_per_child: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PdfError {
    #[error("cannot read it as PDF: {0}")]
    Unreadable(String),
    #[error("took longer than {0:?}")]
    TooSlow(Duration),
    #[error("the process that reads PDF files ended: {0}")]
    Crashed(String),
    #[error("cannot start the process that reads PDF files: {0}")]
    NotStarted(String),
}

#[derive(Debug)]
pub struct Pool {
    settings: PoolSettings,
    state: Mutex<State>,
    /// A child is free, or may be started.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Process>,
    busy: usize,
}

impl Pool {
    /// Starts nothing yet.
    pub fn new(settings: PoolSettings) -> Pool {
        Pool { settings, state: Mutex::default(), freed: Condvar::new() }
    }

    /// Reads a file, within `time` including the wait for a free child.
    pub fn read(&self, file: &[u8], time: Duration) -> Result<PdfContent, PdfError> {
        let start = Instant::now();
        let idle = self.take_place(time)?;
        let result = self.read_with(idle, file, time, start);
        let (process, result) = match result {
            Ok((process, answer)) => (Some(process), answer),
            Err(error) => (None, Err(error)),
        };
        let mut state = self.state();
        state.busy -= 1;
        state.idle.extend(process.filter(|process| process.files < self.settings.files_per_child));
        drop(state);
        self.freed.notify_one();
        result
    }

    /// The answer, and the process if it can be used again.
    fn read_with(
        &self,
        idle: Option<Process>,
        file: &[u8],
        time: Duration,
        start: Instant,
    ) -> Result<(Process, Result<PdfContent, PdfError>), PdfError> {
        let left = || time.saturating_sub(start.elapsed());
        if let Some(process) = idle {
            match process.exchange(file, left()) {
                // It may have been worn out, or been ended by others; a new one tells.
                Err(PdfError::Crashed(_)) => {}
                done => return done,
            }
        }
        Process::start(&self.settings)?.exchange(file, left()).map_err(|error| match error {
            PdfError::TooSlow(_) => PdfError::TooSlow(time),
            other => other,
        })
    }

    fn take_place(&self, time: Duration) -> Result<Option<Process>, PdfError> {
        let most = self.settings.children.max(1);
        let waited = self.freed.wait_timeout_while(self.state(), time, |state| state.busy >= most);
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && state.busy >= most {
            return Err(PdfError::TooSlow(time));
        }
        state.busy += 1;
        Ok(state.idle.pop())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Process {
    child: Arc<Mutex<Child>>,
    to: ChildStdin,
    from: ChildStdout,
    files: u32,
}

impl Process {
    fn start(settings: &PoolSettings) -> Result<Process, PdfError> {
        let not_started =
            |error: io::Error| PdfError::NotStarted(format!("{}: {error}", settings.program.display()));
        let mut command = Command::new(&settings.program);
        command.args(&settings.arguments).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(not_started)?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(to), Some(from)) => Ok(Process { child: Arc::new(Mutex::new(child)), to, from, files: 0 }),
            _ => Err(PdfError::NotStarted("it has no pipes".to_owned())),
        }
    }

    /// Sends a file and waits for the answer; at the end of `time` the child is killed, which ends the wait.
    fn exchange(
        mut self,
        file: &[u8],
        time: Duration,
    ) -> Result<(Process, Result<PdfContent, PdfError>), PdfError> {
        let was_killed = Arc::new(AtomicBool::new(false));
        let (done, is_done) = channel::<()>();
        let watch = {
            let (child, was_killed) = (Arc::clone(&self.child), Arc::clone(&was_killed));
            thread::Builder::new().name("pdf-watch".to_owned()).spawn(move || {
                if is_done.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                    was_killed.store(true, Ordering::SeqCst);
                    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
                    // It may have ended by itself just now.
                    drop(child.kill());
                }
            })
        };
        let watch = watch.map_err(|error| PdfError::NotStarted(error.to_string()))?;
        let answer = send(&mut self.to, file).and_then(|()| receive(&mut self.from, LONGEST_ANSWER));
        drop(done);
        // It cannot panic, and there is nothing to be had from it.
        drop(watch.join());
        let answer = answer.ok().flatten().and_then(|bytes| serde_json::from_slice::<Answer>(&bytes).ok());
        self.files += 1;
        match answer {
            _ if was_killed.load(Ordering::SeqCst) => Err(PdfError::TooSlow(time)),
            Some(Answer::Content(content)) => Ok((self, Ok(content))),
            Some(Answer::Unreadable(what)) => Ok((self, Err(PdfError::Unreadable(what)))),
            None => Err(PdfError::Crashed(self.end())),
        }
    }

    /// Makes sure that the child has ended; how it did.
    fn end(&self) -> String {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.try_wait() {
            Ok(Some(status)) => return status.to_string(),
            // It has said something that is no answer, or has closed its pipe and is about to end.
            Ok(None) => {}
            Err(error) => return error.to_string(),
        }
        drop(child.kill());
        child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }
}

/// No child is left behind.
impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
