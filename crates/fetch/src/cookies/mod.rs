//! Cookies by RFC 6265, as far as a client without scripts needs them: [`parse`] reads `Set-Cookie`, a [`Jar`] stores
//! cookies and returns the `Cookie` header of a request, [`netscape`] reads and writes `cookies.txt`. Pure: time is an
//! argument. The caller decides how long to keep a jar.

mod date;
mod jar;
pub mod netscape;
mod set_cookie;

pub use jar::{Jar, JarLimits, cookie_header};
pub use set_cookie::{Refused, SetCookie, parse};

use argiope_model::{Millis, Scheme, Url};

/// A cookie that may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    pub name: Box<str>,
    /// Any bytes from the server, without control characters.
    pub value: Box<[u8]>,
    /// In lower case, without a leading dot.
    pub domain: Box<str>,
    /// Only for the host `domain`, not for its subdomains.
    pub host_only: bool,
    pub path: Box<str>,
    pub secure: bool,
    /// None: a session cookie.
    pub expires: Option<Millis>,
}

impl Cookie {
    fn is_expired(&self, now: Millis) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    fn is_for(&self, url: &Url, now: Millis) -> bool {
        !self.is_expired(now)
            && (!self.secure || url.scheme() == Scheme::Https)
            && domain_matches(url.host_name(), &self.domain, self.host_only)
            && path_matches(url.path(), &self.path)
    }

    fn is_same(&self, other: &Cookie) -> bool {
        self.name == other.name && self.domain == other.domain && self.path == other.path
    }

    /// In memory, approximately.
    fn bytes(&self) -> usize {
        size_of::<Cookie>() + self.name.len() + self.value.len() + self.domain.len() + self.path.len()
    }
}

/// RFC 6265, 5.1.3. Host names in URLs are in lower case.
fn domain_matches(host: &str, domain: &str, host_only: bool) -> bool {
    let host = host.trim_end_matches('.');
    match host.strip_suffix(domain) {
        Some("") => true,
        Some(before) => !host_only && before.ends_with('.'),
        None => false,
    }
}

/// RFC 6265, 5.1.4.
fn path_matches(path: &str, cookie_path: &str) -> bool {
    match path.strip_prefix(cookie_path) {
        Some("") => true,
        Some(rest) => cookie_path.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// The directory of a path, the default path of a cookie.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(end) => path.get(..end).unwrap_or("/"),
    }
}
