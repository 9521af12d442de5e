//! Where a follower writes.

use super::{CommittedPages, Position};
use crate::error::Result;

/// What remains to be done after everything committed was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    Yes,
    /// What was taken is outdated: the sink has gone back to an earlier position and takes everything after it again.
    StartsOver,
}

/// The port. A sink stores its position together with what it took, so that after a crash [`PageSink::position`] is
/// never ahead of what survived. It may be behind: then pages come a second time, which must be harmless.
pub trait PageSink: Send {
    /// Where to continue.
    fn position(&mut self) -> Result<Position>;

    /// Takes a batch, and the position after it. Pages of other jobs may be among them.
    ///
    /// After a temporary error the caller asks for the position again and repeats from there.
    fn store(&mut self, batch: &CommittedPages) -> Result<()>;

    /// Everything that was committed has been taken: makes it durable for good.
    fn finish(&mut self) -> Result<Finished> {
        Ok(Finished::Yes)
    }
}

impl<Sink: PageSink> PageSink for &mut Sink {
    fn position(&mut self) -> Result<Position> {
        (**self).position()
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        (**self).store(batch)
    }

    fn finish(&mut self) -> Result<Finished> {
        (**self).finish()
    }
}
