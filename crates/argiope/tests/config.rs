//! `config check` and `config show`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod program;

use program::argiope;

fn file(name: &str, content: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

#[test]
fn a_good_file_is_ok_whichever_kind_it_is() {
    let (_one, config) = file("argiope.yaml", "crawl:\n  default_crawl_delay: 2s\n");
    let (_two, job) = file("job.yaml", "seeds: [example.com]\nmax_depth: 3\n");
    let run = argiope(&["config", "check", &config, &job]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stdout, format!("{config}: ok\n{job}: ok\n"));
}

#[test]
fn every_error_of_every_file_is_printed_and_the_exit_code_is_2() {
    let (_one, config) = file("argiope.yaml", "crawl:\n  user_agnet: x\n  timeout: soon\n");
    let (_two, job) = file("job.yaml", "seeds: [example.com]\nmax_dpeth: 3\n");
    let run = argiope(&["config", "check", &config, &job]);
    assert_eq!(run.code, 2);
    let lines: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", run.stderr);
    assert_eq!(
        lines[0],
        format!(
            "argiope: error: {config}:2:3: unknown key 'user_agnet' in 'crawl'; did you mean 'user_agent'?"
        )
    );
    assert!(lines[1].contains(":3:12: 'crawl.timeout' expects a duration"), "{}", lines[1]);
    assert!(
        lines[2].contains("job.yaml:2:1: unknown key 'max_dpeth'; did you mean 'max_depth'?"),
        "{}",
        lines[2]
    );
}

#[test]
fn an_unset_variable_is_named_with_its_line() {
    let (_directory, config) = file("argiope.yaml", "storage:\n  cache_url: \"${ARGIOPE_TEST_UNSET}\"\n");
    let run = argiope(&["config", "check", &config]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("argiope.yaml:2:14: environment variable 'ARGIOPE_TEST_UNSET' is not set"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_missing_file_is_an_error() {
    let run = argiope(&["config", "check", "nowhere.yaml"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nowhere.yaml: cannot be read"), "{}", run.stderr);
}

#[test]
fn what_is_in_force_is_shown_without_secrets_and_can_be_read_again() {
    let (_directory, config) = file(
        "argiope.yaml",
        "crawl: {default_crawl_delay_seconds: 2}\nstorage: {metadata_db_url: \"postgres://u:hunter2@h/db\"}\n",
    );
    let run = argiope(&["config", "show", "--config", &config]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("default_delay: 2s"), "{}", run.stdout);
    assert!(run.stdout.contains("max_depth: 10"), "{}", run.stdout);
    assert!(
        run.stdout.contains("postgres://u:***@h/db") && !run.stdout.contains("hunter2"),
        "{}",
        run.stdout
    );
    let (_again, shown) = file("shown.yaml", &run.stdout);
    let again = argiope(&["config", "show", "--config", &shown]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let body = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&again.stdout), body(&run.stdout));
}

#[test]
fn a_broken_configuration_stops_every_command_that_reads_it() {
    let (_directory, config) = file("argiope.yaml", "crawl: {allow_privat: true}\n");
    let run = argiope(&["config", "show", "--config", &config]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("did you mean 'allow_private'?"), "{}", run.stderr);
}
