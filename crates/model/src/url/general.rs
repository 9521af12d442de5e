//! URLs of any form, by the `url` crate. It resolves scheme, host, port and dot segments and escapes illegal characters
//! as browsers do.

use super::{NormalRules, Scheme, Url, UrlError};

pub(super) fn parse(input: &str, rules: &NormalRules) -> Result<Url, UrlError> {
    request_form(&url::Url::parse(input).map_err(invalid)?, rules)
}

pub(super) fn invalid(error: url::ParseError) -> UrlError {
    match error {
        url::ParseError::EmptyHost => UrlError::NoHost,
        other => UrlError::Invalid(other.to_string()),
    }
}

/// The general path, from the output of the `url` crate: it resolves scheme, host, port and dot segments and escapes
/// illegal characters as browsers do.
pub(super) fn request_form(parsed: &url::Url, rules: &NormalRules) -> Result<Url, UrlError> {
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
pub(super) fn origin_of(parsed: &url::Url) -> Result<(Scheme, Vec<u8>), UrlError> {
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
