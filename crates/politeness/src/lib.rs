//! How Argiope behaves towards the hosts it visits: robots.txt, delays, adaptive rates, time windows, circuit breakers,
//! retries. Everything here is pure: time, bytes and randomness are arguments; nothing reads a clock, a file or the
//! network.
//!
//! Neighbours: `frontier` keeps one [`HostState`] per host and queries it when the host is ready; `fetch` reports how
//! each request ended; the configuration is read as [`PolitenessSettings`] and compiled to [`PolitenessRules`].

mod adaptive;
mod breaker;
mod codec;
mod duration;
mod error;
mod host;
mod retry;
mod retry_after;
pub mod robots;
mod rules;
pub mod settings;
mod window;

pub use adaptive::{Adaptive, AdaptivePolicy, AnswerClass};
pub use breaker::{Alert, AlertKind, Breaker, BreakerPolicy, Gate};
pub use duration::HumanDuration;
pub use error::PolitenessError;
pub use host::{AnswerOutcome, AnswerResult, HostState, ParkReason, Parked, Reaction, Wait};
pub use retry::{Next, RetryPolicy, RetrySteps};
pub use retry_after::{RetryAfter, parse_retry_after};
pub use robots::{Robots, RobotsAnswer, RobotsNext, RobotsPolicy, RobotsUse, RuleRef, Verdict};
pub use rules::{DelaySource, DomainRules, HostRules, PolitenessRules};
pub use settings::{DomainSettings, Filters, PolitenessSettings, Rendering};
pub use window::{Pace, Window, Windows};
