//! A long request does not fail because PostgreSQL is unreachable for a while: it waits, and continues when the server
//! responds again. The user sets how long (`cluster.wait_for_database`).

use crate::cluster::ClusterPlace;
use argiope_cluster::database::{Database, SETTING};
use argiope_config::Failure;
use std::time::{Duration, Instant};

/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// The caller: is notified of an outage, and may end the wait.
pub trait OutageWatcher {
    /// `limit`: how long it is waited for, if not for ever.
    fn went_away(&self, why: &str, place: &str, limit: Option<Duration>);
    fn came_back(&self, after: Duration);
    /// Waits for that long. An error ends the request.
    fn pause(&self, time: Duration) -> Result<(), Failure>;
    /// What becomes of the request when the limit is reached, for a hint.
    fn left_behind(&self) -> &str;
}

/// What a request needs to wait for its database.
#[derive(Clone, Copy)]
pub struct Outages<'o> {
    database: &'o Database,
    /// None: no limit. Zero: do not wait.
    limit: Option<Duration>,
    watcher: &'o dyn OutageWatcher,
}

impl<'o> Outages<'o> {
    /// Of the database of `place`.
    pub fn of(place: &'o ClusterPlace, watcher: &'o dyn OutageWatcher) -> Outages<'o> {
        Outages { database: &place.database, limit: place.wait_for_database, watcher }
    }

    /// Does `work`, which may be repeated, as often as it takes.
    pub fn outlast<T>(&self, mut work: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut since: Option<Instant> = None;
        loop {
            let failure = match work() {
                Err(failure) if failure.may_pass && !self.is_over(since) => failure,
                Err(failure) if failure.may_pass => return Err(self.give_up(failure)),
                done => {
                    if let (Ok(_), Some(since)) = (&done, since) {
                        self.watcher.came_back(since.elapsed());
                    }
                    return done;
                }
            };
            let began = *since.get_or_insert_with(|| {
                self.tell(&failure);
                Instant::now()
            });
            while !self.is_over(Some(began)) {
                self.watcher.pause(PAUSE)?;
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

    fn tell(&self, failure: &Failure) {
        let message = failure.messages.first().map_or("it does not respond", String::as_str);
        let place = self.database.place();
        self.watcher.went_away(reason(message, place), place, self.limit);
    }

    fn give_up(&self, failure: Failure) -> Failure {
        failure.hint(format!(
            "{}; cluster.wait_for_database sets how long a command waits for PostgreSQL",
            self.watcher.left_behind()
        ))
    }
}

/// The message without the name of the setting and the server, which the user knows.
fn reason<'m>(message: &'m str, place: &str) -> &'m str {
    message.strip_prefix(&format!("{SETTING} ({place}): ")).unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[derive(Default)]
    struct Told(RefCell<Vec<String>>);

    impl OutageWatcher for Told {
        fn went_away(&self, why: &str, _: &str, limit: Option<Duration>) {
            self.0.borrow_mut().push(format!("away: {why} {limit:?}"));
        }

        fn came_back(&self, _: Duration) {
            self.0.borrow_mut().push(String::from("back"));
        }

        fn pause(&self, _: Duration) -> Result<(), Failure> {
            match self.0.borrow().len() {
                1 => Ok(()),
                _ => Err(Failure::silent_interrupt()),
            }
        }

        fn left_behind(&self) -> &str {
            "nothing was sent"
        }
    }

    fn nowhere() -> Database {
        // Reserved for documentation, and port 1: nothing responds.
        Database::at("postgres://a@127.0.0.1:1/a").unwrap()
    }

    fn away() -> Failure {
        Failure::failed("the server gave no answer").passing(true)
    }

    #[test]
    fn the_reason_of_an_outage_is_told_without_the_setting() {
        assert_eq!(reason("storage.metadata_db_url (a@db:5432/a): no answer", "a@db:5432/a"), "no answer");
        assert_eq!(reason("gone", "a@db:5432/a"), "gone");
    }

    #[test]
    fn a_failure_that_stays_ends_the_request_at_once() {
        let (database, told) = (nowhere(), Told::default());
        let outages = Outages { database: &database, limit: None, watcher: &told };
        let failure = outages.outlast(|| Err::<(), _>(Failure::failed("denied"))).unwrap_err();
        assert_eq!(failure.messages, ["denied"]);
        assert!(told.0.borrow().is_empty());
    }

    #[test]
    fn without_patience_an_outage_is_a_failure_that_says_what_is_left() {
        let (database, told) = (nowhere(), Told::default());
        let outages = Outages { database: &database, limit: Some(Duration::ZERO), watcher: &told };
        let failure = outages.outlast(|| Err::<(), _>(away())).unwrap_err();
        assert!(failure.hint.unwrap().starts_with("nothing was sent; cluster.wait_for_database"));
    }

    #[test]
    fn whoever_waits_is_told_and_may_end_the_wait() {
        let (database, told) = (nowhere(), Told::default());
        let outages = Outages { database: &database, limit: None, watcher: &told };
        told.0.borrow_mut().push(String::from("begun"));
        let ended = outages.outlast(|| Err::<(), _>(away())).unwrap_err();
        assert!(ended.messages.is_empty());
        assert_eq!(told.0.borrow().last().unwrap(), "away: the server gave no answer None");
    }
}
