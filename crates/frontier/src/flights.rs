//! Everything that was handed out and is not settled yet.

use crate::host::RobotsRequest;
use crate::queue::OrderKey;
use crate::ready::HostIndex;
use argiope_model::{JobId, Millis};
use std::net::IpAddr;

/// What became of a token that was handed out.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) host: HostIndex,
    /// None for a request of robots.txt.
    pub(crate) entry: Option<TakenEntry>,
    pub(crate) request: Option<Box<RobotsRequest>>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) reserved: bool,
    pub(crate) asking: bool,
    pub(crate) lane: u32,
    /// When it was handed out.
    pub(crate) since: Millis,
    /// The shard it was for has gone. The page that it may have stored is of this job.
    pub(crate) orphan_of: Option<JobId>,
}

#[derive(Clone, Debug)]
pub(crate) struct TakenEntry {
    pub(crate) job: JobId,
    pub(crate) order: OrderKey,
    pub(crate) value: Box<[u8]>,
}
