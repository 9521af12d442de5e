//! The nouns of Argiope. Every other room speaks in these: a [`Url`] that can only be in normal form, the host
//! it belongs to, jobs, visits, pages, and the reasons for every decision. No I/O, no runtime, no clock.

mod domain;
mod duration;
mod job;
mod page;
mod plural;
mod reason;
mod time;
mod url;
mod visit;

pub use domain::{PublicSuffixes, shard_of};
pub use duration::{format_duration, human_duration, human_optional_duration};
pub use job::{BasicAuth, JobSpec, NewUrlRate, Scope, TrapRules};
pub use page::{FetchTimings, Page};
pub use plural::plural;
pub use reason::{Decision, Skip, SkipReason};
pub use time::{Millis, parse_duration};
pub use url::{Base, Identity, NormalForm, NormalRules, Scheme, Url, UrlError};
pub use visit::{Fingerprint, FingerprintKey, Hop, JobId, RequestKind, Visit, VisitKey};
