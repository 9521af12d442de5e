//! Uploads one file: as it is, or page by page. Existing objects are verified and not uploaded again.

use super::{Kind, Source};
use crate::objects::reader::file_key;
use crate::objects::{Layout, ObjectMetadata, Objects, Stored, pages};
use argiope_store::archive::{ArchiveSpool, Position};
use argiope_store::error::{ErrorKind, Result, StoreError};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const SHA256: &str = "sha256";

pub(super) struct FileUpload<'a> {
    pub(super) objects: &'a dyn Objects,
    pub(super) layout: Layout,
    /// Stops it between two pages.
    pub(super) stop: &'a AtomicBool,
}

impl FileUpload<'_> {
    /// Returns what the store then has of the file.
    pub(super) fn run(&self, source: &Source, file: &Position) -> Result<Vec<Stored>> {
        let path = source.spool.path(&file.file);
        Ok(match (&source.kind, self.layout) {
            (Kind::Archive(_), Layout::Warc) => vec![self.archive_file(file, &path)?],
            (Kind::Archive(archive), Layout::Objects) => self.pages(&**archive, file, &path)?,
            (Kind::Links(worker), _) => vec![self.links(worker, file, &path)?],
        })
    }

    fn archive_file(&self, position: &Position, path: &Path) -> Result<Stored> {
        let key = file_key(&position.file);
        let hash = hash_of(position, path)?;
        if !self.is_there(&key, position, &hash)? {
            self.index(position, path)?;
            self.put(&key, path, hash)?;
        }
        let Position { file, length } = position.clone();
        Ok(Stored::File { file, length, key })
    }

    fn links(&self, worker: &str, position: &Position, path: &Path) -> Result<Stored> {
        let hash = hash_of(position, path)?;
        // A restored catalogue may assign the number of a stored segment to another one.
        let key = format!("links/{worker}-{:0>8}-{}.zst", position.file, hash.get(..16).unwrap_or(&hash));
        if !self.is_there(&key, position, &hash)? {
            self.put(&key, path, hash)?;
        }
        Ok(Stored::Links { segment: position.file.clone(), key })
    }

    fn pages(&self, archive: &dyn ArchiveSpool, position: &Position, path: &Path) -> Result<Vec<Stored>> {
        let pages = pages::store_all(self.objects, archive, &position.file, path, self.stop)?;
        let pages = pages.into_iter().map(|page| Stored::Page { at: page.at, key: page.key });
        let Position { file, length } = position.clone();
        Ok(pages.chain([Stored::AllPages { file, length }]).collect())
    }

    fn put(&self, key: &str, path: &Path, hash: String) -> Result<()> {
        self.objects.put_file(key, path, &vec![(SHA256.to_owned(), hash)])
    }

    /// True if it was uploaded before, but not recorded.
    fn is_there(&self, key: &str, position: &Position, hash: &str) -> Result<bool> {
        match self.objects.head(key)? {
            None => Ok(false),
            Some(head) if head.length == position.length && head.fact(SHA256) == Some(hash) => Ok(true),
            Some(_) => {
                let message = format!(
                    "another file of this name is in {}: two workers have the same name, or one of them lost its \
                     disk; give each worker its own --name",
                    self.objects.place()
                );
                Err(StoreError::new(ErrorKind::Usage, key, message))
            }
        }
    }

    /// Uploads the index beside the file, if it has one.
    fn index(&self, position: &Position, path: &Path) -> Result<()> {
        let Some(name) = position.file.strip_suffix(".warc.gz") else { return Ok(()) };
        let name = format!("{name}.cdxj");
        let index = path.with_file_name(&name);
        if index.exists() {
            self.objects.put_file(&file_key(&name), &index, &ObjectMetadata::new())
        } else {
            Ok(())
        }
    }
}

/// The hash of a file that has the expected length.
fn hash_of(position: &Position, path: &Path) -> Result<String> {
    let failed = |error| StoreError::io(path.display().to_string(), error);
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length != position.length {
        let message = format!(
            "has {length} bytes, but its last complete record ends at {}: the disk failed in the middle of a write; \
             the next start cuts the file there",
            position.length
        );
        return Err(StoreError::new(ErrorKind::Corrupt, path.display().to_string(), message));
    }
    sha256(path).map_err(failed)
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hash.update(piece.get(..read).unwrap_or_default());
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
