//! A member of a cluster as a test sees it: what it is told, in order, and what it says.

use super::scratch::Scratch;
use argiope_cluster::members::{Epochs, MemberOptions, Members, MessageSender};
use argiope_cluster::state::PostgresState;
use argiope_cluster::transport::Transport;
use argiope_frontier::LastStop;
use argiope_frontier::member::{Lease, Member, MemberEvent, Membership};
use argiope_frontier::state::{Change, ShardState, StateBatch};
use argiope_model::JobId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Short, so that the dead are found soon; what is kept in reserve aside, it outlasts some renewals.
pub(crate) const LEASE: Duration = Duration::from_secs(6);
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Peer {
    pub(crate) owner: String,
    pub(crate) members: Members,
    pub(crate) says: Box<dyn Member>,
    pub(crate) lease: Arc<dyn Lease>,
    pub(crate) epochs: Arc<Epochs>,
    pub(crate) state: PostgresState,
    /// The shards it has, and how their last owners ended.
    pub(crate) shards: BTreeMap<u16, LastStop>,
    events: Receiver<Vec<MemberEvent>>,
    waiting: Vec<MemberEvent>,
}

impl Peer {
    pub(crate) fn join(scratch: &Scratch, worker: &str) -> Peer {
        let owner = format!("{worker}#1");
        let (on_events, events) = channel();
        let epochs = Arc::new(Epochs::default());
        let options = MemberOptions {
            worker: worker.into(),
            owner: owner.clone(),
            lease: LEASE,
            renew_every: Duration::from_secs(1),
            notifier: None,
            transport: Transport::Inbox,
        };
        let sender = MessageSender::new(&Transport::Inbox, worker, "test").unwrap();
        let state =
            PostgresState::open(&scratch.database(), worker, Arc::clone(&epochs), sender, None).unwrap();
        let on_events = Arc::new(move |events| {
            let _ = on_events.send(events);
        });
        let (members, membership) =
            Members::join(&scratch.database(), options, Arc::clone(&epochs), on_events).unwrap();
        let Membership { member, lease } = membership;
        let (shards, waiting) = (BTreeMap::new(), Vec::new());
        Peer { owner, members, says: member, lease, epochs, state, shards, events, waiting }
    }

    /// The next of its events that `is_it` takes; those before it are gone. Shards that others are to have go at once.
    pub(crate) fn wait<T>(&mut self, what: &str, mut is_it: impl FnMut(&MemberEvent) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            while !self.waiting.is_empty() {
                let events = self.waiting.remove(0);
                self.note_event(&events);
                if let Some(found) = is_it(&events) {
                    return found;
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            self.waiting =
                self.events.recv_timeout(left).unwrap_or_else(|_| panic!("{}: no {what}", self.owner));
        }
    }

    /// Does what it is told until it is so.
    pub(crate) fn work_until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < until, "{}: waited for {what}", self.owner);
            let more = self.events.recv_timeout(Duration::from_millis(100)).unwrap_or_default();
            for events in std::mem::take(&mut self.waiting).into_iter().chain(more) {
                self.note_event(&events);
            }
        }
    }

    fn note_event(&mut self, events: &MemberEvent) {
        match events {
            MemberEvent::Taken { shard, last_stop } => {
                assert_eq!(self.shards.insert(*shard, *last_stop), None, "{} has {shard} twice", self.owner);
            }
            MemberEvent::HandOver { shard } => {
                self.shards.remove(shard);
                self.says.handed_over(*shard);
            }
            MemberEvent::Lost { shard } => {
                self.shards.remove(shard);
                self.says.dropped(*shard);
            }
            _ => {}
        }
    }

    /// Until it has so many shards.
    pub(crate) fn wait_for_shards(&mut self, count: usize) {
        while self.shards.len() != count {
            self.wait("change of shards", |events| {
                matches!(
                    events,
                    MemberEvent::Taken { .. } | MemberEvent::HandOver { .. } | MemberEvent::Lost { .. }
                )
                .then_some(())
            });
        }
    }

    pub(crate) fn wait_for_messages(&mut self) -> (u16, Vec<(u64, Vec<u8>)>) {
        self.wait("messages", |events| match events {
            MemberEvent::Delivery { shard, messages } => Some((*shard, messages.clone())),
            _ => None,
        })
    }

    /// Asks for pages until it has an answer.
    pub(crate) fn take_pages(&mut self, job: JobId) -> u64 {
        self.says.wants_pages(job);
        self.wait("pages", |events| match events {
            MemberEvent::Granted { pages, .. } => Some(*pages),
            _ => None,
        })
    }

    pub(crate) fn write(&mut self, changes: Vec<Change>) {
        self.state.apply(StateBatch { changes, marks: Vec::new() }).unwrap();
        self.state.sync().unwrap();
    }

    /// As kill -9: nothing is given back, nothing is said.
    pub(crate) fn die(self) {
        drop(self.members);
    }
}
