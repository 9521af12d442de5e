//! How far the index is filled: in the table `published` of the cluster's database, as for Kafka.

use crate::database::Session;
use crate::publishing::positions;
use argiope_store::error::Result;
use argiope_store::follower::Position;

const PAGES: &str = "search pages";
const OVERWRITTEN_PAGES: &str = "search repeated pages";

/// Where the position of an index is kept.
pub trait Positions: Send {
    fn read(&mut self) -> Result<Position>;

    /// Durable when it returns.
    fn store(&mut self, position: Position) -> Result<()>;
}

/// In PostgreSQL. Positions never move back: another worker may have gone further.
pub struct DatabasePositions {
    session: Session,
}

impl DatabasePositions {
    pub fn new(session: Session) -> DatabasePositions {
        DatabasePositions { session }
    }

    /// For an index that is built again.
    pub fn forget(&mut self) -> Result<()> {
        let streams: Vec<&str> = vec![PAGES, OVERWRITTEN_PAGES];
        self.session.query("DELETE FROM published WHERE what = ANY($1::text[])", &[&streams])?;
        Ok(())
    }
}

impl Positions for DatabasePositions {
    fn read(&mut self) -> Result<Position> {
        let page = positions::read(&mut self.session, PAGES)?;
        Ok(Position { page, batch: positions::read(&mut self.session, OVERWRITTEN_PAGES)? })
    }

    fn store(&mut self, position: Position) -> Result<()> {
        let streams = [(PAGES, position.page), (OVERWRITTEN_PAGES, position.batch)];
        Ok(positions::advance(&mut self.session, &streams)?)
    }
}
