//! A command that runs for long does not end because PostgreSQL is away for a while: it says so, waits, and goes on when
//! the server answers again. How long is the user's to say (`cluster.wait_for_database`).

use crate::progress::Display;
use crate::signals::{Signal, Signals};
use argiope_cluster::database::{Database, SETTING};
use argiope_config::Failure;
use argiope_model::display::elapsed;
use argiope_service::cluster::ClusterPlace;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// Between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// For a server to show that it is there, when somebody wants to stop.
const PULSE: Duration = Duration::from_millis(800);

/// What a command is doing when its database goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Submitting,
    Following,
    Ingesting,
}

impl Doing {
    /// What is said when it begins to wait.
    fn meanwhile(self) -> &'static str {
        match self {
            Doing::Submitting => "The job is not submitted yet.",
            Doing::Following => "The job resumes when it is back.",
            Doing::Ingesting => "What was sent of the list is kept.",
        }
    }

    /// What is said when it ends.
    fn left(self) -> &'static str {
        match self {
            Doing::Submitting => "the job was not submitted, because PostgreSQL is unreachable",
            Doing::Following => {
                "the job was not stopped, because PostgreSQL is unreachable; workers resume it when it is back"
            }
            Doing::Ingesting => "what was sent of the list is kept",
        }
    }
}

/// Ends a command that is told to stop while it waits for a database that hangs: at the first time if the database does not
/// answer within a moment, at the second whatever it does.
#[derive(Clone)]
pub(crate) struct Stopping {
    following: Arc<AtomicU8>,
    said: Arc<Once>,
    display: Display,
}

impl Stopping {
    pub(crate) fn watch(signals: &Signals, database: &Database, display: &Display) -> Stopping {
        let stopping =
            Stopping { following: Arc::default(), said: Arc::new(Once::new()), display: display.clone() };
        let (own, database) = (stopping.clone(), database.clone());
        signals.when_stopped(move |stops| {
            if stops > 1 {
                own.display.finish();
                std::process::exit(130);
            }
            let (own, database) = (own.clone(), database.clone());
            let look = move || {
                if !database.answers_within(PULSE) {
                    own.say(own.doing());
                    std::process::exit(130);
                }
            };
            // Without a thread for it, whoever waits finds out when its own time is over.
            let _ = std::thread::Builder::new().name(String::from("stopping")).spawn(look);
        });
        stopping
    }

    /// The job is handed in.
    pub(crate) fn follows(&self) {
        self.following.store(1, Ordering::Release);
    }

    fn doing(&self) -> Doing {
        if self.following.load(Ordering::Acquire) == 1 { Doing::Following } else { Doing::Submitting }
    }

    fn say(&self, doing: Doing) {
        self.said.call_once(|| {
            self.display.finish();
            self.display.message(doing.left());
        });
    }
}

/// What a command needs to wait for its database.
#[derive(Clone, Copy)]
pub(crate) struct Outages<'o> {
    pub(crate) database: &'o Database,
    /// None: for as long as it takes. Zero: not at all.
    pub(crate) limit: Option<Duration>,
    pub(crate) display: &'o Display,
    /// Without them a signal ends the process, as it does elsewhere in such a command.
    pub(crate) signals: Option<&'o Signals>,
    pub(crate) doing: Doing,
    pub(crate) stopping: Option<&'o Stopping>,
}

impl<'o> Outages<'o> {
    /// For a command that outlives an outage of the database of `place`.
    pub(crate) fn of(
        place: &'o ClusterPlace,
        display: &'o Display,
        signals: Option<(&'o Signals, &'o Stopping)>,
        doing: Doing,
    ) -> Outages<'o> {
        let (signals, stopping) = signals.unzip();
        let (database, limit) = (&place.database, place.wait_for_database);
        Outages { database, limit, display, signals, doing, stopping }
    }

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
        let message = failure.messages.first().map_or("it does not answer", String::as_str);
        self.display.message(&away(message, self.database.place(), self.limit, self.doing));
    }

    fn gave_up(&self, failure: Failure) -> Failure {
        failure.hint(format!(
            "{}; cluster.wait_for_database says how long a command waits for PostgreSQL",
            self.doing.left()
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
        match self.stopping {
            Some(stopping) => stopping.say(self.doing),
            None => {
                self.display.finish();
                self.display.message(self.doing.left());
            }
        }
        Failure::silent_interrupt()
    }
}

fn away(message: &str, place: &str, limit: Option<Duration>, doing: Doing) -> String {
    let prefix = format!("{SETTING} ({place}): ");
    let why = message.strip_prefix(&prefix).unwrap_or(message);
    let limit = limit.map_or_else(String::new, |limit| format!(" up to {}", elapsed(limit)));
    format!("PostgreSQL is unreachable ({why}); waiting{limit} for it. {}", doing.meanwhile())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_with_its_reason_and_what_becomes_of_the_job() {
        let message = "storage.metadata_db_url (a@db:5432/a): the server did not respond within 5 s";
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(
            away(message, "a@db:5432/a", hour, Doing::Following),
            "PostgreSQL is unreachable (the server did not respond within 5 s); waiting up to 1h 00m for it. \
             The job resumes when it is back."
        );
        assert_eq!(
            away("gone", "a@db:5432/a", None, Doing::Ingesting),
            "PostgreSQL is unreachable (gone); waiting for it. What was sent of the list is kept."
        );
    }
}
