//! A directory of one's own to run the program in, and small labs to crawl.

use argiope_lab::{Lab, LabConfig, PageSize, SiteKind};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Whatever is waited for comes within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Desk {
    directory: tempfile::TempDir,
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
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
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
        json_lines(&self.stdout)
    }
}

pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// The texts of a field, sorted.
pub(crate) fn sorted(rows: &[Value], field: &str) -> Vec<String> {
    let mut all: Vec<String> =
        rows.iter().map(|row| row[field].as_str().unwrap_or("null").to_owned()).collect();
    all.sort();
    all
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// With variables in its environment.
    pub(crate) fn run_in(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Run {
        let mut command = self.command(arguments);
        command.envs(environment.iter().copied());
        Run::of(command.output().expect("the program starts"))
    }

    /// With no more than so many open files.
    pub(crate) fn run_with_files(&self, files: u32, arguments: &[&str]) -> Run {
        let script = format!("ulimit -n {files}; exec \"$@\"");
        let mut words = vec!["-c", &script, "sh", env!("CARGO_BIN_EXE_argiope")];
        words.extend(arguments);
        Run::of(self.command_of("sh", &words).output().expect("a shell"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_argiope"), arguments)
    }

    fn command_of(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
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
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).output().expect("the program starts"))
    }

    /// Polite enough for a lab and fast enough for a test.
    pub(crate) fn crawl(&self, seeds: &[String], more: &[&str]) -> Run {
        self.run(&crawl_words(seeds, more))
    }

    pub(crate) fn start_crawl(&self, seeds: &[String], more: &[&str]) -> Running {
        self.start(&crawl_words(seeds, more))
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let child = self.command(arguments).spawn().expect("the program starts");
        Running { child: Some(child) }
    }

    /// The pages of the latest job.
    pub(crate) fn pages(&self) -> Vec<Value> {
        self.run(&["export"]).ok().json_lines()
    }

    pub(crate) fn status(&self) -> Option<Value> {
        let run = self.run(&["status", "--json"]);
        (run.code == 0).then(|| run.json())
    }

    /// Waits until the crawl that runs has stored at least so many pages.
    pub(crate) fn wait_for_pages(&self, pages: u64) {
        wait_until(|| {
            self.status()
                .is_some_and(|status| status["state"] == "running" && status["pages"].as_u64() >= Some(pages))
        });
    }
}

fn crawl_words<'w>(seeds: &'w [String], more: &[&'w str]) -> Vec<&'w str> {
    let mut words = vec!["crawl", "--allow-private"];
    words.extend(seeds.iter().map(String::as_str));
    words.extend(more);
    words
}

pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "waited in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A crawl that runs beside the test; it does not outlive it.
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("a process").id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.pid().to_string()]).status().expect("kill");
        assert!(sent.success(), "kill {name}");
    }

    /// Reads one line of its output and goes away.
    pub(crate) fn read_one_line(&mut self) -> String {
        let stdout = self.child.as_mut().and_then(|child| child.stdout.take()).expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        line
    }

    pub(crate) fn wait(mut self) -> Run {
        let began = Instant::now();
        let mut child = self.child.take().expect("a process");
        while child.try_wait().expect("a process").is_none() {
            if began.elapsed() > PATIENCE {
                let _ = child.kill();
                panic!("it does not end: {:?}", child.wait_with_output());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Run::of(child.wait_with_output().expect("output"))
    }

    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().expect("a process");
        child.kill().expect("kill -9");
        child.wait().expect("its end");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Small pages, every request logged.
pub(crate) fn lab(kinds: &[SiteKind], pages: u32, latency_ms: u64) -> Lab {
    let config = LabConfig {
        hosts: u32::try_from(kinds.len()).expect("few"),
        pages,
        kinds: kinds.to_vec(),
        page_size: PageSize::Small,
        latency_ms,
        ..LabConfig::mixed()
    };
    Lab::start_on_thread(config).expect("a lab")
}

/// The URL of a path on a site of the lab.
pub(crate) fn at(lab: &Lab, site: usize, path: &str) -> String {
    format!("{}{path}", lab.seeds()[site].trim_end_matches('/'))
}

/// What a correct crawl of the whole lab has, sorted.
pub(crate) fn expected(lab: &Lab) -> Vec<String> {
    let mut urls: Vec<String> = lab.expected().fetched().map(|url| url.url.clone()).collect();
    urls.sort();
    urls
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}
