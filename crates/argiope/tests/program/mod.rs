//! Runs the binary itself.

#![allow(clippy::expect_used, reason = "a test that cannot be set up has failed")]

use std::io::Write;
use std::process::{Command, Stdio};

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn argiope(arguments: &[&str]) -> Run {
    with_input(arguments, "")
}

/// In an empty directory of its own, without the user's settings.
pub(crate) fn with_input(arguments: &[&str], input: &str) -> Run {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut child = Command::new(env!("CARGO_BIN_EXE_argiope"))
        .args(arguments)
        .current_dir(directory.path())
        .env_remove("ARGIOPE_DATA")
        .env_remove("ARGIOPE_LOG")
        .env_remove("http_proxy")
        .env_remove("https_proxy")
        .env_remove("HTTP_PROXY")
        .env_remove("HTTPS_PROXY")
        .env_remove("all_proxy")
        .env_remove("ALL_PROXY")
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that ends without reading closes the pipe.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    Run {
        code: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}
