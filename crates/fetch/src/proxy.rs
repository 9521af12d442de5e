//! HTTP proxies, as in the configuration: `http://user:password@proxy.example:3128`.

use argiope_model::{NoProxy, ProxyReach, Scheme, Url};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use percent_encoding::percent_decode_str;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// An IPv6 address keeps its brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) authorization: Option<HeaderValue>,
    /// Identifies the proxy, credentials included.
    pub(crate) key: String,
}

impl Proxy {
    pub fn parse(text: &str) -> Result<Proxy, String> {
        let url = url::Url::parse(text).map_err(|error| format!("proxy '{}': {error}", shown(text)))?;
        let text = shown(text);
        if url.scheme() != "http" {
            return Err(format!("proxy '{text}': only http:// proxies are supported"));
        }
        let host =
            url.host_str().filter(|host| !host.is_empty()).ok_or(format!("proxy '{text}' has no host"))?;
        let port = url.port_or_known_default().unwrap_or(80);
        let authorization = if url.username().is_empty() && url.password().is_none() {
            None
        } else {
            let user: Vec<u8> = percent_decode_str(url.username()).collect();
            let password: Vec<u8> = percent_decode_str(url.password().unwrap_or("")).collect();
            Some(basic(&user, &password)?)
        };
        let credentials = authorization.as_ref().and_then(|value| value.to_str().ok()).unwrap_or("");
        let key = format!("{host}:{port} {credentials}");
        Ok(Proxy { host: host.to_owned(), port, authorization, key })
    }

    /// Host and port, without credentials.
    pub(crate) fn place(&self) -> String {
        format!("http://{}:{}", self.host, self.port)
    }

    /// What its status 407 means.
    pub(crate) fn refusal(&self) -> String {
        let place = self.place();
        match self.authorization {
            None => format!("{place} asks for a user and password (407)"),
            Some(_) => format!("{place} does not accept the user and password (407)"),
        }
    }
}

/// The value of an `Authorization` or `Proxy-Authorization` header.
pub(crate) fn basic(user: &[u8], password: &[u8]) -> Result<HeaderValue, String> {
    if user.contains(&b':') {
        return Err(String::from("a user name of basic authentication cannot contain a colon"));
    }
    let encoded = BASE64_STANDARD.encode([user, b":", password].concat());
    let mut value =
        HeaderValue::try_from(format!("Basic {encoded}")).map_err(|error| format!("credentials: {error}"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Which requests go through which proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    except: NoProxy,
}

impl Proxies {
    /// In place of a proxy's URL: no proxy.
    pub const NONE: &str = "none";

    /// The same proxy for every request.
    pub fn all(proxy: Proxy) -> Proxies {
        Proxies { http: Some(proxy.clone()), https: Some(proxy), except: NoProxy::default() }
    }

    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in lower case or, where that is not set, in upper case. An
    /// empty variable counts as unset, and a proxy without a scheme is an HTTP proxy. In a CGI program, `HTTP_PROXY` is ignored,
    /// because it is a request header there. An error names the variable.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Proxies, String> {
        let in_cgi = variable("REQUEST_METHOD").is_some();
        let find = |name: &str| {
            let upper = name.to_ascii_uppercase();
            let is_header = in_cgi && upper == "HTTP_PROXY";
            variable(name)
                .map(|value| (name.to_owned(), value))
                .or_else(|| if is_header { None } else { variable(&upper).map(|value| (upper, value)) })
                .map(|(name, value)| (name, value.trim().to_owned()))
                .filter(|(_, value)| !value.is_empty())
        };
        let proxy = |name: &str| -> Result<Option<Proxy>, String> {
            let Some((name, value)) = find(name).or_else(|| find("all_proxy")) else { return Ok(None) };
            let url = if value.contains("://") { value } else { format!("http://{value}") };
            Proxy::parse(&url).map(Some).map_err(|error| format!("environment variable {name}: {error}"))
        };
        let except = NoProxy::parse(&find("no_proxy").map(|(_, value)| value).unwrap_or_default());
        Ok(Proxies { http: proxy("http_proxy")?, https: proxy("https_proxy")?, except })
    }

    pub fn of(&self, url: &Url) -> Option<&Proxy> {
        let proxy = match url.scheme() {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        };
        proxy.filter(|_| !self.except.covers(url.host_name(), url.port()))
    }

    pub fn reach(&self) -> ProxyReach {
        ProxyReach { http: self.http.is_some(), https: self.https.is_some(), except: self.except.clone() }
    }

    /// The proxies by scheme, without credentials.
    pub fn places(&self) -> Vec<(&'static str, String)> {
        let http = self.http.as_ref().map(|proxy| ("http", proxy.place()));
        http.into_iter().chain(self.https.as_ref().map(|proxy| ("https", proxy.place()))).collect()
    }
}

/// Without user and password.
fn shown(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    match rest.rsplit_once('@') {
        Some((_, host)) if scheme.is_empty() => format!("***@{host}"),
        Some((_, host)) => format!("{scheme}://***@{host}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_and_port_are_taken_from_the_url() {
        let proxy = Proxy::parse("http://us%65r:p%40ss@proxy.example:3128").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", 3128));
        let expected = format!("Basic {}", BASE64_STANDARD.encode("user:p@ss"));
        assert_eq!(proxy.authorization.unwrap().to_str().unwrap(), expected);
        assert_eq!(Proxy::parse("http://10.0.0.1").unwrap().port, 80);
    }

    fn environment<'e>(pairs: &'e [(&'e str, &'e str)]) -> impl Fn(&str) -> Option<String> + 'e {
        move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn used(pairs: &[(&str, &str)], url: &str) -> Option<String> {
        let proxies = Proxies::from_environment(&environment(pairs)).unwrap();
        proxies.of(&Url::from_stored(url).unwrap()).map(|proxy| format!("{}:{}", proxy.host, proxy.port))
    }

    #[test]
    fn the_environment_names_proxies_by_scheme_and_who_needs_none() {
        let both = [("http_proxy", "http://a.test:1"), ("HTTPS_PROXY", "b.test:2"), ("no_proxy", "c.test")];
        assert_eq!(used(&both, "http://x.test/").as_deref(), Some("a.test:1"));
        assert_eq!(used(&both, "https://x.test/").as_deref(), Some("b.test:2"));
        assert_eq!(used(&both, "https://www.c.test/"), None);
        let cases = [("http_proxy", "http://lower.test:1"), ("HTTP_PROXY", "http://upper.test:2")];
        assert_eq!(used(&cases, "http://x.test/").as_deref(), Some("lower.test:1"));
        assert_eq!(used(&cases, "https://x.test/"), None);
        assert_eq!(used(&[("ALL_PROXY", "http://a.test:1")], "https://x.test/").as_deref(), Some("a.test:1"));
        assert_eq!(used(&[("http_proxy", " ")], "http://x.test/"), None);
        assert_eq!(
            used(&[("HTTP_PROXY", "http://a.test"), ("REQUEST_METHOD", "GET")], "http://x.test/"),
            None
        );
    }

    #[test]
    fn a_variable_that_cannot_be_used_is_named_without_its_password() {
        let pairs = [("https_proxy", "socks5://user:hunter2@a.test")];
        let error = Proxies::from_environment(&environment(&pairs)).unwrap_err();
        assert!(error.contains("https_proxy") && error.contains("only http://"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn what_is_no_http_proxy_is_said() {
        assert!(
            Proxy::parse("socks5://proxy.example")
                .unwrap_err()
                .contains("only http:// proxies are supported")
        );
        assert!(Proxy::parse("proxy.example").is_err());
    }
}
