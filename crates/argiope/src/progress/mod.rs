//! The progress of a crawl for the person who started it: `snapshot` is the data of one moment, `render` turns it into
//! lines, `display` draws them on stderr, `summary` is printed at the end, `fold` wraps lines. Nothing here knows the
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
