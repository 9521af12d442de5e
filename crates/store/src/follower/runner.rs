//! The thread of a follower: it sleeps until woken, processes what there is, retries temporary errors, and stops on
//! request, at once or after it has followed everything.

use super::status::{Behind, Lag};
use super::{Finished, FollowerStatus, LagUnit};
use crate::error::{Result, StoreError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Consecutive failures after which a drain without a time limit gives up.
const DRAIN_TRIES: u32 = 8;

/// What a follower does, one bounded step at a time.
pub trait Follow: Send {
    /// A temporary error ([`StoreError::is_retryable`]) is retried after a pause; any other ends the follower.
    fn step(&mut self, turn: &Turn<'_>) -> Result<Step>;

    /// Called when the follower is to end and has followed everything.
    fn finish(&mut self) -> Result<Finished> {
        Ok(Finished::Yes)
    }

    /// Why it cannot continue although its last step succeeded.
    fn trouble(&self) -> Option<String> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There may be more: step again at once.
    More,
    /// Everything was followed. Look again when woken, or after this time.
    CaughtUp { look_within: Option<Duration> },
}

/// What a step may need to know about its thread.
pub struct Turn<'a> {
    stop: &'a AtomicBool,
    drain: Option<Drain>,
}

impl Turn<'_> {
    /// It ends when everything has been followed.
    pub fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// It must end before it starts anything new.
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.drain.is_some_and(|drain| drain.is_over())
    }

    /// Set when it must end at once, for checks in the middle of a step.
    pub fn stop_flag(&self) -> &AtomicBool {
        self.stop
    }
}

/// How a follower ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was followed and is durable.
    CaughtUp,
    /// It was stopped, or ran out of time, before that.
    Stopped,
    /// [`FollowerOptions::on_failure`] has the error.
    Failed,
    Panicked,
}

pub struct FollowerOptions {
    /// The name that people see: `-o pages.jsonl`, `kafka results`.
    pub name: String,
    pub unit: LagUnit,
    pub behind: Behind,
    /// Called on the follower's thread with the error that ended it.
    pub on_failure: Box<dyn FnOnce(StoreError) + Send>,
    /// The pause after the first failure; it doubles with each further one.
    pub first_pause: Duration,
    pub longest_pause: Duration,
}

impl FollowerOptions {
    pub fn new(name: impl Into<String>, unit: LagUnit, behind: Behind) -> FollowerOptions {
        FollowerOptions {
            name: name.into(),
            unit,
            behind,
            on_failure: Box::new(|_| ()),
            first_pause: FIRST_PAUSE,
            longest_pause: LONGEST_PAUSE,
        }
    }
}

/// A follower on its thread. Dropping it stops it at once.
pub struct Follower {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Outcome>>>,
}

/// Wakes a follower, if it still exists.
#[derive(Clone)]
pub struct Waker(Weak<Shared>);

