//! Nodes that belong together, such as pages of one domain: for colours and legends.

use crate::error::GraphError;
use crate::graph::Graph;
use crate::names::{NameList, Names};

/// Red, green, blue of the largest groups; readable on light and dark. All others share [`OTHERS`].
pub const PALETTE: [[u8; 3]; 10] = [
    [0x3b, 0x82, 0xf6],
    [0xf0, 0x79, 0x2b],
    [0x1f, 0xa9, 0x64],
    [0xe5, 0x48, 0x4d],
    [0x9a, 0x5c, 0xf0],
    [0xc9, 0x92, 0x0e],
    [0x12, 0xa5, 0xb0],
    [0xe2, 0x55, 0xa1],
    [0x7a, 0x9e, 0x1f],
    [0xa9, 0x74, 0x4f],
];
pub const OTHERS: [u8; 3] = [0x8a, 0x93, 0xa3];

#[derive(Clone, Debug)]
pub struct Groups {
    /// The kind of group, in one word: `domain`.
    pub label: &'static str,
    names: NameList,
    sizes: Vec<u32>,
    of_node: Vec<u32>,
}

impl Groups {
    /// Groups are numbered by size, largest first; equal ones in order of appearance.
    pub fn new<'g>(
        label: &'static str,
        graph: &'g Graph,
        mut group_of: impl FnMut(&'g str) -> &'g str,
    ) -> Result<Groups, GraphError> {
        let mut found = Names::default();
        let mut of_node: Vec<u32> =
            graph.names().map(|name| found.intern(group_of(name))).collect::<Result<_, _>>()?;
        let mut counted: Vec<(u32, u32)> = (0..found.list().len() as u32).map(|id| (id, 0)).collect();
        for group in &of_node {
            if let Some((_, size)) = counted.get_mut(*group as usize) {
                *size += 1;
            }
        }
        counted.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let mut numbers = vec![0; counted.len()];
        let mut names = NameList::default();
        for (new, (old, _)) in counted.iter().enumerate() {
            names.push(found.list().get(*old));
            if let Some(number) = numbers.get_mut(*old as usize) {
                *number = new as u32;
            }
        }
        for group in &mut of_node {
            *group = numbers.get(*group as usize).copied().unwrap_or(0);
        }
        Ok(Groups { label, names, sizes: counted.into_iter().map(|(_, size)| size).collect(), of_node })
    }

    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    pub fn of(&self, node: u32) -> u32 {
        self.of_node.get(node as usize).copied().unwrap_or(0)
    }

    pub fn name(&self, group: u32) -> &str {
        self.names.get(group)
    }

    pub fn size(&self, group: u32) -> u32 {
        self.sizes.get(group as usize).copied().unwrap_or(0)
    }

    pub fn colour(&self, node: u32) -> [u8; 3] {
        PALETTE.get(self.of(node) as usize).copied().unwrap_or(OTHERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::GraphBuilder;

    #[test]
    fn the_largest_group_comes_first() {
        let mut builder = GraphBuilder::default();
        for name in ["a/1", "b/1", "b/2", "c/1", "b/3", "c/2"] {
            builder.node(name).unwrap();
        }
        let graph = builder.build();
        let groups = Groups::new("letter", &graph, |name| &name[..1]).unwrap();
        let all: Vec<_> = (0..3).map(|group| (groups.name(group), groups.size(group))).collect();
        assert_eq!(all, [("b", 3), ("c", 2), ("a", 1)]);
        assert_eq!(graph.nodes().map(|node| groups.of(node)).collect::<Vec<_>>(), [2, 0, 0, 1, 0, 1]);
        assert_eq!(groups.colour(1), PALETTE[0]);
    }
}
