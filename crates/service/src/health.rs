//! How a process is at one moment: for probes and for Prometheus.

use argiope_cluster::objects::UploadStatus;
use argiope_engine::Status;
use serde::Serialize;

/// Where a process is between its start and its end.
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
    /// What is wrong. Anybody who reaches the port can read it: no credentials.
    pub detail: Option<String>,
}

/// What only a worker of a cluster knows.
#[derive(Clone, Debug, Default)]
pub struct WorkerVitals {
    pub shards_owned: u64,
    /// Of the whole cluster, the same from every worker.
    pub workers_desired: u64,
    /// Where the archive goes to an object store.
    pub uploads: Option<UploadStatus>,
}

/// How a process is. Making it must not wait for a server.
#[derive(Clone, Debug)]
pub struct Vitals {
    pub lifecycle: Lifecycle,
    pub dependencies: Vec<Dependency>,
    pub status: Status,
    pub worker: Option<WorkerVitals>,
}