impl Waker {
    /// False if the follower is gone.
    pub fn wake(&self) -> bool {
        let shared = self.0.upgrade();
        if let Some(shared) = &shared {
            shared.wake();
        }
        shared.is_some()
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
    lag: Arc<Lag>,
}

#[derive(Default)]
struct State {
    woken: bool,
    drain: Option<Drain>,
}

#[derive(Clone, Copy)]
struct Drain {
    until: Option<Instant>,
}

impl Drain {
    fn is_over(self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn wake(&self) {
        self.lock().woken = true;
        self.changed.notify_all();
    }

    /// Sleeps until it is woken, asked to end, or the time is over.
    fn sleep(&self, within: Option<Duration>) {
        let until = within.map(|within| Instant::now() + within);
        let mut state = self.lock();
        while !state.woken && state.drain.is_none() && !self.is_stopped() {
            let Some(until) = until else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.woken = false;
    }

    /// Sleeps after a failure. A commit does not cut it short; the end does, and so does the start of a drain.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.lock();
        let was_draining = state.drain.is_some();
        while !self.is_stopped() && state.drain.is_some() == was_draining {
            let until = state.drain.and_then(|drain| drain.until).map_or(until, |latest| latest.min(until));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Follower {
    pub fn start(options: FollowerOptions, work: impl Follow + 'static) -> Result<Follower> {
        let FollowerOptions { name, unit, behind, on_failure, first_pause, longest_pause } = options;
        let lag = Arc::new(Lag::new(name, unit, behind));
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
            lag: Arc::clone(&lag),
        });
        let run = Run {
            shared: Arc::clone(&shared),
            work,
            first_pause,
            longest_pause,
            pause: first_pause,
            failures: 0,
        };
        let thread = std::thread::Builder::new()
            .name(String::from("follower"))
            .spawn(move || run.run(on_failure))
            .map_err(|error| StoreError::io(&lag.name, error))?;
        Ok(Follower { shared, thread: Mutex::new(Some(thread)) })
    }

    pub fn waker(&self) -> Waker {
        Waker(Arc::downgrade(&self.shared))
    }

    /// There may be something new.
    pub fn wake(&self) {
        self.shared.wake();
    }

    pub fn status(&self) -> FollowerStatus {
        self.shared.lag.status()
    }

    pub(super) fn lag(&self) -> &Arc<Lag> {
        &self.shared.lag
    }

    /// Follows everything there is and ends; starts nothing new after `limit`.
    pub fn begin_drain(&self, limit: Option<Duration>) {
        self.shared.lock().drain = Some(Drain { until: limit.map(|limit| Instant::now() + limit) });
        self.shared.changed.notify_all();
    }

    /// The same, and waits for it.
    pub fn drain(&self, limit: Option<Duration>) -> Outcome {
        self.begin_drain(limit);
        self.join()
    }

    pub fn has_ended(&self) -> bool {
        self.thread().as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<Outcome>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self) -> Outcome {
        let thread = self.thread().take();
        thread.map_or(Outcome::Stopped, |thread| thread.join().unwrap_or(Outcome::Panicked))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        {
            let _state = self.shared.lock();
            self.shared.stop.store(true, Ordering::Release);
        }
        self.shared.changed.notify_all();
        self.join();
    }
}

/// The next action.
enum Next {
    Step,
    End(Outcome),
}

struct Run<Work> {
    shared: Arc<Shared>,
    work: Work,
    first_pause: Duration,
    longest_pause: Duration,
    pause: Duration,
    /// Consecutive failures.
    failures: u32,
}

impl<Work: Follow> Run<Work> {
    fn run(mut self, on_failure: Box<dyn FnOnce(StoreError) + Send>) -> Outcome {
        let mut was_draining = false;
        loop {
            let drain = self.shared.lock().drain;
            if drain.is_some() && !was_draining {
                was_draining = true;
                self.pause = self.first_pause;
                self.failures = 0;
            }
            if self.shared.is_stopped() {
                return Outcome::Stopped;
            }
            match self.turn(drain) {
                Ok(Next::Step) => {}
                Ok(Next::End(outcome)) => return outcome,
                Err(error) => {
                    *self.shared.lag.error() = Some(error.to_string());
                    on_failure(error);
                    return Outcome::Failed;
                }
            }
        }
    }

    fn turn(&mut self, drain: Option<Drain>) -> Result<Next> {
        let turn = Turn { stop: &self.shared.stop, drain };
        match self.work.step(&turn) {
            Ok(step) => {
                self.succeeded();
                match (step, drain) {
                    (_, Some(drain)) if drain.is_over() => Ok(Next::End(Outcome::Stopped)),
                    (Step::More, _) => Ok(Next::Step),
                    (Step::CaughtUp { .. }, Some(_)) => Ok(match self.work.finish()? {
                        Finished::Yes => Next::End(Outcome::CaughtUp),
                        Finished::StartsOver => Next::Step,
                    }),
                    (Step::CaughtUp { look_within }, None) => {
                        self.shared.sleep(look_within);
                        Ok(Next::Step)
                    }
                }
            }
            Err(error) if error.is_retryable() => self.failed(error, drain),
            Err(error) => Err(error),
        }
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.pause = self.first_pause;
        let trouble = self.work.trouble();
        let mut error = self.shared.lag.error();
        if error.is_some() && trouble.is_none() {
            tracing::info!(follower = self.shared.lag.name, "follower continues");
        }
        *error = trouble;
    }

    fn failed(&mut self, error: StoreError, drain: Option<Drain>) -> Result<Next> {
        self.failures += 1;
        // An outage is logged once.
        if self.shared.lag.error().replace(error.to_string()).is_none() {
            tracing::warn!(follower = self.shared.lag.name, %error, "follower failed; retrying");
        }
        match drain {
            Some(drain) if drain.is_over() => return Ok(Next::End(Outcome::Stopped)),
            Some(Drain { until: None }) if self.failures >= DRAIN_TRIES => return Err(error),
            _ => {}
        }
        self.shared.pause(self.pause);
        self.pause = (self.pause * 2).min(self.longest_pause);
        Ok(Next::Step)
    }
}
