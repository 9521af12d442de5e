//! The head of an HTTP/1.1 request, as far as the lab needs it.

/// The longest head that is read.
pub(crate) const MAX_HEAD: usize = 32 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// Path and query.
    pub(crate) target: &'a str,
    pub(crate) host: Option<&'a str>,
    pub(crate) user_agent: &'a str,
    pub(crate) if_none_match: Option<&'a str>,
    pub(crate) accepts_gzip: bool,
    pub(crate) keep_alive: bool,
    pub(crate) has_body: bool,
    pub(crate) content_length: usize,
    pub(crate) cookie: &'a str,
}

/// The length of the head at the start of `input`, including its empty line, once that has arrived.
pub(crate) fn head_length(input: &[u8]) -> Option<usize> {
    input.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Reads a whole head; `None` if it is not HTTP/1.
pub(crate) fn parse(head: &[u8]) -> Option<Request<'_>> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    if !version.starts_with("HTTP/1.") {
        return None;
    }
    // A proxy's request names the whole URL.
    let target = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => target,
    };
    let mut request = Request { method, target, keep_alive: version == "HTTP/1.1", ..Request::default() };
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("host") {
            request.host = Some(value);
        } else if name.eq_ignore_ascii_case("user-agent") {
            request.user_agent = value;
        } else if name.eq_ignore_ascii_case("accept-encoding") {
            request.accepts_gzip = value.contains("gzip");
        } else if name.eq_ignore_ascii_case("if-none-match") {
            request.if_none_match = Some(value);
        } else if name.eq_ignore_ascii_case("connection") {
            request.keep_alive = if request.keep_alive {
                !value.eq_ignore_ascii_case("close")
            } else {
                value.eq_ignore_ascii_case("keep-alive")
            };
        } else if name.eq_ignore_ascii_case("cookie") {
            request.cookie = value;
        } else if name.eq_ignore_ascii_case("content-length") {
            request.has_body = value != "0";
            request.content_length = value.parse().unwrap_or(usize::MAX);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            request.has_body = true;
        }
    }
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let bytes = b"GET /a?b=c HTTP/1.1\r\nhost: site1.lab.test:80\r\nAccept-Encoding: br, gzip\r\nUser-Agent: x/1\r\n\r\nGET";
        let length = head_length(bytes).unwrap();
        assert_eq!(length, bytes.len() - 3);
        let request = parse(&bytes[..length]).unwrap();
        assert_eq!((request.method, request.target, request.user_agent), ("GET", "/a?b=c", "x/1"));
        assert_eq!(request.host, Some("site1.lab.test:80"));
        assert!(request.accepts_gzip && request.keep_alive && !request.has_body);
    }

    #[test]
    fn what_is_not_http_is_refused() {
        assert_eq!(parse(b"\x16\x03\x01\r\n\r\n"), None);
        assert_eq!(parse(b"GET /\r\n\r\n"), None);
        assert_eq!(head_length(b"GET / HTTP/1.1\r\n"), None);
    }

    #[test]
    fn connections_end_when_the_client_asks_for_it() {
        assert!(!parse(b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n").unwrap().keep_alive);
        assert!(!parse(b"GET / HTTP/1.0\r\n\r\n").unwrap().keep_alive);
        assert!(parse(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").unwrap().keep_alive);
    }
}
