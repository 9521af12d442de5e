//! The progress of a crawl for the person who started it: `view` is the part of the engine's status that is shown,
//! `render` turns it into lines (`waits` those of the hosts that wait), `display` draws them on stderr, `summary` is
//! printed at the end, `fold` wraps lines.

pub(crate) mod display;
pub(crate) mod fold;
pub(crate) mod render;
pub(crate) mod summary;
pub(crate) mod view;
mod waits;

pub(crate) use display::{Display, style_for_stdout, width_of};
pub(crate) use fold::fold;
pub(crate) use render::{Style, retries};
pub(crate) use summary::{BlockedHost, Ending, GoOn, HostSummary, Summary};
pub(crate) use view::{Narrator, View};
