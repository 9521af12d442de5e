//! Builds the records of a visit, each a gzip member of its own: a response (or revisit) with the metadata in its header,
//! or response, request and metadata (see the module above).

use super::digest::Digest;
use super::gzip::GzipWriter;
use super::http_head;
use super::record_id::{RecordId, RecordIds};
use super::requests::{RequestForm, RequestsWritten};
use super::{PROFILE_IDENTICAL_PAYLOAD, PROFILE_NOT_MODIFIED, field};
use crate::archive::{ArchiveRef, Exchange, Response};
use crate::error::{ErrorKind, Result, StoreError};
use argiope_model::{Millis, Url};
use std::io::Write;

/// The contents of the warcinfo record at the start of each file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarcInfo {
    /// Name and version of this program.
    pub software: String,
    /// `obey`, or how else the crawl treats robots.txt.
    pub robots: String,
    pub user_agent: Option<String>,
    /// Who runs the crawl and how to contact them.
    pub operator: Option<String>,
}

/// The record a revisit refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referred {
    pub at: ArchiveRef,
    /// With its angle brackets.
    pub record_id: String,
    pub target: String,
    /// In the form of the record.
    pub date: String,
    /// The URL its page was scheduled under.
    pub page: Url,
    pub digest: Digest,
}

/// The records built for a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedVisit {
    /// Of the response or revisit record, compressed; zero if there is none.
    pub capture_length: u64,
    pub media_type: Option<String>,
    pub status: Option<u16>,
}

/// Encodes the visits of one appender, reusing its buffers.
pub struct VisitEncoder {
    gzip: GzipWriter,
    ids: RecordIds,
    header: Vec<u8>,
    block: Vec<u8>,
    json: Vec<u8>,
    requests: RequestsWritten,
    block_digests: bool,
}

/// The fields all records of a visit share.
struct Common<'a> {
    target: &'a str,
    date: &'a str,
    address: Option<&'a str>,
}

impl VisitEncoder {
    /// `random` must be drawn anew for each encoder.
    pub fn new(random: [u8; 16]) -> VisitEncoder {
        VisitEncoder {
            gzip: GzipWriter::new(),
            ids: RecordIds::new(random),
            header: Vec::with_capacity(1024),
            block: Vec::with_capacity(1024),
            json: Vec::with_capacity(1024),
            requests: RequestsWritten::default(),
            block_digests: false,
        }
    }

    /// Whether a response gets a digest of its whole block in addition to that of its payload. It adds nothing to the
    /// payload digest and the member's checksum, and hashing the body a second time is a third of an append's cost. All
    /// other records have one.
    pub fn with_block_digests(mut self, on: bool) -> VisitEncoder {
        self.block_digests = on;
        self
    }

