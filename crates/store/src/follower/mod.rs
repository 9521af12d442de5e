//! Followers read what the catalogue committed, in commit order, and pass it on. The files of `crawl -o`, results for
//! Kafka and uploads of finished archive files are followers.
//!
//! ```text
//!   committer --commit--> catalogue --PageSource--> PagesFollower --PageSink--> file, Kafka, index
//!       |                                                 ^
//!       +---- Commits: "there is more", recent pages -----+
//! ```
//!
//! * A follower has its own thread ([`Follower`]). The crawl never waits for it: what it has not read yet stays in the
//!   catalogue.
//! * It resumes from a position that its sink stores together with its output. After a crash it may pass on a page a
//!   second time, but it skips none: at least once.
//! * It sleeps until a commit wakes it. If other processes commit too, it also looks at a fixed interval
//!   ([`Step::CaughtUp`]).
//! * [`FollowerStatus`] has its lag and its last error; [`Followers`] has those of all.
//!
//! Sources and sinks pass the suites in [`contract`].

mod commits;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod pages;
mod runner;
#[cfg(test)]
mod runner_tests;
mod sink;
mod source;
mod status;

pub use commits::{Commits, RecentPages, RecentSource};
pub use pages::PagesFollower;
pub use runner::{Follow, Follower, FollowerOptions, Outcome, Step, Turn, Waker};
pub use sink::{Finished, PageSink};
pub use source::{CatalogueSource, CommittedPages, PageSource, Position};
pub use status::{Behind, FollowerStatus, Followers, LagUnit};
