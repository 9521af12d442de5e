//! The result of a fetch.

use crate::error::Seconds;
use argiope_model::{FetchTimings, Truncation};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, StatusCode, Version};
use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// A response as received.
#[derive(Clone, Debug)]
pub struct Fetched {
    pub status: StatusCode,
    pub version: Version,
    /// Status line and headers with the empty line: the original bytes for HTTP/1, the same fields in the form of HTTP/1.1 for
    /// HTTP/2.
    pub head: Bytes,
    /// The request head as sent, without proxy credentials; for HTTP/2 in the form of HTTP/1.1.
    pub request_head: Bytes,
    pub headers: HeaderMap,
    /// The body after transfer decoding and before content decoding: see [`crate::decode()`].
    pub body: Bytes,
    /// Why the body is incomplete, if it is.
    pub truncated: Option<TruncationCause>,
    /// The address of the host, or of the proxy.
    pub address: SocketAddr,
    pub timings: FetchTimings,
    /// The request used an existing connection.
    pub reused: bool,
}

impl Fetched {
    /// The `Location` of a redirect, to be resolved against the URL. In other responses it means nothing.
    pub fn redirect(&self) -> Option<Cow<'_, str>> {
        let redirects = [
            StatusCode::MOVED_PERMANENTLY,
            StatusCode::FOUND,
            StatusCode::SEE_OTHER,
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ];
        if !redirects.contains(&self.status) {
            return None;
        }
        self.header_text(LOCATION.as_str()).map(trimmed).filter(|location| !location.is_empty())
    }

    pub fn content_type(&self) -> Option<Cow<'_, str>> {
        self.header_text(CONTENT_TYPE.as_str())
    }

    /// A header as text: UTF-8 if it is valid, else Latin-1, which any bytes are.
    pub fn header_text(&self, name: &str) -> Option<Cow<'_, str>> {
        let bytes = self.headers.get(name)?.as_bytes();
        Some(match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
        })
    }
}

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

/// Why a body is not complete, with figures. Its text is the `error` of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationCause {
    /// Longer than the limit.
    TooLarge { limit: u64 },
    /// The fetch timed out.
    Timeout { after: Duration },
    /// The host closed the connection before the announced end.
    ShortBody { received: u64, announced: Option<u64> },
    /// The connection was reset in the middle of the body.
    Reset { received: u64 },
    /// The transfer coding is malformed after this many bytes.
    Malformed { received: u64 },
}

impl TruncationCause {
    pub fn truncation(self) -> Truncation {
        match self {
            TruncationCause::TooLarge { .. } => Truncation::Length,
            TruncationCause::Timeout { .. } => Truncation::Time,
            TruncationCause::ShortBody { .. }
            | TruncationCause::Reset { .. }
            | TruncationCause::Malformed { .. } => Truncation::Disconnect,
        }
    }
}

impl fmt::Display for TruncationCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TruncationCause::TooLarge { limit } => write!(f, "truncated: body over {limit} bytes"),
            TruncationCause::Timeout { after } => {
                write!(f, "truncated: body not complete after {}", Seconds(*after))
            }
            TruncationCause::ShortBody { received, announced: Some(announced) } => {
                write!(f, "truncated: short body: {received} of {announced} bytes")
            }
            TruncationCause::ShortBody { received, announced: None } => {
                write!(f, "truncated: short body: closed after {received} bytes")
            }
            TruncationCause::Reset { received } => {
                write!(f, "truncated: connection reset after {received} bytes")
            }
            TruncationCause::Malformed { received } => {
                write!(f, "truncated: malformed after {received} bytes")
            }
        }
    }
}