    /// The record a file begins with.
    pub fn warcinfo(&mut self, info: &WarcInfo, file: &str, now: Millis, out: &mut Vec<u8>) {
        self.forget_requests();
        self.block.clear();
        for (name, value) in [
            ("software", Some(info.software.as_str())),
            ("format", Some("WARC File Format 1.1")),
            (
                "conformsTo",
                Some("http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
            ),
            ("robots", Some(info.robots.as_str())),
            ("http-header-user-agent", info.user_agent.as_deref()),
            ("operator", info.operator.as_deref()),
        ] {
            if let Some(value) = value {
                put(&mut self.block, name, &value.replace(['\r', '\n'], " "));
            }
        }
        let id = self.ids.draw();
        begin(&mut self.header, "warcinfo", id, &now.rfc3339());
        put(&mut self.header, field::FILENAME, file);
        put(&mut self.header, field::CONTENT_TYPE, "application/warc-fields");
        put_digest(&mut self.header, field::BLOCK_DIGEST, &Digest::of(&[&self.block]));
        end(&mut self.header, self.block.len());
        self.gzip.text_and_stored(&[&self.header, &self.block, b"\r\n\r\n"], &[], out);
    }

    /// Requests written before this are not referred to: their file is finished, or they were not written.
    pub fn forget_requests(&mut self) {
        self.requests = RequestsWritten::default();
    }

    /// Appends the visit's records to `out`. `digest` is the payload's, if there is a response; with `referred` a
    /// revisit record takes the response's place.
    pub fn visit(
        &mut self,
        exchange: &Exchange<'_>,
        digest: Option<Digest>,
        referred: Option<&Referred>,
        out: &mut Vec<u8>,
    ) -> Result<EncodedVisit> {
        let metadata = exchange.metadata;
        let date = metadata.timings.started.rfc3339();
        let address = exchange.address.map(|address| address.to_string());
        let common = Common { target: metadata.visit.url.as_str(), date: &date, address: address.as_deref() };
        let start = out.len();
        let request = exchange.request_head.map(|head| (head, RequestForm::of(head, &metadata.visit.url)));
        let like = match &request {
            Some((_, Some(form))) => self.requests.like(form),
            _ => None,
        };
        self.json.clear();
        serde_json::to_writer(&mut self.json, metadata).map_err(|error| {
            StoreError::new(ErrorKind::Usage, common.target, "the visit's metadata cannot be written as JSON")
                .with_source(error)
        })?;
        let in_one = like.filter(|_| self.json.len() <= LONGEST_JSON_IN_HEADER);
        let mut encoded = EncodedVisit { capture_length: 0, media_type: None, status: metadata.status };
        let mut first = None;
        if let (Some(response), Some(digest)) = (exchange.response, digest) {
            let id = self.capture(exchange, &response, digest, referred, &common, in_one, &mut encoded, out);
            encoded.capture_length = (out.len() - start) as u64;
            if in_one.is_some() {
                return Ok(encoded);
            }
            first = Some(id);
        }
        if let Some((head, form)) = request {
            let id = self.request(head, first, &common, out);
            if let Some(form) = form {
                self.requests.written(&form, id);
            }
            first = first.or(Some(id));
        }
        self.metadata(first, &common, out);
        Ok(encoded)
    }

    /// The response record, or the revisit record that stands for it.
    #[allow(
        clippy::too_many_arguments,
        reason = "one call site, and the parts are borrowed from different owners"
    )]
    fn capture(
        &mut self,
        exchange: &Exchange<'_>,
        response: &Response<'_>,
        digest: Digest,
        referred: Option<&Referred>,
        common: &Common<'_>,
        in_one: Option<RecordId>,
        encoded: &mut EncodedVisit,
        out: &mut Vec<u8>,
    ) -> RecordId {
        let id = self.ids.draw();
        let visit = &exchange.metadata.visit;
        self.block.clear();
        let facts = http_head::rewrite(response.head, response.body.len(), &mut self.block);
        encoded.media_type = facts.media_type().map(str::to_owned);
        encoded.status = facts.status.or(encoded.status);
        let kind = if referred.is_some() { "revisit" } else { "response" };
        begin(&mut self.header, kind, id, common.date);
        common.put(&mut self.header);
        if !visit.scheduled_url().same_request(&visit.url) {
            put(&mut self.header, field::SCHEDULED_URI, visit.scheduled_url().as_str());
        }
        if facts.http2 {
            put(&mut self.header, field::PROTOCOL, "h2");
        }
        if let Some(truncated) = exchange.metadata.truncated {
            put(&mut self.header, field::TRUNCATED, truncated.as_str());
        }
        put(&mut self.header, field::CONTENT_TYPE, "application/http;msgtype=response");
        if let Some(request) = in_one {
            put_id(&mut self.header, field::REQUEST_LIKE, request);
            put_bytes(&mut self.header, field::JSON_METADATA, &self.json);
        }
        match referred {
            Some(referred) => {
                let unchanged = referred.digest != digest;
                let profile = if unchanged { PROFILE_NOT_MODIFIED } else { PROFILE_IDENTICAL_PAYLOAD };
                put(&mut self.header, field::PROFILE, profile);
                put(&mut self.header, field::REFERS_TO, &referred.record_id);
                put(&mut self.header, field::REFERS_TO_TARGET_URI, &referred.target);
                put(&mut self.header, field::REFERS_TO_DATE, &referred.date);
                put(&mut self.header, field::REFERS_TO_PLACE, &referred.at.to_string());
                put(&mut self.header, field::REFERS_TO_PAGE, referred.page.as_str());
                put_digest(&mut self.header, field::PAYLOAD_DIGEST, &referred.digest);
                put_digest(&mut self.header, field::BLOCK_DIGEST, &Digest::of(&[&self.block]));
                end(&mut self.header, self.block.len());
                self.gzip.text_and_stored(&[&self.header, &self.block, END], &[], out);
            }
            None => {
                put_digest(&mut self.header, field::PAYLOAD_DIGEST, &digest);
                if self.block_digests {
                    put_digest(
                        &mut self.header,
                        field::BLOCK_DIGEST,
                        &Digest::of(&[&self.block, response.body]),
                    );
                }
                end(&mut self.header, self.block.len() + response.body.len());
                let body = response.body;
                if facts.body_is_compressed() {
                    self.gzip.text_and_stored(&[&self.header, &self.block], &[body, END], out);
                } else if body.len() < SMALLEST_DEFLATED_BODY {
                    // Small enough to be compressed like the header; if that is not possible, it is stored.
                    match GzipWriter::is_text(body) {
                        true => self.gzip.text_and_stored(&[&self.header, &self.block, body, END], &[], out),
                        false => self.gzip.text_and_stored(&[&self.header, &self.block], &[body, END], out),
                    }
                } else {
                    self.gzip.deflated(&[&self.header, &self.block, body, END], out);
                }
            }
        }
        id
    }

    fn request(
        &mut self,
        head: &[u8],
        first: Option<RecordId>,
        common: &Common<'_>,
        out: &mut Vec<u8>,
    ) -> RecordId {
        let id = self.ids.draw();
        begin(&mut self.header, "request", id, common.date);
        common.put(&mut self.header);
        if let Some(first) = first {
            put_id(&mut self.header, field::CONCURRENT_TO, first);
        }
        put(&mut self.header, field::CONTENT_TYPE, "application/http;msgtype=request");
        put_digest(&mut self.header, field::BLOCK_DIGEST, &Digest::of(&[head]));
        end(&mut self.header, head.len());
        self.gzip.text_and_stored(&[&self.header, head, END], &[], out);
        id
    }

    fn metadata(&mut self, first: Option<RecordId>, common: &Common<'_>, out: &mut Vec<u8>) {
        begin(&mut self.header, "metadata", self.ids.draw(), common.date);
        common.put(&mut self.header);
        if let Some(first) = first {
            put_id(&mut self.header, field::CONCURRENT_TO, first);
        }
        put(&mut self.header, field::CONTENT_TYPE, "application/json");
        put_digest(&mut self.header, field::BLOCK_DIGEST, &Digest::of(&[&self.json]));
        end(&mut self.header, self.json.len());
        self.gzip.text_and_stored(&[&self.header, &self.json, END], &[], out);
    }
}

