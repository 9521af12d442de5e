//! A URL has two forms. The *request form* is the URL as it was found: the WHATWG serialization without fragment and
//! user info. It is sent to the server, shown in records and matched against robots.txt rules. The *normal form* is
//! shared by all spellings of a URL. It serves comparison: equality, identity and fingerprints are those of the normal
//! form.
//!
//! Only [`Url::parse`] and [`Base::join`] create a [`Url`], so both forms always belong together.

mod base;
mod escape;
mod normal;
mod plain;
mod rules;

pub use base::Base;
pub use rules::{NormalForm, NormalRules};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The longest URL that is crawled, in bytes of either form.
const MAX_LENGTH: usize = 2048;

/// The longest text that is parsed. A fragment or user info may be long, but megabytes of `href` are refused unparsed.
const MAX_INPUT: usize = 8 * MAX_LENGTH;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    /// What every URL of this scheme begins with.
    #[inline]
    fn prefix(self) -> &'static str {
        match self {
            Scheme::Http => "http://",
            Scheme::Https => "https://",
        }
    }
}

/// Why a text is not a URL that can be crawled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("scheme '{0}' is not supported, only http and https")]
    Scheme(String),
    #[error("the URL has no host")]
    NoHost,
    #[error("the URL is longer than {MAX_LENGTH} characters")]
    TooLong,
    #[error("not a URL: {0}")]
    Invalid(String),
}

/// An http or https URL. Its parts (host, path, query) are those of the request form; both forms have the same origin.
#[derive(Clone)]
pub struct Url {
    /// The request form, followed by the normal form if the two differ. Most URLs are found in their normal form and
    /// take no more memory than one text.
    text: Box<str>,
    /// Where the authority ends and the path begins.
    path_start: u16,
    /// Where the path ends: the position of `?`, or the end of the request form.
    path_end: u16,
    /// Where the request form ends.
    end: u16,
}

impl Url {
    /// The longest form of a URL, in bytes.
    pub const MAX_LENGTH: usize = MAX_LENGTH;

    /// Takes an absolute URL as people and pages write it.
    pub fn parse(input: &str, rules: &NormalRules) -> Result<Url, UrlError> {
        let input = input.trim();
        if input.len() > MAX_INPUT {
            return Err(UrlError::TooLong);
        }
        match plain::parse(input, rules) {
            Some(answer) => answer,
            None => request_form(&url::Url::parse(input).map_err(invalid)?, rules),
        }
    }

    /// `text` is a request form, whose path lies between the two positions; `normal` is its normal form, where that is
    /// another text.
    fn from_parts(
        mut text: Vec<u8>,
        path_start: usize,
        path_end: usize,
        normal: Option<&[u8]>,
    ) -> Result<Url, UrlError> {
        let end = text.len();
        if end > MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        if let Some(normal) = normal {
            text.reserve_exact(normal.len());
            text.extend_from_slice(normal);
        }
        let text = String::from_utf8(text).map_err(|error| UrlError::Invalid(error.to_string()))?;
        let position = |at: usize| u16::try_from(at).map_err(|_| UrlError::TooLong);
        Ok(Url {
            text: text.into_boxed_str(),
            path_start: position(path_start)?,
            path_end: position(path_end)?,
            end: position(end)?,
        })
    }

    /// Completes a request form: computes its normal form and stores it if it differs.
    fn complete(
        text: Vec<u8>,
        path_start: usize,
        path_end: usize,
        rules: &NormalRules,
    ) -> Result<Url, UrlError> {
        if text.len() > MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        let normal = normal::of_request(&text, path_start, path_end, rules);
        if normal.len() > MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        let differs = normal != text;
        Url::from_parts(text, path_start, path_end, differs.then_some(normal.as_slice()))
    }

