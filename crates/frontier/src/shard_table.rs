//! Which shards are owned here, and the state of each.

use crate::state::{HostKey, Shards};
use argiope_model::Millis;
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Owned by another worker, or by none.
    Away,
    Served,
    /// Being handed over: still owned, no new requests.
    Closing,
}

#[derive(Clone, Debug)]
pub(crate) struct ShardSlot {
    standing: Standing,
    /// The number of the next new host.
    pub(crate) next_number: u32,
    /// When the shard was last taken over without a clean handover, by this owner or one before it: when its hosts were last
    /// requested is unknown.
    pub(crate) unclean_start: Option<Millis>,
    /// How far its log is applied.
    pub(crate) received: Option<u64>,
}

impl ShardSlot {
    pub(crate) fn new(leased: bool) -> ShardSlot {
        let standing = if leased { Standing::Away } else { Standing::Served };
        ShardSlot { standing, next_number: 0, unclean_start: None, received: None }
    }

    pub(crate) fn is_here(&self) -> bool {
        self.standing != Standing::Away
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.standing == Standing::Closing
    }
}

#[derive(Debug)]
pub(crate) struct ShardTable {
    /// By number of the shard.
    slots: Vec<ShardSlot>,
    /// The shards whose hosts are requested.
    served: Shards,
}

impl ShardTable {
    /// Leased shards belong to others until they are served.
    pub(crate) fn new(count: u16, leased: bool) -> ShardTable {
        ShardTable {
            slots: (0..count.max(1)).map(|_| ShardSlot::new(leased)).collect(),
            served: if leased { Shards::Only(BTreeSet::new()) } else { Shards::All },
        }
    }

    pub(crate) fn count(&self) -> u16 {
        u16::try_from(self.slots.len()).unwrap_or(u16::MAX)
    }

    pub(crate) fn get(&self, shard: u16) -> Option<&ShardSlot> {
        self.slots.get(usize::from(shard))
    }

    pub(crate) fn get_mut(&mut self, shard: u16) -> Option<&mut ShardSlot> {
        self.slots.get_mut(usize::from(shard))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &ShardSlot)> {
        (0..).zip(&self.slots)
    }

    pub(crate) fn is_here(&self, shard: u16) -> bool {
        self.get(shard).is_some_and(ShardSlot::is_here)
    }

    /// The shards whose hosts are requested.
    pub(crate) fn served(&self) -> &Shards {
        &self.served
    }

    /// The shards owned here, including those being handed over.
    pub(crate) fn owned(&self) -> Shards {
        match self.served {
            Shards::All => Shards::All,
            Shards::Only(_) => {
                Shards::Only(self.iter().filter(|(_, slot)| slot.is_here()).map(|(shard, _)| shard).collect())
            }
        }
    }

    /// The key of a new host, and whether its shard is being handed over. None if the shard is not owned here.
    pub(crate) fn new_host(&mut self, shard: u16) -> Option<(HostKey, bool)> {
        let slot = self.get_mut(shard).filter(|slot| slot.is_here())?;
        let key = HostKey { shard, number: slot.next_number };
        slot.next_number += 1;
        Some((key, slot.is_closing()))
    }

    pub(crate) fn serve(&mut self, shard: u16) {
        self.set_standing(shard, Standing::Served);
    }

    pub(crate) fn close(&mut self, shard: u16) {
        self.set_standing(shard, Standing::Closing);
    }

    /// All state of the shard is forgotten.
    pub(crate) fn drop(&mut self, shard: u16) {
        self.set_standing(shard, Standing::Away);
        if let Some(slot) = self.get_mut(shard) {
            *slot = ShardSlot::new(true);
        }
    }

    fn set_standing(&mut self, shard: u16, standing: Standing) {
        if let Some(slot) = self.get_mut(shard) {
            slot.standing = standing;
        }
        if let Shards::Only(served) = &mut self.served {
            if standing == Standing::Served {
                served.insert(shard)
            } else {
                served.remove(&shard)
            };
        }
    }
}
