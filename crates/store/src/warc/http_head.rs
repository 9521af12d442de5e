//! Heads of HTTP responses on their way into the archive.
//!
//! The body is stored after transfer decoding, so the head must not announce chunks: `Transfer-Encoding` and a wrong
//! `Content-Length` are kept under an `X-Crawler-` name and the true length is added. All else stays as received. Some
//! readers are strict about the first line and naive about empty ones, so both are normalized here.

use memchr::memchr_iter;

const RENAMED: &[u8] = b"X-Crawler-";

/// What the archive needs to know of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadFacts<'h> {
    pub status: Option<u16>,
    pub content_type: Option<&'h [u8]>,
    pub content_encoding: Option<&'h [u8]>,
    pub location: Option<&'h [u8]>,
    /// The response came over HTTP/2; the stored head says HTTP/1.1, because readers know nothing else.
    pub http2: bool,
}

impl HeadFacts<'_> {
    /// The media type without its parameters.
    pub fn media_type(&self) -> Option<&str> {
        let value = self.content_type?;
        let end = memchr::memchr(b';', value).unwrap_or(value.len());
        let text = std::str::from_utf8(value.get(..end)?).ok()?.trim();
        (!text.is_empty() && text.len() <= 128 && text.bytes().all(|b| b.is_ascii_graphic())).then_some(text)
    }

    /// Whether the body is compressed already.
    pub fn body_is_compressed(&self) -> bool {
        let encoded = self.content_encoding.is_some_and(|value| {
            let value = value.trim_ascii();
            !value.is_empty() && !value.eq_ignore_ascii_case(b"identity")
        });
        encoded || self.media_type().is_some_and(is_compressed_type)
    }
}

fn is_compressed_type(media_type: &str) -> bool {
    let lower = media_type.to_ascii_lowercase();
    let (family, kind) = lower.split_once('/').unwrap_or((&lower, ""));
    match family {
        "image" => !matches!(kind, "svg+xml" | "bmp" | "x-ms-bmp" | "x-icon" | "vnd.microsoft.icon" | "tiff"),
        "video" => true,
        "audio" => !matches!(kind, "wav" | "x-wav" | "midi"),
        "font" => kind.starts_with("woff"),
        "application" => {
            matches!(
                kind,
                "zip"
                    | "gzip"
                    | "x-gzip"
                    | "zstd"
                    | "x-xz"
                    | "x-bzip2"
                    | "x-7z-compressed"
                    | "x-rar-compressed"
                    | "vnd.rar"
                    | "pdf"
                    | "epub+zip"
                    | "java-archive"
                    | "font-woff"
                    | "font-woff2"
                    | "vnd.android.package-archive"
            ) || kind.starts_with("vnd.openxmlformats-officedocument")
                || kind.starts_with("vnd.oasis.opendocument")
        }
        _ => false,
    }
}

/// Parses a head without rewriting it.
pub fn facts(raw: &[u8]) -> HeadFacts<'_> {
    let mut facts = HeadFacts::default();
    for (number, line) in lines(raw).enumerate() {
        if number == 0 {
            read_status_line(line, &mut facts);
        } else if let Some((name, value)) = field(line) {
            note(name, value, &mut facts);
        }
    }
    facts
}

/// Appends the head in its stored form before `body_length` bytes of body, with its empty line.
pub fn rewrite<'h>(raw: &'h [u8], body_length: usize, out: &mut Vec<u8>) -> HeadFacts<'h> {
    let mut facts = HeadFacts::default();
    let mut true_length = false;
    let mut renamed = false;
    for (number, line) in lines(raw).enumerate() {
        if number == 0 {
            let rest = read_status_line(line, &mut facts);
            if line.starts_with(b"HTTP/1.0") || line.starts_with(b"HTTP/1.1") {
                out.extend_from_slice(line);
            } else {
                out.extend_from_slice(b"HTTP/1.1");
                out.extend_from_slice(rest);
            }
        } else {
            if let Some((name, value)) = field(line) {
                note(name, value, &mut facts);
                if name.eq_ignore_ascii_case(b"transfer-encoding") {
                    out.extend_from_slice(RENAMED);
                    renamed = true;
                } else if name.eq_ignore_ascii_case(b"content-length") {
                    if number_of(value) == Some(body_length) && !true_length {
                        true_length = true;
                    } else {
                        out.extend_from_slice(RENAMED);
                        renamed = true;
                    }
                }
            }
            out.extend_from_slice(line);
        }
        out.extend_from_slice(b"\r\n");
    }
    if renamed && !true_length {
        out.extend_from_slice(format!("Content-Length: {body_length}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    facts
}

/// The lines without their ends. A line with only white space would end the head for some readers and not for others,
/// so it is left out.
fn lines(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = memchr_iter(b'\n', raw).chain(std::iter::once(raw.len()));
    let mut start = 0;
    ends.filter_map(move |end| {
        let mut line = raw.get(start..end).unwrap_or_default();
        start = end + 1;
        while let Some(rest) = line.strip_suffix(b"\r") {
            line = rest;
        }
        line.iter().any(u8::is_ascii_graphic).then_some(line)
    })
}

/// Records status and protocol; returns what follows the protocol's name, with the space before it.
fn read_status_line<'h>(line: &'h [u8], facts: &mut HeadFacts<'h>) -> &'h [u8] {
    let split = memchr::memchr(b' ', line).unwrap_or(line.len());
    let (protocol, rest) = line.split_at(split);
    facts.http2 = protocol.starts_with(b"HTTP/2");
    let word = rest.trim_ascii_start().split(|b| *b == b' ').next().unwrap_or_default();
    facts.status = number_of(word).and_then(|n| u16::try_from(n).ok());
    rest
}

fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return None;
    }
    let colon = memchr::memchr(b':', line)?;
    let (name, value) = line.split_at(colon);
    Some((name.trim_ascii(), value.get(1..).unwrap_or_default().trim_ascii()))
}

