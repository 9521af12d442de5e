//! The frontier alone, durable: how fast discovered links are admitted, what ten million queued URLs on a hundred
//! thousand hosts take, and how long it takes to resume them.
//!
//! ```sh
//! cargo run --release -p argiope-local --example frontier_rate -- [DIRECTORY]
//! ```
//!
//! Links are made on a thread of their own, as workers would; the measured time is that of the frontier's owner from
//! the first link to the last sync. Everything is on one shard.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement: a failure ends it")]

use argiope_frontier::state::{ShardState, StateSync};
use argiope_frontier::{Discovery, Found, Frontier, FrontierConfig, JobLimits, LastStop, Step};
use argiope_local::frontier::FjallState;
use argiope_model::{FingerprintKey, JobId, JobSpec, Millis, NewUrlRate, PublicSuffixes, RequestKind, Url};
use argiope_politeness::PolitenessRules;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const HOSTS: u64 = 100_000;
const QUEUED: u64 = 10_000_000;
const OFFERED: u64 = 10_000_000;
/// One link in so many is new.
const NEW_EVERY: u64 = 10;
/// Links of one source, and sources per batch.
const LINKS: u64 = 100;
const SOURCES: usize = 20;
const SYNC_EVERY: Duration = Duration::from_millis(200);
const SETTLE: Duration = Duration::from_secs(15);
const NOW: Millis = Millis(1_800_000_000_000);
const JOB: JobId = JobId(1);

fn main() {
    let base = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = base.join(format!("frontier-rate-{}", std::process::id()));
    measure(&directory);
    std::fs::remove_dir_all(&directory).unwrap();
}

fn measure(directory: &Path) {
    let key = FingerprintKey::new([7; 16]);
    let state = FjallState::open(directory).unwrap();
    let mut owner = Owner::new(new_frontier(&key), state);
    owner.frontier.open_job(JOB, limits());

    let links = make_links(key.clone(), QUEUED, |n| n);
    report("queued, all of them new", QUEUED, &owner.take_all(links));
    println!(
        "memory with {QUEUED} URLs queued on {HOSTS} hosts: {} MB, at most {} MB",
        memory("VmRSS"),
        memory("VmHWM")
    );

    // What was written all at once is compacted first, as it would have been in the hours of a crawl.
    std::thread::sleep(SETTLE);

    // One of ten is new. Of the others two thirds lead to the page's own site, the rest anywhere.
    let known_or_new = |n: u64| match (n % NEW_EVERY, n % 3) {
        (0, _) => QUEUED + n / NEW_EVERY,
        (_, 0) => scatter(n) % QUEUED,
        _ => (scatter(n / LINKS) % (QUEUED / LINKS)) * LINKS + scatter(n) % LINKS,
    };
    let links = make_links(key.clone(), OFFERED, known_or_new);
    report("links, one in ten new", OFFERED, &owner.take_all(links));
    println!("memory: {} MB, at most {} MB", memory("VmRSS"), memory("VmHWM"));

    drop(owner);
    resume(directory, &key);
    println!("memory at the end: at most {} MB", memory("VmHWM"));
}

struct Owner {
    frontier: Frontier,
    state: FjallState,
}

struct Took {
    wall: Duration,
    new: usize,
    syncs: u32,
    cpu: Duration,
    /// Of the thread that owns the frontier.
    own_cpu: Duration,
}

impl Owner {
    fn new(frontier: Frontier, state: FjallState) -> Owner {
        Owner { frontier, state }
    }

