//! Invalid input: a message that names the problem and its place, a next step, the right exit code, and nothing
//! half-stored.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

#[path = "crawls/desk.rs"]
#[allow(dead_code, reason = "shared with the suite of crawls, which uses the rest")]
mod desk;

use argiope_lab::{LabDns, SiteKind};
use desk::{Desk, Run, lab, text};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use tokio::runtime::Runtime;

const QUICK: &str = "\
crawl: {timeout: 2s}
politeness:
  default_delay: 0
  retries: false
  robots: {retry_after: [50ms], timeout: 1s}
";

/// Wrong usage: the message, a hint where there is one, and no trace on disk.
fn refused(desk: &Desk, words: &[&str]) -> Run {
    let run = desk.run(words);
    assert_eq!(run.code, 2, "{words:?}: {}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "", "{words:?}");
    assert!(!desk.path("argiope-data").exists(), "{words:?} stored something");
    run
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}

/// A port without a listener.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn no_seed_says_how_to_give_one() {
    let run = refused(&Desk::new(), &["crawl"]);
    assert!(run.stderr.contains("no seed was given") && run.stderr.contains("hint: "), "{}", run.stderr);
}

#[test]
fn a_seed_without_a_scheme_is_taken_as_https() {
    let desk = Desk::new();
    desk.write("argiope.yaml", QUICK);
    let seed = format!("127.0.0.1:{}", closed_port());
    desk.run(&["crawl", &seed, "--allow-private"]);
    let jobs = desk.run(&["jobs", "--json"]).ok();
    assert!(jobs.stdout.contains(&format!("https://{seed}/")), "{}", jobs.stdout);
    let why = desk.run(&["why", &format!("https://{seed}/")]).ok();
    assert!(why.stdout.starts_with("robots_unreachable\n"), "{}", why.stdout);
}

