//! Lines of a CDXJ index: where each URL is in a WARC file, sorted by reversed host, for replay tools such as pywb.

use super::visits::Capture;
use argiope_model::Millis;

/// The line of a capture, without line end. Lines sort by their bytes.
pub fn line(capture: &Capture, file: &str) -> String {
    let mime = match (capture.is_revisit, &capture.media_type) {
        (true, _) => "warc/revisit",
        (false, Some(media_type)) => media_type,
        (false, None) => "unk",
    };
    let mut line = surt(&capture.target).into_bytes();
    line.reserve(capture.target.len() + file.len() + 256);
    line.push(b' ');
    line.extend(capture.date.rfc3339().bytes().filter(u8::is_ascii_digit).take(14));
    line.extend_from_slice(b" {");
    put(&mut line, "url", &capture.target);
    put(&mut line, "mime", mime);
    if let Some(status) = capture.status {
        put(&mut line, "status", &status.to_string());
    }
    if let Some(digest) = &capture.digest {
        line.extend_from_slice(b"\"digest\":\"");
        digest.put(&mut line);
        line.extend_from_slice(b"\",");
    }
    put(&mut line, "length", &capture.length.to_string());
    put(&mut line, "offset", &capture.offset.to_string());
    put(&mut line, "filename", file);
    line.pop();
    line.push(b'}');
    // All parts were text.
    String::from_utf8(line).unwrap_or_default()
}

/// `"name":"value",`; the JSON library writes the string, which cannot fail on a Vec.
fn put(line: &mut Vec<u8>, name: &str, value: &str) {
    line.push(b'"');
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
    let _ = serde_json::to_writer(&mut *line, value);
    line.push(b',');
}

/// `20260102030405`
pub fn timestamp(date: Millis) -> String {
    date.rfc3339().bytes().filter(u8::is_ascii_digit).take(14).map(char::from).collect()
}

/// The sort key replay tools look URLs up by: `https://www.Example.com:8443/a/?b&a` -> `com,example:8443)/a?a&b`.
/// Lower case, without `www`, parameters sorted, no slash at the end; a scheme's own port is already gone from a
/// normal form.
pub fn surt(url: &str) -> String {
    let lower = url.to_ascii_lowercase();
    let rest = lower.split_once("://").map_or(lower.as_str(), |(_, rest)| rest);
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(authority_end);
    let rest = rest.split('#').next().unwrap_or("");
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut key = reversed_host(authority);
    key.push(')');
    key.push_str(match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    });
    if !query.is_empty() {
        let mut parameters: Vec<&str> = query.split('&').collect();
        parameters.sort_unstable();
        key.push('?');
        key.push_str(&parameters.join("&"));
    }
    // A blank would end the key of the line.
    if key.contains(' ') { key.replace(' ', "%20") } else { key }
}

fn reversed_host(authority: &str) -> String {
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !authority.ends_with(']') => (name, Some(port)),
        _ => (authority, None),
    };
    let mut key = match name.strip_prefix('[') {
        Some(address) => address.trim_end_matches(']').to_owned(),
        None => without_www(name).rsplit('.').collect::<Vec<_>>().join(","),
    };
    if let Some(port) = port {
        key.push(':');
        key.push_str(port);
    }
    key
}

/// `www.example.com` and `www2.example.com` -> `example.com`
fn without_www(name: &str) -> &str {
    let Some((label, rest)) = name.split_once('.') else {
        return name;
    };
    let number = label.strip_prefix("www");
    if number.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit())) { rest } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::Digest;

    #[test]
    fn keys_are_those_of_replay_tools() {
        for (url, key) in [
            ("http://www.example.com/", "com,example)/"),
            ("https://example.com:8443/a/B/?b=2&a=1", "com,example:8443)/a/b?a=1&b=2"),
            ("http://127.0.0.1:8080/x/", "1,0,0,127:8080)/x"),
            ("http://www2.example.co.uk/a%20b", "uk,co,example)/a%20b"),
            ("http://[::1]/a", "::1)/a"),
            ("http://example.com/A?B=C", "com,example)/a?b=c"),
            ("http://example.com", "com,example)/"),
            ("https://wwwx.example.com/", "com,example,wwwx)/"),
        ] {
            assert_eq!(surt(url), key);
        }
    }

    #[test]
    fn a_line_has_the_fields_of_pywb() {
        let capture = Capture {
            offset: 77,
            length: 1234,
            target: "https://example.com/\"x".to_owned(),
            date: Millis(1_767_323_045_678),
            digest: Some(Digest::of(&[])),
            status: Some(200),
            media_type: Some("text/html".to_owned()),
            is_revisit: false,
            same_as: None,
        };
        assert_eq!(
            line(&capture, "a.warc.gz"),
            "com,example)/\"x 20260102030405 {\"url\":\"https://example.com/\\\"x\",\"mime\":\"text/html\",\
             \"status\":\"200\",\"digest\":\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\",\"length\":\"1234\",\"offset\":\"77\",\
             \"filename\":\"a.warc.gz\"}"
        );
    }
}
