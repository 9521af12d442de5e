//! The object store in a configuration, for archive and links of a cluster, and the upload of a worker's files.

use crate::directory::{self, Spooled, WorkerDirectory};
use argiope_cluster::catalogue::{ExpectedFile, FileLocations, LostMarks};
use argiope_cluster::database::Database;
use argiope_cluster::objects::{
    self, Layout, LinkSpool, ObjectArchive, ObjectSettings, Objects, Spools, UploadOptions, UploadStatus,
};
use argiope_config::{ArchiveLayout, ConfigFile, Failure, LoadedConfig};
use argiope_local::links::SegmentLinks;
use argiope_model::display::{bytes, counted};
use argiope_store::archive::Archive;
use argiope_store::error::{ErrorKind, StoreError};
use argiope_store::follower::Follower;
use argiope_store::links::Links;
use argiope_store::spool::Spool;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// How long a worker that stops may upload its remaining files. The current file may be completed.
const DRAIN_LIMIT: Duration = Duration::from_secs(30);
/// For links that stay on their disk.
const SEGMENT_BYTES: u64 = 256_000_000;

/// The store, for a command that reads.
pub fn of(config: &LoadedConfig) -> Result<Option<Arc<dyn Objects>>, Failure> {
    for key in ["html_bucket", "html_bucket_region", "html_endpoint"] {
        config.needs(&format!("storage.{key}"))?;
    }
    open(&config.file)
}

/// None if the archive stays on the workers' disks. Does not connect.
pub fn open(file: &ConfigFile) -> Result<Option<Arc<dyn Objects>>, Failure> {
    let Some(bucket) = &file.storage.html_bucket else { return Ok(None) };
    let settings = ObjectSettings {
        bucket: bucket.clone(),
        region: file.storage.html_bucket_region.clone(),
        endpoint: file.storage.html_endpoint.clone(),
    };
    let variable = |name: &str| std::env::var(name).ok();
    objects::open(&settings, &variable).map(Some).map_err(|e| failure(&e))
}

/// A list that is an object, if `source` names one: `s3://BUCKET/KEY` or `gs://BUCKET/KEY`, in the store of the
/// configuration or, if it has none, of the environment.
pub fn list(file: &ConfigFile, source: &str) -> Option<Result<Box<dyn Read>, Failure>> {
    let (scheme, rest) = source.split_once("://").filter(|(scheme, _)| matches!(*scheme, "s3" | "gs"))?;
    Some(open_list(file, source, scheme, rest))
}

fn open_list(file: &ConfigFile, source: &str, scheme: &str, rest: &str) -> Result<Box<dyn Read>, Failure> {
    let (bucket, key) = rest.split_once('/').filter(|(_, key)| !key.is_empty()).ok_or_else(|| {
        Failure::usage(format!("'{source}' does not name an object"))
            .hint(format!("write {scheme}://BUCKET/KEY"))
    })?;
    let variable = |name: &str| std::env::var(name).ok();
    let settings = ObjectSettings {
        bucket: format!("{scheme}://{bucket}"),
        region: file.storage.html_bucket_region.clone(),
        endpoint: file.storage.html_endpoint.clone().or_else(|| variable("AWS_ENDPOINT_URL")),
    };
    let about = |error: StoreError| Failure::failed(format!("{source}: {}", argiope_config::chain(&error)));
    let objects = objects::open(&settings, &variable).map_err(about)?;
    match objects.head(key).map_err(about)? {
        Some(_) => Ok(objects::stream(objects, key.to_owned(), 0)),
        None => Err(Failure::failed(format!("{source} does not exist"))),
    }
}

/// The message names the setting. Whatever is wrong with it, the command was used correctly.
pub fn failure(error: &StoreError) -> Failure {
    let failure = Failure::failed(argiope_config::chain(error));
    match error.kind {
        ErrorKind::Unreachable => failure.hint("is the store running, and can this machine reach it?"),
        _ => failure,
    }
}

/// Where and how a worker's files are uploaded.
pub struct Bucket {
    objects: Arc<dyn Objects>,
    options: UploadOptions,
    rotate_bytes: u64,
}

impl Bucket {
    /// A store that was reachable and accepted the credentials.
    pub fn open(file: &ConfigFile) -> Result<Option<Bucket>, Failure> {
        let Some(objects) = open(file)? else { return Ok(None) };
        objects.check().map_err(|e| failure(&e))?;
        let layout = match file.storage.archive_layout {
            ArchiveLayout::Warc => Layout::Warc,
            ArchiveLayout::Objects => Layout::Objects,
        };
        let options = UploadOptions { layout, rotate_after: file.storage.archive_file_age };
        Ok(Some(Bucket { objects, options, rotate_bytes: file.storage.archive_file_size() }))
    }
}

