//! `export`, `report`, `jobs` and `status` of crawls that have ended.

use crate::desk::{Desk, Run, at, expected, json_lines, lab, sorted};
use argiope_lab::SiteKind;
use argiope_model::Page;
use sha2::{Digest, Sha256};

const KINDS: [SiteKind; 4] =
    [SiteKind::Ordinary, SiteKind::RobotsPaths, SiteKind::Duplicates, SiteKind::Directives];

#[test]
fn every_page_is_exported_once_in_every_format() {
    let (desk, lab) = (Desk::new(), lab(&KINDS, 6, 0));
    // Slow enough for an original to be safely stored before its copy comes: only then the copy refers to it.
    let crawled = desk.crawl(&lab.seeds(), &["--delay", "60ms", "-o", "out.jsonl"]).ok();
    assert!(crawled.stdout.contains("is done"), "{}", crawled.stdout);
    let pages = desk.pages();
    let urls = sorted(&pages, "url");
    // Pages that say noindex are fetched and not shown.
    let hidden: Vec<String> =
        ["/m/noindex", "/m/none", "/m/x-noindex"].iter().map(|p| at(&lab, 3, p)).collect();
    let shown: Vec<String> = expected(&lab).into_iter().filter(|url| !hidden.contains(url)).collect();
    assert_eq!(urls, shown);
    assert_eq!(sorted(&json_lines(&desk.read("out.jsonl")), "url"), urls);
    let run = desk.run(&["export"]).ok();
    assert!(run.stderr.contains("3 pages say noindex and were left out; use --noindex"), "{}", run.stderr);
    let run = desk.run(&["export", "--noindex"]).ok();
    assert_eq!((sorted(&run.json_lines(), "url"), &*run.stderr), (expected(&lab), ""));

    let line = desk.run(&["export", "1", "-f", "jsonl"]).ok().stdout;
    let mut after = 0;
    for field in Page::FIELDS {
        let found =
            line[after..].find(&format!("\"{field}\":")).unwrap_or_else(|| panic!("{field} in {line}"));
        after += found;
    }
    let all = desk.run(&["export", "-f", "json"]).ok().json();
    assert_eq!(all.as_array().unwrap().len(), urls.len());

    let exported = desk.run(&["export", "-o", "pages.csv"]).ok();
    assert_eq!(exported.stdout, "");
    assert!(
        exported.stderr.contains(&format!("{} pages written to pages.csv", urls.len())),
        "{}",
        exported.stderr
    );
    let csv = desk.read("pages.csv");
    assert_eq!(csv.lines().next().unwrap(), Page::FIELDS.join(","));
    assert_eq!(desk.run(&["-q", "export", "-o", "pages.csv"]).ok().stderr, "");

    let twin = pages.iter().find(|page| !page["duplicate_of"].is_null()).expect("a duplicate");
    assert!(urls.contains(&twin["duplicate_of"].as_str().unwrap().to_owned()), "{twin}");
}

#[test]
fn pages_are_exported_with_their_content() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Duplicates, SiteKind::Ordinary], 6, 0));
    desk.crawl(&lab.seeds(), &["--delay", "60ms"]).ok();
    let pages = desk.run(&["export", "--html"]).ok().json_lines();
    assert_eq!(sorted(&pages, "url"), sorted(&desk.pages(), "url"));
    for page in pages.iter().filter(|page| page["status"] == 200) {
        let html = page["html"].as_str().unwrap_or_else(|| panic!("{page}"));
        let hash: String = Sha256::digest(html).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(page["content_hash"], hash.as_str(), "{}", page["url"]);
    }
    let csv = desk.run(&["export", "--html", "-f", "csv"]).ok().stdout;
    assert_eq!(csv.lines().next().unwrap(), format!("{},html", Page::FIELDS.join(",")));
    // One record that is written over costs one page, or those that refer to it; a file that is cut is not missing.
    let place = pages.iter().find(|page| page["status"] == 200).unwrap()["archive"].as_str().unwrap();
    let (name, offset) = place.rsplit_once(':').unwrap();
    let file = desk.path("argiope-data/archive").join(name);
    let whole = std::fs::read(&file).unwrap();
    let mut spoilt = whole.clone();
    let offset: usize = offset.parse().unwrap();
    spoilt[offset..offset + 40].fill(0xa5);
    std::fs::write(&file, spoilt).unwrap();
    let without = |run: &Run| run.json_lines().iter().filter(|page| page["html"].is_null()).count();
    let before = pages.iter().filter(|page| page["html"].is_null()).count();
    let run = desk.run(&["export", "--html"]).ok();
    assert!(run.stderr.contains("cannot be read; the first: "), "{}", run.stderr);
    assert!(without(&run) > before && without(&run) < pages.len());
    std::fs::write(&file, &whole[..offset]).unwrap();
    let run = desk.run(&["export", "--html"]).ok();
    assert!(run.stderr.contains("cannot be read") && !run.stderr.contains("missing"), "{}", run.stderr);
    std::fs::remove_dir_all(desk.path("argiope-data/archive")).unwrap();
    let run = desk.run(&["export", "--html"]).ok();
    assert!(run.stderr.contains("files of archive/ are missing"), "{}", run.stderr);
    assert!(run.json_lines().iter().all(|page| page["html"].is_null()));
    assert_eq!(desk.run(&["export", "--html", "--what", "skipped"]).code, 2);
    let run = desk.run(&["export", "-o", "pages.docx"]);
    assert!(run.code == 2 && run.stderr.contains("unknown format"), "{}", run.stderr);
    assert!(!desk.path("pages.docx").exists());
    desk.run(&["export", "-f", "jsonl", "-o", "pages.txt"]).ok();
}

