//! Kills the real process at random points, again and again, and checks the result when it may finally run to its end:
//! nothing lost, nothing duplicated, nothing in the archive requested again, no host requested too early.
//!
//! When a kill comes depends on the machine; which request it follows comes from a seed that is printed with a failure
//! and can be given as `ARGIOPE_CRASH_SEED`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be set up has failed"
)]

mod stored;

use argiope_lab::{AccessEntry, Lab, LabConfig, PageSize, SiteKind};
use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use stored::{Asked, LAB_PAUSE, Stored, Wanted, patient, polite, requests, wanted};
use tempfile::TempDir;

const DELAY: Duration = Duration::from_millis(50);
const CONCURRENCY: u32 = 12;
/// Far longer than anything here takes, so that only a hang fails.
const PATIENCE: Duration = Duration::from_secs(120);

struct Random(u64);

impl Random {
    fn new(default: u64) -> Random {
        let given = std::env::var("ARGIOPE_CRASH_SEED").ok().and_then(|text| text.parse().ok());
        let seed: u64 = given.unwrap_or(default);
        println!("ARGIOPE_CRASH_SEED={seed}");
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn between(&mut self, start: u64, end: u64) -> u64 {
        start + self.below(end - start)
    }
}

fn now_us() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

/// A process that was stopped, and the stored state at that time.
struct Stopped {
    started_us: u64,
    ended_us: u64,
    /// Whether the one before it had been killed.
    after_kill: bool,
    /// URLs whose last visit the archive had, with the requests for them until then.
    finished: HashMap<String, u32>,
}

/// A crawl of a lab that is interrupted and resumed.
struct Crawl {
    lab: Lab,
    home: TempDir,
    arguments: Vec<String>,
    random: Random,
    stops: Vec<Stopped>,
    kills: u32,
    killed_before: bool,
    /// Requests whose answers were lost with their process.
    lost: HashSet<Asked>,
}

struct Process {
    child: Child,
    started_us: u64,
    requests_before: u64,
}

impl Crawl {
    fn of(config: LabConfig, seed: u64, options: &[&str]) -> Crawl {
        let lab = Lab::start_on_thread(LabConfig { log_capacity: 100_000, ..config }).unwrap();
        let home = tempfile::tempdir().unwrap();
        let output = home.path().join("pages.jsonl");
        let delay = format!("{}ms", DELAY.as_millis());
        let concurrency = CONCURRENCY.to_string();
        let mut arguments: Vec<String> =
            ["crawl", "--allow-private", "--delay", &delay, "--concurrency", &concurrency, "-o"]
                .map(String::from)
                .to_vec();
        arguments.push(output.to_str().unwrap().to_owned());
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        let random = Random::new(seed);
        Crawl {
            lab,
            home,
            arguments,
            random,
            stops: Vec::new(),
            kills: 0,
            killed_before: false,
            lost: HashSet::new(),
        }
    }

    fn from_all_sites(config: LabConfig, seed: u64, options: &[&str]) -> Crawl {
        let mut crawl = Crawl::of(config, seed, options);
        crawl.arguments.extend(crawl.lab.seeds());
        crawl
    }

    fn stored(&self) -> Stored {
        Stored::at(&self.home.path().join("data"))
    }

    fn output(&self) -> PathBuf {
        self.home.path().join("pages.jsonl")
    }

    fn said(&self) -> String {
        fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default()
    }

    fn start(&self) -> Process {
        let said =
            OpenOptions::new().create(true).append(true).open(self.home.path().join("stderr")).unwrap();
        let requests_before = self.lab.request_count();
        let started_us = now_us();
        let child = Command::new(env!("CARGO_BIN_EXE_argiope"))
            .arg("--data")
            .arg(self.home.path().join("data"))
            .args(&self.arguments)
            .current_dir(self.home.path())
            .env_remove("ARGIOPE_DATA")
            .env_remove("ARGIOPE_LOG")
            .env_remove("http_proxy")
            .env_remove("https_proxy")
            .env_remove("HTTP_PROXY")
            .env_remove("HTTPS_PROXY")
            .env_remove("all_proxy")
            .env_remove("ALL_PROXY")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .expect("the program starts");
        Process { child, started_us, requests_before }
    }

