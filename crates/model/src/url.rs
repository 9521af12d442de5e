//! A URL in normal form. There is no way to hold one that is not: [`Url`] is made by [`Url::parse`] and
//! [`Base::join`] only, and equality of text is equality of URL.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::hash::{Hash, Hasher};

/// The longest URL that is crawled, in bytes of its normal form.
const MAX_LENGTH: usize = 2048;

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
}

/// Why a text is no URL to crawl.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("scheme '{0}' is not crawled, only http and https are")]
    Scheme(String),
    #[error("the URL has no host")]
    NoHost,
    #[error("the URL is longer than {MAX_LENGTH} characters")]
    TooLong,
    #[error("not a URL: {0}")]
    Invalid(String),
}

/// What may be configured about the normal form. The rest is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormalForm {
    /// Remove the slash at the end of a path other than `/`.
    pub strip_trailing_slash: bool,
    /// Query parameters that are dropped; a `*` at the end of a name stands for any ending.
    pub tracking_parameters: Vec<String>,
    /// Query and path parameters that carry a session and are dropped.
    pub session_parameters: Vec<String>,
}

impl Default for NormalForm {
    fn default() -> NormalForm {
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        NormalForm {
            strip_trailing_slash: false,
            tracking_parameters: list(&[
                "utm_*", "ref", "source", "fbclid", "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "msclkid",
                "yclid", "twclid", "ttclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl", "_hsenc", "_hsmi",
                "mkt_tok", "vero_id", "oly_anon_id", "oly_enc_id",
            ]),
            session_parameters: list(&["jsessionid", "phpsessid", "aspsessionid*", "sessionid", "session_id", "sid"]),
        }
    }
}

/// An http or https URL in normal form.
#[derive(Clone)]
pub struct Url {
    text: Box<str>,
    /// Where the authority ends and the path begins.
    path_start: u16,
    /// Where the path ends: the position of `?`, or the length.
    path_end: u16,
}

impl Url {
    /// Takes an absolute URL as people and pages write it.
    pub fn parse(input: &str, rules: &NormalForm) -> Result<Url, UrlError> {
        let parsed = url::Url::parse(input.trim()).map_err(invalid)?;
        Url::normalize(&parsed, rules)
    }

    fn normalize(_parsed: &url::Url, _rules: &NormalForm) -> Result<Url, UrlError> {
        let mut parsed = _parsed.clone();
        match parsed.scheme() {
            "http" | "https" => {}
            other => return Err(UrlError::Scheme(other.to_owned())),
        }
        parsed.set_fragment(None);
        let _ = parsed.set_username("");
        let _ = parsed.set_password(None);
        Url::from_normal(String::from(parsed).into_boxed_str())
    }

    /// `text` is known to be in normal form: it was stored by this program.
    fn from_normal(text: Box<str>) -> Result<Url, UrlError> {
        if text.len() > MAX_LENGTH {
            return Err(UrlError::TooLong);
        }
        let authority = text.find("//").map_or(0, |at| at + 2);
        let rest = text.get(authority..).unwrap_or("");
        let path_start = rest.find('/').map_or(text.len(), |at| authority + at);
        if path_start == authority {
            return Err(UrlError::NoHost);
        }
        let path_end = text.find('?').unwrap_or(text.len());
        let short = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        Ok(Url { path_start: short(path_start), path_end: short(path_end), text })
    }

    /// Reads back what [`Url::as_str`] gave and a store kept. Checks the shape only: use it for nothing that comes
    /// from outside.
    pub fn from_stored(text: &str) -> Result<Url, UrlError> {
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return Err(UrlError::Invalid(text.to_owned()));
        }
        Url::from_normal(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn scheme(&self) -> Scheme {
        if self.text.starts_with("https:") { Scheme::Https } else { Scheme::Http }
    }

    fn authority_start(&self) -> usize {
        match self.scheme() {
            Scheme::Http => "http://".len(),
            Scheme::Https => "https://".len(),
        }
    }

    fn slice(&self, from: usize, to: usize) -> &str {
        self.text.get(from..to).unwrap_or("")
    }

    /// The host as politeness knows it: its name, with `:port` where that is not the scheme's own.
    pub fn host(&self) -> &str {
        self.slice(self.authority_start(), usize::from(self.path_start))
    }

    /// The host without a port; an IPv6 address keeps its brackets.
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
    pub fn origin(&self) -> &str {
        self.slice(0, usize::from(self.path_start))
    }

    pub fn path(&self) -> &str {
        self.slice(usize::from(self.path_start), usize::from(self.path_end))
    }

    pub fn query(&self) -> Option<&str> {
        self.text.get(usize::from(self.path_end) + 1..)
    }

    pub fn path_and_query(&self) -> &str {
        self.slice(usize::from(self.path_start), self.text.len())
    }

    pub fn identity(&self) -> Identity {
        Identity(Sha256::digest(self.text.as_bytes()).into())
    }
}

fn invalid(error: url::ParseError) -> UrlError {
    match error {
        url::ParseError::EmptyHost => UrlError::NoHost,
        other => UrlError::Invalid(other.to_string()),
    }
}

/// What the links of a page are resolved against: its own URL, or its `<base>`.
pub struct Base {
    parsed: url::Url,
}

impl Base {
    pub fn new(url: &Url) -> Result<Base, UrlError> {
        Ok(Base { parsed: url::Url::parse(url.as_str()).map_err(invalid)? })
    }

    /// A `<base href>` is itself resolved against the page's URL.
    pub fn rebase(&self, href: &str) -> Result<Base, UrlError> {
        Ok(Base { parsed: self.parsed.join(href.trim()).map_err(invalid)? })
    }

    /// Resolves a reference as it stands in a page, entities already decoded.
    pub fn join(&self, href: &str, rules: &NormalForm) -> Result<Url, UrlError> {
        Url::normalize(&self.parsed.join(href.trim()).map_err(invalid)?, rules)
    }
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
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Url {
    fn eq(&self, other: &Url) -> bool {
        self.text == other.text
    }
}

impl Eq for Url {}

impl Hash for Url {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Serialize for Url {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Url {
    /// Stored URLs only: see [`Url::from_stored`].
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Url, D::Error> {
        let text = String::deserialize(from)?;
        Url::from_stored(&text).map_err(serde::de::Error::custom)
    }
}