#[test]
fn an_unreachable_host_ends_the_crawl_and_the_remaining_urls_are_reported() {
    let desk = Desk::new();
    desk.write("argiope.yaml", QUICK);
    let seed = format!("http://127.0.0.1:{}/", closed_port());
    let run = desk.run(&["crawl", &seed, "--allow-private"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("robots.txt is unreachable: connect"), "{}", run.stdout);
    assert!(
        run.stderr.contains("hint: check the name, the port and whether the server is running"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_unknown_scheme_is_named() {
    for (seed, scheme) in
        [("ftp://example.com/", "ftp"), ("gopher://a.b/", "gopher"), ("mailto:a@b.c", "mailto")]
    {
        let run = refused(&Desk::new(), &["crawl", seed]);
        assert!(run.stderr.contains(&format!("scheme '{scheme}' is not supported")), "{}", run.stderr);
        assert!(run.stderr.contains("http and https"), "{}", run.stderr);
    }
}

#[test]
fn several_wrong_seeds_are_all_named_in_one_go() {
    let run = refused(&Desk::new(), &["crawl", "ftp://a.test/", "https://good.test/", "./list.txt"]);
    assert!(run.stderr.contains("ftp://a.test/") && run.stderr.contains("./list.txt"), "{}", run.stderr);
    assert!(!run.stderr.contains("good.test"), "{}", run.stderr);
}

#[test]
fn an_unresolvable_host_is_recorded_and_said() {
    let (runtime, desk) = (Runtime::new().unwrap(), Desk::new());
    let dns = runtime.block_on(LabDns::start([])).unwrap();
    desk.write("argiope.yaml", &format!("{QUICK}dns:\n  resolvers: ['{}']\n", dns.address()));
    let run = desk.run(&["crawl", "nowhere.test"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("https://nowhere.test/: dns: "), "{}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
    let pages = desk.pages();
    assert_eq!(pages.len(), 1);
    assert!(pages[0]["error"].as_str().unwrap().starts_with("dns: "), "{}", pages[0]);
}

#[test]
fn an_unreadable_list_is_named_with_the_reason() {
    let desk = Desk::new();
    let run = refused(&desk, &["crawl", "--list", "nowhere.txt"]);
    assert!(run.stderr.contains("nowhere.txt") && run.stderr.contains("No such file"), "{}", run.stderr);
    assert!(run.stderr.contains("\nhint: give a readable file"), "{}", run.stderr);
    let run = refused(&desk, &["crawl", "--list", "."]);
    assert!(run.stderr.contains("directory") && run.stderr.contains("\nhint: "), "{}", run.stderr);
    for option in ["-c", "--config"] {
        let run = refused(&desk, &["crawl", "a.test", option, "nowhere.yaml"]);
        assert!(run.stderr.contains("\nhint: name an existing file"), "{}", run.stderr);
    }
    desk.write("empty.txt", "# nothing here\n\n");
    let run = refused(&desk, &["crawl", "--list", "empty.txt"]);
    assert!(run.stderr.contains("empty.txt has no URL in it"), "{}", run.stderr);
    std::fs::write(desk.path("noise.txt"), [0u8, 159, 146, 150, b'\n', 255, 254]).unwrap();
    let run = refused(&desk, &["crawl", "--list", "noise.txt"]);
    assert!(run.stderr.contains("noise.txt is not text: line 1"), "{}", run.stderr);
}

#[test]
fn a_job_that_the_owner_of_the_directory_cannot_run_is_refused_with_what_to_do() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 50, 0));
    let running = desk.start_crawl(&lab.seeds(), &["--delay", "200ms"]);
    desk.wait_for_pages(2);
    let run = desk.run(&["crawl", "https://example.com/", "--name", "second"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("the process that owns the data directory connects to"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: ") && run.stderr.contains("--data"), "{}", run.stderr);
    assert_eq!(desk.run(&["jobs", "--json"]).ok().json_lines().len(), 1, "no half of a second job");
    running.signal("-INT");
    assert_eq!(running.wait().code, 130);
}

#[test]
fn a_typo_in_the_configuration_names_file_line_and_nearest_key() {
    let desk = Desk::new();
    desk.write("argiope.yaml", "crawl:\n  scope: host\npolitness:\n  default_delay: 1s\n");
    let run = refused(&desk, &["crawl", "example.com"]);
    assert!(
        run.stderr.contains("argiope.yaml:3:1: unknown key 'politness'; did you mean 'politeness'?"),
        "{}",
        run.stderr
    );
    desk.write("other.yaml", "politeness:\n  default_dealy: 1s\n  robots: {timeout: soon}\n");
    let run = refused(&desk, &["--config", "other.yaml", "crawl", "example.com"]);
    assert!(
        run.stderr.contains("other.yaml:2:3: ") && run.stderr.contains("default_delay"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("other.yaml:3:"), "every error in one go: {}", run.stderr);
    desk.write("argiope.yaml", "crawl: [\n");
    assert!(refused(&desk, &["crawl", "example.com"]).stderr.contains("argiope.yaml:"));
    let run = refused(&desk, &["--config", "missing.yaml", "crawl", "example.com"]);
    assert!(run.stderr.contains("missing.yaml"), "{}", run.stderr);
}

#[test]
fn a_loopback_or_private_seed_names_the_flag() {
    let desk = Desk::new();
    for seed in [
        "http://127.0.0.1:1/",
        "localhost:3000",
        "http://10.0.0.1/",
        "http://[::1]:9/",
        "http://192.168.1.1/",
    ] {
        let run = refused(&desk, &["crawl", seed]);
        assert!(run.stderr.contains("--allow-private"), "{seed}: {}", run.stderr);
    }
    let run = refused(&desk, &["crawl", "http://169.254.169.254/", "--allow-private"]);
    assert!(run.stderr.contains("allow_addresses"), "{}", run.stderr);
}

#[test]
fn data_that_is_a_file_is_an_error_that_leaves_it_alone() {
    let desk = Desk::new();
    desk.write("precious", "words\n");
    let run = desk.run(&["crawl", "example.com", "--data", "precious"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("precious") && run.stderr.contains("hint: "), "{}", run.stderr);
    assert_eq!(desk.read("precious"), "words\n");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    if is_root() {
        eprintln!("skipped: root may write anywhere, so that no directory is unwritable");
        return;
    }
    let desk = Desk::new();
    std::fs::create_dir(desk.path("closed")).unwrap();
    let mode = |mode: &str| Command::new("chmod").args([mode, text(&desk.path("closed"))]).status().unwrap();
    assert!(mode("555").success());
    let run = desk.run(&["crawl", "example.com", "--data", "closed/data"]);
    assert!(mode("755").success());
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("closed/data") && run.stderr.contains("hint: "), "{}", run.stderr);
}

#[test]
fn a_directory_under_a_file_cannot_be_made_and_is_named() {
    let desk = Desk::new();
    desk.write("precious", "words\n");
    let run = desk.run(&["crawl", "example.com", "--data", "precious/data"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("precious/data"), "{}", run.stderr);
}

#[test]
fn output_into_a_directory_that_is_missing_is_refused_before_anything_is_fetched() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    let run = desk.crawl(&lab.seeds(), &["--delay", "0", "-o", "no/such/place/out.jsonl"]);
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("no/such/place"), "{}", run.stderr);
    assert_eq!(lab.request_count(), 0);
    let jobs = desk.run(&["jobs", "--json"]);
    assert!(jobs.code != 0 || jobs.stdout.is_empty(), "no half of a job: {}", jobs.stdout);
}

#[test]
fn what_the_configuration_names_is_looked_at_before_a_job_is_stored() {
    let desk = Desk::new();
    desk.write("argiope.yaml", "crawl:\n  extra_authorities: [nowhere.pem]\n");
    let run = refused(&desk, &["crawl", "example.com"]);
    assert!(run.stderr.contains("argiope.yaml:2:") && run.stderr.contains("nowhere.pem"), "{}", run.stderr);
    let run = desk.run(&["config", "check", "argiope.yaml"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.contains("nowhere.pem"), "{}", run.stderr);
}

#[test]
fn output_to_a_file_of_someone_else_leaves_no_half_of_a_job() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    desk.write("mine.jsonl", "{\"precious\": true}\n");
    let run = desk.crawl(&lab.seeds(), &["--delay", "0", "-o", "mine.jsonl"]);
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert_eq!(desk.run(&["jobs", "--json"]).ok().stdout, "");
    assert_eq!((lab.request_count(), desk.read("mine.jsonl").as_str()), (0, "{\"precious\": true}\n"));
    desk.crawl(&lab.seeds(), &["--delay", "0", "-o", "other.jsonl"]).ok();
}

#[test]
fn output_of_an_unknown_format_says_which_are_known() {
    let run = refused(&Desk::new(), &["crawl", "example.com", "-o", "pages.xlsx"]);
    assert!(run.stderr.contains(".jsonl or .csv"), "{}", run.stderr);
}

#[test]
fn wrong_flags_and_values_are_wrong_usage_with_the_right_word() {
    let desk = Desk::new();
    for (words, part) in [
        (["--max-page", "3"], "--max-pages"),
        (["--delay", "soon"], "250ms"),
        (["--scope", "galaxy"], "subdomains"),
        (["--include", "("], "unclosed group"),
        (["--depth", "-1"], "--depth"),
        (["--concurrency", "0"], "--concurrency"),
        (["--timeout", "0"], "longer than 0"),
        (["--timeout", "-5s"], "--timeout"),
        (["--delay", "-1s"], "--delay"),
        (["--max-pages", "0"], "--max-pages"),
    ] {
        let run = refused(&desk, &[["crawl", "example.com"], words].concat());
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn a_damaged_store_says_what_and_what_to_do() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 6, 0));
    desk.crawl(&lab.seeds(), &["--delay", "0"]).ok();
    let catalogue = desk.path("argiope-data").join("catalog.db");
    std::fs::write(&catalogue, b"this was a database once").unwrap();
    for words in [vec!["export"], vec!["jobs"], vec!["crawl", "--allow-private", &lab.seeds()[0]]] {
        let run = desk.run(&words);
        assert_eq!(run.code, 1, "{words:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("catalog.db") && run.stderr.contains("hint: "),
            "{words:?}: {}",
            run.stderr
        );
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    assert_eq!(std::fs::read(&catalogue).unwrap(), b"this was a database once", "nothing was changed");
}

#[test]
fn a_damaged_frontier_says_what_and_what_to_do() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 6, 0));
    desk.crawl(&lab.seeds(), &["--delay", "0"]).ok();
    overwrite_all(&desk.path("argiope-data").join("frontier"));
    let run = desk.crawl(&lab.seeds(), &["--delay", "0"]);
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("frontier") && run.stderr.contains("hint: "), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

fn overwrite_all(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            overwrite_all(&path);
        } else {
            let length = std::fs::metadata(&path).unwrap().len();
            std::fs::write(&path, vec![b'#'; usize::try_from(length).unwrap().max(16)]).unwrap();
        }
    }
}

/// A file system of its own that ends with the test.
struct SmallDisk<'d>(&'d Path);

impl SmallDisk<'_> {
    fn mount(place: &Path) -> Option<SmallDisk<'_>> {
        std::fs::create_dir(place).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=24m", "none", text(place)]).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(SmallDisk(place))
    }

    fn grow(&self) {
        let grown = Command::new("mount").args(["-o", "remount,size=400m", text(self.0)]).status().unwrap();
        assert!(grown.success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_stops_the_crawl_cleanly_and_it_goes_on_when_there_is_room() {
    let desk = Desk::new();
    let place = desk.path("disk");
    let Some(disk) = SmallDisk::mount(&place) else {
        eprintln!("skipped: a small file system cannot be mounted here, for which one has to be root");
        return;
    };
    let kinds = [SiteKind::Ordinary; 20];
    let config = argiope_lab::LabConfig {
        hosts: 20,
        pages: 150,
        kinds: kinds.to_vec(),
        log_capacity: 100_000,
        ..argiope_lab::LabConfig::plain()
    };
    let lab = argiope_lab::Lab::start_on_thread(config).unwrap();
    let data = place.join("data");
    let more = ["--delay", "0", "--data", text(&data)];
    let run = desk.start_crawl(&lab.seeds(), &more).wait();
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("disk is full") || run.stderr.contains("No space left"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: free some space"), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    disk.grow();
    let run = desk.start_crawl(&lab.seeds(), &more).wait().ok();
    assert!(run.stderr.contains("resuming job"), "{}", run.stderr);
    let pages = desk.run(&["--data", text(&data), "export"]).ok().json_lines();
    assert_eq!(pages.len(), 20 * 150);
    assert_eq!(desk::sorted(&pages, "url"), desk::expected(&lab));
}
