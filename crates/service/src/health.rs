//! The state of a process at one moment: for probes and for Prometheus.

use argiope_cluster::objects::UploadStatus;
use argiope_engine::Status;
use serde::Serialize;

/// The phase of a process between its start and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    /// A worker that has no shards yet.
    Joining,
    /// A worker that is a member of its cluster.
    Member,
    /// A crawl on one machine.
    Running,
    /// Requests in flight finish; a worker hands over its shards.
    Draining,
}

impl Lifecycle {
    pub fn as_str(self) -> &'static str {
        match self {
            Lifecycle::Joining => "joining",
            Lifecycle::Member => "member",
            Lifecycle::Running => "running",
            Lifecycle::Draining => "draining",
        }
    }

    /// Whether it does its work.
    pub fn is_ready(self) -> bool {
        matches!(self, Lifecycle::Member | Lifecycle::Running)
    }
}

/// A server, or the disk, that the process needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    pub name: &'static str,
    pub up: bool,
    /// The problem. Anybody who reaches the port can read it: no credentials.
    pub detail: Option<String>,
}

/// Data that only a worker of a cluster has.
#[derive(Clone, Debug, Default)]
pub struct WorkerVitals {
    pub shards_owned: u64,
    /// About the whole cluster, the same from every worker.
    pub workers_desired: u64,
    /// If the archive is uploaded to an object store.
    pub uploads: Option<UploadStatus>,
}

/// Returns the state of a process. Must not wait for a server.
#[derive(Clone, Debug)]
pub struct Vitals {
    pub lifecycle: Lifecycle,
    pub dependencies: Vec<Dependency>,
    pub status: Status,
    pub worker: Option<WorkerVitals>,
}
