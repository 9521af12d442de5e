//! The data directory of a worker of a cluster: files on their way to the cluster's own stores, and links.

use super::{META, cannot, damaged, store_failure, take_lock, write_whole};
use argiope_config::Failure;
use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_local::links::SegmentLinks;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// Where a worker of a cluster stores what is not yet in the cluster's own stores.
pub struct WorkerDirectory {
    pub path: PathBuf,
    /// The name of the worker whose files are here.
    pub worker: String,
    _lock: File,
}

const CLUSTER: &str = "cluster.json";

#[derive(Serialize, Deserialize)]
struct WorkerMeta {
    /// The cluster's id: files of one cluster do not go to another.
    cluster: String,
    /// The cluster knows the files here as this worker's.
    worker: Option<String>,
}

/// How archive files are created that do not stay on their disk.
#[derive(Clone, Copy)]
pub struct Spooled {
    pub rotate_bytes: u64,
    /// Whether a record may refer to another one.
    pub revisits: bool,
}

fn read_worker(path: &Path) -> Result<Option<WorkerMeta>, Failure> {
    match fs::read(path.join(CLUSTER)) {
        Ok(text) => {
            serde_json::from_slice(&text).map(Some).map_err(|e| damaged(path, &format!("{CLUSTER}: {e}")))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(path, "read the data directory", &error)),
    }
}

impl WorkerDirectory {
    /// `name` is the worker's configured name; by default, its previous name here, or `new_name`.
    pub fn open(
        path: &Path,
        cluster: &str,
        name: Option<String>,
        new_name: impl FnOnce() -> String,
    ) -> Result<WorkerDirectory, Failure> {
        fs::create_dir_all(path).map_err(|e| cannot(path, "create the data directory", &e))?;
        let lock = take_lock(path)?;
        if path.join(META).exists() {
            return Err(Failure::failed(format!(
                "{} is the data directory of crawls on one machine",
                path.display()
            ))
            .hint("use another one with --data DIR"));
        }
        let known = read_worker(path)?;
        let worker = match (known.as_ref(), name) {
            (Some(meta), _) if meta.cluster != cluster => {
                let text = format!("{} has files of another cluster", path.display());
                return Err(Failure::failed(text).hint("use another directory with --data DIR"));
            }
            (Some(WorkerMeta { worker: Some(before), .. }), Some(name)) if *before != name => {
                let text = format!("{} has files of the worker {before}", path.display());
                let hint = format!("start it with --name {before}, or use another directory with --data DIR");
                return Err(Failure::failed(text).hint(hint));
            }
            (_, Some(name)) => name,
            (Some(WorkerMeta { worker: Some(before), .. }), None) => before.clone(),
            (_, None) => new_name(),
        };
        if known.and_then(|meta| meta.worker).is_none() {
            let meta = WorkerMeta { cluster: cluster.to_owned(), worker: Some(worker.clone()) };
            let text = serde_json::to_vec(&meta).map_err(|e| Failure::failed(e.to_string()))?;
            write_whole(&path.join(CLUSTER), &text)
                .map_err(|e| cannot(path, "write the data directory", &e))?;
        }
        Ok(WorkerDirectory { path: path.to_owned(), worker, _lock: lock })
    }

    /// File names include this worker and this start: in their common store another cluster may have a worker of the
    /// same name, and after a file has left its disk it would not prevent a duplicate.
    pub fn archive(&self, spooled: Option<Spooled>) -> Result<FileArchive, Failure> {
        let start = RandomState::new().hash_one(&self.worker) >> 32;
        let mut options = ArchiveOptions {
            name: format!("argiope-{}-{start:08x}", self.worker),
            ..ArchiveOptions::default()
        };
        if let Some(Spooled { rotate_bytes, revisits }) = spooled {
            options.rotate_bytes = rotate_bytes;
            options.revisits = revisits;
        }
        FileArchive::open(&self.path.join("archive"), options).map_err(|e| store_failure(&e))
    }

    pub fn links(&self, segment_bytes: u64) -> Result<SegmentLinks, Failure> {
        SegmentLinks::open_spool(&self.path.join("links"), segment_bytes).map_err(|e| store_failure(&e))
    }
}
