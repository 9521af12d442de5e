//! A disk that runs full.

use argiope_local::disk::{Disk, DiskFile, LocalDisk};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Lets so many bytes through and is then full; a write that crosses the limit is short.
pub(crate) struct FillingDisk {
    pub(crate) left: Arc<AtomicI64>,
}

struct FillingFile {
    file: Box<dyn DiskFile>,
    left: Arc<AtomicI64>,
}

impl Disk for FillingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FillingFile { file: LocalDisk.create(path)?, left: self.left.clone() }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FillingFile { file: LocalDisk.open(path)?, left: self.left.clone() }))
    }
}

impl DiskFile for FillingFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let left = self.left.load(Ordering::SeqCst);
        if left <= 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let now = bytes.len().min(left as usize);
        let written = self.file.write_at(bytes.get(..now).unwrap_or(bytes), offset)?;
        self.left.fetch_sub(written as i64, Ordering::SeqCst);
        Ok(written)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
