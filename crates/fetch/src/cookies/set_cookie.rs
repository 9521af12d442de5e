//! One `Set-Cookie` header: the cookie it sets, or why it sets none.

use super::{Cookie, date, default_path, domain_matches};
use argiope_model::{Millis, PublicSuffixes, Scheme, Url};
use std::time::Duration;

/// Name and value together.
const MAX_BYTES: usize = 4096;
/// Longer attributes are ignored.
const MAX_ATTRIBUTE_BYTES: usize = 1024;
/// The longest lifetime: 400 days, as in browsers.
const LONGEST: Duration = Duration::from_secs(400 * 24 * 3600);

/// The effect of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCookie {
    pub cookie: Cookie,
}

/// Why a header sets no cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("it has no name")]
    Malformed,
    #[error("it is too long")]
    TooLong,
    #[error("its domain does not include the host")]
    ForeignDomain,
    #[error("its domain is a public suffix")]
    PublicSuffix,
    #[error("it is marked secure but was sent without TLS")]
    NotSecure,
}

/// RFC 6265, 5.2 and 5.3, with the additions of browsers: a host may not set secure cookies over plain HTTP, and the
/// prefixes `__Secure-` and `__Host-` are enforced. An expired cookie deletes the stored one.
pub fn parse(header: &[u8], url: &Url, suffixes: &PublicSuffixes, now: Millis) -> Result<SetCookie, Refused> {
    let mut parts = header.split(|byte| *byte == b';');
    let pair = parts.next().unwrap_or_default();
    let at = pair.iter().position(|byte| *byte == b'=').ok_or(Refused::Malformed)?;
    let (name, value) = pair.split_at(at);
    let (name, value) = (name.trim_ascii(), value.get(1..).unwrap_or_default().trim_ascii());
    if name.len() + value.len() > MAX_BYTES {
        return Err(Refused::TooLong);
    }
    let is_sendable = |bytes: &[u8]| !bytes.iter().any(u8::is_ascii_control);
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty()).ok_or(Refused::Malformed)?;
    if !is_sendable(name.as_bytes()) || !is_sendable(value) {
        return Err(Refused::Malformed);
    }
    let mut wanted = Attributes::default();
    for part in parts {
        wanted.read(part, now);
    }
    let host = url.host_name().trim_end_matches('.');
    let (domain, host_only) = match wanted.domain.as_deref() {
        None => (host, true),
        // A host that is itself a suffix may have its own cookies.
        Some(domain) if suffixes.is_suffix(domain) && domain == host => (host, true),
        Some(domain) if suffixes.is_suffix(domain) => return Err(Refused::PublicSuffix),
        Some(domain) if !domain_matches(host, domain, false) => return Err(Refused::ForeignDomain),
        Some(domain) => (domain, false),
    };
    let path = wanted.path.as_deref().unwrap_or_else(|| default_path(url.path()));
    let has_prefix =
        |prefix: &str| name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    let is_bad_host = has_prefix("__Host-") && !(wanted.secure && host_only && path == "/");
    if wanted.secure && url.scheme() == Scheme::Http
        || has_prefix("__Secure-") && !wanted.secure
        || is_bad_host
    {
        return Err(Refused::NotSecure);
    }
    let cookie = Cookie {
        name: name.into(),
        value: value.into(),
        domain: domain.into(),
        host_only,
        path: path.into(),
        secure: wanted.secure,
        expires: wanted.max_age.or(wanted.expires).map(|expires| expires.min(now + LONGEST)),
    };
    Ok(SetCookie { cookie })
}

/// The last value of each attribute counts.
#[derive(Default)]
struct Attributes {
    expires: Option<Millis>,
    max_age: Option<Millis>,
    domain: Option<String>,
    path: Option<String>,
    secure: bool,
}

impl Attributes {
    fn read(&mut self, part: &[u8], now: Millis) {
        if part.len() > MAX_ATTRIBUTE_BYTES {
            return;
        }
        let at = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
        let (name, value) = part.split_at(at);
        let (name, value) = (name.trim_ascii(), value.get(1..).unwrap_or_default().trim_ascii());
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("expires") {
            self.expires = date::parse(value).or(self.expires);
        } else if is("max-age") {
            self.max_age = max_age(value, now).or(self.max_age);
        } else if is("domain") {
            let value = value.strip_prefix(b".").unwrap_or(value);
            let text = std::str::from_utf8(value).ok().filter(|text| !text.is_empty());
            self.domain = text.map(str::to_ascii_lowercase).or(self.domain.take());
        } else if is("path") {
            // An invalid path counts as none.
            self.path = std::str::from_utf8(value)
                .ok()
                .filter(|path| path.starts_with('/') && !path.bytes().any(|byte| byte.is_ascii_control()))
                .map(str::to_owned);
        } else if is("secure") {
            self.secure = true;
        }
    }
}