/// After the block of each record.
const END: &[u8] = b"\r\n\r\n";
/// Longer metadata, of a visit with many redirects, has its own record: programs that read archives may limit header
/// lines.
const LONGEST_JSON_IN_HEADER: usize = 4096;

/// Below this, setting up the compressor costs more than the bytes it saves.
const SMALLEST_DEFLATED_BODY: usize = 512;

impl Common<'_> {
    fn put(&self, header: &mut Vec<u8>) {
        put(header, field::TARGET_URI, self.target);
        if let Some(address) = self.address {
            put(header, field::IP_ADDRESS, address);
        }
    }
}

fn begin(header: &mut Vec<u8>, kind: &str, id: RecordId, date: &str) {
    header.clear();
    header.extend_from_slice(b"WARC/1.1\r\n");
    put(header, field::TYPE, kind);
    put_id(header, field::RECORD_ID, id);
    put(header, field::DATE, date);
}

fn put(header: &mut Vec<u8>, name: &str, value: &str) {
    put_bytes(header, name, value.as_bytes());
}

fn put_bytes(header: &mut Vec<u8>, name: &str, value: &[u8]) {
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(b": ");
    header.extend_from_slice(value);
    header.extend_from_slice(b"\r\n");
}

fn put_id(header: &mut Vec<u8>, name: &str, id: RecordId) {
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(b": ");
    id.put(header);
    header.extend_from_slice(b"\r\n");
}

fn put_digest(header: &mut Vec<u8>, name: &str, digest: &Digest) {
    header.extend_from_slice(name.as_bytes());
    header.extend_from_slice(b": ");
    digest.put(header);
    header.extend_from_slice(b"\r\n");
}

fn end(header: &mut Vec<u8>, block_length: usize) {
    // Writing to a Vec cannot fail.
    let _ = write!(header, "{}: {block_length}\r\n\r\n", field::CONTENT_LENGTH);
}
