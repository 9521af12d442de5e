//! Final steps: a scale that does not depend on the forces, and space around each node.

use super::Point;
use std::collections::HashMap;

/// Room between two nodes.
const GAP: f64 = 2.0;
const PASSES: usize = 25;

/// Centres the layout and gives each node a square of side `spacing` on average. A few distant nodes are ignored.
pub(super) fn scale(places: &mut [Point], spacing: f64) {
    let count = places.len() as f64;
    if places.len() < 2 {
        places.fill([0.0, 0.0]);
        return;
    }
    let middle = [0, 1].map(|axis| places.iter().filter_map(|place| place.get(axis)).sum::<f64>() / count);
    let mut distances: Vec<f64> = places.iter().map(|[x, y]| (x - middle[0]).hypot(y - middle[1])).collect();
    let most = distances.len() * 9 / 10;
    let (_, radius, _) = distances.select_nth_unstable_by(most, f64::total_cmp);
    let wanted = spacing * (count / std::f64::consts::PI).sqrt();
    let factor = wanted / radius.max(1e-9);
    for [x, y] in places {
        *x = (*x - middle[0]) * factor;
        *y = (*y - middle[1]) * factor;
    }
}

/// Separates overlapping nodes, in a few passes.
pub(super) fn separate(places: &mut [Point], radii: &[f64]) {
    let largest = radii.iter().copied().fold(1.0, f64::max);
    let side = 2.0 * largest + GAP;
    let cell_of = |[x, y]: Point| ((x / side).floor() as i64, (y / side).floor() as i64);
    for _ in 0..PASSES {
        let mut cells: HashMap<(i64, i64), Vec<usize>> = HashMap::new();
        for (node, place) in places.iter().enumerate() {
            cells.entry(cell_of(*place)).or_default().push(node);
        }
        let mut moved = false;
        for node in 0..places.len() {
            let Some(place) = places.get(node) else { continue };
            let (column, row) = cell_of(*place);
            for near in (-1..=1).flat_map(|x| (-1..=1).map(move |y| (column + x, row + y))) {
                for other in cells.get(&near).into_iter().flatten().filter(|other| **other > node) {
                    moved |= push_apart(places, radii, node, *other);
                }
            }
        }
        if !moved {
            return;
        }
    }
}

fn push_apart(places: &mut [Point], radii: &[f64], a: usize, b: usize) -> bool {
    let radius = |node: usize| radii.get(node).copied().unwrap_or(0.0);
    let room = radius(a) + radius(b) + GAP;
    // The smaller one moves.
    let share = radius(b) / (radius(a) + radius(b)).max(1e-9);
    let Ok([first, second]) = places.get_disjoint_mut([a, b]) else { return false };
    let (x, y) = (second[0] - first[0], second[1] - first[1]);
    let distance = x.hypot(y);
    if distance >= room {
        return false;
    }
    // At the very same place, any direction will do.
    let (x, y) = if distance > 1e-9 { (x / distance, y / distance) } else { (1.0, 0.0) };
    let missing = room - distance;
    *first = [first[0] - x * missing * share, first[1] - y * missing * share];
    *second = [second[0] + x * missing * (1.0 - share), second[1] + y * missing * (1.0 - share)];
    true
}
