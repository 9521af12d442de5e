//! What a person sees of an outage of PostgreSQL while a command waits for it, and how a signal ends the wait.

use crate::progress::Display;
use crate::signals::{Signal, Signals};
use argiope_config::Failure;
use argiope_model::display::elapsed;
use argiope_service::cluster::ClusterPlace;
use argiope_service::outage::OutageWatcher;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// How long a server has to respond when the user wants to stop.
const PULSE: Duration = Duration::from_millis(800);

/// What a command is doing during an outage of its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Submitting,
    Following,
    Ingesting,
}

impl Doing {
    /// The message at the beginning of the wait.
    fn meanwhile(self) -> &'static str {
        match self {
            Doing::Submitting => "The job is not submitted yet.",
            Doing::Following => "The job resumes when it is back.",
            Doing::Ingesting => "The part of the list that was sent is stored.",
        }
    }

    /// The message at the end.
    fn left(self) -> &'static str {
        match self {
            Doing::Submitting => "the job was not submitted, because PostgreSQL is unreachable",
            Doing::Following => {
                "the job was not stopped, because PostgreSQL is unreachable; workers resume it when it is back"
            }
            Doing::Ingesting => "the part of the list that was sent is stored",
        }
    }
}

/// Ends a command that is stopped while it waits for a hanging database: on the first signal if the database does not
/// respond within a moment, on the second at once.
#[derive(Clone)]
pub(crate) struct Stopping {
    following: Arc<AtomicU8>,
    said: Arc<Once>,
    display: Display,
}

impl Stopping {
    pub(crate) fn watch(signals: &Signals, place: &ClusterPlace, display: &Display) -> Stopping {
        let stopping =
            Stopping { following: Arc::default(), said: Arc::new(Once::new()), display: display.clone() };
        let (own, database) = (stopping.clone(), place.database.clone());
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
            // Without a thread for it, the wait ends with its own timeout.
            let _ = std::thread::Builder::new().name(String::from("stopping")).spawn(look);
        });
        stopping
    }

    /// The job is submitted.
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

/// The person at the command line, who waits for the database with it.
pub(crate) struct Waiting<'w> {
    pub(crate) display: &'w Display,
    pub(crate) doing: Doing,
    /// Without them a signal ends the process, as usual.
    pub(crate) signals: Option<(&'w Signals, &'w Stopping)>,
}

impl Waiting<'_> {
    /// No job can be changed while its database does not respond.
    pub(crate) fn interrupted(&self) -> Failure {
        match self.signals {
            Some((_, stopping)) => stopping.say(self.doing),
            None => {
                self.display.finish();
                self.display.message(self.doing.left());
            }
        }
        Failure::silent_interrupt()
    }
}

impl OutageWatcher for Waiting<'_> {
    fn went_away(&self, why: &str, _: &str, limit: Option<Duration>) {
        self.display.message(&away(why, limit, self.doing));
    }

    fn came_back(&self, after: Duration) {
        self.display.message(&format!("PostgreSQL is back after {}; continuing", elapsed(after)));
    }

    fn pause(&self, time: Duration) -> Result<(), Failure> {
        let Some((signals, _)) = self.signals else {
            std::thread::sleep(time);
            return Ok(());
        };
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match signals.wait(left) {
                Some(Signal::Stop) => return Err(self.interrupted()),
                Some(Signal::Reload | Signal::Wake) => {}
                None => return Ok(()),
            }
        }
    }

    fn left_behind(&self) -> &str {
        self.doing.left()
    }
}

fn away(why: &str, limit: Option<Duration>, doing: Doing) -> String {
    let limit = limit.map_or_else(String::new, |limit| format!(" up to {}", elapsed(limit)));
    format!("PostgreSQL is unreachable ({why}); waiting{limit} for it. {}", doing.meanwhile())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_told_with_its_reason_and_what_becomes_of_the_job() {
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(
            away("the server did not respond within 5 s", hour, Doing::Following),
            "PostgreSQL is unreachable (the server did not respond within 5 s); waiting up to 1h 00m for it. \
             The job resumes when it is back."
        );
        assert_eq!(
            away("gone", None, Doing::Ingesting),
            "PostgreSQL is unreachable (gone); waiting for it. The part of the list that was sent is stored."
        );
    }
}
