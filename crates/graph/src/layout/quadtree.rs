//! Barnes and Hut's tree: distant nodes act as one body. Cells are in the order of a walk through the tree, each with
//! the index to continue at after its contents.

use super::Point;

/// A cell smaller than this part of its distance counts as one body.
const OPENING: f64 = 1.0;
/// Bodies at the same place do not get a cell each.
const DEEPEST: u32 = 32;

#[derive(Clone, Copy)]
pub(super) struct Body {
    pub(super) place: Point,
    pub(super) mass: f64,
}

struct Cell {
    /// Its centre of mass.
    place: Point,
    mass: f64,
    /// Zero for a cell that must not be opened.
    side: f64,
    /// The cell after all that are in this one.
    next: usize,
}

pub(super) struct Quadtree {
    cells: Vec<Cell>,
}

impl Quadtree {
    pub(super) fn new(mut bodies: Vec<Body>) -> Quadtree {
        let farthest = bodies.iter().flat_map(|body| body.place).fold(1.0, |far: f64, at| far.max(at.abs()));
        let mut tree = Quadtree { cells: Vec::with_capacity(2 * bodies.len()) };
        tree.add(&mut bodies, [0.0, 0.0], farthest, 0);
        tree
    }

    /// `half` is half the side of the square around `middle` that contains all bodies.
    fn add(&mut self, bodies: &mut [Body], middle: Point, half: f64, depth: u32) {
        let mass: f64 = bodies.iter().map(|body| body.mass).sum();
        let weighed = |axis: fn(&Body) -> f64| {
            bodies.iter().map(|body| body.mass * axis(body)).sum::<f64>() / mass.max(f64::MIN_POSITIVE)
        };
        let place = [weighed(|body| body.place[0]), weighed(|body| body.place[1])];
        let is_leaf = bodies.len() <= 1 || depth == DEEPEST;
        let number = self.cells.len();
        self.cells.push(Cell { place, mass, side: if is_leaf { 0.0 } else { 2.0 * half }, next: 0 });
        if !is_leaf {
            let quadrant = |body: &Body| {
                (u8::from(body.place[1] >= middle[1]) << 1) | u8::from(body.place[0] >= middle[0])
            };
            bodies.sort_unstable_by_key(quadrant);
            for part in bodies.chunk_by_mut(|a, b| quadrant(a) == quadrant(b)) {
                let Some(which) = part.first().map(quadrant) else { continue };
                let toward = |is_beyond: bool| if is_beyond { half / 2.0 } else { -half / 2.0 };
                let centre = [middle[0] + toward(which & 1 != 0), middle[1] + toward(which & 2 != 0)];
                self.add(part, centre, half / 2.0, depth + 1);
            }
        }
        let next = self.cells.len();
        if let Some(cell) = self.cells.get_mut(number) {
            cell.next = next;
        }
    }

    /// The force of all bodies on a unit at `place`: each by its mass over its distance.
    pub(super) fn push(&self, place: Point) -> Point {
        let [mut push_x, mut push_y] = [0.0, 0.0];
        let mut at = 0;
        while let Some(cell) = self.cells.get(at) {
            let (x, y) = (place[0] - cell.place[0], place[1] - cell.place[1]);
            let squared = x * x + y * y;
            if cell.side * cell.side < OPENING * squared || cell.side == 0.0 {
                // Only the body itself has no distance.
                if squared > 1e-12 {
                    push_x += x * cell.mass / squared;
                    push_y += y * cell.mass / squared;
                }
                at = cell.next;
            } else {
                at += 1;
            }
        }
        [push_x, push_y]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_push_is_nearly_that_of_all_bodies_one_by_one() {
        let bodies: Vec<Body> = (0..500)
            .map(|at| {
                let angle = f64::from(at) * 2.4;
                let radius = f64::from(at).sqrt() * 3.0;
                Body { place: [radius * angle.cos(), radius * angle.sin()], mass: 1.0 + f64::from(at % 7) }
            })
            .collect();
        let tree = Quadtree::new(bodies.clone());
        for from in [[80.0, 10.0], [-30.0, 44.0], [3.3, -2.0]] {
            let mut exact = [0.0, 0.0];
            for body in &bodies {
                let (x, y) = (from[0] - body.place[0], from[1] - body.place[1]);
                let squared = x * x + y * y;
                exact = [exact[0] + x * body.mass / squared, exact[1] + y * body.mass / squared];
            }
            let push = tree.push(from);
            let off = (push[0] - exact[0]).hypot(push[1] - exact[1]);
            assert!(off < 0.05 * exact[0].hypot(exact[1]).max(5.0), "{push:?} {exact:?}");
        }
    }

    #[test]
    fn bodies_at_one_place_make_no_endless_tree() {
        let tree = Quadtree::new(vec![Body { place: [1.0, 1.0], mass: 1.0 }; 50]);
        assert!(tree.cells.len() < 100);
        let [x, y] = tree.push([2.0, 1.0]);
        assert!((x - 50.0).abs() < 1e-6 && y.abs() < 1e-6);
        assert_eq!(Quadtree::new(Vec::new()).push([1.0, 0.0]), [0.0, 0.0]);
    }
}
