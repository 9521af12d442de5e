//! The archive as a spool: which files may be taken away, and when.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_model::Millis;
use argiope_store::archive::contract::Sample;
use argiope_store::archive::{Appended, Appender, Archive};
use argiope_store::error::ErrorKind;
use argiope_store::spool::Spool;
use std::path::Path;

/// Later than any file was begun.
const EVER: Millis = Millis(u64::MAX);

fn open(root: &Path) -> FileArchive {
    let options =
        ArchiveOptions { rotate_bytes: 5000, remembered_payloads: 1000, ..ArchiveOptions::default() };
    FileArchive::open(root, options).unwrap()
}

fn append(appender: &mut Box<dyn Appender>, number: u32) -> Appended {
    appender.append(&Sample::page(number, 3000).exchange()).unwrap()
}

fn commit(archive: &FileArchive, appended: &Appended) {
    archive.sync().unwrap();
    archive.committed(&[appended.position()]);
}

#[test]
fn a_file_is_finished_when_it_is_long_enough_and_all_of_it_is_catalogued() {
    let directory = tempfile::tempdir().unwrap();
    let archive = open(directory.path());
    let mut appender = archive.appender().unwrap();
    let first = append(&mut appender, 1);
    let mut last = first.clone();
    let mut numbers = 2..;
    while last.at.file == first.at.file {
        let next = append(&mut appender, numbers.next().unwrap());
        if next.at.file == first.at.file {
            last = next;
        } else {
            break;
        }
    }
    assert_eq!(archive.finished().unwrap(), [], "ended, not catalogued");
    commit(&archive, &first);
    assert_eq!(archive.finished().unwrap(), [], "catalogued in part");
    commit(&archive, &last);
    assert_eq!(archive.finished().unwrap(), [last.position()]);
    assert_eq!(archive.finished().unwrap(), [last.position()], "until it is removed");
    assert!(archive.path(&last.at.file).exists());
    archive.remove(&last.at.file).unwrap();
    assert_eq!(archive.finished().unwrap(), []);
    assert!(!archive.path(&last.at.file).exists());
    assert_eq!(archive.read(&first.at).unwrap_err().kind, ErrorKind::NotFound);
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "its index is gone too, the open file is there: {left:?}");
}

#[test]
fn a_file_that_is_open_for_long_is_ended_though_its_worker_is_idle() {
    let directory = tempfile::tempdir().unwrap();
    let archive = open(directory.path());
    let mut appender = archive.appender().unwrap();
    let _idle = archive.appender().unwrap();
    assert_eq!(archive.end_files(EVER).unwrap(), None, "nothing was written");
    let page = append(&mut appender, 1);
    commit(&archive, &page);
    let begun = archive.end_files(Millis(0)).unwrap();
    assert!(begun.is_some(), "when the open one was begun");
    assert_eq!(archive.finished().unwrap(), []);
    assert_eq!(archive.end_files(EVER).unwrap(), None);
    assert_eq!(archive.finished().unwrap(), [page.position()]);
    let next = append(&mut appender, 2);
    assert_ne!(next.at.file, page.at.file);
    assert_eq!(archive.read(&page.at).unwrap().body, Sample::page(1, 3000).body());
}

#[test]
fn what_is_open_or_not_catalogued_is_not_removed() {
    let directory = tempfile::tempdir().unwrap();
    let archive = open(directory.path());
    let mut appender = archive.appender().unwrap();
    let page = append(&mut appender, 1);
    assert_eq!(archive.remove(&page.at.file).unwrap_err().kind, ErrorKind::Usage);
    archive.end_files(EVER).unwrap();
    assert_eq!(archive.remove(&page.at.file).unwrap_err().kind, ErrorKind::Usage);
    assert_eq!(archive.remove("../elsewhere").unwrap_err().kind, ErrorKind::Usage);
    assert!(archive.read(&page.at).is_ok());
}

#[test]
fn what_an_earlier_process_left_is_finished_once_it_is_cut_to_what_is_catalogued() {
    let directory = tempfile::tempdir().unwrap();
    let archive = open(directory.path());
    let (mut one, mut two) = (archive.appender().unwrap(), archive.appender().unwrap());
    let mut three = archive.appender().unwrap();
    let whole = append(&mut one, 1);
    let known = append(&mut two, 2);
    append(&mut two, 3);
    append(&mut three, 4);
    drop((one, two, three, archive));
    let archive = open(directory.path());
    assert_eq!(archive.finished().unwrap(), [], "nobody has looked yet");
    let catalogued = [whole.position(), known.position()];
    assert_eq!(archive.truncate_to(&catalogued).unwrap().len(), 2);
    assert_eq!(archive.finished().unwrap(), catalogued);
    let entries = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(entries, 4, "two files with an index each");
}

#[test]
fn without_revisits_every_visit_has_its_own_body() {
    let directory = tempfile::tempdir().unwrap();
    let options = ArchiveOptions { revisits: false, remembered_payloads: 1000, ..ArchiveOptions::default() };
    let archive = FileArchive::open(directory.path(), options).unwrap();
    let mut appender = archive.appender().unwrap();
    let page = append(&mut appender, 1);
    commit(&archive, &page);
    let same = append(&mut appender, 1);
    assert_eq!(same.duplicate_of, None);
    assert_eq!(archive.read(&same.at).unwrap().refers_to, None);
}
