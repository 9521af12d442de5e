//! The next action that the frontier asks of its owner.

use crate::codec::CodecError;
use crate::host::RobotsRequest;
use crate::queue::{LoadAfter, OrderKey};
use crate::ready::HostIndex;
use crate::state::{HostKey, QueueAt};
use argiope_model::{JobId, Millis, Scheme, Skip, Visit};
use argiope_politeness::HostRules;
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Identifies something that was handed out until it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// The next action.
#[derive(Debug)]
pub enum Step {
    Fetch(Box<Dispatch>),
    FetchRobots(Box<RobotsDispatch>),
    /// Resolve a host: then call [`Frontier::resolved`].
    Resolve {
        host: HostIndex,
        name: Box<str>,
    },
    /// Skipped: record the reason, then call [`Frontier::completed`].
    Refuse {
        token: Token,
        visit: Box<Visit>,
        ticket: Ticket,
        skip: Skip,
    },
    /// Cannot be fetched: record the error, then call [`Frontier::completed`].
    Fail {
        token: Token,
        visit: Box<Visit>,
        ticket: Ticket,
        error: Box<str>,
    },
    /// Then call [`Frontier::queue_loaded`]. Everything in [`Frontier::take_changes`] must have been applied before.
    LoadQueue {
        host: HostIndex,
        at: QueueAt,
        after: LoadAfter,
        limit: usize,
    },
    /// Then call [`Frontier::robots_loaded`].
    LoadRobots {
        host: HostIndex,
        scheme: Scheme,
        agent: Box<str>,
        origin: Box<str>,
    },
    /// For the shards that are [`Frontier::served`]; then call [`Frontier::due_loaded`].
    LoadDue {
        until: Millis,
        limit: usize,
    },
    /// A held failure counts against the host: record it, then call [`Frontier::completed`].
    Release(Token),
    /// A held failure was caused by the network: drop it; the visit is queued again.
    Forget(Token),
    /// Nothing to do before this time, unless something is settled or discovered.
    Wait(Option<Millis>),
}

/// A request that is due now.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub token: Token,
    pub visit: Visit,
    pub host: HostIndex,
    /// Which of the host's connections to use: the same lane reuses the same connection.
    pub lane: u32,
    pub addresses: Arc<[IpAddr]>,
    /// The robots.txt rule that allowed it, if any.
    pub rule: Option<Rule>,
    /// The delay before it.
    pub delay: Duration,
    pub per_host: NonZeroU32,
    pub rules: Arc<HostRules>,
    /// The queue position of the entry, which recovery removes.
    pub ticket: Ticket,
}

/// A robots.txt rule as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `Disallow: /private`, or why there are no rules.
    pub text: Box<str>,
    pub line: Option<u32>,
}

/// robots.txt of an origin, due now.
#[derive(Clone, Debug)]
pub struct RobotsDispatch {
    pub token: Token,
    /// The job it is fetched for; others that need it use the same response.
    pub job: JobId,
    pub request: RobotsRequest,
    pub host: HostIndex,
    pub lane: u32,
    pub addresses: Arc<[IpAddr]>,
    pub delay: Duration,
    pub per_host: NonZeroU32,
    pub rules: Arc<HostRules>,
}

/// The position of an entry on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub at: QueueAt,
    pub order: OrderKey,
}

impl fmt::Display for Ticket {
    /// Job, shard, host, rank, depth, sequence: `1.17.3.51.2.889`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueueAt { job, host } = self.at;
        let OrderKey { rank, depth, sequence } = self.order;
        write!(f, "{job}.{}.{}.{rank}.{depth}.{sequence}", host.shard, host.number)
    }
}

impl FromStr for Ticket {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Ticket, CodecError> {
        let error = || CodecError { what: "ticket", why: "not of the form 1.17.3.51.2.889" };
        let mut numbers = text.split('.').map(|part| part.parse::<u64>().ok());
        let mut next = || numbers.next().flatten().ok_or_else(error);
        let job = JobId(u32::try_from(next()?).map_err(|_| error())?);
        let shard = u16::try_from(next()?).map_err(|_| error())?;
        let number = u32::try_from(next()?).map_err(|_| error())?;
        let rank = u8::try_from(next()?).map_err(|_| error())?;
        let depth = u8::try_from(next()?).map_err(|_| error())?;
        let order = OrderKey { rank, depth, sequence: next()? };
        Ok(Ticket { at: QueueAt { job, host: HostKey { shard, number } }, order })
    }
}
