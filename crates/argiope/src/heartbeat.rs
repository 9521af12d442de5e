//! What a worker tells of itself through Redis, for display only: a thread of its own reports every half minute, so that a
//! server that hangs holds nobody up. Who lives and who owns what is decided elsewhere.

use argiope_cluster::background::Background;
use argiope_cluster::redis::{Redis, WorkerFigures};
use argiope_cluster::server_error;
use argiope_model::Millis;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(30);

/// What only the worker itself knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    pub(crate) state: &'static str,
    pub(crate) current_url: Option<String>,
    pub(crate) shards: u32,
    pub(crate) pages: u64,
    pub(crate) failures: u64,
    pub(crate) bytes: u64,
}

/// Reports until it is dropped; then the worker is no longer shown.
pub(crate) struct Heartbeat {
    _thread: Background,
}

impl Heartbeat {
    pub(crate) fn start(
        redis: Redis,
        name: String,
        started_at: Millis,
        now: fn() -> Millis,
        own: impl Fn() -> Own + Send + 'static,
    ) -> server_error::Result<Heartbeat> {
        let thread = Background::start("heartbeat", move |stop| {
            let mut before: Option<(Instant, Duration, u64)> = None;
            loop {
                let (own, cpu, at, reported_at) = (own(), cpu_time(), Instant::now(), now());
                let since = |then: Instant| at.duration_since(then).as_secs_f64().max(0.001);
                let figures = WorkerFigures {
                    name: name.clone(),
                    state: own.state.to_owned(),
                    current_url: own.current_url,
                    shards: own.shards,
                    pages: own.pages,
                    failures: own.failures,
                    bytes: own.bytes,
                    pages_per_second: before
                        .map_or(0.0, |(then, _, pages)| own.pages.saturating_sub(pages) as f64 / since(then)),
                    cpu_percent: before.map_or(0.0, |(then, used, _)| {
                        100.0 * cpu.saturating_sub(used).as_secs_f64() / since(then)
                    }),
                    memory_bytes: resident_bytes(),
                    uptime_seconds: reported_at.since(started_at).as_secs(),
                    started_at,
                    reported_at,
                };
                before = Some((at, cpu, own.pages));
                // That Redis is away is said where it is found out.
                let _ = redis.report(&figures);
                if stop.stopped_within(EVERY) {
                    let _ = redis.remove_worker(&name);
                    return;
                }
            }
        })?;
        Ok(Heartbeat { _thread: thread })
    }
}

fn cpu_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(used.tv_sec).unwrap_or(0), u32::try_from(used.tv_nsec).unwrap_or(0))
}

/// 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: Option<u64> = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_time_and_memory() {
        assert!(cpu_time() > Duration::ZERO);
        assert!(!cfg!(target_os = "linux") || resident_bytes() > 100_000);
    }

    #[test]
    fn a_heartbeat_tells_how_a_worker_is_until_it_ends_on_redis() {
        let Some(url) = argiope_lab::TestServer::Redis.address() else { return };
        let redis = Redis::new(&url, &format!("heartbeat-{}", std::process::id())).unwrap();
        let current_url = Some(String::from("http://a.test/"));
        let own = Own { state: "active", current_url, shards: 3, pages: 7, ..Own::default() };
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
        assert!(!cfg!(target_os = "linux") || shown.memory_bytes > 100_000);
        drop(heartbeat);
        assert_eq!(redis.workers(now()).unwrap(), []);
    }
}
