//! All hosts by their index, in blocks that never move: growing costs one block, not a copy of all hosts and room for twice as many.

use crate::host::Host;

const BLOCK: usize = 1024;

#[derive(Default)]
pub(crate) struct HostTable {
    /// All full but the last.
    blocks: Vec<Vec<Host>>,
}

impl HostTable {
    pub(crate) fn len(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK + last
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Host> {
        self.blocks.get(index / BLOCK)?.get(index % BLOCK)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Host> {
        self.blocks.get_mut(index / BLOCK)?.get_mut(index % BLOCK)
    }

    pub(crate) fn push(&mut self, host: Host) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(host),
            // A small crawl has a small first block.
            None => self.blocks.push(vec![host]),
            Some(_) => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(host);
                self.blocks.push(block);
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.blocks.iter().flatten()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Host> {
        self.blocks.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::HostKey;

    #[test]
    fn hosts_are_found_by_their_index_across_blocks() {
        let mut table = HostTable::default();
        let all = BLOCK * 2 + 3;
        let names: Vec<String> = (0..all).map(|number| format!("h{number}.test")).collect();
        for (number, name) in names.iter().enumerate() {
            assert_eq!(table.len(), number);
            table.push(Host::new(name, name, HostKey { shard: 0, number: number as u32 }));
        }
        for at in [0, 1, BLOCK - 1, BLOCK, BLOCK * 2, all - 1] {
            assert_eq!(table.get(at).map(|host| &*host.name), Some(&*names[at]));
            assert_eq!(table.get_mut(at).map(|host| &*host.name), Some(&*names[at]));
        }
        assert!(table.get(all).is_none() && table.get_mut(all).is_none());
        assert!(table.iter().map(|host| &*host.name).eq(names.iter()));
        table.iter_mut().for_each(|host| host.turn = 7);
        assert!(table.iter().all(|host| host.turn == 7));
    }
}