    /// Both forms as one text, for stores: the request form, then a space and the normal form if it differs.
    pub fn to_stored(&self) -> Cow<'_, str> {
        if self.is_normal() {
            Cow::Borrowed(self.as_str())
        } else {
            Cow::Owned(format!("{} {}", self.as_str(), self.normal()))
        }
    }

    /// Reads back the output of [`Url::to_stored`]. A text without a normal form is its own normal form. Checks the
    /// shape only: do not use it for outside data.
    pub fn from_stored(text: &str) -> Result<Url, UrlError> {
        let (text, normal) = match text.split_once(' ') {
            Some((request, normal)) => (request, Some(normal)),
            None => (text, None),
        };
        let malformed = || UrlError::Invalid(text.to_owned());
        let scheme =
            [Scheme::Https, Scheme::Http].into_iter().find(|scheme| text.starts_with(scheme.prefix()));
        let authority = scheme.ok_or_else(malformed)?.prefix().len();
        let rest = text.as_bytes().get(authority..).unwrap_or(&[]);
        let host_length = memchr::memchr(b'/', rest).ok_or_else(malformed)?;
        if host_length == 0 {
            return Err(UrlError::NoHost);
        }
        let path_start = authority + host_length;
        let path_end = memchr::memchr(b'?', text.as_bytes()).unwrap_or(text.len());
        if path_end < path_start {
            return Err(malformed());
        }
        let same_origin = |normal: &str| {
            normal.get(..path_start) == text.get(..path_start)
                && normal.as_bytes().get(path_start) == Some(&b'/')
        };
        if normal.is_some_and(|normal| !same_origin(normal) || normal.contains(' ') || normal == text) {
            return Err(malformed());
        }
        let normal = normal.map(str::as_bytes);
        let mut stored = Vec::with_capacity(text.len() + normal.map_or(0, <[u8]>::len));
        stored.extend_from_slice(text.as_bytes());
        Url::from_parts(stored, path_start, path_end, normal)
    }

    /// The URL with its normal form as request form.
    pub fn in_normal_form(&self) -> Cow<'_, Url> {
        if self.is_normal() {
            return Cow::Borrowed(self);
        }
        // Both forms have the same origin, and the input was checked before.
        Url::from_stored(self.normal()).map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// Recomputes the normal form by these rules: for texts from a record, which has the request form only.
    pub fn under(&self, rules: &NormalRules) -> Result<Url, UrlError> {
        let text = self.as_str().as_bytes().to_vec();
        Url::complete(text, usize::from(self.path_start), usize::from(self.path_end), rules)
    }

    /// The request form.
    #[inline]
    pub fn as_str(&self) -> &str {
        self.slice(0, usize::from(self.end))
    }

    /// The normal form.
    #[inline]
    pub fn normal(&self) -> &str {
        if self.is_normal() { &self.text } else { self.slice(usize::from(self.end), self.text.len()) }
    }

    /// Whether it was found in its normal form.
    #[inline]
    pub fn is_normal(&self) -> bool {
        usize::from(self.end) == self.text.len()
    }

    /// Whether both are the same URL in the same spelling.
    #[inline]
    pub fn same_request(&self, other: &Url) -> bool {
        self.as_str() == other.as_str()
    }

    #[inline]
    pub fn scheme(&self) -> Scheme {
        if self.text.starts_with("https:") { Scheme::Https } else { Scheme::Http }
    }

    #[inline]
    fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or("")
    }

    /// The host as the politeness rules know it: its name, with `:port` unless that is the scheme's default.
    #[inline]
    pub fn host(&self) -> &str {
        self.slice(self.scheme().prefix().len(), usize::from(self.path_start))
    }

    /// The host without a port; an IPv6 address keeps its brackets.
    #[inline]
    pub fn host_name(&self) -> &str {
        let host = self.host();
        match host.rfind(':') {
            Some(at) if !host.ends_with(']') => host.get(..at).unwrap_or(host),
            _ => host,
        }
    }

    pub fn port(&self) -> u16 {
        let host = self.host();
        let name = self.host_name();
        host.get(name.len() + 1..).and_then(|port| port.parse().ok()).unwrap_or(self.scheme().default_port())
    }

    /// `https://example.com:8443`, without a slash at the end. robots.txt is per origin.
    #[inline]
    pub fn origin(&self) -> &str {
        self.slice(0, usize::from(self.path_start))
    }

    #[inline]
    pub fn path(&self) -> &str {
        self.slice(usize::from(self.path_start), usize::from(self.path_end))
    }

    #[inline]
    pub fn query(&self) -> Option<&str> {
        self.text.get(usize::from(self.path_end) + 1..usize::from(self.end))
    }

    /// The segments of the path; a trailing slash adds none.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.path().split('/').filter(|segment| !segment.is_empty())
    }

    /// The parameters of the query as written, each with its value, if it has one.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let parameters = self.query().into_iter().flat_map(|query| query.split('&'));
        parameters.map(|parameter| match parameter.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (parameter, None),
        })
    }

    #[inline]
    pub fn path_and_query(&self) -> &str {
        self.slice(usize::from(self.path_start), usize::from(self.end))
    }

    pub fn identity(&self) -> Identity {
        Identity(Sha256::digest(self.normal().as_bytes()).into())
    }
}

