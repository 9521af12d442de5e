//! Uploads finished files of a spool to the object store, as a follower of the worker's commits
//! ([`argiope_store::follower`]): upload, verify, report, delete. Each step may be repeated, so a crash or an outage
//! between any two does no harm. Its position is what is still on the disk.

mod files;
mod work;

use super::{Objects, OnStored, Spools, UploadOptions, UploadStatus};
use argiope_store::archive::ArchiveSpool;
use argiope_store::error::Result;
use argiope_store::follower::{Follower, FollowerOptions, LagUnit};
use argiope_store::spool::Spool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use work::Uploading;

pub struct Uploader {
    follower: Follower,
    sources: Arc<[Source]>,
    figures: Arc<Figures>,
}

/// Files of one kind.
#[derive(Clone)]
struct Source {
    spool: Arc<dyn Spool>,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Archive(Arc<dyn ArchiveSpool>),
    /// Files of this worker.
    Links(String),
}

impl Spools {
    fn sources(self) -> Arc<[Source]> {
        let archive = Source { spool: self.archive.clone(), kind: Kind::Archive(self.archive) };
        let links = self.links.map(|links| Source { spool: links.segments, kind: Kind::Links(links.worker) });
        std::iter::once(archive).chain(links).collect()
    }
}

/// How many files wait, and their bytes.
fn waiting(sources: &[Source]) -> (u64, u64) {
    let waiting = sources.iter().filter_map(|source| source.spool.finished().ok()).flatten();
    waiting.fold((0, 0), |(files, bytes), file| (files + 1, bytes + file.length))
}

/// The counters of the thread.
#[derive(Default)]
struct Figures(Mutex<UploadStatus>);

impl Figures {
    fn lock(&self) -> MutexGuard<'_, UploadStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Uploader {
    /// May be started before the files are cut to what is catalogued: none is finished before that.
    pub fn start(
        spools: impl Into<Spools>,
        objects: Arc<dyn Objects>,
        options: UploadOptions,
        on_stored: OnStored,
    ) -> Result<Uploader> {
        let sources = spools.into().sources();
        let figures: Arc<Figures> = Arc::default();
        let uploading = Uploading::new(sources.clone(), objects, options, on_stored, figures.clone());
        let counted = sources.clone();
        let behind = move || waiting(&counted).1;
        let options = FollowerOptions::new("uploads", LagUnit::Bytes, Box::new(behind));
        Ok(Uploader { follower: Follower::start(options, uploading)?, sources, figures })
    }

    pub fn follower(&self) -> &Follower {
        &self.follower
    }

    /// A file may have finished: called after each commit.
    pub fn nudge(&self) {
        self.follower.wake();
    }

    pub fn status(&self) -> UploadStatus {
        let (waiting_files, waiting_bytes) = waiting(&self.sources);
        UploadStatus { waiting_files, waiting_bytes, ..self.figures.lock().clone() }
    }

    /// Finishes all files and uploads them, but starts none after `limit`; for a worker that stops, when its appenders
    /// are closed and everything is committed. The rest stays on the disk for the next start.
    pub fn begin_drain(&self, limit: Duration) {
        self.follower.begin_drain(Some(limit));
    }

    /// It uploads nothing more.
    pub fn has_ended(&self) -> bool {
        self.follower.has_ended()
    }

    /// Drains, and waits for the end.
    pub fn drain(&self, limit: Duration) -> UploadStatus {
        self.follower.drain(Some(limit));
        self.status()
    }
}
