//! How `crawl` refuses invalid seeds, lists and job files. None of these stores anything.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod program;

use program::{argiope, with_input};

fn refused(arguments: &[&str]) -> String {
    let run = argiope(arguments);
    assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
    assert!(run.stderr.starts_with("argiope: error: "), "{}", run.stderr);
    assert_eq!(run.stdout, "");
    run.stderr
}

#[test]
fn no_seed_says_how_to_give_one() {
    let said = refused(&["crawl"]);
    assert!(
        said.contains("no seed was given") && said.contains("argiope crawl https://example.com"),
        "{said}"
    );
}

#[test]
fn a_seed_that_is_no_web_address_says_why() {
    assert!(refused(&["crawl", "ftp://example.com/"]).contains("scheme 'ftp' is not supported"));
    assert!(refused(&["crawl", "mailto:a@b.c"]).contains("scheme 'mailto' is not supported"));
    assert!(refused(&["crawl", "https://"]).contains("cannot be crawled"));
    assert!(refused(&["crawl", "./urls.txt"]).contains("--list"));
}

#[test]
fn a_private_seed_is_refused_with_the_flag_named() {
    for seed in ["http://127.0.0.1:8080/", "localhost:3000", "http://192.168.0.1/", "http://[::1]/"] {
        assert!(refused(&["crawl", seed]).contains("--allow-private"), "{seed}");
    }
    let said = refused(&["crawl", "http://169.254.169.254/", "--allow-private"]);
    assert!(said.contains("allow_addresses"), "{said}");
}

#[test]
fn an_unreadable_or_useless_list_is_named() {
    assert!(refused(&["crawl", "--list", "nowhere.txt"]).contains("cannot read the list nowhere.txt"));
    let run = with_input(&["crawl", "--list", "-"], "# nothing\n\n");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("stdin has no URL in it"), "{}", run.stderr);
    let run = with_input(&["crawl", "--list", "-"], "https://example.com/\nhttp://10.0.0.1/\n");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("stdin:2: ") && run.stderr.contains("--allow-private"), "{}", run.stderr);
}

#[test]
fn a_job_file_with_a_typo_is_named_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("job.yaml");
    std::fs::write(&path, "seeds: [example.com]\nmax_dpeth: 3\n").unwrap();
    let said = refused(&["crawl", "-c", path.to_str().unwrap()]);
    assert!(said.contains("job.yaml:2:1: unknown key 'max_dpeth'; did you mean 'max_depth'?"), "{said}");
    std::fs::write(&path, "crawl: {max_depth: 3}\n").unwrap();
    let said = refused(&["crawl", "example.com", "-c", path.to_str().unwrap()]);
    assert!(said.contains("this is a configuration file; give it with --config"), "{said}");
}

#[test]
fn an_output_of_unknown_format_says_which_are_known() {
    assert!(refused(&["crawl", "example.com", "-o", "pages.parquet"]).contains(".jsonl or .csv"));
}
