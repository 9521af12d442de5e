//! A cluster of one's own: a database on the shared server, a configuration, workers as processes, and a lab to crawl.

use argiope_lab::{AccessEntry, HostRule, Lab, LabConfig, PageSize, TestServer, check};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Whatever is waited for comes within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const DELAY: Duration = Duration::from_millis(100);

pub(crate) struct Site {
    directory: tempfile::TempDir,
    pub(crate) database: String,
    server: String,
    name: String,
    /// The brokers, where links travel through Kafka.
    kafka: Option<String>,
    redis: Option<String>,
    /// Servers of its own, and which of them the test stops.
    servers: Option<(tempfile::TempDir, &'static str)>,
    /// What every command finds in its environment.
    pub(crate) environment: Vec<(String, String)>,
}

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    fn of(output: Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn ok(self) -> Run {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }

    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }
}

impl Site {
    /// None if the test is to be skipped.
    pub(crate) fn new(name: &str) -> Option<Site> {
        Some(Site::on(name, TestServer::Postgres.address()?, None))
    }

    /// The same with links that travel through Kafka, in topics of its own.
    pub(crate) fn new_with_kafka(name: &str) -> Option<Site> {
        let (brokers, server) = (TestServer::Kafka.address()?, TestServer::Postgres.address()?);
        Some(Site::on(&format!("{name}_by_kafka"), server, Some(brokers)))
    }

    fn on(name: &str, server: String, kafka: Option<String>) -> Site {
        let name = format!("argiope_{name}_{}", std::process::id());
        let (server_part, _) = server.rsplit_once('/').expect("a path in the database's address");
        let site = Site {
            directory: tempfile::tempdir().expect("a temporary directory"),
            database: format!("{server_part}/{name}"),
            server: server.clone(),
            name,
            kafka,
            servers: None,
            environment: Vec::new(),
            redis: None,
        };
        site.sql_on(&server, &format!("CREATE DATABASE {}", site.name));
        site.configure("");
        site
    }

    /// With a PostgreSQL that may be stopped.
    pub(crate) fn with_own_postgres(name: &str) -> Option<Site> {
        TestServer::Postgres.address()?;
        let (servers, address) = own_servers("postgres");
        let mut site = Site::on(name, address("ARGIOPE_TEST_POSTGRES"), None);
        site.servers = Some((servers, "postgres"));
        Some(site)
    }

    /// With PostgreSQL and Redis, both of which may be stopped.
    pub(crate) fn with_own_redis(name: &str) -> Option<Site> {
        TestServer::Redis.address()?;
        TestServer::Postgres.address()?;
        let (servers, address) = own_servers("postgres,redis");
        let mut site = Site::on(name, address("ARGIOPE_TEST_POSTGRES"), None);
        site.servers = Some((servers, "postgres"));
        site.redis = Some(address("ARGIOPE_TEST_REDIS"));
        site.configure("");
        Some(site)
    }

    /// With PostgreSQL, Redis and Kafka, each of which may be stopped.
    pub(crate) fn with_own_servers(name: &str) -> Option<Site> {
        for server in [TestServer::Postgres, TestServer::Redis, TestServer::Kafka] {
            server.address()?;
        }
        let (servers, address) = own_servers("postgres,redis,kafka");
        let kafka = address("ARGIOPE_TEST_KAFKA");
        let mut site = Site::on(name, address("ARGIOPE_TEST_POSTGRES"), Some(kafka));
        site.servers = Some((servers, "postgres"));
        site.redis = Some(address("ARGIOPE_TEST_REDIS"));
        site.configure("");
        Some(site)
    }

    /// With a Kafka that may be stopped.
    pub(crate) fn with_own_kafka(name: &str) -> Option<Site> {
        TestServer::Kafka.address()?;
        let server = TestServer::Postgres.address()?;
        let (servers, address) = own_servers("kafka");
        let mut site = Site::on(name, server, Some(address("ARGIOPE_TEST_KAFKA")));
        site.servers = Some((servers, "kafka"));
        Some(site)
    }

    /// With a Kafka that takes encrypted connections with a password on a second port: given, with the password.
    pub(crate) fn with_secure_kafka(name: &str, pem: &Path) -> Option<(Site, String, String)> {
        TestServer::Kafka.address()?;
        let server = TestServer::Postgres.address()?;
        let (servers, address) = own_servers_with("kafka", &[("ARGIOPE_KAFKA_PEM", pem)]);
        let brokers = address("ARGIOPE_TEST_KAFKA_SECURE");
        let mut site = Site::on(name, server, Some(brokers.clone()));
        site.servers = Some((servers, "kafka"));
        Some((site, brokers, address("ARGIOPE_TEST_KAFKA_PASSWORD")))
    }

    /// `stop`, `start`, `kill`, `pause` or `resume` PostgreSQL.
    pub(crate) fn server(&self, what: &str) {
        let (_, server) = self.servers.as_ref().expect("a server of its own");
        self.one_server(what, server);
    }

