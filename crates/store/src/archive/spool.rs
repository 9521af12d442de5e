//! An archive on a worker's disk whose files are moved to the object store.

use super::reading::Source;
use super::{Archive, ArchiveRef};
use crate::error::Result;
use crate::spool::Spool;

/// Opens a file that was moved, at the offset of a place in it.
pub type Elsewhere = Box<dyn Fn(&ArchiveRef) -> Result<Source> + Send + Sync>;

pub trait ArchiveSpool: Archive + Spool {
    /// Sets how moved files are read. Called once, before the first append: a response without a body, such as 304, needs the
    /// visit that it refers to.
    fn look_elsewhere(&self, open: Elsewhere);
}
