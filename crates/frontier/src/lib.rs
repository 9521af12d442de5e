//! Decides what to fetch, and when. The frontier takes discovered URLs and hands out those that are due.
//!
//! # The life of a URL
//!
//! 1. A page, a sitemap or a list names it. Its job's rules admit it ([`admission`]), or skip it with a reason.
//! 2. [`Frontier::discover`]: the seen-set of its job and shard does not have it. Its fingerprint and its queue entry
//!    are written in one atomic batch ([`state`]). If its source adds too many at once, it gets a later due time.
//! 3. It waits in the queue of its job on its host ([`queue`]): on disk, its head in memory. The host waits in the timers
//!    while its delay runs, then in the ready set ([`ready`]), where the best head goes first and the oldest host is
//!    served every few turns.
//! 4. [`Frontier::next`] serves the host: first its address, then its robots.txt, then the head of the next queue:
//!    [`Step::Fetch`], or [`Step::Refuse`] if robots.txt forbids it. From now on it is in progress, and still on disk.
//! 5. [`Frontier::answered`]: the response has ended, the host's delay begins, the host is free.
//! 6. [`Frontier::completed`]: archive and catalogue have it, its links have been admitted. Only now the entry leaves
//!    the disk: for good, for a later retry, or to the head of another host's queue (a redirect).
//!
//! A crash before 6 returns the URL to 3, unless its records were stored: then it is completed from them.
//!
//! `discover`, retries, redirects and due entries fill the queues; `completed` empties them. Timers and the ready set
//! hold hosts, never URLs. Everything handed out is in `in_flight` until settled.
//!
//! # Several owners
//!
//! One machine owns all shards. In a cluster they are leased ([`FrontierConfig::leased`], [`ownership`]) and come and
//! go one by one: [`Frontier::restore_shard`], [`Frontier::hand_over`], [`Frontier::drop_shard`]. Whatever crosses
//! shards is then a [`message`] in the log of the target shard, even if both are owned here ([`Frontier::discover_in`],
//! [`Frontier::deliver`]): links, redirects, and robots.txt on other hosts. Pages of a job's budget are granted
//! ([`Frontier::grant`]).
//!
//! The frontier reads no clock and does no I/O: see [`Step`] for what it asks of its owner.

mod address;
pub mod admission;
mod admit;
mod answered;
mod blocked;
mod budget;
pub mod codec;
mod completed;
mod config;
#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod decisions;
mod delayed;
mod delays;
mod dispatch;
mod expiry;
mod flights;
mod forget;
mod frontier;
mod hash;
mod host;
mod host_politeness;
mod host_schedule;
mod host_table;
mod job;
mod job_table;
mod loaded;
pub mod member;
pub mod memory;
pub mod message;
mod network;
mod next;
mod notice;
mod open_jobs;
mod outbound;
pub mod ownership;
mod pending;
pub mod queue;
mod reachability;
mod ready;
mod recovered;
mod requeue;
mod resolution;
mod restore;
mod robots_answers;
mod robots_check;
mod rule_book;
mod schedule;
pub mod seen;
mod shard_table;
mod shards;
mod spelling;
pub mod state;
mod step;
mod stop;
pub mod transient;
mod view;
mod windows;

pub use admit::{Discovery, Found, Refused};
pub use answered::{Answer, Disposition};
pub use completed::Completion;
pub use config::FrontierConfig;
pub use frontier::Frontier;
pub use host::RobotsRequest;
pub use job::{Activity, JobLimits, QueueCounts};
pub use notice::Notice;
pub use outbound::Delivered;
pub use ready::HostIndex;
pub use recovered::Entered;
pub use requeue::Again;
pub use resolution::Unresolved;
pub use restore::{LastStop, read_job_counts, stored_job_counts};
pub use robots_answers::{NewRobots, RobotsAnswered};
pub use step::{Dispatch, RobotsDispatch, Rule, Step, Ticket, Token};
pub use view::{HostView, JobProgress, Overview, QueueView, RobotsView};
