//! Initial positions: each group in a disc of its own, the largest in the middle. Groups that mostly link to themselves
//! are then already in place.

use super::Point;
use crate::groups::Groups;

/// Turning by this angle never repeats a direction: a sunflower pattern.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;

pub(super) fn positions(groups: &Groups, nodes: usize) -> Vec<Point> {
    let mut centres = Vec::with_capacity(groups.len());
    let mut before = 0.0;
    for group in 0..groups.len() as u32 {
        let size = f64::from(groups.size(group));
        // A disc with the nodes of the groups so far, and half of its own.
        let distance = if group == 0 { 0.0 } else { (before + size / 2.0).sqrt() * 1.5 };
        centres.push(on_spiral(f64::from(group), distance));
        before += size;
    }
    let mut placed = vec![0u32; groups.len()];
    (0..nodes as u32)
        .map(|node| {
            let group = groups.of(node) as usize;
            let [x, y] = centres.get(group).copied().unwrap_or_default();
            let number = placed.get_mut(group).map_or(0, |count| std::mem::replace(count, *count + 1));
            let [from_x, from_y] = on_spiral(f64::from(number), f64::from(number).sqrt() + 0.5);
            [x + from_x, y + from_y]
        })
        .collect()
}

fn on_spiral(turn: f64, distance: f64) -> Point {
    let angle = turn * GOLDEN_ANGLE;
    [distance * angle.cos(), distance * angle.sin()]
}
