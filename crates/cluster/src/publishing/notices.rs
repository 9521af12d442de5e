//! What is published beside pages: failures, URLs that robots.txt disallows, and requests for robots.txt. Each stream has
//! a position of its own.

use super::topic_writer::{Record, TopicWriter};
use crate::catalogue::unpublished::{self, Piece};
use crate::database::{DatabaseError, Session};
use crate::kafka::Topic;
use crate::kafka::messages::{CrawlFailure, RobotsCacheMiss};
use argiope_model::Url;
use argiope_store::catalogue::ErrorRow;
use argiope_store::clock::now;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notices {
    Failures,
    OverwrittenFailures,
    Disallowed,
    RobotsRequests,
}

impl Notices {
    pub(super) const ALL: [Notices; 4] =
        [Notices::Failures, Notices::OverwrittenFailures, Notices::Disallowed, Notices::RobotsRequests];

    /// In the table `published`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Notices::Failures => "failures",
            Notices::OverwrittenFailures => "repeated failures",
            Notices::Disallowed => "disallowed",
            Notices::RobotsRequests => "robots requests",
        }
    }

    pub(super) fn topic(self) -> Topic {
        match self {
            Notices::Failures | Notices::OverwrittenFailures | Notices::Disallowed => Topic::CrawlFailures,
            Notices::RobotsRequests => Topic::RobotsCacheMiss,
        }
    }

    /// The next records after a position, and the position after them.
    pub(super) fn read(
        self,
        session: &mut Session,
        writer: &TopicWriter,
        after: u64,
    ) -> Result<(Vec<Record>, u64), DatabaseError> {
        let of_failure = |row: &ErrorRow| writer.record(&row.url, &CrawlFailure::of_error(row));
        Ok(match self {
            Notices::Failures => records(unpublished::failures(session, after)?, of_failure),
            Notices::OverwrittenFailures => {
                records(unpublished::overwritten_failures(session, after)?, of_failure)
            }
            Notices::Disallowed => {
                let now = now();
                records(unpublished::disallowed(session, after)?, |row| {
                    writer.record(&row.url, &CrawlFailure::of_refusal(row, now))
                })
            }
            Notices::RobotsRequests => records(unpublished::robots_requests(session, after)?, |(url, at)| {
                let url = Url::from_stored(url).ok()?;
                writer.record(url.as_str(), &RobotsCacheMiss { origin: url.origin(), at: *at })
            }),
        })
    }
}

fn records<T>(piece: Piece<T>, record: impl Fn(&T) -> Option<Record>) -> (Vec<Record>, u64) {
    (piece.rows.iter().filter_map(record).collect(), piece.reached)
}
