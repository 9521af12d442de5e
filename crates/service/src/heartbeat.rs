//! The figures of a worker in Redis, for display only: its own thread reports every half minute, so that a hanging
//! server blocks nobody. Liveness and ownership are decided elsewhere.

use argiope_cluster::background::Background;
use argiope_cluster::redis::{Redis, WorkerFigures};
use argiope_cluster::server_error;
use argiope_engine::Status;
use argiope_model::Millis;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(30);

/// A status with the worker's additional data.
#[derive(Clone, Debug, Default)]
pub struct WorkerStatus {
    pub state: &'static str,
    pub shards: u32,
    pub status: Status,
}

/// Reports until it is dropped; then the worker is no longer shown.
pub struct Heartbeat {
    _thread: Background,
}

impl Heartbeat {
    pub fn start(
        redis: Redis,
        name: String,
        started_at: Millis,
        now: fn() -> Millis,
        status: impl Fn() -> WorkerStatus + Send + 'static,
    ) -> server_error::Result<Heartbeat> {
        let thread = Background::start("heartbeat", move |stop| {
            loop {
                // Notified if Redis is found to be unreachable.
                let _ = redis.report(&figures(&name, started_at, now(), status()));
                if stop.stopped_within(EVERY) {
                    let _ = redis.remove_worker(&name);
                    return;
                }
            }
        })?;
        Ok(Heartbeat { _thread: thread })
    }
}

fn figures(name: &str, started_at: Millis, reported_at: Millis, worker: WorkerStatus) -> WorkerFigures {
    let WorkerStatus { state, shards, status } = worker;
    WorkerFigures {
        name: name.to_owned(),
        state: state.to_owned(),
        current_url: status.requests.oldest.map(|oldest| oldest.url),
        shards,
        pages: status.totals.pages,
        failures: status.totals.failed,
        bytes: status.totals.bytes,
        pages_per_second: status.rates.now,
        cpu_percent: status.process.cpu_percent,
        memory_bytes: status.process.memory_bytes,
        uptime_seconds: reported_at.since(started_at).as_secs(),
        started_at,
        reported_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_engine::OldestRequest;

    #[test]
    fn a_heartbeat_tells_how_a_worker_is_until_it_ends_on_redis() {
        let Some(url) = argiope_lab::TestServer::Redis.address() else { return };
        let redis = Redis::new(&url, &format!("heartbeat-{}", std::process::id())).unwrap();
        let mut status = Status::default();
        status.totals.pages = 7;
        status.process.memory_bytes = 200_000;
        status.requests.oldest =
            Some(OldestRequest { url: String::from("http://a.test/"), since: Millis(1) });
        let own = WorkerStatus { state: "active", shards: 3, status };
        let (started, now) = (Millis(1_000), || Millis(62_500));
        let heartbeat =
            Heartbeat::start(redis.clone(), String::from("w"), started, now, move || own.clone()).unwrap();
        let shown = loop {
            if let Some(shown) = redis.workers(now()).unwrap().pop() {
                break shown;
            }
        };
        assert_eq!((&*shown.name, &*shown.state, shown.shards, shown.pages), ("w", "active", 3, 7));
        assert_eq!(shown.current_url.as_deref(), Some("http://a.test/"));
        assert_eq!((shown.uptime_seconds, shown.reported_at), (61, now()));
        assert_eq!(shown.memory_bytes, 200_000);
        drop(heartbeat);
        assert_eq!(redis.workers(now()).unwrap(), []);
    }
}
