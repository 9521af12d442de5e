//! Where the data of a command is: a directory of this machine, or a cluster.

use crate::cluster::{ClusterPlace, database_failure, is_cluster};
use crate::control::Owner;
use crate::directory;
use argiope_cluster::catalogue::PostgresReader;
use argiope_cluster::members::queued_urls;
use argiope_config::{Failure, GlobalOptions, LoadedConfig};
use argiope_engine::JobActivity;
use argiope_model::JobId;
use argiope_store::catalogue::{CatalogueReader, Job, JobState};
use std::collections::HashMap;
use std::path::PathBuf;

pub enum Place {
    Directory(PathBuf),
    Cluster(Box<ClusterPlace>),
}

impl Place {
    pub fn named_by(global: &GlobalOptions, config: &LoadedConfig) -> Result<Place, Failure> {
        if global.data_given {
            return Ok(Place::Directory(global.data.clone()));
        }
        config.needs("storage.metadata_db_url")?;
        if !is_cluster(&config.file) {
            return Ok(Place::Directory(global.data.clone()));
        }
        ClusterPlace::needs(config)?;
        Ok(Place::Cluster(Box::new(ClusterPlace::open(&config.file)?)))
    }

    pub fn reader(&self) -> Result<Box<dyn CatalogueReader>, Failure> {
        match self {
            Place::Directory(path) => Ok(Box::new(directory::reader(path)?)),
            Place::Cluster(place) => {
                let reader =
                    PostgresReader::open(&place.database).map_err(|e| directory::store_failure(&e))?;
                Ok(Box::new(reader))
            }
        }
    }

    /// None if there is nothing yet.
    pub fn reader_if_any(&self) -> Result<Option<Box<dyn CatalogueReader>>, Failure> {
        match self {
            Place::Directory(path) => {
                Ok(directory::reader_if_any(path)?.map(|reader| Box::new(reader) as Box<dyn CatalogueReader>))
            }
            Place::Cluster(_) => self.reader().map(Some),
        }
    }

    /// For messages.
    pub fn place(&self) -> String {
        match self {
            Place::Directory(path) => path.display().to_string(),
            Place::Cluster(place) => place.database.place().to_owned(),
        }
    }

    /// The processes that work on the jobs now.
    pub fn work(&self) -> Result<Work, Failure> {
        match self {
            Place::Directory(path) => Ok(Work::Here { owner: Owner::of(path), path: path.clone() }),
            Place::Cluster(place) => {
                let queued = queued_urls(&mut place.session()?).map_err(|e| database_failure(&e))?;
                Ok(Work::Cluster { queued })
            }
        }
    }
}

/// The state shown for a job whose process was killed and that nobody has resumed.
pub const INTERRUPTED: &str = "interrupted";

pub enum Work {
    Here { owner: Owner, path: PathBuf },
    Cluster { queued: HashMap<JobId, u64> },
}

impl Work {
    /// The name of a job's state. The catalogue of a process that was killed still says `running`.
    pub fn state_word(&self, job: &Job) -> &'static str {
        match self {
            Work::Cluster { .. } => job.state.as_str(),
            Work::Here { owner, path } => match (job.state, owner, owner.runs(job.id)) {
                (_, _, Some(runs)) if runs.activity == JobActivity::Paused => JobState::Paused.as_str(),
                (_, _, Some(_)) => JobState::Running.as_str(),
                (JobState::Running, Owner::Running(_), None) => INTERRUPTED,
                (JobState::Running, Owner::Nobody, None) if !directory::is_owned(path) => INTERRUPTED,
                (state, _, None) => state.as_str(),
            },
        }
    }

    /// Queued URLs of a job, if known without locking the directory.
    pub fn queued(&self, job: JobId) -> Option<u64> {
        match self {
            Work::Cluster { queued } => Some(queued.get(&job).copied().unwrap_or(0)),
            Work::Here { owner, .. } => owner.runs(job).map(|job| job.queued),
        }
    }
}