    /// Waits until the process has made so many requests; it must not end before.
    fn wait_for_requests(&self, process: &mut Process, count: u64) {
        let deadline = Instant::now() + PATIENCE;
        while self.lab.request_count() < process.requests_before + count {
            if let Some(status) = process.child.try_wait().unwrap() {
                panic!("it ended ({status}) before it was stopped:\n{}", self.said());
            }
            assert!(Instant::now() < deadline, "it hangs:\n{}", self.said());
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn wait(&self, process: &mut Process) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = process.child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() > deadline {
                let _ = process.child.kill();
                panic!("it hangs:\n{}", self.said());
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Records the stored state. Requests in flight reach the lab's log meanwhile.
    fn stopped(&mut self, process: &Process, killed: bool) {
        let ended_us = now_us();
        let finished = self.stored().finished();
        let log = self.lab.access_log();
        let counts = requests(&log);
        self.lost.extend(self.stored().lost(&log));
        let finished = finished.into_iter().map(|url| {
            let count = counts.get(&url).copied().unwrap_or(0);
            (url, count)
        });
        self.stops.push(Stopped {
            started_us: process.started_us,
            ended_us,
            after_kill: self.killed_before,
            finished: finished.collect(),
        });
        self.kills += u32::from(killed);
        self.killed_before = killed;
    }

    /// kill -9 after a random number of requests and a little.
    fn kill_after_requests(&mut self, least: u64, most: u64) {
        let mut process = self.start();
        let count = self.random.between(least, most);
        self.wait_for_requests(&mut process, count);
        thread::sleep(Duration::from_micros(self.random.below(60_000)));
        self.kill(process);
    }

    /// kill -9 after a random time: while it starts, or recovers.
    fn kill_after_time(&mut self, least: Duration, most: Duration) {
        let process = self.start();
        let wait = self.random.between(least.as_micros() as u64, most.as_micros() as u64);
        thread::sleep(Duration::from_micros(wait));
        self.kill(process);
    }

    fn kill(&mut self, mut process: Process) {
        process.child.kill().unwrap();
        let status = process.child.wait().unwrap();
        assert_eq!(status.code(), None, "it ended before it was killed:\n{}", self.said());
        self.stopped(&process, true);
    }

    /// SIGTERM after a random number of requests: it ends by itself and reports that it can be resumed.
    fn interrupt_after_requests(&mut self, least: u64, most: u64) {
        let mut process = self.start();
        let count = self.random.between(least, most);
        self.wait_for_requests(&mut process, count);
        let told = Command::new("kill").arg("-TERM").arg(process.child.id().to_string()).status().unwrap();
        assert!(told.success());
        let status = self.wait(&mut process);
        assert_eq!(status.code(), Some(130), "{}", self.said());
        self.stopped(&process, false);
    }

    /// Lets it run to its end.
    fn finish(&mut self) {
        let mut process = self.start();
        let status = self.wait(&mut process);
        assert_eq!(status.code(), Some(0), "{}", self.said());
        self.stopped(&process, false);
    }

    /// No host was requested too early, within a process and from one to the next.
    fn check_politeness(&self) {
        let log = self.lab.access_log();
        polite(&log, DELAY);
        for stop in self.stops.iter().filter(|stop| stop.after_kill) {
            let own =
                |entry: &&AccessEntry| entry.started_us > stop.started_us && entry.started_us < stop.ended_us;
            for entry in log.iter().filter(own) {
                let since = Duration::from_micros(entry.started_us - stop.started_us);
                assert!(since >= DELAY, "{} was asked {since:?} after the start", entry.url());
            }
        }
    }

    /// What was complete in the archive when a process ended was not requested again.
    fn check_no_second_fetch(&self, of: impl Fn(&str) -> bool) {
        let counts = requests(&self.lab.access_log());
        let mut again = HashSet::new();
        for (number, stop) in self.stops.iter().enumerate() {
            for (url, count) in stop.finished.iter().filter(|(url, _)| of(url)) {
                if counts.get(url).copied().unwrap_or(0) > *count {
                    again.insert(format!("{url}, complete when process {number} ended"));
                }
            }
        }
        assert!(again.is_empty(), "fetched again: {again:#?}\n{}", self.said());
    }

    /// Only requests in flight are repeated.
    fn check_refetches(&self) {
        let counts = requests(&self.lab.access_log());
        let again: u32 = counts.values().map(|count| count - 1).sum();
        let most = self.kills * CONCURRENCY;
        assert!(again <= most, "{again} requests were made again after {} kills", self.kills);
        for (url, count) in counts {
            assert!(count <= 1 + self.kills, "{url} was asked for {count} times");
        }
    }

    /// What an undisturbed crawl of the same web stores.
    fn reference(&self) -> Wanted {
        let config = self.lab.web().config().clone();
        let twin = Lab::start_on_thread(LabConfig { listen: LabConfig::plain().listen, ..config }).unwrap();
        let (own, other) = (format!(":{}/", self.lab.port()), format!(":{}/", twin.port()));
        let home = tempfile::tempdir().unwrap();
        let mut arguments: Vec<String> = Vec::new();
        for argument in &self.arguments {
            arguments.push(argument.replace(&own, &other));
        }
        let output = arguments.iter().position(|argument| argument == "-o").unwrap();
        arguments.drain(output..output + 2);
        let data = home.path().join("data");
        let mut command = Command::new(env!("CARGO_BIN_EXE_argiope"));
        command.arg("-q").arg("--data").arg(&data).args(&arguments).current_dir(home.path());
        let status = command.env_remove("ARGIOPE_DATA").status().unwrap();
        assert!(status.success());
        let pages = Stored::at(&data).pages();
        assert!(!pages.is_empty());
        pages.into_iter().map(|row| (row.page.url.replace(&other, &own), row.page.status)).collect()
    }

    fn check_plain(&self, wanted: &Wanted) {
        self.stored().check_all(wanted, Some(&self.output()));
        self.check_politeness();
        self.check_no_second_fetch(|_| true);
        self.check_refetches();
    }
}

fn plain(seed: u64) -> LabConfig {
    LabConfig {
        hosts: CONCURRENCY,
        pages: 24,
        seed,
        page_size: PageSize::Small,
        latency_ms: 2,
        ..LabConfig::plain()
    }
}

#[test]
fn a_crawl_killed_at_random_stores_every_page_once() {
    for seed in 1..=3 {
        let mut crawl = Crawl::from_all_sites(plain(seed), seed, &[]);
        for _ in 0..6 {
            crawl.kill_after_requests(1, 60);
        }
        crawl.finish();
        assert_eq!(crawl.kills, 6);
        crawl.check_plain(&wanted(&crawl.lab.expected()));
    }
}

#[test]
fn hosts_that_links_brought_are_no_worse_off_when_killed_at_random() {
    for seed in 11..=12 {
        let lab = LabConfig { tracking: false, ..plain(seed) };
        let mut crawl = Crawl::of(lab, seed, &["--scope", "any"]);
        let first = crawl.lab.seeds().swap_remove(0);
        crawl.arguments.push(first);
        for _ in 0..6 {
            crawl.kill_after_requests(1, 50);
        }
        crawl.finish();
        crawl.check_plain(&crawl.reference());
    }
}

/// Kinds that end quickly once they are tried again after a second.
fn mixed(seed: u64) -> LabConfig {
    let kinds = vec![
        SiteKind::Redirects,
        SiteKind::Busy,
        SiteKind::Errors,
        SiteKind::Overloaded,
        SiteKind::Duplicates,
        SiteKind::Sitemaps,
        SiteKind::Directives,
        SiteKind::RobotsPaths,
        SiteKind::RobotsFlaky,
        SiteKind::RobotsRedirect,
        SiteKind::Ordinary,
    ];
    LabConfig { hosts: u32::try_from(kinds.len()).unwrap(), pages: 20, kinds, ..plain(seed) }
}

const QUICK_RETRIES: &str = "
politeness:
  retries:
    busy: {times: 4, after: 300ms, growth: 1}
    server_error: {times: 2, after: 300ms, growth: 1}
    no_answer: {times: 1, after: 300ms}
    jitter: 0
  robots:
    retry_after: [300ms, 300ms]
  breaker: false
  adaptive: false
";

#[test]
fn redirects_and_retries_go_on_when_killed_at_random() {
    for seed in 21..=22 {
        let mut crawl = Crawl::from_all_sites(mixed(seed), seed, &[]);
        let config = crawl.home.path().join("quick.yaml");
        fs::write(&config, QUICK_RETRIES).unwrap();
        crawl.arguments.splice(0..0, [String::from("--config"), config.to_str().unwrap().to_owned()]);
        for _ in 0..6 {
            crawl.kill_after_requests(1, 60);
        }
        crawl.finish();
        crawl.stored().check_all(&crawl.reference(), Some(&crawl.output()));
        crawl.check_politeness();
        patient(&crawl.lab.access_log(), LAB_PAUSE, &crawl.lost);
        // Other pages are requested as redirect targets, too.
        crawl.check_no_second_fetch(|url| {
            url.contains("/r/") || url.contains("/error/") || url.contains("/gone/")
        });
        let refused: HashSet<String> = crawl.lab.expected().refused().map(|one| one.url.clone()).collect();
        let asked = requests(&crawl.lab.access_log());
        assert!(asked.keys().all(|url| !refused.contains(url)), "robots.txt holds after a restart, too");
    }
}

#[test]
fn a_page_limit_is_kept_when_killed_at_random() {
    const LIMIT: usize = 200;
    let mut crawl = Crawl::from_all_sites(plain(31), 31, &["--max-pages", "200"]);
    for _ in 0..5 {
        crawl.kill_after_requests(1, 36);
        assert!(crawl.stored().pages().len() <= LIMIT);
    }
    crawl.finish();
    let pages = stored::once("catalogue", crawl.stored().pages().into_iter().map(|row| row.page.url));
    assert_eq!(pages.len(), LIMIT);
    let shown = stored::once("output", stored::output_urls(&crawl.output()));
    stored::same("output", &shown, &pages);
    crawl.stored().check_links();
    crawl.stored().check_archive();
    crawl.check_politeness();
    crawl.check_no_second_fetch(|_| true);
    crawl.check_refetches();
}

#[test]
fn a_start_killed_at_random_is_only_a_start_that_has_to_be_made_again() {
    let mut crawl = Crawl::from_all_sites(plain(41), 41, &[]);
    for _ in 0..4 {
        crawl.kill_after_time(Duration::from_millis(1), Duration::from_millis(200));
    }
    for _ in 0..3 {
        crawl.kill_after_requests(5, 60);
        // Kills the recovery of the previous kill.
        crawl.kill_after_time(Duration::from_millis(10), Duration::from_millis(100));
        crawl.kill_after_time(Duration::from_millis(10), Duration::from_millis(300));
    }
    crawl.finish();
    crawl.check_plain(&wanted(&crawl.lab.expected()));
}

#[test]
fn clean_stops_between_processes_killed_at_random_cost_nothing() {
    let mut crawl = Crawl::from_all_sites(plain(51), 51, &[]);
    for _ in 0..3 {
        crawl.interrupt_after_requests(5, 50);
        crawl.kill_after_requests(5, 50);
    }
    crawl.finish();
    crawl.check_plain(&wanted(&crawl.lab.expected()));
}

#[test]
fn a_crawl_without_an_archive_killed_at_random_catalogues_every_page_once() {
    let mut crawl = Crawl::from_all_sites(plain(61), 61, &["--no-archive"]);
    for _ in 0..6 {
        crawl.kill_after_requests(1, 60);
    }
    crawl.finish();
    assert!(crawl.stored().archive_files().is_empty());
    crawl.stored().check_complete(&wanted(&crawl.lab.expected()), Some(&crawl.output()));
    crawl.stored().check_frontier_is_empty();
    crawl.check_politeness();
    for (url, count) in requests(&crawl.lab.access_log()) {
        assert!(count <= 1 + crawl.kills, "{url} was asked for {count} times");
    }
    // What was not done was fetched again, and its links are stored again; none are missing.
    let sources: HashSet<String> = crawl.stored().link_sources().into_iter().collect();
    assert!(crawl.stored().pages().iter().all(|row| sources.contains(&row.page.url)));
}

#[test]
fn warcio_accepts_the_archive_of_a_crawl_killed_at_random() {
    let Some(warcio) = std::env::var_os("WARCIO") else {
        println!("skipped: WARCIO does not name the executable of warcio");
        return;
    };
    let mut crawl = Crawl::from_all_sites(plain(71), 71, &[]);
    for _ in 0..4 {
        crawl.kill_after_requests(1, 60);
    }
    crawl.finish();
    let files = crawl.stored().archive_files();
    assert!(!files.is_empty());
    let output = Command::new(warcio).arg("check").args(&files).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}
