//! Files on a worker's own disk that, once nobody writes them any more, move to where they stay.

use crate::archive::Position;
use crate::error::Result;
use argiope_model::Millis;
use std::path::PathBuf;

/// Files as they come and go, by the names under which the catalogue has their positions. A file is here from its first
/// byte until [`Spool::remove`].
pub trait Spool: Send + Sync {
    /// Where a file is, or would be.
    fn path(&self, file: &str) -> PathBuf;

    /// Ends the files that were begun before this time, so that what is in the file of a worker with little to do is not
    /// kept waiting for what comes next. Gives when the oldest of those still open was begun.
    fn end_files(&self, begun_before: Millis) -> Result<Option<Millis>>;

    /// The files that nobody writes any more and of which the catalogue has all, the oldest first. Those that an earlier
    /// process left are among them, once they have been cut to what is catalogued.
    fn finished(&self) -> Result<Vec<Position>>;

    /// Deletes a finished file and what is beside it: it is kept elsewhere now.
    fn remove(&self, file: &str) -> Result<()>;
}
