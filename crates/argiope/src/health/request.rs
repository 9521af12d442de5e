//! The head of a request, which anybody may have sent. Pure.

use super::Answer;

/// No head that we are sent is longer.
pub(super) const LONGEST_HEAD: usize = 8 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// Without the query.
    pub(super) path: &'a str,
    pub(super) wants_body: bool,
}

/// Whether all of a head is there.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|end| end == b"\r\n\r\n") || bytes.windows(2).any(|end| end == b"\n\n")
}

/// What is asked for, or what to say to that.
pub(super) fn read(head: &[u8]) -> Result<Request<'_>, Answer> {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = std::str::from_utf8(line).ok().map(|line| line.strip_suffix('\r').unwrap_or(line));
    let words: Vec<&str> = line.unwrap_or_default().splitn(4, ' ').collect();
    let [method, target, version] = words.as_slice() else {
        return Err(Answer::error(400, "bad request", "the first line is not METHOD PATH VERSION"));
    };
    if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return Err(Answer::error(400, "bad request", "only HTTP/1, and only paths"));
    }
    let wants_body = match *method {
        "GET" => true,
        "HEAD" => false,
        _ => return Err(Answer::error(405, "method not allowed", "only GET and HEAD")),
    };
    let path = target.split_once('?').map_or(*target, |(path, _)| path);
    Ok(Request { path, wants_body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_path_is_read_without_its_query() {
        let head = b"GET /metrics?debug=1 HTTP/1.1\r\nHost: a\r\n\r\n";
        assert!(is_complete(head));
        assert_eq!(read(head), Ok(Request { path: "/metrics", wants_body: true }));
        assert_eq!(read(b"HEAD /health HTTP/1.0\n\n"), Ok(Request { path: "/health", wants_body: false }));
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for (head, status) in [
            (&b""[..], 400),
            (b"\r\n\r\n", 400),
            (b"GET /health\r\n\r\n", 400),
            (b"GET  /health HTTP/1.1\r\n\r\n", 400),
            (b"GET /health HTTP/1.1 x\r\n\r\n", 400),
            (b"GET http://elsewhere/ HTTP/1.1\r\n\r\n", 400),
            (b"GET /\xff HTTP/1.1\r\n\r\n", 400),
            (b"PRI * HTTP/2.0\r\n\r\n", 400),
            (b"POST /health HTTP/1.1\r\n\r\n", 405),
            (b"get /health HTTP/1.1\r\n\r\n", 405),
        ] {
            let refused = read(head).expect_err("a request");
            assert_eq!(refused.status, status, "{}", head.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(head in prop::collection::vec(any::<u8>(), 0..300)) {
            match read(&head) {
                Ok(request) => prop_assert!(request.path.starts_with('/') && !request.path.contains('?')),
                Err(refusal) => prop_assert!(refusal.status == 400 || refusal.status == 405),
            }
        }

        #[test]
        fn any_path_is_read_as_it_was_sent(path in "/[a-z0-9/%.-]{0,40}", query in "(\\?[!-~]{0,20})?") {
            let head = format!("GET {path}{query} HTTP/1.1\r\n\r\n");
            prop_assert_eq!(read(head.as_bytes()).map(|request| request.path), Ok(path.as_str()));
        }
    }
}
