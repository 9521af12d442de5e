//! All state of one host: its queues, its politeness, its robots.txt and address, and its place in the schedule.

use crate::admission::pattern::PatternTable;
use crate::codec::{CodecError, Reader, put_number, put_sized, put_text};
use crate::host_politeness::HostPoliteness;
use crate::outbound::Rate;
use crate::queue::JobQueue;
use crate::reachability::Reachability;
use crate::ready::Stamp;
use crate::state::HostKey;
use argiope_model::{JobId, Millis, Scheme, Url, WaitReason};
use argiope_politeness::{HostRules, Robots};
use std::net::IpAddr;
use std::sync::Arc;

const VERSION: u8 = 1;

/// The place of a host in the schedule. Its stamp changes with every move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing to do for it.
    Idle,
    /// In the timers, for this reason.
    Waiting(Millis, WaitReason),
    Ready,
    /// Its address has reached its limit of requests in flight.
    AtAddress,
    /// It has reached its limit of requests in flight, or its name is being looked up.
    Busy,
}

/// The state of the robots.txt of one origin, for one user agent.
#[derive(Clone, Debug)]
pub(crate) enum RobotsHandle {
    /// Not in memory; it may be stored.
    Unknown,
    /// Neither memory nor the state has a fresh one: fetch it.
    Missing,
    /// A request for it is queued or in flight.
    Asked,
    Known {
        robots: Arc<Robots>,
        expires: Millis,
    },
    /// No response after all retries: disallowed until then.
    Unreachable {
        until: Millis,
    },
}

#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    pub(crate) agent: Box<str>,
    pub(crate) robots: RobotsHandle,
    /// Failed attempts in a row.
    pub(crate) tries: u8,
    pub(crate) retry_at: Millis,
    /// The owner of another shard was asked to fetch it; its reply is expected until then.
    pub(crate) told_until: Option<Millis>,
}

/// A request on behalf of an origin, waiting for this host's turn: robots.txt, or a hop of its redirects.
#[derive(Clone, Debug)]
pub struct RobotsRequest {
    pub url: Url,
    /// The origin whose robots.txt this is.
    pub origin: Url,
    pub hops: u8,
    /// The visit that needs it first; others use the same response.
    pub job: JobId,
}

/// The address of a host, as far as known.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Unknown,
    Asking,
    Known {
        addresses: Arc<[IpAddr]>,
        expires: Millis,
    },
    /// The host does not exist; valid until then.
    Missing {
        until: Millis,
        why: Box<str>,
    },
}

#[derive(Debug)]
pub(crate) struct HostQueue {
    pub(crate) queue: JobQueue,
    pub(crate) patterns: PatternTable,
    /// It is in its job's list of hosts that wait for budget.
    pub(crate) waits_for_budget: bool,
}

impl HostQueue {
    pub(crate) fn new(queue: JobQueue, patterns: PatternTable) -> HostQueue {
        HostQueue { queue, patterns, waits_for_budget: false }
    }
}

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: Box<str>,
    pub(crate) key: HostKey,
    /// The position of the root domain in the name.
    root: (u16, u16),
    pub(crate) politeness: HostPoliteness,
    pub(crate) rules: Option<Arc<HostRules>>,
    pub(crate) queues: Vec<HostQueue>,
    /// Jobs with URLs queued here that are not open.
    pub(crate) closed_jobs: ClosedJobs,
    /// The queue whose turn is next.
    pub(crate) turn: usize,
    pub(crate) reachability: Reachability,
    pub(crate) in_flight: u32,
    /// Lookups and loads that have not returned.
    pub(crate) steps: u32,
    /// Something was fetched or loaded for its next page: it is served before others of its rank, while that is in
    /// memory and its connection open.
    pub(crate) prepared: bool,
    /// Its shard is being handed over: no new requests.
    pub(crate) closed: bool,
    /// Its shard is gone.
    pub(crate) gone: bool,
    pub(crate) place: Place,
    pub(crate) stamp: Stamp,
    /// The rank under which it is in the ready set.
    pub(crate) rank: u8,
    /// The rate of new URLs from this host's pages.
    pub(crate) new_urls: Rate,
    /// Its record on disk is out of date.
    pub(crate) dirty: bool,
    /// It could be requested now, but its next URLs are in pages that are not stored yet.
    pub(crate) awaits_links: bool,
    /// The host's connections in use, one bit each.
    lanes: u128,
}

impl Host {
    pub(crate) fn new(name: &str, root: &str, key: HostKey) -> Host {
        Host {
            name: name.into(),
            key,
            root: place_in(name, root),
            politeness: HostPoliteness::default(),
            rules: None,
            queues: Vec::new(),
            closed_jobs: ClosedJobs::default(),
            turn: 0,
            reachability: Reachability::default(),
            in_flight: 0,
            steps: 0,
            prepared: false,
            closed: false,
            gone: false,
            place: Place::Idle,
            stamp: 0,
            rank: 0,
            new_urls: Rate::UNUSED,
            dirty: true,
            awaits_links: false,
            lanes: 0,
        }
    }

    /// What remains of a host when its shard leaves, as long as something refers to its place.
    pub(crate) fn leave(&mut self) -> Host {
        let stamp = self.stamp.wrapping_add(1);
        let gone = Host {
            stamp,
            steps: self.steps,
            gone: true,
            closed: true,
            dirty: false,
            ..Host::new("", "", self.key)
        };
        std::mem::replace(self, gone)
    }

    /// The root domain, without a port.
    pub(crate) fn root(&self) -> &str {
        self.name.get(usize::from(self.root.0)..usize::from(self.root.1)).unwrap_or(&self.name)
    }

