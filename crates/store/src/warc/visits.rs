//! Groups records into visits, for recovery, indexing and reading back.

use super::digest::Digest;
use super::metadata::VisitMetadata;
use super::reader::{RecordHead, WarcError, WarcFault, WarcReader};
use super::writer::Referred;
use super::{field, http_head};
use crate::archive::ArchiveRef;
use argiope_model::{Millis, Url};
use std::io::Read;

/// A metadata block has a few URLs and numbers; a longer one was not written by this program.
const LONGEST_METADATA: usize = 1 << 20;
/// The part of a stored HTTP head that is searched for status and type.
const LONGEST_HTTP_HEAD: usize = 256 * 1024;

/// The response or revisit record of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    pub offset: u64,
    /// Of the gzip member.
    pub length: u64,
    pub target: String,
    pub date: Millis,
    pub digest: Option<Digest>,
    pub status: Option<u16>,
    pub media_type: Option<String>,
    pub is_revisit: bool,
    /// The page whose payload a revisit shares.
    pub same_as: Option<Url>,
}

/// A visit whose records are all there.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVisit {
    pub start: u64,
    pub end: u64,
    pub metadata: VisitMetadata,
    pub capture: Option<Capture>,
}

/// Reads one visit after the other.
pub struct VisitReader<R> {
    records: WarcReader<R>,
    /// End of the last complete visit, or of a warcinfo record outside any.
    complete: u64,
}

impl<R: Read> VisitReader<R> {
    /// `offset` is where `source` stands in its file: 0 or the start of a visit.
    pub fn new(source: R, offset: u64) -> VisitReader<R> {
        VisitReader { records: WarcReader::new(source, offset), complete: offset }
    }

    /// The file holds only complete visits up to here.
    pub fn complete(&self) -> u64 {
        self.complete
    }

    /// The next complete visit. `None` at the end of the file, also if it ends with records of a visit that lacks its
    /// metadata: then [`VisitReader::complete`] is before the file's end.
    pub fn next_visit(&mut self) -> Result<Option<StoredVisit>, WarcError> {
        let mut start = None;
        let mut capture = None;
        while let Some(head) = self.records.next_record()? {
            match head.kind() {
                "response" | "revisit" => {
                    let start = *start.get_or_insert(head.offset);
                    capture = Some(self.capture(&head)?);
                    // A visit that is one record is complete with it.
                    if let Some(json) = head.get(field::JSON_METADATA) {
                        let metadata = parse_metadata(&head, json.as_bytes())?;
                        self.complete = self.records.end();
                        return Ok(Some(StoredVisit { start, end: self.complete, metadata, capture }));
                    }
                }
                "request" => {
                    start.get_or_insert(head.offset);
                    self.records.finish_record()?;
                }
                "metadata" => {
                    let start = start.unwrap_or(head.offset);
                    let metadata = self.metadata(&head)?;
                    self.complete = self.records.finish_record()?;
                    return Ok(Some(StoredVisit { start, end: self.complete, metadata, capture }));
                }
                _ => {
                    let end = self.records.finish_record()?;
                    if start.is_none() {
                        self.complete = end;
                    }
                }
            }
        }
        Ok(None)
    }

    fn capture(&mut self, head: &RecordHead) -> Result<Capture, WarcError> {
        let mut block = Vec::new();
        self.records.read_block(LONGEST_HTTP_HEAD.min(8 * 1024), &mut block)?;
        if memchr::memmem::find(&block, b"\r\n\r\n").is_none() {
            self.records.read_block(LONGEST_HTTP_HEAD - block.len().min(LONGEST_HTTP_HEAD), &mut block)?;
        }
        let end = memchr::memmem::find(&block, b"\r\n\r\n").unwrap_or(block.len());
        let facts = http_head::facts(block.get(..end).unwrap_or_default());
        let length = self.records.finish_record()? - head.offset;
        Ok(Capture {
            offset: head.offset,
            length,
            target: required(head, field::TARGET_URI)?.to_owned(),
            date: date_of(head)?,
            digest: head.get(field::PAYLOAD_DIGEST).and_then(Digest::parse),
            status: facts.status,
            media_type: facts.media_type().map(str::to_owned),
            is_revisit: head.kind() == "revisit",
            same_as: head.get(field::REFERS_TO_PAGE).and_then(|text| Url::from_stored(text).ok()),
        })
    }

