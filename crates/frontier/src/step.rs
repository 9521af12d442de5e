//! What the frontier asks its owner to do next.

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

/// Names something that was handed out until it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// What is to be done next.
#[derive(Debug)]
pub enum Step {
    Fetch(Box<Dispatch>),
    FetchRobots(Box<RobotsDispatch>),
    /// Find the addresses of a host: then [`Frontier::resolved`].
    Resolve {
        host: HostIndex,
        name: Box<str>,
    },
    /// Not to be fetched: record the reason, then [`Frontier::completed`].
    Refuse {
        token: Token,
        visit: Box<Visit>,
        ticket: Ticket,
        skip: Skip,
    },
    /// Cannot be fetched: record the error, then [`Frontier::completed`].
    Fail {
        token: Token,
        visit: Box<Visit>,
        ticket: Ticket,
        error: Box<str>,
    },
    /// Then [`Frontier::queue_loaded`]. Everything in [`Frontier::take_changes`] must have been applied before.
    LoadQueue {
        host: HostIndex,
        at: QueueAt,
        after: LoadAfter,
        limit: usize,
    },
    /// Then [`Frontier::robots_loaded`].
    LoadRobots {
        host: HostIndex,
        scheme: Scheme,
        agent: Box<str>,
        origin: Box<str>,
    },
    /// Of the shards that are [`Frontier::served`]; then [`Frontier::due_loaded`].
    LoadDue {
        until: Millis,
        limit: usize,
    },
    /// A held failure was the host's own: record it, then [`Frontier::completed`].
    Release(Token),
    /// A held failure was the network's: forget it, the visit is queued again.
    Forget(Token),
    /// Nothing before this time, unless something is settled or discovered.
    Wait(Option<Millis>),
}

/// A request that is due now.
#[derive(Clone, Debug)]
pub struct Dispatch {
    pub token: Token,
    pub visit: Visit,
    pub host: HostIndex,
    /// Which of the host's connections this is: the same lane keeps to the same connection.
    pub lane: u32,
    pub addresses: Arc<[IpAddr]>,
    /// The rule of robots.txt that let it pass, if one did.
    pub rule: Option<Rule>,
    /// The delay that was kept before it.
    pub delay: Duration,
    pub per_host: NonZeroU32,
    pub rules: Arc<HostRules>,
    /// Where the entry is queued: what recovery removes.
    pub ticket: Ticket,
}

/// A rule of robots.txt as it is recorded.
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
    /// The job it is asked for; others that need it use the same answer.
    pub job: JobId,
    pub request: RobotsRequest,
    pub host: HostIndex,
    pub lane: u32,
    pub addresses: Arc<[IpAddr]>,
    pub delay: Duration,
    pub per_host: NonZeroU32,
    pub rules: Arc<HostRules>,
}

/// An entry's place on disk.
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
