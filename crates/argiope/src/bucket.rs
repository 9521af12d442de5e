//! The object store that a configuration names, where the archive of a cluster stays, and the way of a worker's files to
//! it.

use crate::config::ConfigFile;
use crate::config::file::ArchiveLayout;
use crate::data::{self, Spooled, WorkerDirectory};
use crate::exit::Failure;
use crate::progress::numbers::{bytes, counted};
use argiope_cluster::catalogue::KeptFiles;
use argiope_cluster::database::Database;
use argiope_cluster::objects::{
    self, Layout, ObjectArchive, ObjectSettings, Objects, UploadOptions, UploadStatus,
};
use argiope_store::archive::Archive;
use argiope_store::error::{ErrorKind, StoreError};
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// A worker that leaves gives what it has left on its disk so long to get away. A file that is under way may end.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);

/// None where the archive stays on the workers' disks. Nobody is asked yet.
pub(crate) fn open(file: &ConfigFile) -> Result<Option<Arc<dyn Objects>>, Failure> {
    let Some(bucket) = &file.storage.html_bucket else { return Ok(None) };
    let settings = ObjectSettings {
        bucket: bucket.clone(),
        region: file.storage.html_bucket_region.clone(),
        endpoint: file.storage.html_endpoint.clone(),
    };
    let variable = |name: &str| std::env::var(name).ok();
    objects::open(&settings, &variable).map(Some).map_err(|e| failure(&e))
}

/// A list that is an object, where `source` names one: `s3://BUCKET/KEY` or `gs://BUCKET/KEY`, at the store of the
/// configuration or, where that has none, of the environment.
pub(crate) fn list(file: &ConfigFile, source: &str) -> Option<Result<Box<dyn Read>, Failure>> {
    let (scheme, rest) = source.split_once("://").filter(|(scheme, _)| matches!(*scheme, "s3" | "gs"))?;
    Some(open_list(file, source, scheme, rest))
}

fn open_list(file: &ConfigFile, source: &str, scheme: &str, rest: &str) -> Result<Box<dyn Read>, Failure> {
    let (bucket, key) = rest.split_once('/').filter(|(_, key)| !key.is_empty()).ok_or_else(|| {
        Failure::usage(format!("'{source}' names no object")).hint(format!("write {scheme}://BUCKET/KEY"))
    })?;
    let variable = |name: &str| std::env::var(name).ok();
    let settings = ObjectSettings {
        bucket: format!("{scheme}://{bucket}"),
        region: file.storage.html_bucket_region.clone(),
        endpoint: file.storage.html_endpoint.clone().or_else(|| variable("AWS_ENDPOINT_URL")),
    };
    let about = |error: StoreError| Failure::failed(format!("{source}: {}", crate::exit::chain(&error)));
    let objects = objects::open(&settings, &variable).map_err(about)?;
    match objects.head(key).map_err(about)? {
        Some(_) => Ok(objects::stream(objects, key.to_owned(), 0)),
        None => Err(Failure::failed(format!("{source} is not there"))),
    }
}

/// The message names the setting. Whatever is wrong with it, the command was used rightly.
pub(crate) fn failure(error: &StoreError) -> Failure {
    let failure = Failure::failed(crate::exit::chain(error));
    match error.kind {
        ErrorKind::Unreachable => failure.hint("is the store up, and may this machine reach it?"),
        _ => failure,
    }
}

/// Where the files of a worker go, and how.
pub(crate) struct Bucket {
    objects: Arc<dyn Objects>,
    options: UploadOptions,
    rotate_bytes: u64,
}

impl Bucket {
    /// Found to be there and to let us in.
    pub(crate) fn open(file: &ConfigFile) -> Result<Option<Bucket>, Failure> {
        let Some(objects) = open(file)? else { return Ok(None) };
        objects.check().map_err(|e| failure(&e))?;
        let layout = match file.storage.archive_layout {
            ArchiveLayout::Warc => Layout::Warc,
            ArchiveLayout::Objects => Layout::Objects,
        };
        let options = UploadOptions { layout, rotate_after: file.storage.archive_file_age };
        Ok(Some(Bucket { objects, options, rotate_bytes: file.storage.archive_file_size }))
    }
}

/// The archive of a worker while it is a member.
pub(crate) enum WorkerArchive {
    /// It stays where it is written.
    OnDisk(Arc<dyn Archive>),
    Leaving(Arc<ObjectArchive>),
}

impl WorkerArchive {
    pub(crate) fn open(
        directory: &WorkerDirectory,
        bucket: Option<&Bucket>,
        database: &Database,
    ) -> Result<WorkerArchive, Failure> {
        let Some(Bucket { objects, options, rotate_bytes }) = bucket else {
            return Ok(WorkerArchive::OnDisk(Arc::new(directory.archive(None)?)));
        };
        let store = |e| data::store_failure(&e);
        // An object stands for itself: it refers to no other.
        let spooled = Spooled { rotate_bytes: *rotate_bytes, revisits: options.layout == Layout::Warc };
        let spool = Arc::new(directory.archive(Some(spooled))?);
        let mut kept = KeptFiles::open(database, &directory.worker, Arc::clone(objects)).map_err(store)?;
        let on_stored = Box::new(move |stored: &[objects::Stored]| kept.note(stored));
        let archive = ObjectArchive::start(spool, Arc::clone(objects), *options, on_stored).map_err(store)?;
        Ok(WorkerArchive::Leaving(Arc::new(archive)))
    }

    pub(crate) fn port(&self) -> Arc<dyn Archive> {
        match self {
            WorkerArchive::OnDisk(archive) => Arc::clone(archive),
            WorkerArchive::Leaving(archive) => Arc::clone(archive) as Arc<dyn Archive>,
        }
    }

    pub(crate) fn uploads(&self) -> Uploads {
        match self {
            WorkerArchive::OnDisk(_) => Uploads(None),
            WorkerArchive::Leaving(archive) => Uploads(Some(Arc::clone(archive))),
        }
    }
}

/// How the files of a worker's archive get away.
#[derive(Clone)]
pub(crate) struct Uploads(Option<Arc<ObjectArchive>>);

impl Uploads {
    /// None where they stay.
    pub(crate) fn status(&self) -> Option<UploadStatus> {
        self.0.as_ref().map(|archive| archive.uploader().status())
    }

    /// What is wrong, for people.
    pub(crate) fn trouble(&self) -> Option<String> {
        let status = self.status()?;
        let trouble = status.trouble.as_ref()?;
        Some(format!("{} wait to be uploaded: {trouble}", waiting(&status)))
    }

    /// For a worker that has nothing more to write: what is left goes now. `wait` is called until it has; gives what has
    /// not gone.
    pub(crate) fn finish(&self, mut wait: impl FnMut()) -> Option<String> {
        let uploader = self.0.as_ref()?.uploader();
        uploader.begin_drain(DRAIN_LIMIT);
        while !uploader.has_ended() {
            wait();
        }
        let status = uploader.status();
        (status.waiting_files > 0).then(|| {
            let why = status.trouble.as_deref().unwrap_or("there was no time");
            format!(
                "{} of the archive stay on this disk ({why}); a worker that starts on it again uploads them",
                waiting(&status)
            )
        })
    }
}

fn waiting(status: &UploadStatus) -> String {
    format!("{} ({})", counted(status.waiting_files, "file", "files"), bytes(status.waiting_bytes))
}
