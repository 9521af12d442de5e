//! Links as they are stored: damage is an error, and what can be read is written back as it was.

use argiope_local::links::SegmentLinks;
use argiope_store::error::Result;
use argiope_store::links::{Link, LinkBatch, Links, LinksPosition, decode};
use std::cell::RefCell;

/// A page with its links, owned: job, source, links as text.
type Page = (u32, String, Vec<String>);

const SKIPPABLE_FRAME: u32 = 0x184D_2A5A;

/// The bytes are an encoded batch.
pub(crate) fn is_read_back_or_refused(bytes: &[u8]) {
    let mut batch = LinkBatch::new();
    let mut links = 0;
    let read = pages(bytes, |page| {
        links += page.links.len() as u64;
        batch.push(page.job, page.source, page.links.iter().map(|link| Link { ..*link }));
    });
    assert_eq!((batch.links(), batch.pages()), (links, read.0.len() as u64));
    let (again, fault) = pages(batch.as_bytes(), |_| {});
    assert!(fault.is_ok());
    assert_eq!(again, read.0);
    if read.1.is_ok() {
        assert!(batch.as_bytes().len() <= bytes.len(), "the encoder shares less than it could");
    }
}

fn pages(
    bytes: &[u8],
    mut each: impl FnMut(&argiope_store::links::PageLinks<'_>),
) -> (Vec<Page>, Result<()>) {
    let mut found = Vec::new();
    let end = decode(bytes, &mut |page| {
        each(page);
        let links = page.links.iter().map(|link| format!("{link:?}")).collect();
        found.push((page.job.0, page.source.to_owned(), links));
        Ok(())
    });
    (found, end)
}

thread_local! {
    static DIRECTORY: RefCell<tempfile::TempDir> =
        RefCell::new(tempfile::tempdir().expect("a temporary directory"));
}

/// The bytes are a segment; and, since no mutation hits upon a right checksum, also a batch in one.
pub(crate) fn segment_is_read_back_or_refused(bytes: &[u8]) {
    let _ = segment(bytes);
    let plain = pages(bytes, |_| {});
    let frame = zstd::bulk::compress(bytes, 1).expect("memory can be compressed");
    let words = [SKIPPABLE_FRAME, 8, frame.len() as u32, bytes.len() as u32];
    let prefix: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let packed = segment(&[prefix, frame].concat());
    assert_eq!(packed.0, plain.0);
    assert_eq!(packed.1.is_ok(), plain.1.is_ok());
}

fn segment(bytes: &[u8]) -> (Vec<Page>, Result<()>) {
    DIRECTORY.with_borrow(|directory| {
        std::fs::write(directory.path().join("links-00000000.zst"), bytes).expect("room for a segment");
        let links = SegmentLinks::open(directory.path()).expect("a directory of links");
        let mut found = Vec::new();
        let until = LinksPosition { segment: 0, length: bytes.len() as u64 };
        let end = links.read(until, &mut |page| {
            let links = page.links.iter().map(|link| format!("{link:?}")).collect();
            found.push((page.job.0, page.source.to_owned(), links));
            Ok(())
        });
        (found, end)
    })
}
