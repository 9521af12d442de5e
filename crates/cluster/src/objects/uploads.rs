//! The settings of an uploader, and its reports.

use argiope_store::archive::{ArchiveRef, ArchiveSpool};
use argiope_store::error::Result;
use argiope_store::spool::Spool;
use std::sync::Arc;
use std::time::Duration;

/// What the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// WARC files, as they were written.
    Warc,
    /// One object per page.
    Objects,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadOptions {
    pub layout: Layout,
    /// A file that has been open for this long is finished, however short it is.
    pub rotate_after: Duration,
}

impl Default for UploadOptions {
    fn default() -> UploadOptions {
        UploadOptions { layout: Layout::Warc, rotate_after: Duration::from_secs(300) }
    }
}

/// Where files come from.
#[derive(Clone)]
pub struct Spools {
    pub archive: Arc<dyn ArchiveSpool>,
    pub links: Option<LinkSpool>,
}

/// Segments of links. Their names are numbers, which other workers use, too.
#[derive(Clone)]
pub struct LinkSpool {
    pub segments: Arc<dyn Spool>,
    pub worker: String,
}

impl<A: ArchiveSpool + 'static> From<Arc<A>> for Spools {
    fn from(archive: Arc<A>) -> Spools {
        Spools { archive, links: None }
    }
}

/// What was stored, and under which key within [`Objects::place`](super::Objects::place).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// A file of the archive as it was written: `warc/x.warc.gz`.
    File { file: Arc<str>, length: u64, key: String },
    /// A segment of links: `links/WORKER-NUMBER-HASH.zst`.
    Links { segment: Arc<str>, key: String },
    /// One visit. From now on its place in the archive is KEY:0.
    Page { at: ArchiveRef, key: String },
    /// After the last page of a file: the file is not needed any more.
    AllPages { file: Arc<str>, length: u64 },
}

impl Stored {
    pub fn key(&self) -> Option<&str> {
        match self {
            Stored::File { key, .. } | Stored::Links { key, .. } | Stored::Page { key, .. } => Some(key),
            Stored::AllPages { .. } => None,
        }
    }
}

/// Called before the local copy is deleted. After an error it is called again later, so it may be called twice.
pub type OnStored = Box<dyn FnMut(&[Stored]) -> Result<()> + Send>;

/// Upload progress, for status and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadStatus {
    pub waiting_files: u64,
    pub waiting_bytes: u64,
    pub uploaded_files: u64,
    pub uploaded_bytes: u64,
    /// Why files are not uploaded, if so.
    pub trouble: Option<String>,
    /// The store has a problem, as opposed to recording its uploads.
    pub store_fails: bool,
}
