//! An HTTP proxy as the configuration names it: `http://user:password@proxy.example:3128`.

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
    /// Tells proxies apart, with their credentials.
    pub(crate) key: String,
}

impl Proxy {
    pub fn parse(text: &str) -> Result<Proxy, String> {
        let url = url::Url::parse(text).map_err(|error| format!("proxy '{text}': {error}"))?;
        if url.scheme() != "http" {
            return Err(format!("proxy '{text}': only http:// proxies are spoken to"));
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
}

/// The value of an `Authorization` or `Proxy-Authorization` header.
pub(crate) fn basic(user: &[u8], password: &[u8]) -> Result<HeaderValue, String> {
    if user.contains(&b':') {
        return Err(String::from("a user name of basic authentication cannot hold a colon"));
    }
    let encoded = BASE64_STANDARD.encode([user, b":", password].concat());
    let mut value =
        HeaderValue::try_from(format!("Basic {encoded}")).map_err(|error| format!("credentials: {error}"))?;
    value.set_sensitive(true);
    Ok(value)
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

    #[test]
    fn what_is_no_http_proxy_is_said() {
        assert!(Proxy::parse("socks5://proxy.example").unwrap_err().contains("only http://"));
        assert!(Proxy::parse("proxy.example").is_err());
    }
}