    fn metadata(&mut self, head: &RecordHead) -> Result<VisitMetadata, WarcError> {
        let mut block = Vec::new();
        if !self.records.read_block(LONGEST_METADATA, &mut block)? {
            return Err(damaged(head, "has a metadata block that is too long".to_owned()));
        }
        parse_metadata(head, &block)
    }
}

fn parse_metadata(head: &RecordHead, json: &[u8]) -> Result<VisitMetadata, WarcError> {
    serde_json::from_slice(json)
        .map_err(|error| damaged(head, format!("has metadata that cannot be read: {error}")))
}

/// The details that a revisit record needs of the record at `at` with the header `head`; `None` unless that is a
/// response with a digest.
pub fn read_referred(head: &RecordHead, at: &ArchiveRef) -> Option<Referred> {
    if head.kind() != "response" {
        return None;
    }
    let target = head.get(field::TARGET_URI)?;
    Some(Referred {
        at: at.clone(),
        record_id: head.get(field::RECORD_ID)?.to_owned(),
        target: target.to_owned(),
        date: head.get(field::DATE)?.to_owned(),
        page: Url::from_stored(head.get(field::SCHEDULED_URI).unwrap_or(target)).ok()?,
        digest: Digest::parse(head.get(field::PAYLOAD_DIGEST)?)?,
    })
}

fn required<'h>(head: &'h RecordHead, name: &str) -> Result<&'h str, WarcError> {
    head.get(name).ok_or_else(|| damaged(head, format!("has no {name}")))
}

fn date_of(head: &RecordHead) -> Result<Millis, WarcError> {
    let text = required(head, field::DATE)?;
    Millis::parse_rfc3339(text)
        .ok_or_else(|| damaged(head, format!("has a {} that is not a date", field::DATE)))
}