fn invalid(error: url::ParseError) -> UrlError {
    match error {
        url::ParseError::EmptyHost => UrlError::NoHost,
        other => UrlError::Invalid(other.to_string()),
    }
}

/// The general path, from the output of the `url` crate: it resolves scheme, host, port and dot segments and escapes
/// illegal characters as browsers do.
fn request_form(parsed: &url::Url, rules: &NormalRules) -> Result<Url, UrlError> {
    let (_, mut out) = origin_of(parsed)?;
    let path_start = out.len();
    out.extend_from_slice(parsed.path().as_bytes());
    let path_end = out.len();
    if let Some(query) = parsed.query() {
        out.push(b'?');
        out.extend_from_slice(query.as_bytes());
    }
    Url::complete(out, path_start, path_end, rules)
}

/// `https://example.com:8443`: no user, no password, no final dot, no default port.
fn origin_of(parsed: &url::Url) -> Result<(Scheme, Vec<u8>), UrlError> {
    let scheme = match parsed.scheme() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => return Err(UrlError::Scheme(other.to_owned())),
    };
    let host = parsed.host_str().ok_or(UrlError::NoHost)?;
    let mut origin = Vec::with_capacity(parsed.as_str().len());
    origin.extend_from_slice(scheme.prefix().as_bytes());
    match host.trim_end_matches('.') {
        "" => return Err(UrlError::NoHost),
        name if name.len() == host.len() => origin.extend_from_slice(host.as_bytes()),
        // Without its dots a name may turn out to be an address in an unusual notation.
        name => origin.extend_from_slice(url::Host::parse(name).map_err(invalid)?.to_string().as_bytes()),
    }
    if let Some(port) = parsed.port() {
        origin.extend_from_slice(format!(":{port}").as_bytes());
    }
    Ok((scheme, origin))
}

/// SHA-256 of a URL's normal form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub [u8; 32]);

impl Identity {
    pub fn hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The short key: 16 hex digits.
    pub fn key(&self) -> String {
        self.0.iter().take(8).map(|b| format!("{b:02x}")).collect()
    }

    /// The short key as a number.
    pub fn key_u64(&self) -> u64 {
        self.0.iter().take(8).fold(0, |n, b| (n << 8) | u64::from(*b))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_stored())
    }
}

impl PartialEq for Url {
    fn eq(&self, other: &Url) -> bool {
        self.normal() == other.normal()
    }
}

impl Eq for Url {}

impl Hash for Url {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normal().hash(state);
    }
}

impl Serialize for Url {
    /// For stores, which must keep the identity: see [`Url::to_stored`]. Records for people have the request form.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_stored())
    }
}

