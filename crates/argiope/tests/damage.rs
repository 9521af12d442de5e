//! Stores that are damaged while no process runs: the program names the damaged one and what to do, and changes
//! nothing; what it can repair by itself, it repairs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod stored;

use argiope_lab::{Lab, LabConfig, PageSize};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use stored::{Stored, wanted};
use tempfile::TempDir;

const PAGES: u32 = 12;

/// A crawl that ended at its page limit, to be gone on with.
struct Begun {
    lab: Lab,
    home: TempDir,
}

struct Said {
    code: Option<i32>,
    stderr: String,
}

impl Begun {
    fn new() -> Begun {
        let config = LabConfig {
            hosts: 4,
            pages: PAGES,
            page_size: PageSize::Small,
            log_capacity: 10_000,
            ..LabConfig::plain()
        };
        let begun = Begun { lab: Lab::start_on_thread(config).unwrap(), home: tempfile::tempdir().unwrap() };
        let said = begun.crawl("begun", &["--max-pages", "20"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        begun
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn crawl(&self, data: &str, options: &[&str]) -> Said {
        self.run(data, &["-q"], options)
    }

    fn run(&self, data: &str, global: &[&str], options: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_argiope"))
            .args(global)
            .arg("--data")
            .arg(self.path(data))
            .args(["crawl", "--allow-private", "--delay", "5ms", "--name", "damage"])
            .args(options)
            .args(self.lab.seeds())
            .current_dir(self.home.path())
            .env_remove("ARGIOPE_DATA")
            .env_remove("ARGIOPE_LOG")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said { code: output.status.code(), stderr: String::from_utf8(output.stderr).unwrap() }
    }

    /// Every page is there once, and archived pages were not fetched again.
    fn check_healed(&self, name: &str) {
        let stored = Stored::at(&self.path(name));
        stored.check_all(&wanted(&self.lab.expected()), None);
        let again = stored::requests(&self.lab.access_log());
        let pages = again.keys().filter(|url| !url.ends_with(".txt") && !url.ends_with(".xml")).count();
        assert!(pages <= 4 * PAGES as usize - 20, "{name}: {pages} pages were fetched");
    }

    /// A copy of the data with one file damaged.
    fn damaged(&self, name: &str, file: &str, damage: &dyn Fn(&Path)) -> PathBuf {
        copy(&self.path("begun"), &self.path(name));
        let path = find(&self.path(name), file);
        damage(&path);
        path
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The file, or the first one of its folder that ends so.
fn find(root: &Path, file: &str) -> PathBuf {
    let Some((folder, ending)) = file.split_once('*') else { return root.join(file) };
    let entries = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.into_iter().find(|path| path.to_string_lossy().ends_with(ending));
    found.unwrap_or_else(|| panic!("no {file}"))
}

/// All files with their contents, except those that change with every process.
fn contents(root: &Path, prefix: &str, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            contents(&entry.path(), &format!("{name}/"), into);
        } else if !["lock", "catalog.db-wal", "catalog.db-shm"].contains(&&*name) {
            into.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}

fn halve(path: &Path) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
}

fn garble(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    for byte in bytes.iter_mut().take(200) {
        *byte ^= 0xa5;
    }
    fs::write(path, bytes).unwrap();
}

fn remove(path: &Path) {
    fs::remove_file(path).unwrap();
}

#[test]
fn a_damaged_store_is_named_with_a_way_out_and_left_alone() {
    type Damage = fn(&Path);
    let begun = Begun::new();
    let cases: [(&str, Damage, &str); 15] = [
        ("meta.json", halve, "meta.json"),
        ("meta.json", garble, "meta.json"),
        ("meta.json", remove, "meta.json"),
        ("public_suffix_list.dat", remove, "public_suffix_list.dat"),
        ("catalog.db", garble, "catalog.db"),
        ("catalog.db", halve, "catalog.db"),
        ("catalog.db", remove, "catalog.db"),
        ("frontier/version", garble, "frontier"),
        ("frontier/version", remove, "frontier"),
        ("frontier/keyspaces/1/v0", halve, "frontier"),
        ("frontier/keyspaces/2/v0", garble, "frontier"),
        ("frontier/keyspaces/3/v0", remove, "frontier"),
        ("archive/*.warc.gz", halve, ".warc.gz"),
        ("links/*.zst", halve, ".zst"),
        ("links/*.zst", remove, ".zst"),
    ];
    for (number, (file, damage, named)) in cases.into_iter().enumerate() {
        let name = format!("damaged-{number}");
        begun.damaged(&name, file, &damage);
        let asked = begun.lab.request_count();
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        contents(&begun.path(&name), "", &mut before);
        let said = begun.crawl(&name, &["--max-pages", "30"]);
        contents(&begun.path(&name), "", &mut after);
        assert_eq!(said.code, Some(1), "{number} {file}: {}", said.stderr);
        assert!(said.stderr.starts_with("argiope: error: "), "{file}: {}", said.stderr);
        assert!(said.stderr.contains(named), "{number} {file}: {}", said.stderr);
        assert!(said.stderr.contains("hint: ") && said.stderr.contains("backup"), "{file}: {}", said.stderr);
        assert_eq!(begun.lab.request_count(), asked, "{file}: nobody is asked");
        // The frontier's store cleans up its own old files when it is opened; its contents are the same.
        let tidied = |name: &str| name.starts_with("frontier/") && name != file;
        before.retain(|name, _| !tidied(name));
        after.retain(|name, _| !tidied(name));
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&before), names(&after), "{number} {file}: files came or went");
        for (name, bytes) in before {
            assert!(after.get(&name) == Some(&bytes), "{number} {file}: {name} was changed");
        }
        fs::remove_dir_all(begun.path(&name)).unwrap();
    }
}

/// The pages are in the catalogue; the files with their content are missing.
#[test]
fn a_lost_archive_is_said() {
    let begun = Begun::new();
    begun.damaged("lost", "archive/*.warc.gz", &remove);
    let said = begun.run("lost", &[], &["--max-pages", "22"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("warning: 1 file of the archive is missing"), "{}", said.stderr);
}

#[test]
fn a_file_in_the_place_of_the_archive_is_named() {
    let begun = Begun::new();
    fs::remove_dir_all(begun.path("begun").join("archive")).unwrap();
    fs::write(begun.path("begun").join("archive"), "").unwrap();
    let said = begun.crawl("begun", &["--max-pages", "22"]);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("archive: is a file where a directory has to be"), "{}", said.stderr);
}

/// Any power cut may lose the end of the journal; the archive has what was in it.
#[test]
fn a_frontier_that_lost_its_journal_is_made_again_from_the_archive() {
    let begun = Begun::new();
    let cut = |length: u64| {
        move |path: &Path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap()
    };
    let damages: [&dyn Fn(&Path); 3] = [&remove, &cut(1000), &cut(9000)];
    for (number, damage) in damages.into_iter().enumerate() {
        let name = format!("healed-{number}");
        begun.damaged(&name, "frontier/0.jnl", damage);
        begun.lab.clear_access_log();
        let said = begun.crawl(&name, &[]);
        assert_eq!(said.code, Some(0), "{number}: {}", said.stderr);
        begun.check_healed(&name);
        fs::remove_dir_all(begun.path(&name)).unwrap();
    }
}

/// A backup, or a write-ahead log that was lost: the frontier has ended visits that the catalogue does not have.
#[test]
fn an_older_catalogue_is_completed_from_the_archive() {
    let begun = Begun::new();
    copy(&begun.path("begun"), &begun.path("older"));
    begun.lab.clear_access_log();
    assert_eq!(begun.crawl("older", &["--max-pages", "40"]).code, Some(0));
    fs::copy(begun.path("begun").join("catalog.db"), begun.path("older").join("catalog.db")).unwrap();
    let said = begun.run("older", &[], &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("restored from the archive"), "{}", said.stderr);
    begun.check_healed("older");
}

#[test]
fn an_older_catalogue_without_an_archive_is_refused() {
    let begun = Begun::new();
    let crawl = |pages| begun.crawl("bare", &["--no-archive", "--max-pages", pages]);
    assert_eq!(crawl("10").code, Some(0));
    copy(&begun.path("bare"), &begun.path("backup"));
    assert_eq!(crawl("20").code, Some(0));
    fs::copy(begun.path("backup").join("catalog.db"), begun.path("bare").join("catalog.db")).unwrap();
    let said = crawl("30");
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(
        said.stderr.contains("older than the frontier") && said.stderr.contains("hint: "),
        "{}",
        said.stderr
    );
    // The data directory as a whole, as in a backup.
    fs::remove_dir_all(begun.path("bare")).unwrap();
    copy(&begun.path("backup"), &begun.path("bare"));
    assert_eq!(crawl("30").code, Some(0));
}

/// The number of a job that the catalogue has forgotten is not given to another one.
#[test]
fn a_catalogue_from_before_the_job_begins_it_anew() {
    let begun = Begun::new();
    let before = |data: &str| {
        let directory = begun.path(data);
        fs::remove_file(directory.join("catalog.db")).unwrap();
        let settings = argiope_local::catalogue::CatalogueSettings::default();
        argiope_local::catalogue::SqliteCatalogue::open(&directory.join("catalog.db"), settings).unwrap();
    };
    before("begun");
    let said = begun.run("begun", &[], &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("does not know job 1"), "{}", said.stderr);
    let stored = Stored::at(&begun.path("begun"));
    stored.check_complete(&wanted(&begun.lab.expected()), None);
    assert_eq!(stored.job().id.0, 2);
}

/// What is written over shows by its checksum, or as an end: then it is as if the rest had been lost.
#[test]
fn rubbish_in_the_journal_of_the_frontier_is_named_or_made_good() {
    let begun = Begun::new();
    for (number, at) in [20, 100, 500, 1000, 2000, 3000, 5000, 9000].into_iter().enumerate() {
        let name = format!("rubbish-{number}");
        begun.damaged(&name, "frontier/0.jnl", &|path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(&[0xa5; 40], at).unwrap();
        });
        begun.lab.clear_access_log();
        let said = begun.crawl(&name, &[]);
        match said.code {
            Some(0) => begun.check_healed(&name),
            Some(1) => {
                assert!(said.stderr.contains("the frontier is damaged"), "{at}: {}", said.stderr);
                assert!(said.stderr.contains("hint: ") && said.stderr.contains("backup"), "{}", said.stderr);
            }
            code => panic!("{at}: {code:?}: {}", said.stderr),
        }
        fs::remove_dir_all(begun.path(&name)).unwrap();
    }
}