    pub(crate) fn one_server(&self, what: &str, which: &str) {
        let (servers, _) = self.servers.as_ref().expect("a server of its own");
        script(&servers.path().join("servers"), &[what, which]);
    }

    pub(crate) fn redis(&self) -> &str {
        self.redis.as_deref().expect("a site with Redis")
    }

    pub(crate) fn set_redis(&mut self, url: &str) {
        self.redis = Some(url.to_owned());
        self.configure("");
    }

    pub(crate) fn brokers(&self) -> &str {
        self.kafka.as_deref().expect("a site with Kafka")
    }

    pub(crate) fn topic_prefix(&self) -> String {
        format!("{}-", self.name)
    }

    /// Writes the configuration, with more lines of the section `cluster`.
    pub(crate) fn configure(&self, cluster: &str) {
        let redis = self.redis.as_ref().map(|url| format!("  cache_url: \"{url}\"\n")).unwrap_or_default();
        let transport = match &self.kafka {
            Some(brokers) => format!(
                "kafka\n  kafka_brokers: \"{brokers}\"\n  kafka_topic_prefix: \"{}\"",
                self.topic_prefix()
            ),
            None => String::from("postgres"),
        };
        let text = format!(
            "storage:\n  metadata_db_url: \"{}\"\n{redis}cluster:\n  transport: {transport}\n  shards: 16\n{cluster}\
             workers:\n  concurrency_per_pod: 20\ncrawl:\n  allow_private: true\n  default_crawl_delay: {}ms\n",
            self.database,
            DELAY.as_millis()
        );
        self.write("cluster.yaml", &text);
    }

    /// More lines of the section `storage`.
    pub(crate) fn configure_storage(&self, lines: &str) {
        let text = std::fs::read_to_string(self.path("cluster.yaml")).expect("the configuration");
        self.write("cluster.yaml", &text.replacen("storage:\n", &format!("storage:\n{lines}"), 1));
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Asks the database itself; a line a row.
    pub(crate) fn sql(&self, text: &str) -> String {
        self.sql_on(&self.database, text)
    }

    fn sql_on(&self, address: &str, text: &str) -> String {
        let output = Command::new("psql")
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", address, "-c", text])
            .output()
            .expect("psql starts");
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_argiope"));
        command
            .args(arguments)
            .args(["--config", "cluster.yaml"])
            .current_dir(self.directory.path())
            .env_remove("ARGIOPE_DATA")
            .env_remove("ARGIOPE_LOG")
            .env_remove("http_proxy")
            .env_remove("https_proxy")
            .env_remove("HTTP_PROXY")
            .env_remove("HTTPS_PROXY")
            .env_remove("all_proxy")
            .env_remove("ALL_PROXY")
            .env("NO_COLOR", "1")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).output().expect("the program starts");
        Run::of(output)
    }

    pub(crate) fn worker(&self, name: &str) -> Worker {
        self.worker_with(name, &[])
    }

    pub(crate) fn worker_with(&self, name: &str, more: &[&str]) -> Worker {
        self.worker_on(name, &[&["--name", name], more].concat())
    }

    /// On a data directory, with the name that comes with it.
    pub(crate) fn worker_on(&self, directory: &str, more: &[&str]) -> Worker {
        let log = self.path(&format!("{directory}.log"));
        let to = File::options().create(true).append(true).open(&log).expect("a log");
        let child = self
            .command(&["worker", "--data", directory])
            .args(more)
            .stdout(Stdio::null())
            .stderr(to)
            .spawn()
            .expect("the program starts");
        Worker { child, log }
    }

    /// A command that runs beside the test. Its output, both stdout and stderr, is in its log.
    pub(crate) fn start(&self, name: &str, words: &[&str]) -> Worker {
        let log = self.path(&format!("{name}.log"));
        let to = File::options().create(true).append(true).open(&log).expect("a log");
        let mut command = self.command(words);
        command.stdout(to.try_clone().expect("a log")).stderr(to);
        Worker { child: command.spawn().expect("the program starts"), log }
    }

    /// Hands a crawl of the lab in and comes back at once.
    pub(crate) fn submit(&self, lab: &Lab, more: &[&str]) -> String {
        let seeds = lab.seeds();
        let mut words = vec!["crawl", "--detach"];
        words.extend(seeds.iter().map(String::as_str));
        words.extend(more);
        self.run(&words).ok().stdout.trim().to_owned()
    }

    pub(crate) fn status(&self) -> Value {
        self.run(&["cluster", "status", "--json"]).ok().json()
    }

    pub(crate) fn job(&self) -> Value {
        self.run(&["status", "--json"]).ok().json()
    }

    pub(crate) fn pages(&self) -> Vec<Value> {
        self.run(&["export"]).ok().json_lines()
    }

    pub(crate) fn wait_for_pages(&self, pages: u64) {
        self.wait_until("pages", || self.job()["pages"].as_u64() >= Some(pages));
    }

    pub(crate) fn wait_for_end(&self) {
        self.wait_until("the end of the job", || self.job()["state"] == "completed");
    }

