//! Files on a worker's disk that are moved to the object store once they are complete.

use crate::archive::Position;
use crate::error::Result;
use argiope_model::Millis;
use std::path::PathBuf;

/// Files as they come and go, by the names under which the catalogue has their positions. A file is here from its first
/// byte until [`Spool::remove`].
pub trait Spool: Send + Sync {
    /// Where a file is, or would be.
    fn path(&self, file: &str) -> PathBuf;

    /// Ends the files that were started before this time, so that the file of a worker with little to do is uploaded, too.
    /// Returns when the oldest open file was started.
    fn end_files(&self, begun_before: Millis) -> Result<Option<Millis>>;

    /// The files that are complete and fully catalogued, the oldest first. Those of an earlier process are among them, once
    /// they have been cut to what is catalogued.
    fn finished(&self) -> Result<Vec<Position>>;

    /// Deletes a finished file and its index: it was uploaded.
    fn remove(&self, file: &str) -> Result<()>;
}
