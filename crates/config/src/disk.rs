//! How much of the disk a crawl may use.

use crate::file::StorageSection;

/// The default reserve of a worker, which runs unattended. A crawl on one machine ends with an error when its disk is
/// full, and can be resumed.
const WORKER_RESERVE: u64 = 500_000_000;

/// Limits of disk use, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimits {
    /// Bytes that stay free.
    pub reserve: u64,
    /// Bytes that may wait for their upload.
    pub backlog: Option<u64>,
}

impl DiskLimits {
    pub fn of(storage: &StorageSection) -> DiskLimits {
        let default = if storage.metadata_db_url.is_some() { WORKER_RESERVE } else { 0 };
        DiskLimits { reserve: storage.disk_reserve.unwrap_or(default), backlog: storage.upload_backlog }
    }
}
