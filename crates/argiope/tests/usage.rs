//! The program as scripts see it: wrong usage, help, completions.

mod program;

use argiope_lab::LabConfig;
use program::argiope;

#[test]
fn wrong_usage_exits_2_with_a_hint_at_the_right_word() {
    let run = argiope(&["crwl", "https://example.com"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("crawl"), "{}", run.stderr);
    let run = argiope(&["crawl", "https://example.com", "--max-page", "3"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--max-pages"), "{}", run.stderr);
    let run = argiope(&["crawl", "https://example.com", "--delay", "soon"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("250ms"), "{}", run.stderr);
    let run = argiope(&["crawl", "https://example.com", "--include", "("]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("unclosed group"), "{}", run.stderr);
}

#[test]
fn a_number_out_of_bounds_is_told_what_to_be() {
    for (option, value, part) in [
        ("--max-pages", "0", "write a whole number, 1 or more; leave the option out for no limit"),
        ("--max-pages", "-3", "write a whole number, 1 or more"),
        ("--depth", "x", "write a whole number, 0 or more; 0 fetches only the seeds"),
        ("--per-host", "0", "write a whole number, from 1 to 10000"),
    ] {
        let run = argiope(&["crawl", "https://example.com", option, value]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(part), "{option} {value}: {}", run.stderr);
    }
}

#[test]
fn the_defaults_of_the_lab_are_in_its_help() {
    let help = argiope(&["lab", "--help"]).stdout;
    let (plain, mixed, demo) = (LabConfig::plain(), LabConfig::mixed(), LabConfig::demo());
    for part in [
        format!("(default {} and a free port)", plain.listen.ip()),
        format!("(default {}; mixed and demo: one of each kind)", plain.hosts),
        format!("(default {}, mixed {}, demo {})", plain.pages, mixed.pages, demo.pages),
        format!("(default {})", plain.seed),
        String::from("[default: plain]"),
    ] {
        assert!(help.contains(&part), "{part} in {help}");
    }
}

#[test]
fn a_log_filter_that_cannot_be_read_is_wrong_usage() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_argiope"))
        .args(["inspect", "url", "example.com"])
        .env("ARGIOPE_LOG", "argiope=loudly")
        .output()
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("ARGIOPE_LOG") && said.contains("ARGIOPE_LOG=argiope=debug"), "{said}");
}

#[test]
fn no_command_shows_the_help_and_is_wrong_usage() {
    let run = argiope(&[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("Usage: argiope"), "{}", run.stderr);
}

#[test]
fn help_lists_exactly_the_commands_there_are() {
    let run = argiope(&["--help"]);
    assert_eq!(run.code, 0);
    for command in [
        "crawl",
        "demo",
        "lab",
        "jobs",
        "status",
        "export",
        "why",
        "report",
        "audit",
        "graph",
        "worker",
        "cluster",
        "ingest",
        "inspect",
        "config",
        "completions",
    ] {
        assert!(run.stdout.contains(&format!("\n  {command} ")), "{command} in {}", run.stdout);
    }
    for absent in ["serve", "recrawl", "backup", "search"] {
        assert!(!run.stdout.contains(&format!("\n  {absent} ")), "{absent} in {}", run.stdout);
    }
}

#[test]
fn every_command_has_help_and_crawl_has_examples() {
    for command in
        ["crawl", "demo", "lab", "jobs", "status", "export", "why", "report", "audit", "completions"]
    {
        assert_eq!(argiope(&[command, "--help"]).code, 0, "{command}");
    }
    let crawl = argiope(&["crawl", "--help"]).stdout;
    for option in [
        "--list",
        "-c,",
        "-o,",
        "--depth",
        "--max-pages",
        "--scope",
        "--include",
        "--exclude",
        "--delay",
        "--concurrency",
        "--per-host",
        "--timeout",
        "--user-agent",
        "--ignore-robots",
        "--allow-private",
        "--no-archive",
        "--name",
        "--fresh",
        "--data",
        "--config",
        "Examples:",
    ] {
        assert!(crawl.contains(option), "{option} in {crawl}");
    }
}

#[test]
fn completions_are_printed_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let run = argiope(&["completions", shell]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("--max-pages") || run.stdout.contains("max-pages"), "{shell}");
    }
    assert_eq!(argiope(&["completions", "tea-shell"]).code, 2);
}
