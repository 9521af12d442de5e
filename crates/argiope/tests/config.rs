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

/// Each file has one error that only those who use its values can see.
#[test]
fn whatever_a_crawl_would_refuse_is_found_by_the_check_in_the_same_words() {
    let jobs = [
        ("seeds: [a.test]\nname: 17\n", ":2:7: 'name'"),
        ("seeds: [a.test]\nblacklist:\n  - b.test\n  - https://c.test/\n", ":4:5: 'blacklist'"),
        ("seeds: [a.test]\nskip_extensions: tar.gz\n", ":2:18: 'skip_extensions'"),
        ("seeds: [a.test]\nmax_url_length: 99999999\n", ":2:17: 'max_url_length'"),
        ("seeds: [a.test]\nheaders:\n  X-Team: a\n  Host: b.test\n", ":4:3: 'Host' in 'headers'"),
        ("seeds: [a.test]\nbasic_auth: {username: 'a:b', password: c}\n", ":2:24: 'basic_auth.username'"),
        ("seeds: [a.test]\ntimeout_seconds: 0\n", ":2:18: 'timeout_seconds'"),
        ("seeds:\n  - a.test\n  - ftp://b.test/\n", ":3:5: 'ftp://b.test/' cannot be crawled"),
        ("seeds: [a.test]\nuser_agent: ${ARGIOPE_TEST_UNSET}\n", ":2:13: environment variable"),
    ];
    for (content, part) in jobs {
        let (directory, job) = file("job.yaml", content);
        let data = directory.path().join("data");
        let crawl = argiope(&["crawl", "-c", &job, "--data", data.to_str().unwrap()]);
        let check = argiope(&["config", "check", &job]);
        assert_eq!((crawl.code, check.code), (2, 2), "{content}{}{}", crawl.stderr, check.stderr);
        assert_eq!(crawl.stderr, check.stderr, "{content}");
        assert!(check.stderr.contains(part) && check.stderr.lines().count() == 1, "{}", check.stderr);
        assert!(!data.exists(), "{content}");
    }
    let configs = [
        ("dns:\n  overrides:\n    '*.a.test': [127.0.0.1]\n", ":3:5: '*.a.test' in 'dns.overrides'"),
        ("politeness:\n  domains:\n    a/b: {delay: 1s}\n", ":3:5: 'a/b' in 'politeness.domains'"),
        ("politeness:\n  windows: [{from: '08:00', to: '09:00'}]\n", ":2:13: 'politeness.windows[0]'"),
        ("storage:\n  archive_layout: objects\n", ":2:3: 'storage.archive_layout'"),
        ("crawl:\n  proxy: https://u:hunter2@a.test\n", ":2:10: 'crawl.proxy'"),
    ];
    for (content, part) in configs {
        let (directory, config) = file("argiope.yaml", content);
        let data = directory.path().join("data");
        let crawl = argiope(&["crawl", "a.test", "--config", &config, "--data", data.to_str().unwrap()]);
        let check = argiope(&["config", "check", &config]);
        assert_eq!((crawl.code, check.code), (2, 2), "{content}{}{}", crawl.stderr, check.stderr);
        assert_eq!(crawl.stderr, check.stderr, "{content}");
        assert!(check.stderr.contains(part) && !check.stderr.contains("hunter2"), "{}", check.stderr);
    }
}

#[test]
fn a_file_that_is_no_text_is_told_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("argiope.yaml");
    std::fs::write(&path, b"crawl:\n  user_agent: \xff\n").unwrap();
    let run = argiope(&["config", "check", path.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("argiope.yaml:2:15: not UTF-8 text"), "{}", run.stderr);
}

#[test]
fn a_missing_file_is_an_error() {
    let run = argiope(&["config", "check", "nowhere.yaml"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nowhere.yaml: cannot be read"), "{}", run.stderr);
    assert!(
        run.stderr.contains("\nhint: name an existing file; 'argiope config show'"),
        "{}",
        run.stderr
    );
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

/// The reference cannot become outdated: it is the program's own output.
#[test]
fn the_reference_of_all_keys_is_up_to_date() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let run = argiope(&["config", "docs"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let differs = kept.lines().zip(run.stdout.lines()).find(|(kept, printed)| kept != printed);
    assert!(
        kept == run.stdout,
        "docs/configuration.md does not have what the keys say; at the top of the repository run\n\n    \
         cargo run -p argiope -- config docs > docs/configuration.md\n\nfirst difference: {differs:#?}"
    );
    for known in
        ["| `max_depth` |", "#### politeness.domain_overrides.NAME", "`10MB`", "| `request_timeout_ms` |"]
    {
        assert!(kept.contains(known), "{known}");
    }
}
