//! An archive on a worker's own disk whose files move to where they stay.

use super::reading::Source;
use super::{Archive, ArchiveRef};
use crate::error::Result;
use crate::spool::Spool;

/// Opens a file that has left, at the offset of a place in it.
pub type Elsewhere = Box<dyn Fn(&ArchiveRef) -> Result<Source> + Send + Sync>;

pub trait ArchiveSpool: Archive + Spool {
    /// How files that have left are read, told once, before the first append: an answer without a body, such as 304, is
    /// nothing without the visit that it refers to.
    fn look_elsewhere(&self, open: Elsewhere);
}
