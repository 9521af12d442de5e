//! The shared types of Argiope, used by every other crate: [`Url`] with its normal form, hosts, jobs, visits, pages,
//! and the reasons for every decision. No I/O, no runtime, no clock.

mod archive_ref;
pub mod display;
mod domain;
mod duration;
mod failure;
mod hash;
mod job;
mod link;
mod login;
mod long_url;
mod page;
mod plural;
mod previous;
mod proxy;
mod reason;
mod redirect;
pub mod time;
mod traps;
mod truncation;
mod url;
mod visit;
mod wait;

pub use archive_ref::{ArchiveRef, ArchiveRefError};
pub use domain::{PublicSuffixes, shard_of};
pub use duration::{format_duration, human_duration, human_optional_duration};
pub use failure::FailureKind;
pub use hash::{ContentHash, SimHash};
pub use job::{BasicAuth, JobSpec, NewUrlRate, Resources, Scope};
pub use link::{LinkKind, Rel};
pub use login::{CookieJar, Login, LoginForm};
pub use long_url::LongUrl;
pub use page::{FetchTimings, Page};
pub use plural::plural;
pub use previous::{PreviousFetch, Validators};
pub use proxy::{NoProxy, ProxyReach};
pub use reason::{Decision, Skip, SkipReason};
pub use redirect::RedirectEnd;
pub use time::{Millis, parse_duration};
pub use traps::{TrapOverride, TrapRule, TrapRules, TrapSkip};
pub use truncation::Truncation;
pub use url::{Base, Identity, NormalForm, NormalRules, Scheme, Url, UrlError};
pub use visit::{Fingerprint, FingerprintKey, Hop, JobId, RequestKind, Visit, VisitKey};
pub use wait::WaitReason;

/// For numbers that are omitted from JSON when they are zero.
pub fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}
