//! A set of servers of a test's own, to be stopped, hung and wiped; and the shared one, to be used with care.

#![allow(clippy::unwrap_used, dead_code, reason = "tests, each using a part of it")]

use argiope_lab::TestServer;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A word that no other test, and no other run, uses.
pub(crate) fn unique(name: &str) -> String {
    use std::hash::BuildHasher;
    let random = std::hash::RandomState::new().hash_one(name);
    format!("{name}-{:x}-{random:016x}", std::process::id())
}

pub(crate) struct PrivateSet {
    directory: tempfile::TempDir,
    environment: Vec<(&'static str, PathBuf)>,
    pub(crate) variables: HashMap<String, String>,
}

impl PrivateSet {
    /// Starts a server. It ends with this process at the latest. `None` if the test is to be skipped.
    pub(crate) fn start(server: TestServer) -> Option<PrivateSet> {
        PrivateSet::start_with(server, Vec::new())
    }

    /// With variables of the environment that the server's configuration follows.
    pub(crate) fn start_with(
        server: TestServer,
        environment: Vec<(&'static str, PathBuf)>,
    ) -> Option<PrivateSet> {
        server.address()?;
        let directory = tempfile::tempdir().unwrap();
        let mut set = PrivateSet { directory, environment, variables: HashMap::new() };
        set.script(&["up", "--only", server.name(), "--owner", &std::process::id().to_string()]);
        let text = set.script(&["env"]);
        let words = text.trim().strip_prefix("export ").unwrap().split_whitespace();
        let variables = words.filter_map(|word| word.split_once('='));
        set.variables = variables.map(|(key, value)| (key.into(), value.trim_matches('\'').into())).collect();
        Some(set)
    }

    pub(crate) fn address(&self, server: TestServer) -> &str {
        self.variables.get(&server.variable()).unwrap()
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("servers")
    }

    /// `stop`, `start`, `kill`, `pause`, `resume`, `wipe` and a server.
    pub(crate) fn script(&self, arguments: &[&str]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/servers");
        let done = Command::new(script)
            .args(arguments)
            .arg("--dir")
            .arg(self.root())
            .env_remove("ARGIOPE_TEST_SERVERS")
            .envs(self.environment.iter().cloned())
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }
}

impl Drop for PrivateSet {
    fn drop(&mut self) {
        if self.root().exists() {
            // A paused server would not end.
            self.script(&["down"]);
        }
    }
}

/// Waits for something another thread or process does; gives up after a minute.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
