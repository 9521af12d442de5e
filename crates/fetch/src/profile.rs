//! The headers and the route of a job's or a domain's requests: user agent, extra headers, cookie, credentials, proxy. Built
//! and checked once, so that a bad header cannot fail in the middle of a crawl.

use crate::proxy::{Proxies, Proxy, basic};
use argiope_model::Url;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT,
    HOST, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;

/// Names the crawler and a contact for site owners.
pub const fn default_user_agent() -> &'static str {
    concat!("Argiope/", env!("CARGO_PKG_VERSION"), " (+https://github.com/argiope-crawler/argiope)")
}

const DEFAULT_ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const ENCODINGS: &str = "gzip, br, zstd, deflate";

/// The request settings of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileOptions {
    pub user_agent: Option<String>,
    pub accept: Option<String>,
    pub accept_language: Option<String>,
    /// They replace the crawler's own of the same name; a name that is given twice is sent twice.
    pub headers: Vec<(String, String)>,
    /// Sent unchanged with every request.
    pub cookie: Option<String>,
    pub basic_auth: Option<(String, String)>,
    /// For every request; `none` disables proxies.
    pub proxy: Option<String>,
    /// Accepts any certificate.
    pub insecure: bool,
}

/// A checked profile, ready to send. Share it in an `Arc`.
#[derive(Clone, Debug)]
pub struct RequestProfile {
    /// Begins with `Host`, which is filled in for each request.
    pub(crate) http1: HeaderMap,
    /// The same without `Host`, which HTTP/2 does not send.
    pub(crate) http2: HeaderMap,
    /// None: the fetcher's own are used.
    proxies: Option<Arc<Proxies>>,
    pub(crate) insecure: bool,
    user_agent: String,
}

/// Headers that belong to the connection and not to a profile.
const RESERVED: [HeaderName; 9] =
    [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, TE, TRAILER, UPGRADE, EXPECT, PROXY_AUTHORIZATION];

impl RequestProfile {
    pub fn new(options: &ProfileOptions) -> Result<RequestProfile, String> {
        let user_agent = options.user_agent.as_deref().unwrap_or(default_user_agent());
        let mut headers = HeaderMap::with_capacity(12);
        headers.insert(HOST, HeaderValue::from_static(""));
        headers.insert(USER_AGENT, value("user agent", user_agent)?);
        headers.insert(ACCEPT, value("accept", options.accept.as_deref().unwrap_or(DEFAULT_ACCEPT))?);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ENCODINGS));
        if let Some(languages) = &options.accept_language {
            headers.insert(ACCEPT_LANGUAGE, value("accept language", languages)?);
        }
        if let Some(cookie) = &options.cookie {
            headers.insert(COOKIE, sensitive(value("cookie", cookie)?));
        }
        if let Some((user, password)) = &options.basic_auth {
            headers.insert(AUTHORIZATION, basic(user.as_bytes(), password.as_bytes())?);
        }
        let mut replaced: Vec<HeaderName> = Vec::new();
        for (name, text) in &options.headers {
            let parsed =
                HeaderName::try_from(name.as_str()).map_err(|_| format!("'{name}' is not a header name"))?;
            if RESERVED.contains(&parsed) {
                return Err(format!("header '{name}' is set by the crawler itself"));
            }
            let text = value(name, text)?;
            if replaced.contains(&parsed) {
                headers.append(parsed, text);
            } else {
                headers.insert(parsed.clone(), text);
                replaced.push(parsed);
            }
        }
        let mut http2 = headers.clone();
        http2.remove(HOST);
        let proxies = match options.proxy.as_deref() {
            None => None,
            Some(Proxies::NONE) => Some(Arc::default()),
            Some(proxy) => Some(Arc::new(Proxies::all(Proxy::parse(proxy)?))),
        };
        let user_agent =
            headers.get(USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or(user_agent).to_owned();
        if user_agent.trim().is_empty() {
            return Err(String::from("the user agent is empty: sites must be able to tell who asks"));
        }
        Ok(RequestProfile { http1: headers, http2, proxies, insecure: options.insecure, user_agent })
    }

    pub(crate) fn proxy_for<'p>(&'p self, url: &Url, usual: &'p Proxies) -> Option<&'p Proxy> {
        self.proxies.as_deref().unwrap_or(usual).of(url)
    }

    /// Why this cannot be the name of a header.
    pub fn problem_with_header(name: &str) -> Option<&'static str> {
        match HeaderName::try_from(name) {
            _ if name.is_empty() => Some("the name before the colon is missing"),
            Err(_) => Some("is not a valid header name"),
            Ok(parsed) => RESERVED.contains(&parsed).then_some("is set by the crawler itself"),
        }
    }

    /// The user agent; robots.txt is matched against the same name.
    pub fn user_agent(&self) -> &str {
        &self.user_agent
    }
}

fn value(name: &str, text: &str) -> Result<HeaderValue, String> {
    HeaderValue::try_from(text.trim()).map_err(|_| format!("{name}: '{text}' cannot be sent as a header"))
}

fn sensitive(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_user_agent_names_crawler_version_and_contact() {
        let profile = RequestProfile::new(&ProfileOptions::default()).unwrap();
        assert!(profile.user_agent().starts_with("Argiope/"));
        assert!(profile.user_agent().contains("+https://"));
    }

    #[test]
    fn extra_headers_replace_ours_and_repeat_among_themselves() {
        let headers = [("Accept", "text/plain"), ("X-Team", "a"), ("x-team", "b")];
        let options = ProfileOptions {
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            ..ProfileOptions::default()
        };
        let profile = RequestProfile::new(&options).unwrap();
        assert_eq!(profile.http1.get_all(ACCEPT).iter().count(), 1);
        assert_eq!(profile.http1[ACCEPT], "text/plain");
        assert_eq!(profile.http1.get_all("x-team").iter().count(), 2);
        assert_eq!(profile.http1.keys().next(), Some(&HOST));
        assert!(!profile.http2.contains_key(HOST));
    }

    #[test]
    fn headers_that_would_break_a_request_are_refused() {
        for (name, value) in
            [("Host", "x"), ("Content-Length", "3"), ("Bad Name", "x"), ("X-Split", "a\r\nInjected: b")]
        {
            let options =
                ProfileOptions { headers: vec![(name.into(), value.into())], ..ProfileOptions::default() };
            assert!(RequestProfile::new(&options).is_err(), "{name}");
        }
    }
}