    /// A connection of the host that is not in use; beyond 128 they are shared.
    pub(crate) fn take_lane(&mut self) -> u32 {
        let lane = (!self.lanes).trailing_zeros().min(127);
        self.lanes |= 1 << lane;
        lane
    }

    pub(crate) fn give_lane(&mut self, lane: u32) {
        self.lanes &= !(1 << lane.min(127));
    }

    pub(crate) fn queue_mut(&mut self, job: JobId) -> Option<&mut HostQueue> {
        self.queues.iter_mut().find(|q| q.queue.job == job)
    }

    pub(crate) fn queue(&self, job: JobId) -> Option<&HostQueue> {
        self.queues.iter().find(|q| q.queue.job == job)
    }

    pub(crate) fn origin_mut(&mut self, scheme: Scheme, agent: &str) -> &mut Origin {
        let at = match self.reachability.origins.iter().position(|o| o.scheme == scheme && *o.agent == *agent)
        {
            Some(at) => at,
            None => {
                self.reachability.origins.push(Origin {
                    scheme,
                    agent: agent.into(),
                    robots: RobotsHandle::Unknown,
                    tries: 0,
                    retry_at: Millis(0),
                    told_until: None,
                });
                self.reachability.origins.len() - 1
            }
        };
        #[allow(clippy::indexing_slicing, reason = "`at` was found or has just been pushed")]
        &mut self.reachability.origins[at]
    }

    pub(crate) fn origin(&self, scheme: Scheme, agent: &str) -> Option<&Origin> {
        self.reachability.origins.iter().find(|o| o.scheme == scheme && *o.agent == *agent)
    }

    /// Releases what can be loaded again, once the host has nothing to do. While a page of it is on its way to the
    /// catalogue, its links may bring more.
    pub(crate) fn rest(&mut self) {
        if self.has_outstanding() {
            return;
        }
        self.queues.retain(|q| !q.queue.is_finished());
        self.queues.shrink_to_fit();
        if !self.reachability.origins.is_empty() {
            let keep =
                |o: &Origin| matches!(o.robots, RobotsHandle::Asked | RobotsHandle::Unreachable { .. });
            self.reachability.origins.retain(keep);
        }
        if matches!(self.reachability.address, Address::Known { .. }) && self.in_flight == 0 {
            self.reachability.address = Address::Unknown;
        }
        self.reachability.shrink();
        self.turn = 0;
        self.prepared = false;
    }

    /// A lookup or load has started.
    pub(crate) fn step_began(&mut self) {
        self.steps += 1;
        self.prepared = true;
    }

    /// Pages of it are on their way to the catalogue.
    pub(crate) fn has_outstanding(&self) -> bool {
        self.queues.iter().any(|q| q.queue.outstanding() > 0)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(80 + self.name.len());
        out.push(VERSION);
        put_text(&mut out, &self.name);
        put_sized(&mut out, |out| self.politeness.encode(out));
        let open = self.queues.iter().filter(|q| !q.queue.is_finished()).map(|q| q.queue.job);
        let jobs = open.chain(self.closed_jobs.iter());
        put_number(&mut out, jobs.clone().count() as u64);
        for job in jobs {
            put_number(&mut out, u64::from(job.0));
        }
        out
    }
}

/// Usually none: one machine word then.
#[allow(clippy::box_collection, reason = "one word in every host, where a vector takes three")]
#[derive(Debug, Default)]
pub(crate) struct ClosedJobs(Option<Box<Vec<JobId>>>);

impl ClosedJobs {
    pub(crate) fn push(&mut self, job: JobId) {
        self.0.get_or_insert_default().push(job);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = JobId> + Clone {
        self.0.iter().flat_map(|jobs| jobs.iter().copied())
    }

    /// True if it was there.
    pub(crate) fn remove(&mut self, job: JobId) -> bool {
        let before = self.iter().count();
        self.retain(|other| *other != job);
        self.iter().count() < before
    }

    pub(crate) fn retain(&mut self, keeps: impl Fn(&JobId) -> bool) {
        if let Some(jobs) = &mut self.0 {
            jobs.retain(keeps);
            if jobs.is_empty() {
                self.0 = None;
            }
        }
    }
}

/// A root domain ends where the name does, except for a port.
fn place_in(name: &str, root: &str) -> (u16, u16) {
    let start = name.rfind(root).unwrap_or(0);
    let place = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    (place(start), place(start + root.len()))
}

/// A host as stored in its record.
pub(crate) struct StoredHost<'b> {
    pub(crate) name: &'b str,
    pub(crate) politeness: &'b [u8],
    pub(crate) jobs: Vec<JobId>,
}

pub(crate) fn decode_host(bytes: &[u8]) -> Result<StoredHost<'_>, CodecError> {
    let mut from = Reader { bytes, what: "host" };
    if from.byte()? != VERSION {
        return Err(from.error("unknown version"));
    }
    let name = from.text()?;
    let politeness = from.take()?;
    let mut jobs = Vec::new();
    for _ in 0..from.number()? {
        let job = JobId(from.small()?);
        // A second queue of the same job would wait forever: loaded entries go to the first.
        if jobs.contains(&job) {
            return Err(from.error("one job twice"));
        }
        jobs.push(job);
    }
    Ok(StoredHost { name, politeness, jobs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_names_a_job_twice_is_damaged() {
        let record = |jobs: &[u8]| [&[VERSION, 1, b'h', 0, jobs.len() as u8], jobs].concat();
        let read = |jobs: &[u8]| decode_host(&record(jobs)).map(|stored| stored.jobs);
        assert_eq!(read(&[1, 2]), Ok(vec![JobId(1), JobId(2)]));
        assert_eq!(read(&[1, 2, 1]), Err(CodecError { what: "host", why: "one job twice" }));
    }
}