fn damaged(head: &RecordHead, what: String) -> WarcError {
    WarcError { offset: head.offset, fault: WarcFault::Damaged(what) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::contract::Sample;
    use crate::warc::{VisitEncoder, WarcInfo};

    #[test]
    fn a_visit_whose_request_is_like_one_before_is_one_record() {
        let mut encoder = VisitEncoder::new([3; 16]);
        let mut file = Vec::new();
        let mut lengths = Vec::new();
        for number in 0..3 {
            let mut sample = Sample::page(number, 100);
            if number == 2 {
                let more = b"User-Agent: test\r\nIf-None-Match: \"1\"\r\n\r\n";
                let request = sample.request.as_mut().unwrap();
                request.truncate(request.len() - b"User-Agent: test\r\n\r\n".len());
                request.extend_from_slice(more);
            }
            let (start, digest) = (file.len(), Digest::of(&[sample.body()]));
            encoder.visit(&sample.exchange(), Some(digest), None, &mut file).unwrap();
            lengths.push(file.len() - start - sample.body().len());
        }
        let mut records = WarcReader::new(file.as_slice(), 0);
        let mut kinds = Vec::new();
        let mut request = String::new();
        while let Some(head) = records.next_record().unwrap() {
            kinds.push(head.kind().to_owned());
            if kinds.len() == 2 {
                request = head.get(field::RECORD_ID).unwrap().to_owned();
            } else if kinds.len() == 4 {
                assert_eq!(head.get(field::REQUEST_LIKE), Some(request.as_str()));
                assert!(head.get(field::JSON_METADATA).unwrap().starts_with("{\"visit\":"));
            }
            records.finish_record().unwrap();
        }
        let three = ["response", "request", "metadata"];
        assert_eq!(kinds, [&three[..], &["response"], &three].concat(), "the last has a header of its own");
        assert!(lengths[1] < 900, "{lengths:?}");
    }

    #[test]
    fn visits_of_archives_of_old_are_read() {
        // In the form of earlier versions: three stored records, with all metadata fields.
        let records = [
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1ebdb229-7b1f-4c89-b52d-7ff361f32e9c>\r\n\
             WARC-Date: 2026-11-18T08:06:35.212Z\r\nWARC-Target-URI: http://a.example/x\r\n\
             Content-Type: application/http;msgtype=response\r\nContent-Length: 21\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhi",
            "WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:uuid:1ebdb229-7b1f-4c89-b52d-7ff361f32e9d>\r\n\
             WARC-Date: 2026-11-18T08:06:35.212Z\r\nWARC-Target-URI: http://a.example/x\r\nContent-Length: 0\r\n\r\n",
            "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:1ebdb229-7b1f-4c89-b52d-7ff361f32e9e>\r\n\
             WARC-Date: 2026-11-18T08:06:35.212Z\r\nWARC-Target-URI: http://a.example/x\r\nContent-Length: 432\r\n\r\n\
             {\"visit\":{\"job\":1,\"kind\":\"page\",\"url\":\"http://a.example/x\",\"round\":0,\"attempt\":0,\"depth\":1,\
             \"priority\":20,\"scheduled_at\":1794989195168,\"source\":\"http://a.example/\"},\"outcome\":{\"is\":\"final\"},\
             \"status\":200,\"timings\":{\"started\":1794989195212,\"ended\":1794989195216,\"dns_us\":0,\"connect_us\":0,\
             \"tls_us\":0,\"first_byte_us\":2500,\"download_us\":2},\"robots_rule\":\"Allow: /\",\"robots_line\":5,\
             \"required_delay_ms\":0,\"per_host\":1,\"ticket\":\"1.7.0.21.1.1882182589716889719\",\"charset\":\"UTF-8\"}",
        ];
        let mut file = Vec::new();
        for record in records {
            let json = record.find("{\"visit").map_or(432, |at| record.len() - at);
            let record = record.replace("432", &json.to_string());
            crate::warc::gzip::GzipWriter::new().stored(&[record.as_bytes(), b"\r\n\r\n"], &mut file);
        }
        let mut visits = VisitReader::new(file.as_slice(), 0);
        let visit = visits.next_visit().unwrap().unwrap();
        assert_eq!((visit.start, visit.end), (0, file.len() as u64));
        assert_eq!((visit.metadata.per_host, visit.metadata.timings.first_byte_us), (1, 2500));
        assert_eq!(visit.metadata.outcome, crate::warc::VisitOutcome::Final);
    }

    #[test]
    fn a_file_cut_at_any_byte_holds_exactly_the_complete_visits() {
        let mut encoder = VisitEncoder::new([3; 16]).with_block_digests(true);
        let mut file = Vec::new();
        encoder.warcinfo(&WarcInfo::default(), "x.warc.gz", Millis(0), &mut file);
        let mut ends = vec![file.len()];
        for number in 0..3 {
            let sample = Sample::page(number, 700);
            let digest = Digest::of(&[sample.body()]);
            encoder.visit(&sample.exchange(), Some(digest), None, &mut file).unwrap();
            ends.push(file.len());
        }
        for length in 0..=file.len() {
            let mut visits = VisitReader::new(&file[..length], 0);
            let mut found = 0;
            while let Ok(Some(visit)) = visits.next_visit() {
                assert_eq!(visit.metadata, Sample::page(found, 700).metadata);
                found += 1;
            }
            let complete = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(found as usize, complete.saturating_sub(1), "cut at {length}");
            assert_eq!(visits.complete() as usize, complete.checked_sub(1).map_or(0, |last| ends[last]));
        }
    }
}
