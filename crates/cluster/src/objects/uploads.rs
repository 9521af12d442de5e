//! What an uploader is told, and what it tells.

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
    /// A file that has been open for this long is ended, however short it is.
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

/// Segments of links. Their names are numbers, which those of another worker have, too.
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
    /// After the last page of a file: it is not needed any more.
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

/// Told before the local copy is deleted. On an error it is told again later, so it may come twice.
pub type OnStored = Box<dyn FnMut(&[Stored]) -> Result<()> + Send>;

/// How the uploads go, for status and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadStatus {
    pub waiting_files: u64,
    pub waiting_bytes: u64,
    pub uploaded_files: u64,
    pub uploaded_bytes: u64,
    /// What keeps files here, if something does.
    pub trouble: Option<String>,
    /// The trouble is the store's, and not that what it has taken cannot be reported.
    pub store_fails: bool,
}