    /// Admits all links, batch by batch, with syncs beside it and one at the end.
    fn take_all(&mut self, links: Receiver<Vec<Discovery>>) -> Took {
        let (started, cpu, own_cpu) = (Instant::now(), cpu_time("self"), cpu_time("thread-self"));
        let (stop, syncs) = sync_beside(self.state.syncer());
        let mut new = 0;
        for batch in links {
            for discovery in batch {
                let (refused, admitted) = self.frontier.discover(discovery, NOW);
                assert!(refused.is_empty(), "{refused:?}");
                new += admitted;
            }
            self.state.apply(self.frontier.take_changes()).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        let syncs = syncs.join().unwrap();
        let own_cpu = cpu_time("thread-self").saturating_sub(own_cpu);
        Took { wall: started.elapsed(), new, syncs, cpu: cpu_time("self").saturating_sub(cpu), own_cpu }
    }
}

/// Opens the stored state and runs to the first request.
fn resume(directory: &Path, key: &FingerprintKey) {
    let started = Instant::now();
    let state = FjallState::open(directory).unwrap();
    let opened = started.elapsed();
    let mut frontier = new_frontier(key);
    frontier.restore(&state, &HashMap::from([(JOB, limits())]), LastStop::Clean, NOW).unwrap();
    let restored = started.elapsed();
    loop {
        match frontier.next(NOW) {
            Step::Fetch(_) | Step::FetchRobots(_) => break,
            Step::Resolve { host, .. } => {
                let addresses = Arc::from([std::net::IpAddr::from(host.to_be_bytes())]);
                frontier.resolved(host, Ok((addresses, Millis::NEVER)), NOW);
            }
            Step::LoadQueue { host, at, after, limit } => {
                let entries = state.load_queue(at, after.0, limit).unwrap();
                let complete = entries.len() < limit;
                frontier.queue_loaded(host, at.job, entries, complete, NOW);
            }
            Step::LoadRobots { host, scheme, agent, origin } => {
                let stored = state.load_robots(&origin).unwrap();
                frontier.robots_loaded(host, scheme, &agent, stored, NOW);
            }
            other => panic!("{other:?}"),
        }
    }
    let queued = frontier.progress(JOB).unwrap().queued;
    println!(
        "resume with {queued} queued: {:.2} s to the first request (opened after {:.2}, restored after {:.2})",
        started.elapsed().as_secs_f64(),
        opened.as_secs_f64(),
        restored.as_secs_f64()
    );
}

fn new_frontier(key: &FingerprintKey) -> Frontier {
    let config = FrontierConfig { shards: 1, ..FrontierConfig::default() };
    let suffixes = Arc::new(PublicSuffixes::bundled());
    Frontier::new(config, suffixes, key.clone(), Arc::new(PolitenessRules::default()), NOW)
}

fn limits() -> JobLimits {
    let unlimited = NewUrlRate { per_second: u32::MAX, burst: u32::MAX };
    let spec = JobSpec { new_urls_per_source: unlimited, ..JobSpec::default() };
    JobLimits::of(&spec, "RateBot")
}

/// Makes `count` links; `number` names the URL of each.
fn make_links(
    key: FingerprintKey,
    count: u64,
    number: impl Fn(u64) -> u64 + Send + 'static,
) -> Receiver<Vec<Discovery>> {
    let (to, from) = sync_channel(8);
    std::thread::spawn(move || {
        let mut batch = Vec::with_capacity(SOURCES);
        for first in (0..count).step_by(LINKS as usize) {
            let found = (first..count.min(first + LINKS)).map(|n| found(&key, number(n))).collect();
            let source = Some(url_of(scatter(first) % QUEUED));
            batch.push(Discovery { job: JOB, round: 0, depth: 2, source, found, not_before: None });
            if batch.len() == SOURCES
                && to.send(std::mem::replace(&mut batch, Vec::with_capacity(SOURCES))).is_err()
            {
                return;
            }
        }
        // Nobody listens any more only if the measurement has failed.
        let _ = to.send(batch);
    });
    from
}

fn found(key: &FingerprintKey, number: u64) -> Found {
    let url = url_of(number);
    let fingerprint = key.of(url.as_str(), 0);
    Found {
        fingerprint,
        url,
        priority: (40 + scatter(number) % 20) as u8,
        kind: RequestKind::Page,
        previous: None,
    }
}

/// Written by hand: `format!` would take more of the machine than what is measured.
fn url_of(number: u64) -> Url {
    let mut text = String::with_capacity(80);
    text.push_str("https://www.site");
    push_number(&mut text, scatter(number / LINKS) % HOSTS);
    text.push_str(".example/section");
    push_number(&mut text, number % 7);
    text.push_str("/article-");
    push_number(&mut text, number);
    text.push_str(".html");
    Url::from_stored(&text).unwrap()
}

fn push_number(text: &mut String, number: u64) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

fn scatter(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

fn sync_beside(syncer: Box<dyn StateSync>) -> (Arc<AtomicBool>, JoinHandle<u32>) {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let syncs = std::thread::spawn(move || {
        let mut syncs = 0;
        loop {
            let last = stopped.load(Ordering::Relaxed);
            syncer.sync().unwrap();
            syncs += 1;
            if last {
                return syncs;
            }
            std::thread::sleep(SYNC_EVERY);
        }
    });
    (stop, syncs)
}

fn report(what: &str, count: u64, took: &Took) {
    let seconds = took.wall.as_secs_f64();
    println!(
        "{what}: {count} in {seconds:.2} s, {:.0} a second; {} new, {} syncs; CPU each {:.2} us, {:.2} us with the threads that make links, flush and compact",
        count as f64 / seconds,
        took.new,
        took.syncs,
        took.own_cpu.as_secs_f64() * 1e6 / count as f64,
        took.cpu.as_secs_f64() * 1e6 / count as f64
    );
}

/// User and system time of the process (`self`) or the thread (`thread-self`), in hundredths of a second.
fn cpu_time(whose: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{whose}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// A line of /proc/self/status, in MB; 0 where there is no such file.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
