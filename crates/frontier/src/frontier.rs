//! The frontier of all shards that this process owns. It does no I/O and reads no clock: loads are steps that it asks for,
//! changes are a batch that it hands out.

use crate::address::AddressBook;
use crate::config::FrontierConfig;
use crate::flights::InFlight;
use crate::hash::{FastMap, FastSet};
use crate::host::Host;
use crate::host_table::HostTable;
use crate::job::Job;
use crate::network::NetworkWatch;
use crate::notice::Notice;
use crate::outbound::Outbound;
use crate::ready::{HostIndex, NOWHERE, ReadySet, Timers};
use crate::seen::SeenTable;
use crate::shards::ShardSlot;
use crate::state::{Change, HostKey, Shards, StateBatch};
use crate::step::{Step, Token};
use argiope_model::{Fingerprint, FingerprintKey, JobId, Millis, ProxyReach, PublicSuffixes, Url, shard_of};
use argiope_politeness::{HostRules, PolitenessRules};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

pub struct Frontier {
    pub(crate) config: FrontierConfig,
    /// What goes through a proxy where a job says nothing of one.
    pub(crate) usual_proxies: ProxyReach,
    pub(crate) suffixes: Arc<PublicSuffixes>,
    pub(crate) key: FingerprintKey,
    pub(crate) politeness: Arc<PolitenessRules>,
    /// What holds for hosts that no entry of the settings names: nearly all of them.
    pub(crate) common_rules: Arc<HostRules>,
    /// By number of the shard.
    pub(crate) slots: Vec<ShardSlot>,
    /// The shards that hosts are asked from.
    pub(crate) served: Shards,
    pub(crate) hosts: HostTable,
    /// Places in `hosts` that nothing refers to any more ...
    pub(crate) vacant: Vec<HostIndex>,
    /// ... among those whose shard has gone.
    pub(crate) gone_hosts: usize,
    pub(crate) jobs: FastMap<JobId, Job>,
    /// Messages for these are let go.
    pub(crate) ended_jobs: FastSet<JobId>,
    pub(crate) seen: FastMap<(JobId, u16), SeenTable>,
    pub(crate) ready: ReadySet,
    pub(crate) timers: Timers,
    pub(crate) addresses: AddressBook,
    pub(crate) network: NetworkWatch,
    pub(crate) in_flight: FastMap<Token, InFlight>,
    pub(crate) started_order: VecDeque<(Millis, Token)>,
    /// Requests under way.
    pub(crate) asking: usize,
    /// Hosts that could be asked now, had their pages been stored.
    pub(crate) starved: usize,
    pub(crate) resolving: usize,
    pub(crate) next_token: u64,
    pub(crate) next_sequence: u64,
    pub(crate) next_due: Option<Millis>,
    pub(crate) in_memory: usize,
    pub(crate) changes: StateBatch,
    pub(crate) dirty_hosts: Vec<HostIndex>,
    /// Steps decided outside [`Frontier::next`].
    pub(crate) decided: VecDeque<Step>,
    pub(crate) notices: VecDeque<Notice>,
    /// What is between this owner and others.
    pub(crate) outbound: Outbound,
    /// A robots.txt that was unreachable before this time is asked for again.
    pub(crate) robots_failures_since: Millis,
    /// Whatever a robots.txt said before this time is asked for again.
    pub(crate) robots_since: Millis,
}

impl Frontier {
    /// `started_at` is the time of this start of the process: sequence numbers begin with it, so that they grow through
    /// restarts without being stored.
    pub fn new(
        config: FrontierConfig,
        suffixes: Arc<PublicSuffixes>,
        key: FingerprintKey,
        politeness: Arc<PolitenessRules>,
        started_at: Millis,
    ) -> Frontier {
        let slots = (0..config.shards.max(1)).map(|_| ShardSlot::new(config.leased)).collect();
        let served = if config.leased { Shards::Only(BTreeSet::new()) } else { Shards::All };
        Frontier {
            config,
            usual_proxies: ProxyReach::default(),
            suffixes,
            key,
            common_rules: Arc::new(politeness.for_host("")),
            politeness,
            slots,
            served,
            hosts: HostTable::default(),
            vacant: Vec::new(),
            gone_hosts: 0,
            jobs: FastMap::default(),
            ended_jobs: FastSet::default(),
            seen: FastMap::default(),
            ready: ReadySet::default(),
            timers: Timers::default(),
            addresses: AddressBook::default(),
            network: NetworkWatch::default(),
            in_flight: FastMap::default(),
            started_order: VecDeque::new(),
            asking: 0,
            starved: 0,
            resolving: 0,
            next_token: 1,
            next_sequence: started_at.0 << 20,
            next_due: None,
            in_memory: 0,
            changes: StateBatch::default(),
            dirty_hosts: Vec::new(),
            decided: VecDeque::new(),
            notices: VecDeque::new(),
            outbound: Outbound::default(),
            robots_failures_since: Millis(0),
            robots_since: Millis(0),
        }
    }

