//! The WARC 1.1 codec: visits to records and back. Pure: bytes, time and chance come from the caller.
//!
//! A file is a sequence of gzip members, one per record: a warcinfo record, then the visits. Most visits are one
//! record: a response (or a revisit that refers to an identical payload elsewhere) with the visit's metadata in its
//! header (`WARC-JSON-Metadata`) and a reference to a request record of the same file that differs only in path and
//! host. If there is none yet, a visit is three records: response, request, and last a metadata record that makes it
//! complete. A visit without a response has no response record; one that never connected has only its metadata.

pub mod cdxj;
mod digest;
pub mod gzip;
pub mod http_head;
mod metadata;
mod reader;
mod record_id;
mod requests;
mod small_deflate;
mod visits;
mod writer;

pub use digest::Digest;
pub use metadata::{AnswerFacts, VisitMetadata, VisitOutcome};
pub use reader::{RecordHead, WarcError, WarcFault, WarcReader};
pub use record_id::{RecordId, RecordIds};
pub use visits::{Capture, StoredVisit, VisitReader, read_referred};
pub use writer::{EncodedVisit, Referred, VisitEncoder, WarcInfo};

pub const PROFILE_IDENTICAL_PAYLOAD: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
pub const PROFILE_NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// Names of header fields, each written and read in this spelling. Those that begin with `X-` are this program's.
pub mod field {
    pub const TYPE: &str = "WARC-Type";
    pub const RECORD_ID: &str = "WARC-Record-ID";
    pub const DATE: &str = "WARC-Date";
    pub const TARGET_URI: &str = "WARC-Target-URI";
    pub const IP_ADDRESS: &str = "WARC-IP-Address";
    pub const CONCURRENT_TO: &str = "WARC-Concurrent-To";
    pub const PROTOCOL: &str = "WARC-Protocol";
    pub const TRUNCATED: &str = "WARC-Truncated";
    pub const FILENAME: &str = "WARC-Filename";
    pub const PROFILE: &str = "WARC-Profile";
    pub const REFERS_TO: &str = "WARC-Refers-To";
    pub const REFERS_TO_TARGET_URI: &str = "WARC-Refers-To-Target-URI";
    pub const REFERS_TO_DATE: &str = "WARC-Refers-To-Date";
    pub const PAYLOAD_DIGEST: &str = "WARC-Payload-Digest";
    pub const BLOCK_DIGEST: &str = "WARC-Block-Digest";
    /// The visit's metadata, in the header of its response. Other crawlers use this name, too.
    pub const JSON_METADATA: &str = "WARC-JSON-Metadata";
    /// A request record that differs from the visit's request only in path and host, which are those of the target.
    pub const REQUEST_LIKE: &str = "X-Argiope-Request-Like";
    pub const CONTENT_TYPE: &str = "Content-Type";
    pub const CONTENT_LENGTH: &str = "Content-Length";
    /// The URL the page was scheduled under, where redirects led elsewhere.
    pub const SCHEDULED_URI: &str = "X-Argiope-Scheduled-URI";
    /// `FILE:OFFSET` of the record referred to.
    pub const REFERS_TO_PLACE: &str = "X-Argiope-Refers-To-Place";
    /// The URL the page referred to was scheduled under.
    pub const REFERS_TO_PAGE: &str = "X-Argiope-Refers-To-Page";
}
