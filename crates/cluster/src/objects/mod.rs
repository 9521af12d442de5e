//! The archive in an object store: S3, a compatible service (such as GCS), or a directory that all workers share.
//!
//! A worker writes archive and links to its own disk, like a single machine ([`Spool`]). When a file is finished and
//! catalogued, the [`Uploader`] moves it: whole, as `warc/FILE` ([`Layout::Warc`]) or `links/FILE`, or page by page,
//! each as `DOMAIN/YEAR-MONTH/URL_HASH.html.gz` ([`Layout::Objects`]). What it stored is recorded before the file is
//! deleted, so a file that is not recorded is still here. During an outage of the store files stay and are retried;
//! after a restart, the next process on the same disk continues.
//!
//! `FILE:OFFSET` is valid wherever the file is: [`ObjectArchive`] looks on the disk, then in the store.
//!
//! [`Spool`]: argiope_store::spool::Spool

mod archive;
mod directory;
mod pages;
mod reader;
mod s3;
mod settings;
mod uploader;
mod uploads;

pub use archive::ObjectArchive;
pub use directory::Directory;
pub use pages::key_of;
pub use reader::{ObjectReader, stream};
pub use s3::S3;
pub use settings::{ObjectSettings, open};
pub use uploader::Uploader;
pub use uploads::{Layout, LinkSpool, OnStored, Spools, Stored, UploadOptions, UploadStatus};

use argiope_store::error::{ErrorKind, Result, StoreError};
use std::path::Path;

/// Metadata of an object: short names, short values of visible ASCII.
pub type ObjectMetadata = Vec<(String, String)>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectHead {
    pub length: u64,
    pub object_metadata: ObjectMetadata,
}

impl ObjectHead {
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.object_metadata.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Objects by key. An object is stored completely or not at all. An unreachable store is [`ErrorKind::Unreachable`],
/// and the next call tries again.
pub trait Objects: Send + Sync {
    /// The location of objects: `s3://bucket`, `file:///path`.
    fn place(&self) -> &str;

    /// The location of an object: `s3://bucket/KEY`.
    fn address(&self, key: &str) -> String;

    /// Whether the store can be used: reachable, existing, and accepting the credentials.
    fn check(&self) -> Result<()>;

    /// Replaces an existing object.
    fn put(&self, key: &str, body: &[u8], object_metadata: &ObjectMetadata) -> Result<()>;

    /// False if there is one already, which is not changed.
    fn put_new(&self, key: &str, body: &[u8], object_metadata: &ObjectMetadata) -> Result<bool>;

    /// Replaces an object with a file of any size, and verifies its length.
    fn put_file(&self, key: &str, path: &Path, object_metadata: &ObjectMetadata) -> Result<()>;

    fn head(&self, key: &str) -> Result<Option<ObjectHead>>;

    /// Up to `length` bytes from `offset` on; fewer at the end, none beyond it.
    fn get(&self, key: &str, offset: u64, length: u64) -> Result<Vec<u8>>;

    /// No error if it is not there.
    fn delete(&self, key: &str) -> Result<()>;

    /// Keys that begin with `prefix`, sorted, at most `limit`, after `after`.
    fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>>;
}

/// A key that is safe in file paths and URLs: no empty, `.` or `..` part, no invisible characters.
fn checked_key(key: &str) -> Result<()> {
    let is_bent = key.split('/').any(|part| part.is_empty() || part == "." || part == "..");
    if is_bent || key.len() > 1000 || key.bytes().any(|byte| !(0x21..=0x7e).contains(&byte) || byte == b'\\')
    {
        return Err(StoreError::new(ErrorKind::Usage, key, "is not a valid object key"));
    }
    Ok(())
}

fn not_found(key: &str, place: &str) -> StoreError {
    StoreError::new(ErrorKind::NotFound, key, format!("is not in {place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_lead_elsewhere_are_refused() {
        for key in ["a", "warc/a-1.warc.gz", "example.com:8080/2024-07/0f.html.gz"] {
            assert!(checked_key(key).is_ok(), "{key}");
        }
        for key in ["", "/a", "a/", "a//b", "../a", "a/./b", "a b", "a\nb", "ä", "a\\b"] {
            assert_eq!(checked_key(key).unwrap_err().kind, ErrorKind::Usage, "{key}");
        }
    }
}
