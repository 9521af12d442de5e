//! Cookies: for any `Set-Cookie`, a jar keeps its limits, the `Cookie` header is valid, and files are read back.

use crate::first_line;
use argiope_fetch::cookies::{Jar, JarLimits, cookie_header, netscape};
use argiope_model::{Millis, PublicSuffixes, Url};
use std::sync::OnceLock;

const NOW: Millis = Millis(1_700_000_000_000);
const LIMITS: JarLimits = JarLimits { per_domain: 5, bytes: 2_000 };

/// The first line says of which of two hosts the answer is, each other line is a `Set-Cookie`. The whole is also read as a
/// cookies.txt.
pub(crate) fn are_kept_within_limits(bytes: &[u8]) {
    static SUFFIXES: OnceLock<PublicSuffixes> = OnceLock::new();
    let suffixes = SUFFIXES.get_or_init(PublicSuffixes::bundled);
    let (which, headers) = first_line(bytes);
    let host = if which.len() % 2 == 0 { "https://www.example.co.uk/a/b" } else { "http://127.0.0.1:8080/" };
    let url = Url::from_stored(host).unwrap();
    let mut jar = Jar::new(LIMITS);
    for header in headers.split(|byte| *byte == b'\n') {
        let before = cookie_header(&[&jar], &url, suffixes, NOW);
        let changed = jar.take(header, &url, suffixes, NOW);
        assert!(jar.bytes() <= LIMITS.bytes, "{} bytes", jar.bytes());
        assert!(jar.len() <= LIMITS.per_domain);
        if !changed && jar.len() < LIMITS.per_domain {
            assert_eq!(cookie_header(&[&jar], &url, suffixes, NOW), before, "unchanged, and sent otherwise");
        }
    }
    if let Some(header) = cookie_header(&[&jar], &url, suffixes, NOW) {
        assert!(!header.iter().any(u8::is_ascii_control), "{header:?} is no header");
    }
    for cookie in jar.cookies() {
        assert!(!suffixes.is_suffix(&cookie.domain) || cookie.host_only, "for all of {}", cookie.domain);
    }
    let text = netscape::write(jar.cookies());
    let again = netscape::parse(&text, suffixes).expect("what is written is read");
    assert_eq!(netscape::write(again.iter()), text);
    if let Ok(cookies) = netscape::parse(&String::from_utf8_lossy(bytes), suffixes) {
        let text = netscape::write(cookies.iter());
        let again = netscape::parse(&text, suffixes).expect("what is written is read");
        assert_eq!(again.len(), cookies.len());
    }
}
