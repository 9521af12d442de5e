//! The state of a process at one moment: for probes and for Prometheus.

use argiope_cluster::objects::UploadStatus;
use argiope_engine::Status;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// The answer to a probe for health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// `ok`, or `degraded` while something that the process needs is away.
    pub status: &'static str,
    pub state: Lifecycle,
    /// By name.
    pub dependencies: BTreeMap<&'static str, DependencyHealth>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DependencyHealth {
    pub up: bool,
    pub detail: Option<String>,
}

/// The answer to a probe for readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    pub ready: bool,
    pub state: Lifecycle,
}

impl Vitals {
    pub fn health(self) -> Health {
        let all_up = self.dependencies.iter().all(|dependency| dependency.up);
        let dependencies = self.dependencies.into_iter();
        Health {
            status: if all_up { "ok" } else { "degraded" },
            state: self.lifecycle,
            dependencies: dependencies
                .map(|Dependency { name, up, detail }| (name, DependencyHealth { up, detail }))
                .collect(),
        }
    }

    pub fn readiness(&self) -> Readiness {
        Readiness { ready: self.lifecycle.is_ready(), state: self.lifecycle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_degraded_while_anything_it_needs_is_away() {
        let vitals = |up| Vitals {
            lifecycle: Lifecycle::Member,
            dependencies: vec![
                Dependency { name: "disk", up: true, detail: None },
                Dependency { name: "redis", up, detail: None },
            ],
            status: Status::default(),
            worker: None,
        };
        assert_eq!(vitals(true).health().status, "ok");
        assert!(vitals(false).readiness().ready);
        let health = vitals(false).health();
        assert_eq!(health.status, "degraded");
        assert!(health.dependencies["disk"].up && !health.dependencies["redis"].up);
    }
}
