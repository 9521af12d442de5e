//! The server's response to a request, and how well or badly it is delivered.

use bytes::Bytes;
use std::borrow::Cow;
use std::time::Duration;

/// A page to be written when it is sent: see [`crate::page`].
#[derive(Clone, Debug)]
pub(crate) struct PagePlan {
    /// The ordinary page, or `None` for one that only a kind of site knows.
    pub(crate) number: u32,
    /// Seeds the prose instead of the number.
    pub(crate) content: Option<u64>,
    pub(crate) title: Option<String>,
    /// Path of the page, where it is no ordinary one.
    pub(crate) path: Option<String>,
    /// Further HTML for `<head>` and for the article.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl PagePlan {
    pub(crate) fn ordinary(number: u32) -> PagePlan {
        PagePlan { number, content: None, title: None, path: None, head: String::new(), body: String::new() }
    }

    /// Only its number distinguishes the page.
    pub(crate) fn is_ordinary(&self) -> bool {
        let PagePlan { number: _, content, title, path, head, body } = self;
        content.is_none() && title.is_none() && path.is_none() && head.is_empty() && body.is_empty()
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Page(PagePlan),
    /// Sent as they are.
    Bytes(Bytes),
    /// Already gzip, and sent as such to everyone.
    Encoded(Bytes),
}

/// How the response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// In chunks of the chunked transfer coding.
    Chunked,
    /// Chunked, and the connection closed before the last chunk.
    ChunkedCut,
    /// Without a length: the end of the connection is the end of the body.
    UntilClose,
    /// A wrong Content-Length: too large or too small by this many bytes.
    WrongLength(i64),
    /// One byte at a time.
    Drip(Duration),
    /// Half of the body, then a reset.
    ResetMidway,
    /// A reset instead of a response.
    Reset,
    /// No response as long as the client waits.
    Never,
    /// Something that is not HTTP.
    Garbage,
    /// The body repeated this many times: larger than any sensible limit.
    Repeated(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Cow<'static, str>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
    pub(crate) delivery: Delivery,
    pub(crate) latency: Duration,
    /// The status for HEAD, if it differs.
    pub(crate) to_head: Option<u16>,
}

pub(crate) const HTML: &str = "text/html; charset=utf-8";

impl Answer {
    fn new(status: u16, content_type: &'static str, body: Body) -> Answer {
        Answer {
            status,
            content_type: Cow::Borrowed(content_type),
            headers: Vec::new(),
            body,
            delivery: Delivery::Whole,
            latency: Duration::ZERO,
            to_head: None,
        }
    }

    pub(crate) fn page(plan: PagePlan) -> Answer {
        Answer::new(200, HTML, Body::Page(plan))
    }

    pub(crate) fn bytes(content_type: &'static str, bytes: impl Into<Bytes>) -> Answer {
        Answer::new(200, content_type, Body::Bytes(bytes.into()))
    }

    pub(crate) fn text(text: impl Into<String>) -> Answer {
        Answer::bytes("text/plain; charset=utf-8", text.into().into_bytes())
    }

    /// A short page that says what its status means.
    pub(crate) fn error(status: u16) -> Answer {
        let reason = reason_of(status);
        let html = format!("<!doctype html><title>{status} {reason}</title><h1>{reason}</h1>\n");
        Answer { status, ..Answer::bytes(HTML, html.into_bytes()) }
    }

    pub(crate) fn not_found() -> Answer {
        Answer::error(404)
    }

    pub(crate) fn redirect(status: u16, to: impl Into<String>) -> Answer {
        Answer::error(status).header("Location", to)
    }

    pub(crate) fn gzipped(content_type: &'static str, bytes: Bytes) -> Answer {
        Answer::new(200, content_type, Body::Encoded(bytes))
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn delivered(self, delivery: Delivery) -> Answer {
        Answer { delivery, ..self }
    }

    pub(crate) fn with_status(self, status: u16) -> Answer {
        Answer { status, ..self }
    }

    /// A server that cannot handle HEAD.
    pub(crate) fn and_to_head(self, status: u16) -> Answer {
        Answer { to_head: Some(status), ..self }
    }

    pub(crate) fn late(self, latency: Duration) -> Answer {
        Answer { latency, ..self }
    }
}

pub(crate) fn reason_of(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Something Else",
    }
}
