//! The disk operations of archive and links, so that tests can simulate a full disk.

use argiope_store::error::{ErrorKind, StoreError};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Creates the files that are written to.
pub trait Disk: Send + Sync {
    /// Creates a file that does not exist yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens an existing file to continue it.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
}

pub trait DiskFile: Send + Sync {
    /// May write less than requested.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    fn set_len(&self, length: u64) -> io::Result<()>;
    fn sync_data(&self) -> io::Result<()>;
}

/// The directory of a store, created if needed.
pub(crate) fn make_directory(path: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(path).map_err(|error| {
        let subject = path.display().to_string();
        if path.is_file() {
            let message =
                "is a file where a directory has to be; move it away and run the same command again";
            return StoreError::new(ErrorKind::Io, subject, message);
        }
        StoreError::io(subject, error)
    })
}

/// The disk of this machine.
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().write(true).create_new(true).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().write(true).open(path)?))
    }
}

impl DiskFile for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }
}

/// Writes all of `bytes` at `offset`, or cuts the file back to `offset` and returns the error.
pub(crate) fn write_whole(file: &dyn DiskFile, bytes: &[u8], offset: u64) -> Result<(), Unwritten> {
    let mut rest = bytes;
    let mut at = offset;
    while !rest.is_empty() {
        let error = match file.write_at(rest, at) {
            Ok(0) => io::Error::from(io::ErrorKind::StorageFull),
            Ok(written) => {
                rest = rest.get(written..).unwrap_or_default();
                at += written as u64;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        return Err(Unwritten { cut_back: file.set_len(offset).is_ok(), error });
    }
    Ok(())
}

/// A write that failed.
pub(crate) struct Unwritten {
    /// Whether the file is as long as it was; if not, nothing may be written to it any more.
    pub(crate) cut_back: bool,
    pub(crate) error: io::Error,
}

/// Makes the creation, renaming and removal of a directory's entries durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