    pub(crate) fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            if began.elapsed() > PATIENCE {
                let logs: Vec<String> = std::fs::read_dir(self.directory.path())
                    .expect("the directory")
                    .flatten()
                    .filter(|entry| entry.path().extension().is_some_and(|end| end == "log"))
                    .map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default())
                    .collect();
                panic!(
                    "waited in vain for {what}\n{}\n{}",
                    self.run(&["cluster", "status"]).stdout,
                    logs.join("\n")
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Which worker has how many shards.
    pub(crate) fn shares(&self) -> BTreeMap<String, u64> {
        let status = self.status();
        let workers = status["workers"].as_array().expect("workers");
        let share = |worker: &Value| Some((worker["name"].as_str()?.to_owned(), worker["shards"].as_u64()?));
        workers.iter().filter_map(share).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some((servers, _)) = &self.servers {
            script(&servers.path().join("servers"), &["down"]);
        }
        let is_shared = self.servers.as_ref().is_none_or(|(_, server)| *server != "postgres");
        if is_shared && !std::thread::panicking() {
            self.sql_on(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        }
    }
}

/// Started for this test alone, and where they are.
fn own_servers(kinds: &str) -> (tempfile::TempDir, impl Fn(&str) -> String) {
    own_servers_with(kinds, &[])
}

fn own_servers_with(
    kinds: &str,
    environment: &[(&str, &Path)],
) -> (tempfile::TempDir, impl Fn(&str) -> String + use<>) {
    let servers = tempfile::tempdir().expect("a temporary directory");
    let root = servers.path().join("servers");
    let owner = std::process::id().to_string();
    script_with(&root, &["up", "--only", kinds, "--owner", &owner], environment);
    let text = script(&root, &["env"]);
    let address = move |name: &str| {
        let value = text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        value.expect("an address").trim_matches('\'').to_owned()
    };
    (servers, address)
}

pub(crate) fn script(root: &Path, arguments: &[&str]) -> String {
    script_with(root, arguments, &[])
}

fn script_with(root: &Path, arguments: &[&str], environment: &[(&str, &Path)]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/servers");
    let done = Command::new(script)
        .args(arguments)
        .arg("--dir")
        .arg(root)
        .env_remove("ARGIOPE_TEST_SERVERS")
        .envs(environment.iter().copied())
        .output()
        .expect("the script starts");
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A worker's process. It is killed with this.
pub(crate) struct Worker {
    child: Child,
    log: PathBuf,
}

impl Worker {
    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(status.expect("kill").success());
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    /// SIGTERM; returns the exit code once it has ended.
    pub(crate) fn leave(&mut self) -> i32 {
        self.stop();
        self.code()
    }

    /// SIGTERM.
    pub(crate) fn stop(&self) {
        self.signal("-TERM");
    }

    /// The exit code, once it has ended.
    pub(crate) fn code(&mut self) -> i32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < PATIENCE, "it does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sites that behave, small pages, some links between them.
pub(crate) fn lab(hosts: u32, pages: u32, latency_ms: u64) -> Lab {
    let config = LabConfig {
        hosts,
        pages,
        page_size: PageSize::Small,
        latency_ms,
        log_capacity: 1_000_000,
        ..LabConfig::plain()
    };
    Lab::start_on_thread(config).expect("a lab")
}

/// All pages of the lab were stored, each once; no host was requested too early or twice at a time.
pub(crate) fn assert_whole(site: &Site, lab: &Lab, delay: Duration) {
    let pages = site.pages();
    let mut urls: Vec<&str> = pages.iter().filter_map(|page| page["url"].as_str()).collect();
    urls.sort_unstable();
    let stored = urls.len();
    urls.dedup();
    assert_eq!(stored, urls.len(), "pages stored twice");
    for wanted in lab.expected().fetched() {
        assert!(urls.binary_search(&wanted.url.as_str()).is_ok(), "{} is missing", wanted.url);
    }
    assert_polite(lab, delay);
    let audit = site.run(&["audit"]).ok().stdout;
    assert!(audit.starts_with("0 violations"), "{audit}");
}

pub(crate) fn assert_polite(lab: &Lab, delay: Duration) {
    // The crawler's clock counts whole milliseconds.
    let gap = delay.saturating_sub(Duration::from_millis(2));
    let violations = check(&lab.access_log(), |_| HostRule::one_at_a_time(gap));
    assert!(violations.is_empty(), "{} violations, the first: {}", violations.len(), violations[0]);
}

/// How many pages were requested.
pub(crate) fn pages_asked(lab: &Lab) -> usize {
    lab.access_log().iter().filter(|entry| !matches!(&*entry.path, "/robots.txt" | "/sitemap.xml")).count()
}

/// How many pages were requested more than once.
pub(crate) fn asked_twice(lab: &Lab) -> usize {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let is_page = |entry: &AccessEntry| !matches!(&*entry.path, "/robots.txt" | "/sitemap.xml");
    for entry in lab.access_log().into_iter().filter(is_page) {
        *times.entry(entry.url()).or_default() += 1;
    }
    times.values().filter(|times| **times > 1).count()
}
