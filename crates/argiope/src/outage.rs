//! A command that runs for long does not end because PostgreSQL is away for a while: it says so, waits, and goes on when
//! the server answers again. How long is the user's to say (`cluster.wait_for_database`).

use crate::exit::Failure;
use crate::progress::Display;
use crate::progress::numbers::elapsed;
use crate::signals::{Signal, Signals};
use argiope_cluster::database::Database;
use std::time::{Duration, Instant};

/// Between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// What a command needs to wait for its database.
#[derive(Clone, Copy)]
pub(crate) struct Outages<'o> {
    pub(crate) database: &'o Database,
    /// None: for as long as it takes. Zero: not at all.
    pub(crate) limit: Option<Duration>,
    pub(crate) display: &'o Display,
    /// Without them a signal ends the process, as it does elsewhere in such a command.
    pub(crate) signals: Option<&'o Signals>,
    /// What happens to the job meanwhile, for those who end the command.
    pub(crate) meanwhile: &'o str,
}

impl Outages<'_> {
    /// Does `work`, which may be done again, as often as it takes.
    pub(crate) fn outlast<T>(&self, mut work: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut since: Option<Instant> = None;
        loop {
            let failure = match work() {
                Err(failure) if failure.may_pass && !self.is_over(since) => failure,
                Err(failure) if failure.may_pass => return Err(self.gave_up(failure)),
                done => {
                    if let (Ok(_), Some(since)) = (&done, since) {
                        let after = elapsed(since.elapsed());
                        self.display.message(&format!("PostgreSQL is back after {after}; going on"));
                    }
                    return done;
                }
            };
            let began = *since.get_or_insert_with(|| {
                self.say_away(&failure);
                Instant::now()
            });
            while !self.is_over(Some(began)) {
                self.pause()?;
                if self.database.answers() {
                    break;
                }
            }
        }
    }

    fn is_over(&self, since: Option<Instant>) -> bool {
        let waited = since.map_or(Duration::ZERO, |since| since.elapsed());
        self.limit.is_some_and(|limit| waited >= limit)
    }

    fn say_away(&self, failure: &Failure) {
        let limit = self.limit.map_or_else(String::new, |limit| format!(" for up to {}", elapsed(limit)));
        let why = failure.messages.first().map_or("PostgreSQL does not answer", String::as_str);
        self.display.message(&format!("waiting{limit} for PostgreSQL, {}: {why}", self.meanwhile));
    }

    fn gave_up(&self, failure: Failure) -> Failure {
        failure.hint(format!(
            "{}; cluster.wait_for_database says how long a command waits for PostgreSQL",
            self.meanwhile
        ))
    }

    fn pause(&self) -> Result<(), Failure> {
        let Some(signals) = self.signals else {
            std::thread::sleep(PAUSE);
            return Ok(());
        };
        let until = Instant::now() + PAUSE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match signals.wait(left) {
                Some(Signal::Stop) => return Err(self.interrupted()),
                Some(Signal::Reload | Signal::Wake) => {}
                None => return Ok(()),
            }
        }
    }

    /// Nothing can be told to a database that does not answer.
    pub(crate) fn interrupted(&self) -> Failure {
        self.display.finish();
        self.display.message(&format!("PostgreSQL does not answer and cannot be told: {}", self.meanwhile));
        Failure::silent_interrupt()
    }
}
