//! How far a search index is filled, in the database.

use super::scratch::{LIMIT, Scratch};
use argiope_cluster::search::{DatabasePositions, Positions};
use argiope_store::follower::Position;

#[test]
fn a_position_is_kept_and_never_moves_back() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let open = || DatabasePositions::new(scratch.database().connect(LIMIT).unwrap());
    assert_eq!(open().read().unwrap(), Position::default());
    let reached = Position { page: 7, batch: 3 };
    open().store(reached).unwrap();
    assert_eq!(open().read().unwrap(), reached);
    // One who led before stores what it reached.
    open().store(Position { page: 5, batch: 2 }).unwrap();
    assert_eq!(open().read().unwrap(), reached);
    open().forget().unwrap();
    assert_eq!(open().read().unwrap(), Position::default());
}
