//! What a crawl tells the person who started it: `snapshot` is what is known at a moment, `render` makes lines of
//! it, `display` puts them on stderr, `summary` is the account at the end, `fold` makes it fit the terminal. Nothing here knows the
//! engine.

pub(crate) mod display;
pub(crate) mod fold;
pub(crate) mod render;
pub(crate) mod snapshot;
pub(crate) mod summary;

pub(crate) use display::{Display, style_for_stdout, width_of};
pub(crate) use fold::fold;
pub(crate) use render::{Style, retries};
pub(crate) use snapshot::{Phase, Snapshot, WaitReason, Waiting, WaitingHost};
pub(crate) use summary::{BlockedHost, Ending, GoOn, HostSummary, Summary};
