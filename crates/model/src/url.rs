//! A URL has two forms. The *request form* is the URL as it was found: the WHATWG serialization without fragment and
//! user info. It is sent to the server, shown in records and matched against robots.txt rules. The *normal form* is
//! shared by all spellings of a URL. It serves comparison: equality, identity and fingerprints are those of the normal
//! form.
//!
//! Only [`Url::parse`] and [`Base::join`] create a [`Url`], so both forms always belong together.

mod base;
mod escape;
mod general;
mod identity;
mod normal;
mod plain;
mod rules;
mod scheme;
mod stored;

pub use base::Base;
pub use identity::Identity;
pub use rules::{NormalForm, NormalRules};
pub use scheme::Scheme;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The longest URL that is crawled, in bytes of either form.
const MAX_LENGTH: usize = 2048;

/// The longest text that is parsed. A fragment or user info may be long, but megabytes of `href` are refused unparsed.
const MAX_INPUT: usize = 8 * MAX_LENGTH;

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
            None => general::parse(input, rules),
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
        Identity::of(self.normal())
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

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests;
