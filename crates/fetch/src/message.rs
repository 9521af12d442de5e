//! The HTTP messages of a fetch: the request as it is written, and the header fields of a response without the buffer that
//! they came in.

use crate::error::{Failure, FetchFailure};
use crate::port::FetchRequest;
use crate::proxy::Proxy;
use argiope_model::{Scheme, Url, Validators};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, COOKIE, HOST, IF_MODIFIED_SINCE, IF_NONE_MATCH, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::Full;

pub(crate) fn http1_request(
    request: &FetchRequest<'_>,
    proxy: Option<&Proxy>,
) -> Result<Request<Full<Bytes>>, Failure> {
    let url = request.url;
    let proxy = proxy.filter(|_| url.scheme() == Scheme::Http);
    let target = if proxy.is_some() { url.as_str() } else { url.path_and_query() };
    let mut headers = request.profile.http1.clone();
    headers.insert(HOST, host_value(url)?);
    if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.clone()) {
        headers.insert(PROXY_AUTHORIZATION, authorization);
    }
    message(request, target, headers)
}

pub(crate) fn http2_request(request: &FetchRequest<'_>) -> Result<Request<Full<Bytes>>, Failure> {
    message(request, request.url.as_str(), request.profile.http2.clone())
}

fn message(
    request: &FetchRequest<'_>,
    target: &str,
    mut headers: HeaderMap,
) -> Result<Request<Full<Bytes>>, Failure> {
    if let Some(validators) = request.validators {
        add_validators(&mut headers, validators);
    }
    if let Some(cookie) = request.cookie {
        // The cookies of the profile are sent with every request, and first.
        let both = match headers.get(COOKIE) {
            Some(own) => HeaderValue::from_bytes(&[own.as_bytes(), b"; ", cookie.as_bytes()].concat()),
            None => Ok(cookie.clone()),
        };
        let mut both = both.map_err(unsendable)?;
        both.set_sensitive(true);
        headers.insert(COOKIE, both);
    }
    let mut message = Request::new(Full::new(request.form.cloned().unwrap_or_default()));
    if request.form.is_some() {
        *message.method_mut() = Method::POST;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    }
    if request.head_only {
        *message.method_mut() = Method::HEAD;
    }
    *message.uri_mut() = Uri::try_from(target).map_err(unsendable)?;
    *message.headers_mut() = headers;
    Ok(message)
}

/// A validator from a response that cannot be sent back is left out: the server then sends the whole response.
fn add_validators(headers: &mut HeaderMap, validators: &Validators) {
    let value = |text: &Option<String>| HeaderValue::try_from(text.as_deref()?).ok();
    if let Some(etag) = value(&validators.etag) {
        headers.insert(IF_NONE_MATCH, etag);
    }
    if let Some(date) = value(&validators.last_modified) {
        headers.insert(IF_MODIFIED_SINCE, date);
    }
}

fn host_value(url: &Url) -> Result<HeaderValue, Failure> {
    HeaderValue::from_str(url.host()).map_err(unsendable)
}

fn unsendable(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::caused(FetchFailure::Unsendable(error.to_string()), error)
}

pub(crate) fn without_proxy_credentials(head: &Bytes) -> Bytes {
    let mut kept = BytesMut::with_capacity(head.len());
    let name = PROXY_AUTHORIZATION.as_str().as_bytes();
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if !line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            kept.extend_from_slice(line);
        }
    }
    kept.freeze()
}

/// Header values are slices of the connection's read buffer, and one of them keeps the whole buffer alive. Copied into one
/// allocation, they let the connection reuse the buffer, and a stored response holds only what it needs.
pub(crate) fn detach(headers: &mut HeaderMap) {
    let length = headers.values().map(HeaderValue::len).sum();
    let mut values = BytesMut::with_capacity(length);
    for value in headers.values() {
        values.extend_from_slice(value.as_bytes());
    }
    let mut values = values.freeze();
    for value in headers.values_mut() {
        let copy = values.split_to(value.len());
        // The bytes were a valid value before.
        if let Ok(copy) = HeaderValue::from_maybe_shared(copy) {
            *value = copy;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detached_headers_are_the_same_headers() {
        let mut headers = HeaderMap::new();
        let buffer = Bytes::from_static(b"text/html\xffgzipa=1b=2");
        for (name, range) in [
            ("content-type", 0..10),
            ("content-encoding", 10..14),
            ("set-cookie", 14..17),
            ("set-cookie", 17..20),
        ] {
            let name = http::HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_maybe_shared(buffer.slice(range)).unwrap());
        }
        headers.append("x-empty", HeaderValue::from_static(""));
        let before = headers.clone();
        detach(&mut headers);
        assert_eq!(headers, before);
        assert_eq!(headers.get_all("set-cookie").iter().count(), 2);
    }
}
