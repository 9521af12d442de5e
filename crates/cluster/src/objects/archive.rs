//! The archive of a worker: written on its disk, stored in the object store, read from either.

use super::{ObjectReader, Objects, OnStored, Spools, UploadOptions, Uploader};
use argiope_store::archive::reading::{self, Source};
use argiope_store::archive::{
    Appender, Archive, ArchiveRef, ArchiveSpool, Cut, OnRecovered, Position, Recovery, StoredExchange,
};
use argiope_store::error::{Result, StoreError};
use argiope_store::warc::VisitMetadata;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;

pub struct ObjectArchive {
    spool: Arc<dyn ArchiveSpool>,
    reader: ObjectReader,
    uploader: Uploader,
}

impl ObjectArchive {
    /// Starts to upload as soon as the files are cut to what is catalogued.
    pub fn start(
        spools: impl Into<Spools>,
        objects: Arc<dyn Objects>,
        options: UploadOptions,
        on_stored: OnStored,
    ) -> Result<ObjectArchive> {
        let spools = spools.into();
        let spool = spools.archive.clone();
        let reader = ObjectReader::new(objects.clone());
        let elsewhere = reader.clone();
        spool.look_elsewhere(Box::new(move |at| Ok(elsewhere.source(at))));
        let uploader = Uploader::start(spools, objects, options, on_stored)?;
        Ok(ObjectArchive { spool, reader, uploader })
    }

    /// The uploader of the files.
    pub fn uploader(&self) -> &Uploader {
        &self.uploader
    }

    /// The file on this disk, else in the store. It may leave the disk between the two lookups, but never returns.
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
        self.spool.recover(catalogued, found)
    }

    fn truncate_to(&self, catalogued: &[Position]) -> Result<Vec<Cut>> {
        let cuts = self.spool.truncate_to(catalogued)?;
        self.uploader.nudge();
        Ok(cuts)
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
        self.spool.build_index(file)
    }

    fn verify(&self, position: &Position) -> Result<u64> {
        let beginning = ArchiveRef { file: position.file.clone(), offset: 0 };
        reading::verify(self.open(&beginning)?, position)
    }
}