fn max_age(value: &[u8], now: Millis) -> Option<Millis> {
    let (negative, digits) = match value.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let seconds: u64 = std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX);
    Some(if negative { Millis(0) } else { now + Duration::from_secs(seconds).min(LONGEST) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000_000_000);

    fn set(header: &str, url: &str) -> Result<Cookie, Refused> {
        let url = Url::from_stored(url).unwrap();
        parse(header.as_bytes(), &url, &PublicSuffixes::bundled(), NOW).map(|set| set.cookie)
    }

    #[test]
    fn a_plain_cookie_is_for_its_host_its_folder_and_the_session() {
        let cookie = set("sid=a b=c", "http://www.example.com/shop/cart?x=1").unwrap();
        assert_eq!((&*cookie.name, &*cookie.value), ("sid", &b"a b=c"[..]));
        assert_eq!((&*cookie.domain, cookie.host_only, &*cookie.path), ("www.example.com", true, "/shop"));
        assert_eq!((cookie.secure, cookie.expires), (false, None));
    }

    #[test]
    fn attributes_are_read_in_any_case_and_max_age_wins() {
        let header = "a=1; DOMAIN=.Example.com; path=/x; secure; HttpOnly; expires=Wed, 21 Oct 2015 07:28:00 GMT; Max-Age=60";
        let cookie = set(header, "https://www.example.com/").unwrap();
        assert_eq!((&*cookie.domain, cookie.host_only, &*cookie.path), ("example.com", false, "/x"));
        assert_eq!((cookie.secure, cookie.expires), (true, Some(NOW + Duration::from_secs(60))));
        assert_eq!(set("a=1; Max-Age=0", "http://a.test/").unwrap().expires, Some(NOW));
        assert_eq!(set("a=1; Max-Age=-5", "http://a.test/").unwrap().expires, Some(Millis(0)));
        assert_eq!(set("a=1; Max-Age=x; Path=relative", "http://a.test/d/").unwrap().expires, None);
        assert_eq!(&*set("a=1; Path=relative", "http://a.test/d/").unwrap().path, "/d");
    }

    #[test]
    fn no_cookie_lasts_longer_than_400_days() {
        for age in ["Max-Age=99999999999999999999", "Expires=Fri, 31 Dec 9999 23:59:59 GMT"] {
            let cookie = set(&format!("a=1; {age}"), "http://a.test/").unwrap();
            assert_eq!(cookie.expires, Some(NOW + LONGEST), "{age}");
        }
    }

    #[test]
    fn cookies_for_others_are_refused() {
        assert_eq!(set("a=1; Domain=other.test", "http://www.example.com/"), Err(Refused::ForeignDomain));
        assert_eq!(
            set("a=1; Domain=x.www.example.com", "http://www.example.com/"),
            Err(Refused::ForeignDomain)
        );
        assert_eq!(set("a=1; Domain=ample.com", "http://example.com/"), Err(Refused::ForeignDomain));
        assert_eq!(set("a=1; Domain=com", "http://example.com/"), Err(Refused::PublicSuffix));
        assert_eq!(set("a=1; Domain=co.uk", "http://example.co.uk/"), Err(Refused::PublicSuffix));
        assert_eq!(set("a=1; Domain=github.io", "http://a.github.io/"), Err(Refused::PublicSuffix));
        assert_eq!(set("a=1; Domain=0.0.1", "http://127.0.0.1/"), Err(Refused::PublicSuffix));
        let own = set("a=1; Domain=127.0.0.1", "http://127.0.0.1/").unwrap();
        assert!(own.host_only);
    }

    #[test]
    fn what_is_secure_comes_over_tls_only() {
        assert_eq!(set("a=1; Secure", "http://a.test/"), Err(Refused::NotSecure));
        assert_eq!(set("__Secure-a=1", "https://a.test/"), Err(Refused::NotSecure));
        assert_eq!(
            set("__Host-a=1; Secure; Path=/; Domain=a.test", "https://a.test/"),
            Err(Refused::NotSecure)
        );
        assert!(set("__Host-a=1; Secure; Path=/", "https://a.test/").is_ok());
    }

    #[test]
    fn what_is_no_cookie_is_refused() {
        for header in ["", "name", "=value", ";a=1", "a=1\u{1}", "a\u{7f}b=1"] {
            assert_eq!(set(header, "http://a.test/"), Err(Refused::Malformed), "{header:?}");
        }
        assert_eq!(set(&format!("a={}", "x".repeat(MAX_BYTES)), "http://a.test/"), Err(Refused::TooLong));
    }
}
