//! A model that says of a block, by its features, how likely it is a part of the main text: decision trees whose
//! answers are added up, fitted to pages with known texts by `train/fit.py`.

use crate::features::Features;
use std::sync::LazyLock;

/// Trees behind each other: the number of their inner nodes, those nodes, and the answers of their leaves.
static DATA: &[u8] = include_bytes!("../data/model.bin");

#[derive(Clone, Copy)]
struct Node {
    feature: u8,
    /// Up to here to the left.
    threshold: f32,
    /// An inner node further on, or a leaf as -1 - its number.
    left: i16,
    right: i16,
}

struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<f32>,
}

static TREES: LazyLock<Vec<Tree>> = LazyLock::new(|| read(DATA).unwrap_or_default());

fn read(mut data: &[u8]) -> Option<Vec<Tree>> {
    let mut trees = Vec::new();
    while !data.is_empty() {
        let count = u16::from_le_bytes(take(&mut data)?);
        let mut nodes = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let [feature] = take(&mut data)?;
            nodes.push(Node {
                feature,
                threshold: f32::from_le_bytes(take(&mut data)?),
                left: i16::from_le_bytes(take(&mut data)?),
                right: i16::from_le_bytes(take(&mut data)?),
            });
        }
        let leaves =
            (0..=count).map(|_| take(&mut data).map(f32::from_le_bytes)).collect::<Option<Vec<f32>>>()?;
        trees.push(Tree { nodes, leaves });
    }
    Some(trees)
}

fn take<const N: usize>(data: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = data.split_first_chunk()?;
    *data = rest;
    Some(*taken)
}

/// Above 0 a part of the main text, more likely than not.
pub(crate) fn score(features: &Features) -> f32 {
    TREES.iter().map(|tree| tree.answer(features)).sum()
}

impl Tree {
    fn answer(&self, features: &Features) -> f32 {
        let mut at = 0_usize;
        // No path is longer than there are nodes.
        for _ in 0..=self.nodes.len() {
            let Some(node) = self.nodes.get(at) else { break };
            let value = features.get(usize::from(node.feature)).copied().unwrap_or(0.0);
            let next = if value <= node.threshold { node.left } else { node.right };
            match usize::try_from(next) {
                Ok(inner) => at = inner,
                Err(_) => {
                    return self.leaves.get(usize::from(next.unsigned_abs() - 1)).copied().unwrap_or(0.0);
                }
            }
        }
        self.leaves.first().copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_whole() {
        let trees = read(DATA).unwrap();
        assert!(trees.len() > 50);
        for tree in &trees {
            assert_eq!(tree.leaves.len(), tree.nodes.len() + 1);
            for (at, node) in tree.nodes.iter().enumerate() {
                assert!(usize::from(node.feature) < crate::features::COUNT);
                for next in [node.left, node.right] {
                    let holds = usize::try_from(next).map_or_else(
                        |_| usize::from(next.unsigned_abs()) <= tree.leaves.len(),
                        |inner| inner > at && inner < tree.nodes.len(),
                    );
                    assert!(holds);
                }
            }
        }
    }

    #[test]
    fn half_a_model_is_none() {
        assert!(read(DATA.get(..DATA.len() - 1).unwrap()).is_none());
    }
}
