//! The frontier of all shards that this process owns. It does no I/O and reads no clock: loads are steps that it
//! returns, changes are a batch that it hands out.

use crate::address::AddressBook;
use crate::config::FrontierConfig;
use crate::decisions::Decisions;
use crate::flights::Flights;
use crate::host::Host;
use crate::host_table::HostTable;
use crate::job_table::JobTable;
use crate::network::NetworkWatch;
use crate::notice::Notice;
use crate::outbound::Outbound;
use crate::pending::Pending;
use crate::ready::{HostIndex, NO_HOST};
use crate::rule_book::RuleBook;
use crate::schedule::Schedule;
use crate::seen::SeenSets;
use crate::shard_table::ShardTable;
use crate::state::{Change, Shards, StateBatch};
use crate::windows::Windows;
use argiope_model::{Fingerprint, FingerprintKey, Millis, PublicSuffixes, Url, shard_of};
use argiope_politeness::PolitenessRules;
use std::collections::VecDeque;
use std::sync::Arc;

/// The parts keep their own invariants. Operations on several parts are here and in files named after what they do.
pub struct Frontier {
    pub(crate) config: FrontierConfig,
    pub(crate) suffixes: Arc<PublicSuffixes>,
    pub(crate) key: FingerprintKey,
    pub(crate) rules: RuleBook,
    pub(crate) shards: ShardTable,
    pub(crate) hosts: HostTable,
    pub(crate) jobs: JobTable,
    pub(crate) seen: SeenSets,
    pub(crate) schedule: Schedule,
    pub(crate) addresses: AddressBook,
    pub(crate) network: NetworkWatch,
    pub(crate) flights: Flights,
    /// Names that are being looked up.
    pub(crate) resolving: usize,
    pub(crate) windows: Windows,
    pub(crate) pending: Pending,
    pub(crate) decisions: Decisions,
    pub(crate) outbound: Outbound,
}

impl Frontier {
    /// `started_at` is the time of this start of the process.
    pub fn new(
        config: FrontierConfig,
        suffixes: Arc<PublicSuffixes>,
        key: FingerprintKey,
        politeness: Arc<PolitenessRules>,
        started_at: Millis,
    ) -> Frontier {
        Frontier {
            suffixes,
            key,
            rules: RuleBook::new(politeness),
            shards: ShardTable::new(config.shards, config.leased),
            hosts: HostTable::default(),
            jobs: JobTable::default(),
            seen: SeenSets::default(),
            schedule: Schedule::default(),
            addresses: AddressBook::default(),
            network: NetworkWatch::default(),
            flights: Flights::default(),
            resolving: 0,
            windows: Windows::new(config.window, config.windows_in_all),
            pending: Pending::new(started_at),
            decisions: Decisions::default(),
            outbound: Outbound::default(),
            config,
        }
    }

    /// The shard and host of a URL.
    pub fn shard_of(&self, url: &Url) -> u16 {
        shard_of(self.suffixes.root_domain(url.host()), self.config.shards)
    }

    /// The shards whose hosts are requested and whose entries may be loaded.
    pub fn served(&self) -> &Shards {
        self.shards.served()
    }

    pub fn fingerprint(&self, url: &Url, round: u32) -> Fingerprint {
        self.key.of(url.normal(), round)
    }

    /// Changes that must be written before anything is loaded.
    pub fn take_changes(&mut self) -> StateBatch {
        let records = self.hosts.take_records();
        self.pending.extend(records.map(|(key, record)| Change::Host { key, record }));
        let sequence = self.pending.last_sequence();
        for job in self.jobs.values_mut() {
            let id = job.id;
            let records = job.take_records(sequence);
            self.pending.extend(records.map(|(shard, record)| Change::Job { job: id, shard, record }));
        }
        self.outbound.batch_taken();
        self.pending.take()
    }

    /// Events that an operator should know about.
    pub fn take_notices(&mut self) -> VecDeque<Notice> {
        self.decisions.take_notices()
    }

    pub fn has_changes(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The host of that name, created if it is new; [`NO_HOST`] if its shard is not owned here.
    pub(crate) fn host_index(&mut self, name: &str) -> HostIndex {
        if let Some(index) = self.hosts.named(name) {
            return index;
        }
        let root: Box<str> = self.suffixes.root_domain(name).into();
        let shard = shard_of(&root, self.config.shards);
        let Some((key, is_closing)) = self.shards.new_host(shard) else { return NO_HOST };
        let mut host = Host::new(name, &root, key);
        host.closed = is_closing;
        self.hosts.insert(host)
    }

    pub(crate) fn host(&self, index: HostIndex) -> Option<&Host> {
        self.hosts.get(index as usize)
    }

    pub(crate) fn host_mut(&mut self, index: HostIndex) -> Option<&mut Host> {
        self.hosts.get_mut(index as usize)
    }
}
