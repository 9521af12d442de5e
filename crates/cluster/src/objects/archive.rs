//! The archive of a worker: written on its disk, kept in the store, read wherever it is.

use super::{ObjectReader, Objects, OnStored, UploadOptions, Uploader};
use argiope_store::archive::reading::{self, Source};
use argiope_store::archive::{
    Appender, Archive, ArchiveRef, OnRecovered, Position, Recovery, Spool, StoredExchange,
};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::warc::VisitMetadata;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;

pub struct ObjectArchive {
    spool: Arc<dyn Spool>,
    reader: ObjectReader,
    uploader: Uploader,
}

impl ObjectArchive {
    /// Starts to upload as soon as the recovery has run.
    pub fn start(
        spool: Arc<dyn Spool>,
        objects: Arc<dyn Objects>,
        options: UploadOptions,
        on_stored: OnStored,
    ) -> Result<ObjectArchive> {
        let reader = ObjectReader::new(objects.clone());
        let elsewhere = reader.clone();
        spool.look_elsewhere(Box::new(move |at| Ok(elsewhere.source(at))));
        let uploader = Uploader::start(spool.clone(), objects, options, on_stored)
            .map_err(|error| StoreError::io("the thread that uploads archive files", error))?;
        Ok(ObjectArchive { spool, reader, uploader })
    }

    /// What takes the files away.
    pub fn uploader(&self) -> &Uploader {
        &self.uploader
    }

    /// The file on this disk, else in the store. It may leave the disk between the two looks, never come back.
    fn open(&self, at: &ArchiveRef) -> Result<Source> {
        match File::open(self.spool.path(&at.file)) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(at.offset)).map_err(|error| StoreError::io(&*at.file, error))?;
                Ok(Box::new(file))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(self.reader.source(at)),
            Err(error) => Err(StoreError::io(&*at.file, error)),
        }
    }
}

impl Archive for ObjectArchive {
    fn appender(&self) -> Result<Box<dyn Appender>> {
        self.spool.appender()
    }

    fn sync(&self) -> Result<Vec<Position>> {
        self.spool.sync()
    }

    fn committed(&self, positions: &[Position]) {
        self.spool.committed(positions);
        self.uploader.nudge();
    }

    fn recover(&self, catalogued: &[Position], found: OnRecovered<'_>) -> Result<Recovery> {
        let mut recovery = self.spool.recover(catalogued, found)?;
        // Now, for the files may be gone in a moment.
        for file in std::mem::take(&mut recovery.unindexed) {
            self.spool.build_index(&file)?;
        }
        // What is not here any more should be there; while the store is away nobody can tell.
        recovery.missing.retain(|file| match self.reader.has_file(file) {
            Ok(is_there) => !is_there,
            Err(error) => {
                tracing::warn!(file = &**file, %error, "cannot be looked for in the object store now");
                false
            }
        });
        self.uploader.nudge();
        Ok(recovery)
    }

    fn read(&self, at: &ArchiveRef) -> Result<StoredExchange> {
        if at.file.ends_with(super::reader::PAGE_ENDING) {
            return self.reader.read(at);
        }
        reading::exchange(&|at| self.open(at), at)
    }

    fn read_metadata(&self, at: &ArchiveRef) -> Result<VisitMetadata> {
        reading::metadata(&|at| self.open(at), at)
    }

    fn build_index(&self, file: &str) -> Result<()> {
        match self.spool.build_index(file) {
            // Uploaded meanwhile.
            Err(error) if error.kind == ErrorKind::NotFound => Ok(()),
            outcome => outcome,
        }
    }

    fn verify(&self, position: &Position) -> Result<u64> {
        let beginning = ArchiveRef { file: position.file.clone(), offset: 0 };
        reading::verify(self.open(&beginning)?, position)
    }
}
