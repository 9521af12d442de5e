//! An archive on a worker's own disk whose files, once nobody writes them any more, move to where they stay.

use super::reading::Source;
use super::{Archive, ArchiveRef, Position};
use crate::error::Result;
use argiope_model::Millis;
use std::path::PathBuf;

/// Opens a file that has left, at the offset of a place in it.
pub type Elsewhere = Box<dyn Fn(&ArchiveRef) -> Result<Source> + Send + Sync>;

/// The files of an archive as they come and go. A file is here from its first visit until [`Spool::remove`].
pub trait Spool: Archive {
    /// Where a file is, or would be.
    fn path(&self, file: &str) -> PathBuf;

    /// How files that have left are read, told once, before the first append: an answer without a body, such as 304, is
    /// nothing without the visit that it refers to.
    fn look_elsewhere(&self, open: Elsewhere);

    /// Ends the files that were begun before this time, so that the pages of a worker with little to do are not kept
    /// waiting for its next ones. Gives when the oldest of those still open was begun.
    fn end_files(&self, begun_before: Millis) -> Result<Option<Millis>>;

    /// The files that nobody writes any more and whose visits are all catalogued, the oldest first. Those that an
    /// earlier process left are among them, once [`Archive::recover`] has looked at them.
    fn finished(&self) -> Result<Vec<Position>>;

    /// Deletes a finished file and its index: it is kept elsewhere now.
    fn remove(&self, file: &str) -> Result<()>;
}