fn note<'h>(name: &[u8], value: &'h [u8], facts: &mut HeadFacts<'h>) {
    let slot = if name.eq_ignore_ascii_case(b"content-type") {
        &mut facts.content_type
    } else if name.eq_ignore_ascii_case(b"content-encoding") {
        &mut facts.content_encoding
    } else if name.eq_ignore_ascii_case(b"location") {
        &mut facts.location
    } else {
        return;
    };
    slot.get_or_insert(value);
}

fn number_of(text: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(text).ok()?;
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(raw: &str, body: usize) -> String {
        let mut out = Vec::new();
        rewrite(raw.as_bytes(), body, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_plain_head_stays_as_it_was_received() {
        let raw = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX-Odd:a:b\r\n\r\n";
        assert_eq!(rewritten(raw, 5), raw);
        let close = "HTTP/1.0 200 OK\r\nServer: x\r\n\r\n";
        assert_eq!(rewritten(close, 77), close);
    }

    #[test]
    fn chunked_is_renamed_and_the_length_added() {
        let raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nServer: x\r\n\r\n";
        let expected = "HTTP/1.1 200 OK\r\nX-Crawler-Transfer-Encoding: chunked\r\nServer: x\r\nContent-Length: 9\r\n\r\n";
        assert_eq!(rewritten(raw, 9), expected);
    }

    #[test]
    fn a_length_that_does_not_fit_is_renamed() {
        let raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
        let expected = "HTTP/1.1 200 OK\r\nX-Crawler-Content-Length: 100\r\nContent-Length: 9\r\n\r\n";
        assert_eq!(rewritten(raw, 9), expected);
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n";
        assert!(rewritten(twice, 9).contains("\r\nContent-Length: 9\r\nX-Crawler-Content-Length: 8\r\n"));
    }

    #[test]
    fn http2_and_odd_protocols_are_stored_as_http_1_1() {
        assert_eq!(rewritten("HTTP/2 200\r\na: b\r\n\r\n", 0), "HTTP/1.1 200\r\na: b\r\n\r\n");
        assert_eq!(rewritten("ICY 200 OK\r\n\r\n", 0), "HTTP/1.1 200 OK\r\n\r\n");
        assert!(facts(b"HTTP/2 204\r\n").http2);
    }

    #[test]
    fn lines_that_look_empty_cannot_end_a_head_early() {
        assert_eq!(
            rewritten("HTTP/1.1 200 OK\na: b\r\n \t\r\n\x0b\r\nc: d", 0),
            "HTTP/1.1 200 OK\r\na: b\r\nc: d\r\n\r\n"
        );
    }

    #[test]
    fn facts_tell_what_is_compressed() {
        let of = |head: &str| facts(head.as_bytes()).body_is_compressed();
        assert!(of("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n"));
        assert!(of("HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n\r\n"));
        assert!(of("HTTP/1.1 200 OK\r\ncontent-type: application/PDF; x=y\r\n\r\n"));
        assert!(!of("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Type: text/html\r\n\r\n"));
        assert!(!of("HTTP/1.1 200 OK\r\nContent-Type: image/svg+xml\r\n\r\n"));
    }

    #[test]
    fn facts_read_status_type_and_location() {
        let facts =
            facts(b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n");
        assert_eq!(facts.status, Some(301));
        assert_eq!(facts.media_type(), Some("text/html"));
        assert_eq!(facts.location, Some(&b"/x"[..]));
    }
}