#[test]
fn refused_urls_are_exported_with_their_reasons() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsPaths, SiteKind::Ordinary], 4, 0));
    desk.crawl(&lab.seeds()[..1], &["--delay", "0"]).ok();
    let run = desk.run(&["export", "--what", "skipped"]).ok();
    assert!(run.stdout.starts_with("{\"url\":"), "{}", run.stdout);
    let rows = run.json_lines();
    let private =
        rows.iter().find(|row| row["url"] == at(&lab, 0, "/private/1").as_str()).expect("the private page");
    assert_eq!(private["reason"], "robots_disallowed");
    assert!(private["detail"].as_str().unwrap().contains("Disallow: /private/"), "{private}");
    assert_eq!(private["source"], lab.seeds()[0].as_str());
    assert!(rows.iter().any(|row| row["reason"] == "out_of_scope"), "{rows:?}");
    let csv = desk.run(&["export", "--what", "skipped", "-f", "csv"]).ok().stdout;
    assert_eq!(csv.lines().next(), Some("url,reason,detail,source"));
    assert_eq!(csv.lines().count(), rows.len() + 1);
}

#[test]
fn jobs_are_meant_by_name_by_number_or_as_the_latest() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary, SiteKind::Directives], 3, 0));
    desk.crawl(&lab.seeds()[..1], &["--delay", "0", "--name", "first"]).ok();
    desk.write("job.yaml", "index_noindex: true\n");
    desk.crawl(&lab.seeds()[1..], &["--delay", "0", "-c", "job.yaml"]).ok();

    let first = desk.run(&["export", "first"]).ok().json_lines();
    assert_eq!(first.len(), 3);
    assert_eq!(desk.run(&["export", "1"]).ok().json_lines(), first);
    let second = desk.pages();
    assert!(sorted(&second, "url").contains(&at(&lab, 1, "/m/noindex")), "the job wants them shown");
    let all = desk.run(&["export", "--all"]).ok().json_lines();
    assert_eq!(all.len(), first.len() + second.len());

    let jobs = desk.run(&["jobs", "--json"]).ok().json_lines();
    assert_eq!(jobs.len(), 2);
    assert_eq!(
        (&jobs[0]["id"], &jobs[0]["name"], &jobs[0]["state"]),
        (&1.into(), &"first".into(), &"completed".into())
    );
    assert_eq!((&jobs[0]["pages"], &jobs[1]["name"]), (&3.into(), &serde_json::Value::Null));
    let table = desk.run(&["jobs"]).ok().stdout;
    assert_eq!(table.lines().count(), 3);
    assert!(table.starts_with("id  name"), "{table}");

    let status = desk.run(&["status", "first"]).ok().stdout;
    assert!(status.starts_with("Job 1 (first) is completed"), "{status}");
    assert!(status.contains("queue     0 URLs") && status.contains("Not running"), "{status}");

    let report = desk.run(&["report", "first"]).ok().stdout;
    assert!(report.contains("Job 1 (first), completed") && report.contains("200"), "{report}");
    desk.run(&["report", "--all", "-o", "report.txt"]).ok();
    let both = desk.read("report.txt");
    assert!(both.contains("Job 1 (first)") && both.contains("Job 2 (unnamed)"), "{both}");

    let missing = desk.run(&["export", "nightly"]);
    assert_eq!(missing.code, 1);
    assert!(
        missing.stderr.contains("no job 'nightly'") && missing.stderr.contains("argiope jobs"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_directory_without_data_is_reported() {
    let desk = Desk::new();
    for command in ["export", "jobs", "status", "report", "audit"] {
        let run = desk.run(&[command]);
        assert_eq!(run.code, 1, "{command}: {}", run.stderr);
        assert!(run.stderr.contains("there is no data in ./argiope-data"), "{command}: {}", run.stderr);
    }
    assert_eq!(desk.run(&["why", "https://example.com/"]).code, 1);
    assert!(!desk.path("argiope-data").exists(), "nothing is made by looking");
}