/// The files of a worker while it is a member.
pub struct WorkerFiles {
    pub archive: Arc<dyn Archive>,
    pub links: Box<dyn Links>,
    pub uploads: Uploads,
    /// Missing files are marked while this is held.
    pub marks: LostMarks,
}

impl WorkerFiles {
    /// Of the member `owner`.
    pub fn open(
        directory: &WorkerDirectory,
        bucket: Option<&Bucket>,
        database: &Database,
        owner: &str,
    ) -> Result<WorkerFiles, Failure> {
        let store = |e| directory::store_failure(&e);
        let kept = || {
            let objects = bucket.map(|bucket| Arc::clone(&bucket.objects));
            FileLocations::open(database, &directory.worker, objects).map_err(store)
        };
        let spooled = bucket.map(|bucket| Spooled {
            rotate_bytes: bucket.rotate_bytes,
            // An object is self-contained: it does not refer to another one.
            revisits: bucket.options.layout == Layout::Warc,
        });
        let archive = Arc::new(directory.archive(spooled)?);
        let links = directory.links(bucket.map_or(SEGMENT_BYTES, |bucket| bucket.rotate_bytes))?;
        let marks = marks(kept()?, &*archive, &links, owner)?;
        let Some(Bucket { objects, options, .. }) = bucket else {
            return Ok(WorkerFiles { archive, links: Box::new(links), uploads: Uploads(None), marks });
        };
        let mut told = kept()?;
        let on_stored = Box::new(move |stored: &[objects::Stored]| told.note(stored));
        let segments = LinkSpool { segments: links.segments(), worker: directory.worker.clone() };
        let spools = Spools { archive, links: Some(segments) };
        let archive = ObjectArchive::start(spools, Arc::clone(objects), *options, on_stored);
        let archive = Arc::new(archive.map_err(store)?);
        let uploads = Uploads(Some(archive.clone()));
        Ok(WorkerFiles { archive, links: Box::new(links), uploads, marks })
    }
}

/// Looks for files that should be on this disk, and records in the catalogue which are lost, or available again.
fn marks(
    mut kept: FileLocations,
    archive: &dyn Spool,
    links: &SegmentLinks,
    owner: &str,
) -> Result<LostMarks, Failure> {
    let store = |e| directory::store_failure(&e);
    let segments = links.segments();
    let checked = kept.check_files(&|file| match file {
        ExpectedFile::Archive(file) => archive.path(file).exists(),
        ExpectedFile::Links(segment) => segments.path(segment).exists(),
    });
    let checked = checked.map_err(store)?;
    if checked.lost_links > 0 {
        tracing::warn!(segments = checked.lost_links, "link segments of this worker are lost");
    }
    LostMarks::start(kept, checked, owner).map_err(store)
}

/// How the files of a worker are uploaded.
#[derive(Clone)]
pub struct Uploads(Option<Arc<ObjectArchive>>);

impl Uploads {
    /// None if they stay.
    pub fn follower(&self) -> Option<&Follower> {
        self.0.as_ref().map(|archive| archive.uploader().follower())
    }

    /// None if they stay.
    pub fn status(&self) -> Option<UploadStatus> {
        self.0.as_ref().map(|archive| archive.uploader().status())
    }

    /// The current problem, for people.
    pub fn trouble(&self) -> Option<String> {
        let status = self.status()?;
        let trouble = status.trouble.clone()?;
        Some(match status.waiting_files {
            0 => trouble,
            _ => format!("{} wait to be uploaded: {trouble}", waiting(&status)),
        })
    }

    pub fn waiting_bytes(&self) -> u64 {
        self.status().map_or(0, |status| status.waiting_bytes)
    }

    /// For a worker that has nothing more to write: uploads the rest now. `wait` is called meanwhile; returns what was
    /// not uploaded.
    pub fn finish(&self, mut wait: impl FnMut()) -> Option<String> {
        let uploader = self.0.as_ref()?.uploader();
        uploader.begin_drain(DRAIN_LIMIT);
        while !uploader.has_ended() {
            wait();
        }
        let status = uploader.status();
        (status.waiting_files > 0).then(|| {
            let why = status.trouble.as_deref().unwrap_or("there was no time");
            format!(
                "{} remain on this disk ({why}); a worker that starts on it again uploads them",
                waiting(&status)
            )
        })
    }
}

fn waiting(status: &UploadStatus) -> String {
    format!("{} ({})", counted(status.waiting_files, "file", "files"), bytes(status.waiting_bytes))
}
