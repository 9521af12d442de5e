//! WARC files: reading stays within limits and offsets, and what the encoder writes is read back.

use argiope_model::Millis;
use argiope_store::archive::contract::Sample;
use argiope_store::warc::gzip::GzipWriter;
use argiope_store::warc::{Digest, VisitEncoder, VisitReader, WarcInfo, WarcReader, http_head};

/// Less than most blocks are long.
const LIMIT: usize = 100;
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// The bytes are a file; and, since no mutation hits upon a right checksum, also the text of a record.
pub(crate) fn is_read_within_limits(bytes: &[u8]) {
    check_file(bytes);
    let mut member = Vec::new();
    GzipWriter::new().stored(&[bytes], &mut member);
    check_file(&member);
    let mut file = Vec::new();
    VisitEncoder::new([7; 16]).warcinfo(&WarcInfo::default(), "x.warc.gz", Millis(0), &mut file);
    let first = file.len() as u64;
    file.extend_from_slice(&member);
    assert!(check_file(&file) >= first, "a good record before a bad one counts");
}

/// Gives where the last complete record ends.
fn check_file(file: &[u8]) -> u64 {
    let length = file.len() as u64;
    let mut records = WarcReader::new(file, 0);
    let mut block = Vec::new();
    while let Ok(Some(head)) = records.next_record() {
        assert_eq!(head.offset, records.end(), "a record begins where the last one ended");
        block.clear();
        let Ok(whole) = records.read_block(LIMIT, &mut block) else { break };
        assert_eq!(block.len() as u64, head.block_length.min(LIMIT as u64));
        assert_eq!(whole, head.block_length <= LIMIT as u64);
        let Ok(end) = records.finish_record() else { break };
        assert!(end > head.offset && end <= length);
    }
    let end = records.end();
    assert!(end <= length);
    let mut visits = VisitReader::new(file, 0);
    let mut last = 0;
    while let Ok(Some(visit)) = visits.next_visit() {
        assert!(visit.start >= last && visit.end > visit.start && visit.end <= end);
        last = visit.end;
    }
    assert!(visits.complete() >= last && visits.complete() <= end);
    end
}

/// The bytes are an HTTP answer, head and body, that is stored and read back, whole and cut short.
pub(crate) fn is_read_back(bytes: &[u8]) {
    let split = bytes.windows(4).position(|window| window == END_OF_HEAD).map_or(bytes.len(), |at| at + 4);
    let (head, body) = bytes.split_at(split);
    let facts = http_head::facts(head);
    if facts.status.is_none() {
        return;
    }
    let mut sample = Sample::of("https://example.com/x", body.to_vec());
    sample.response = Some((head.to_vec(), body.to_vec()));
    let mut file = Vec::new();
    let digest = Digest::of(&[body]);
    let mut encoder = VisitEncoder::new([3; 16]).with_block_digests(true);
    let encoded = encoder.visit(&sample.exchange(), Some(digest), None, &mut file).expect("it can be stored");
    assert_eq!(check_file(&file), file.len() as u64);

    let mut records = WarcReader::new(file.as_slice(), 0);
    let mut block = Vec::new();
    records.next_record().expect("a record").expect("one");
    assert!(records.read_block(usize::MAX, &mut block).expect("its block"));
    let end = block.windows(4).position(|window| window == END_OF_HEAD).expect("the end of the head") + 4;
    assert_eq!(&block[end..], body, "the body is what follows the first empty line");
    let stored = http_head::facts(&block[..end]);
    assert_eq!((stored.status, stored.content_type), (facts.status, facts.content_type));
    assert_eq!((stored.content_encoding, stored.location), (facts.content_encoding, facts.location));

    let mut visits = VisitReader::new(file.as_slice(), 0);
    let visit = visits.next_visit().expect("a visit").expect("one");
    assert_eq!((visit.start, visit.end), (0, file.len() as u64));
    assert_eq!(visit.metadata, sample.metadata);
    let capture = visit.capture.expect("the response");
    assert_eq!((capture.length, capture.digest), (encoded.capture_length, Some(digest)));
    assert_eq!((capture.status, capture.is_revisit), (facts.status, false));
    assert!(visits.next_visit().expect("the end").is_none());

    let cut = file.len() - 1 - body.len() % file.len().min(97);
    let mut visits = VisitReader::new(&file[..cut], 0);
    assert!(!matches!(visits.next_visit(), Ok(Some(_))), "cut at {cut}");
    assert_eq!(visits.complete(), 0);
}
