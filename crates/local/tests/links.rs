//! The links on disk: the port's contract, then what is special to segments.

#![allow(clippy::unwrap_used, reason = "tests")]

mod filling_disk;

use argiope_local::disk::LocalDisk;
use argiope_local::links::SegmentLinks;
use argiope_model::Millis;
use argiope_store::archive::Position;
use argiope_store::error::ErrorKind;
use argiope_store::links::contract::{self, batch, numbers};
use argiope_store::links::{Links, LinksPosition};
use argiope_store::spool::Spool;
use filling_disk::FillingDisk;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

fn open(root: &Path, segment_bytes: u64) -> SegmentLinks {
    SegmentLinks::on_disk(root, segment_bytes, Box::new(LocalDisk)).unwrap()
}

#[test]
fn the_contract_of_links_holds_in_one_segment_and_in_many() {
    for segment_bytes in [1 << 20, 300] {
        contract::run(&|| {
            let directory = tempfile::tempdir().unwrap();
            Box::new(move || Box::new(open(&directory.path().join("links"), segment_bytes)))
        });
        contract::run(&|| {
            let directory = tempfile::tempdir().unwrap();
            Box::new(move || Box::new(SegmentLinks::open_spool(directory.path(), segment_bytes).unwrap()))
        });
    }
}

fn files(finished: &[Position]) -> Vec<&str> {
    finished.iter().map(|position| &*position.file).collect()
}

/// Later than anything was begun.
const EVER: Millis = Millis(u64::MAX);

#[test]
fn a_segment_may_leave_when_it_is_over_and_all_of_it_is_catalogued() {
    let directory = tempfile::tempdir().unwrap();
    let mut links = SegmentLinks::open_spool(directory.path(), 100).unwrap();
    links.truncate_to(LinksPosition::default()).unwrap();
    let spool = links.segments();
    assert_eq!(spool.end_files(EVER).unwrap(), None, "nothing was written");
    links.append(&batch(0, 30)).unwrap();
    let first = links.sync().unwrap();
    links.append(&batch(30, 1)).unwrap();
    assert_eq!(spool.finished().unwrap(), [], "it is long enough, and not catalogued");
    links.committed(first);
    assert_eq!(spool.finished().unwrap(), [Position { file: "0".into(), length: first.length }]);
    assert_eq!(spool.end_files(EVER).unwrap(), None, "the next one is not catalogued yet");
    let second = links.sync().unwrap();
    assert_eq!(second.segment, 1);
    links.committed(second);
    assert!(spool.end_files(Millis(0)).unwrap().is_some(), "when it was begun");
    assert_eq!(files(&spool.finished().unwrap()), ["0"]);
    assert_eq!(spool.end_files(EVER).unwrap(), None);
    assert_eq!(files(&spool.finished().unwrap()), ["0", "1"], "it was open for long enough");
    assert!(spool.path("0").exists());
    spool.remove("0").unwrap();
    assert!(!spool.path("0").exists());
    for file in ["0", "2", "../links"] {
        assert_eq!(spool.remove(file).unwrap_err().kind, ErrorKind::Usage, "{file}");
    }
    links.append(&batch(31, 1)).unwrap();
    let third = links.sync().unwrap();
    assert_eq!(third.segment, 2);
    drop((links, spool));
    // A start finds what is left, whether or not the ones before are still here.
    let mut links = SegmentLinks::open_spool(directory.path(), 100).unwrap();
    assert_eq!(links.truncate_to(second).unwrap(), third.length);
    assert_eq!(files(&links.segments().finished().unwrap()), ["1"]);
    // All have left.
    links.segments().remove("1").unwrap();
    let mut links = SegmentLinks::open_spool(directory.path(), 100).unwrap();
    links.truncate_to(LinksPosition { segment: 2, length: 0 }).unwrap();
    links.append(&batch(40, 1)).unwrap();
    assert_eq!(links.sync().unwrap().segment, 2);
    assert_eq!(links.segments().finished().unwrap(), []);
}

#[test]
fn a_tail_cut_at_any_byte_beyond_the_position_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let mut links = open(directory.path(), 1 << 20);
    links.append(&batch(0, 3)).unwrap();
    let valid = links.sync().unwrap();
    links.append(&batch(3, 3)).unwrap();
    drop(links);
    let path = directory.path().join("links-00000000.zst");
    let bytes = std::fs::read(&path).unwrap();
    for length in valid.length as usize..=bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let mut links = open(directory.path(), 1 << 20);
        links.truncate_to(valid).unwrap();
        links.append(&batch(7, 1)).unwrap();
        let end = links.sync().unwrap();
        assert_eq!(numbers(&links, end), [0, 1, 2, 7]);
    }
}

#[test]
fn damage_is_reported_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let mut links = open(directory.path(), 1 << 20);
    links.append(&batch(0, 30)).unwrap();
    let first = links.sync().unwrap();
    links.append(&batch(30, 30)).unwrap();
    let end = links.sync().unwrap();
    let path = directory.path().join("links-00000000.zst");
    let bytes = std::fs::read(&path).unwrap();
    for at in first.length as usize..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        std::fs::write(&path, &damaged).unwrap();
        let error = links.read(end, &mut |_| Ok(())).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "byte {at}: {error}");
        let text = error.to_string();
        assert!(text.contains(&format!("links-00000000.zst: at offset {}", first.length)), "{text}");
    }
    assert_eq!(numbers(&links, first).len(), 30, "what lies before it can be read");
}

#[test]
fn any_zstd_tool_unpacks_a_segment() {
    let directory = tempfile::tempdir().unwrap();
    let mut links = open(directory.path(), 1 << 20);
    let (one, two) = (batch(0, 3), batch(3, 3));
    links.append(&one).unwrap();
    links.append(&two).unwrap();
    assert_eq!(links.sync().unwrap().segment, LinksPosition::default().segment);
    let file = std::fs::File::open(directory.path().join("links-00000000.zst")).unwrap();
    let plain = zstd::stream::decode_all(file).unwrap();
    assert_eq!(plain, [one.as_bytes(), two.as_bytes()].concat());
}

#[test]
fn a_full_disk_leaves_no_half_batch_and_the_append_can_be_tried_again() {
    for room in [0, 1, 200] {
        let directory = tempfile::tempdir().unwrap();
        let left = Arc::new(AtomicI64::new(room));
        let disk = FillingDisk { left: left.clone() };
        let mut links = SegmentLinks::on_disk(directory.path(), 1 << 20, Box::new(disk)).unwrap();
        let before = links.sync().unwrap();
        assert_eq!(links.append(&batch(0, 50)).unwrap_err().kind, ErrorKind::DiskFull);
        assert_eq!(links.sync().unwrap(), before);
        left.store(i64::MAX, Ordering::SeqCst);
        links.append(&batch(0, 50)).unwrap();
        let end = links.sync().unwrap();
        assert_eq!(numbers(&links, end), (0..50).collect::<Vec<_>>());
    }
}
