//! How a worker is: for probes, for its heartbeat, and for the table of workers.

use crate::health::{Dependency, Lifecycle, Vitals, WorkerVitals};
use crate::heartbeat::WorkerStatus;
use argiope_cluster::autoscale::{Bounds, Load, workers_desired};
use argiope_cluster::members::{Figures, Members};
use argiope_cluster::objects::UploadStatus;
use argiope_cluster::transport::Transport;
use argiope_engine::{Phase, Status};

pub(super) fn redis_trouble(members: &Members) -> Option<String> {
    (members.is_notified() == Some(false)).then(|| String::from("Redis does not respond; polling for links"))
}

pub(super) fn vitals(status: Status, members: &Members, bounds: Bounds, shards: u32) -> Vitals {
    let up = members.is_database_reachable();
    let load = members.load();
    let load =
        Load { queued: load.queued, pages_per_second: load.pages_per_second, workers: load.workers, shards };
    Vitals {
        lifecycle: match (&status.phase, up, members.owned()) {
            (Phase::Stopping, _, _) => Lifecycle::Draining,
            (_, true, 1..) => Lifecycle::Member,
            _ => Lifecycle::Joining,
        },
        dependencies: dependencies(members),
        status,
        worker: Some(WorkerVitals {
            shards_owned: members.owned() as u64,
            workers_desired: u64::from(workers_desired(&load, bounds)),
            uploads: None,
        }),
    }
}

/// The object store is unavailable while files cannot be uploaded.
pub(super) fn with_uploads(mut vitals: Vitals, uploads: Option<UploadStatus>) -> Vitals {
    if let Some(status) = &uploads {
        let detail = status.trouble.clone().filter(|_| status.store_fails);
        vitals.dependencies.push(Dependency { name: "object_store", up: detail.is_none(), detail });
    }
    if let Some(worker) = &mut vitals.worker {
        worker.uploads = uploads;
    }
    vitals
}

/// The local disk, which is not a server, and can be too full for the worker to continue.
pub(super) fn disk(status: &Status) -> Dependency {
    let detail = held(status).map(str::to_owned);
    Dependency { name: "disk", up: detail.is_none(), detail }
}

pub(super) fn held(status: &Status) -> Option<&str> {
    match &status.phase {
        Phase::Held { reason } => Some(reason),
        _ => None,
    }
}

pub(super) fn kafka(transport: &Transport) -> Option<Dependency> {
    match transport {
        Transport::Inbox => None,
        Transport::Kafka { .. } => {
            let detail = transport.problem();
            Some(Dependency { name: "kafka", up: detail.is_none(), detail })
        }
    }
}

pub(super) fn worker_status(status: Status, members: &Members) -> WorkerStatus {
    WorkerStatus {
        state: match (&status.phase, members.is_database_reachable(), status.requests.in_flight) {
            (Phase::Stopping, _, _) => "draining",
            (Phase::Running, true, 0) => "idle",
            (Phase::Running, true, _) => "active",
            _ => "waiting",
        },
        shards: u32::try_from(members.owned()).unwrap_or(u32::MAX),
        status,
    }
}

fn dependencies(members: &Members) -> Vec<Dependency> {
    let up = members.is_database_reachable();
    let detail = (!up).then(|| String::from("it does not respond; no new requests until it does"));
    let postgres = Dependency { name: "postgresql", up, detail };
    let redis = members.is_notified();
    let redis = redis.map(|up| Dependency { name: "redis", up, detail: redis_trouble(members) });
    std::iter::once(postgres).chain(redis).collect()
}

pub(super) fn figures(status: &Status) -> Figures {
    Figures {
        pages: status.totals.pages,
        active: u32::try_from(status.requests.in_flight).unwrap_or(u32::MAX),
        queued: status.queued(),
        hosts: status.hosts.known,
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_full_is_a_dependency_that_is_down() {
        let reason = String::from("1 MB are free");
        let held = Status { phase: Phase::Held { reason: reason.clone() }, ..Status::default() };
        assert_eq!(disk(&held), Dependency { name: "disk", up: false, detail: Some(reason) });
        assert!(disk(&Status::default()).up);
    }

    #[test]
    fn the_object_store_is_down_while_it_refuses_files() {
        let upload = |store_fails| UploadStatus {
            store_fails,
            trouble: Some(String::from("403")),
            ..UploadStatus::default()
        };
        let vitals = || Vitals {
            lifecycle: Lifecycle::Member,
            dependencies: Vec::new(),
            status: Status::default(),
            worker: Some(WorkerVitals::default()),
        };
        let down = with_uploads(vitals(), Some(upload(true)));
        assert_eq!(down.dependencies.first().and_then(|it| it.detail.as_deref()), Some("403"));
        let up = with_uploads(vitals(), Some(upload(false)));
        assert!(up.dependencies.iter().all(|it| it.up) && up.worker.unwrap().uploads.is_some());
        assert!(with_uploads(vitals(), None).dependencies.is_empty());
    }
}