    /// Where a URL belongs.
    pub fn shard_of(&self, url: &Url) -> u16 {
        shard_of(self.suffixes.root_domain(url.host()), self.config.shards)
    }

    /// The shards that hosts are asked from, and whose entries may be loaded.
    pub fn served(&self) -> &Shards {
        &self.served
    }

    pub fn fingerprint(&self, url: &Url, round: u32) -> Fingerprint {
        self.key.of(url.normal(), round)
    }

    /// What must be written, and written before anything is loaded.
    pub fn take_changes(&mut self) -> StateBatch {
        for index in std::mem::take(&mut self.dirty_hosts) {
            if let Some(host) = self.hosts.get_mut(index as usize)
                && host.dirty
            {
                host.dirty = false;
                self.changes.changes.push(Change::Host { key: host.key, record: host.encode() });
            }
        }
        for job in self.jobs.values_mut() {
            let id = job.id;
            let records = job.take_records(self.next_sequence);
            self.changes.changes.extend(records.map(|(shard, record)| Change::Job {
                job: id,
                shard,
                record,
            }));
        }
        self.outbound.batch_taken();
        // The next batch will be about as large.
        let room = Vec::with_capacity(self.changes.changes.len().clamp(8, 4096));
        std::mem::replace(&mut self.changes, StateBatch { changes: room, marks: Vec::new() })
    }

    /// What has happened that an operator wants to know.
    pub fn take_notices(&mut self) -> VecDeque<Notice> {
        std::mem::take(&mut self.notices)
    }

    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(crate) fn mark_dirty(&mut self, index: HostIndex) {
        if let Some(host) = self.hosts.get_mut(index as usize)
            && !host.dirty
        {
            host.dirty = true;
            self.dirty_hosts.push(index);
        }
    }

    /// The host of that name, made if it is new; nowhere if its shard is not here.
    pub(crate) fn host_index(&mut self, name: &str) -> HostIndex {
        if let Some(index) = self.hosts.named(name) {
            return index;
        }
        let root: Box<str> = self.suffixes.root_domain(name).into();
        let shard = shard_of(&root, self.config.shards);
        let Some(slot) = self.slots.get_mut(usize::from(shard)).filter(|slot| slot.is_here()) else {
            return NOWHERE;
        };
        let key = HostKey { shard, number: slot.next_number };
        slot.next_number += 1;
        let closed = slot.is_closing();
        let mut host = Host::new(name, &root, key);
        host.closed = closed;
        self.insert_host(host)
    }

    pub(crate) fn insert_host(&mut self, mut host: Host) -> HostIndex {
        let vacant = self.vacant.pop();
        let dirty = host.dirty;
        if let Some(before) = vacant.and_then(|index| self.host(index)) {
            // What the ready set and the timers still hold of the one before it stays dead.
            host.stamp = before.stamp;
            self.gone_hosts = self.gone_hosts.saturating_sub(1);
        }
        let index = self.hosts.insert(host, vacant);
        if dirty {
            self.dirty_hosts.push(index);
        }
        index
    }

    pub(crate) fn host(&self, index: HostIndex) -> Option<&Host> {
        self.hosts.get(index as usize)
    }

    pub(crate) fn host_mut(&mut self, index: HostIndex) -> Option<&mut Host> {
        self.hosts.get_mut(index as usize)
    }

    pub(crate) fn new_token(&mut self) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        token
    }

    pub(crate) fn new_sequence(&mut self) -> u64 {
        self.next_sequence += 1;
        self.next_sequence
    }

    /// How many entries a queue may keep in memory now.
    pub(crate) fn room(&self) -> usize {
        if self.in_memory < self.config.windows_in_all {
            self.config.window
        } else {
            self.config.window.min(2)
        }
    }
}