impl<'de> Deserialize<'de> for Url {
    /// Stored URLs only: see [`Url::from_stored`].
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Url, D::Error> {
        let text = String::deserialize(from)?;
        Url::from_stored(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(input: &str) -> String {
        match Url::parse(input, &NormalRules::default()) {
            Ok(url) => url.normal().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn request(input: &str) -> String {
        Url::parse(input, &NormalRules::default()).unwrap().as_str().to_owned()
    }

    fn join(page: &str, href: &str) -> String {
        let rules = NormalRules::default();
        let page = Url::parse(page, &rules).unwrap();
        match Base::new(&page).join(href, &rules) {
            Ok(url) => url.to_stored().into_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn scheme_host_and_port_have_one_spelling() {
        assert_eq!(normal("HTTP://WWW.Example.COM"), "http://www.example.com/");
        assert_eq!(normal("https://example.com:443/a"), "https://example.com/a");
        assert_eq!(normal("http://example.com:443/a"), "http://example.com:443/a");
        assert_eq!(normal("https://example.com./a"), "https://example.com/a");
        assert_eq!(normal("https://Bücher.example/"), "https://xn--bcher-kva.example/");
        assert_eq!(normal("https://user:secret@example.com/#top"), "https://example.com/");
        assert_eq!(normal("http://0x7f.1/"), "http://127.0.0.1/");
        assert_eq!(normal("http://[::0:1]:80/"), "http://[::1]/");
        assert_eq!(normal("  https:\\\\example.com\\a  "), "https://example.com/a");
    }

    #[test]
    fn paths_have_one_spelling() {
        assert_eq!(normal("https://h.test/a/./b/../c//d/"), "https://h.test/a/c/d/");
        assert_eq!(normal("https://h.test/%7Euser/%e2%82%ac"), "https://h.test/~user/%E2%82%AC");
        assert_eq!(normal("https://h.test/a/%2e%2e/b"), "https://h.test/b");
        assert_eq!(normal("https://h.test/100%/x y"), "https://h.test/100%25/x%20y");
        assert_eq!(normal("https://h.test/a|b[c]"), "https://h.test/a%7Cb%5Bc%5D");
        assert_eq!(normal("https://h.test/a;jsessionid=F00F00F00F00F00F?b=1"), "https://h.test/a?b=1");
        assert_eq!(normal("https://h.test/dir"), "https://h.test/dir");
        assert_eq!(normal("https://h.test/dir/"), "https://h.test/dir/");
    }

    #[test]
    fn queries_have_one_spelling() {
        assert_eq!(normal("https://h.test/?b=2&a=1&b=1"), "https://h.test/?a=1&b=1&b=2");
        assert_eq!(normal("https://h.test/?"), "https://h.test/");
        assert_eq!(normal("https://h.test/a?&&b=&"), "https://h.test/a?b=");
        assert_eq!(normal("https://h.test/?utm_source=x&utm_medium=y&id=7&fbclid=z"), "https://h.test/?id=7");
        assert_eq!(
            normal("https://h.test/?PHPSESSID=0123456789abcdef&SID=0123456789abcdef"),
            "https://h.test/"
        );
        assert_eq!(normal("https://h.test/?sid=77"), "https://h.test/?sid=77");
    }

    #[test]
    fn a_slash_at_the_end_goes_only_where_configured() {
        let rules = NormalForm { strip_trailing_slash: true, ..NormalForm::default() }.compile();
        let normal = |input: &str| Url::parse(input, &rules).unwrap().normal().to_owned();
        assert_eq!(normal("https://h.test/dir/"), "https://h.test/dir");
        assert_eq!(normal("https://h.test/dir//?a=1"), "https://h.test/dir?a=1");
        assert_eq!(normal("https://h.test/"), "https://h.test/");
    }

    #[test]
    fn only_http_and_https_are_urls() {
        let rules = NormalRules::default();
        for (input, scheme) in [
            ("mailto:a@b.c", "mailto"),
            ("JavaScript:void(0)", "javascript"),
            ("data:text/html,x", "data"),
            ("tel:+1", "tel"),
            ("file:///etc/passwd", "file"),
            ("ftp://h.test/", "ftp"),
        ] {
            assert_eq!(Url::parse(input, &rules), Err(UrlError::Scheme(scheme.into())));
        }
        assert!(Url::parse("example.com", &rules).is_err());
        assert!(Url::parse("https://", &rules).is_err());
        assert!(Url::parse("https://./", &rules).is_err());
        assert_eq!(
            Url::parse(&format!("https://h.test/{}", "a".repeat(3000)), &rules),
            Err(UrlError::TooLong)
        );
        assert_eq!(
            Url::parse(&format!("https://h.test/?utm_x={}", "a".repeat(90_000)), &rules),
            Err(UrlError::TooLong)
        );
    }

    #[test]
    fn references_are_resolved() {
        let page = "https://h.test/a/b?q=1";
        assert_eq!(join(page, ""), page);
        assert_eq!(join(page, "#part"), page);
        assert_eq!(join(page, "c"), "https://h.test/a/c");
        assert_eq!(join(page, "../c/./d"), "https://h.test/c/d");
        assert_eq!(join(page, "../../../c"), "https://h.test/c");
        assert_eq!(join(page, ".."), "https://h.test/");
        assert_eq!(join(page, "."), "https://h.test/a/");
        assert_eq!(join(page, "/c#x"), "https://h.test/c");
        assert_eq!(join(page, "?z=1"), "https://h.test/a/b?z=1");
        assert_eq!(join(page, "?"), "https://h.test/a/b? https://h.test/a/b");
        assert_eq!(join(page, "//Other.test/x"), "https://other.test/x");
        assert_eq!(join(page, "https://h.test"), "https://h.test/");
        assert_eq!(join(page, "https://h.test.evil/x"), "https://h.test.evil/x");
        assert_eq!(join(page, "http://h.test:80/x"), "http://h.test/x");
        assert_eq!(join(page, "\n /line\nbreak\t "), "https://h.test/linebreak");
        assert_eq!(join(page, "1:2"), "https://h.test/a/1:2");
        assert_eq!(join(page, "mailto:x@y.z"), UrlError::Scheme("mailto".into()).to_string());
    }

    #[test]
    fn a_base_element_is_resolved_against_the_page() {
        let rules = NormalRules::default();
        let page = Url::parse("https://h.test/a/b", &rules).unwrap();
        let base = Base::new(&page).rebase("/deep//er/?x=1").unwrap();
        assert_eq!(base.join("c", &rules).unwrap().as_str(), "https://h.test/deep//er/c");
        assert_eq!(base.join("c", &rules).unwrap().normal(), "https://h.test/deep/er/c");
        assert_eq!(base.join("../c", &rules).unwrap().as_str(), "https://h.test/deep//c");
        assert_eq!(base.join("", &rules).unwrap().as_str(), "https://h.test/deep//er/?x=1");
        let other = base.rebase("http://u:p@other.test./x/").unwrap();
        assert_eq!(other.join("y", &rules).unwrap().as_str(), "http://other.test/x/y");
    }

    #[test]
    fn parts_are_told_apart() {
        let url = Url::parse("https://h.test:8443/a/b/?x=1&y", &NormalRules::default()).unwrap();
        assert_eq!(url.host(), "h.test:8443");
        assert_eq!(url.host_name(), "h.test");
        assert_eq!(url.port(), 8443);
        assert_eq!(url.origin(), "https://h.test:8443");
        assert_eq!(url.path(), "/a/b/");
        assert_eq!(url.segments().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(url.parameters().collect::<Vec<_>>(), [("x", Some("1")), ("y", None)]);
        let v6 = Url::parse("http://[::1]:81/", &NormalRules::default()).unwrap();
        assert_eq!((v6.host_name(), v6.port()), ("[::1]", 81));
    }

    #[test]
    fn a_url_is_requested_as_it_was_found() {
        for found in [
            "https://h.test/x?b=2&a=1",
            "https://h.test/d//e/",
            "https://h.test//",
            "https://h.test/%7Euser/%e2%82%ac",
            "https://h.test/x?utm_source=mail&id=7",
            "https://h.test/a;jsessionid=0123456789ABCDEF?",
            "https://h.test/x?a&&b=&",
            "https://h.test/100%/a|b[c]?q=[1]|{2}^`",
            "https://h.test/?ref=main",
        ] {
            assert_eq!(request(found), found);
            assert_eq!(request(&format!("{found}#part")), found);
        }
        assert_eq!(request("HTTP://user:pw@H.test.:80/a/../b c?x y"), "http://h.test/b%20c?x%20y");
        assert_eq!(request("https://h.test"), "https://h.test/");
    }

    #[test]
    fn spellings_of_one_url_are_equal_and_have_one_identity() {
        let rules = NormalRules::default();
        let parse = |text: &str| Url::parse(text, &rules).unwrap();
        let one = parse("https://h.test/d/e?a=1&b=2");
        for other in [
            "https://h.test/d//e?a=1&b=2",
            "https://h.test/d/e?b=2&a=1",
            "https://h.test/%64/e?a=1&b=2",
            "https://h.test/d/e?a=1&utm_source=x&b=2",
        ] {
            let other = parse(other);
            assert_eq!(other, one);
            assert_eq!(other.identity(), one.identity());
            assert!(!other.same_request(&one) && !other.is_normal());
        }
    }

    #[test]
    fn a_link_is_resolved_against_the_page_as_it_was_found() {
        assert_eq!(
            join("https://h.test/%7Eme//x?b=1&a=2", "y?d=1&c=2"),
            "https://h.test/%7Eme//y?d=1&c=2 https://h.test/~me/y?c=2&d=1"
        );
        assert_eq!(join("https://h.test/x?b=1&a=2", ""), "https://h.test/x?b=1&a=2 https://h.test/x?a=2&b=1");
        assert_eq!(join("https://h.test/a/", "%7Eb/../c%7E"), "https://h.test/a/c%7E https://h.test/a/c~");
    }

    #[test]
    fn most_urls_take_no_more_memory_than_one_text() {
        assert_eq!(size_of::<Url>(), 24);
        let url = Url::parse("https://h.test/a?b=1", &NormalRules::default()).unwrap();
        assert_eq!(url.text.len(), url.as_str().len());
    }

    #[test]
    fn an_identity_is_the_sha_256_of_the_text() {
        let identity = Url::parse("https://example.com/", &NormalRules::default()).unwrap().identity();
        assert_eq!(identity.hex().len(), 64);
        assert_eq!(identity.key(), identity.hex()[..16]);
        assert_eq!(format!("{:016x}", identity.key_u64()), identity.key());
        assert_eq!(identity.key(), "0f115db062b7c0dd");
    }
}
