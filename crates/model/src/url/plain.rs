//! The fast path for the most common references: paths, queries and URLs of plain host names. It returns `None` if it
//! is not sure, and the general parser of the `url` crate decides. Wherever it answers, both agree (`properties.rs`).

use super::escape::{END, ESCAPE, ILLEGAL, PARAMETER, PATH, PECULIAR, QUERY, class_of};
use super::normal::{path_stays, pop_segment, push_segments, query_stays};
use super::rules::NormalRules;
use super::{Scheme, Url, UrlError};
use std::sync::LazyLock;

static USUAL_RULES: LazyLock<NormalRules> = LazyLock::new(NormalRules::default);

/// A base whose path is its own normal form without special cases.
pub(super) struct PlainBase {
    scheme: Scheme,
    /// `https://example.com`
    origin: Box<[u8]>,
    path: Box<[u8]>,
    /// The path, up to and including its last slash.
    directory_end: usize,
    query: Option<Box<[u8]>>,
}

impl PlainBase {
    /// `origin` is in normal form; path and query are as the general parser gave them.
    pub(super) fn new(scheme: Scheme, origin: &[u8], path: &str, query: Option<&str>) -> Option<PlainBase> {
        let segments = path.as_bytes().strip_prefix(b"/")?;
        // With a `;` the normal form depends on the rules.
        if segments.contains(&b';') {
            return None;
        }
        let mut normal = b"/".to_vec();
        push_segments(&mut normal, 0, segments, USUAL_RULES.parameters(b""));
        if normal != path.as_bytes() {
            return None;
        }
        let directory_end = normal.iter().rposition(|b| *b == b'/')? + 1;
        Some(PlainBase {
            scheme,
            origin: origin.into(),
            path: normal.into(),
            directory_end,
            query: query.map(|query| query.as_bytes().into()),
        })
    }

    /// `href` has no white space around it.
    pub(super) fn join(&self, href: &str, rules: &NormalRules) -> Option<Result<Url, UrlError>> {
        let href = href.as_bytes();
        match href {
            [] | [b'#', ..] => Some(self.page_itself(rules)),
            [b'/', b'/', rest @ ..] => self.absolute(self.scheme, rest, rules),
            [b'/' | b'?', ..] => self.reference(href, rules),
            _ => match scheme_of(href) {
                GivenScheme::None => self.reference(href, rules),
                GivenScheme::Crawled(scheme, rest) => self.absolute(scheme, rest, rules),
                GivenScheme::Peculiar => None,
                GivenScheme::Other(scheme) => Some(Err(UrlError::Scheme(scheme))),
            },
        }
    }

    fn page_itself(&self, rules: &NormalRules) -> Result<Url, UrlError> {
        let query = self.query.as_deref();
        let mut out = Vec::with_capacity(
            self.origin.len() + self.path.len() + query.map_or(0, |query| query.len() + 1),
        );
        out.extend_from_slice(&self.origin);
        out.extend_from_slice(&self.path);
        let path_end = out.len();
        if let Some(query) = query {
            out.push(b'?');
            out.extend_from_slice(query);
        }
        Url::complete(out, self.origin.len(), path_end, rules)
    }

    fn absolute(&self, scheme: Scheme, rest: &[u8], rules: &NormalRules) -> Option<Result<Url, UrlError>> {
        if scheme == self.scheme {
            let own = self.origin.get(scheme.prefix().len()..)?;
            if let Some(after) = rest.strip_prefix(own)
                && matches!(after, [] | [b'/' | b'?' | b'#', ..])
            {
                let mut out = Vec::with_capacity(self.origin.len() + after.len() + 1);
                out.extend_from_slice(&self.origin);
                return push_reference(out, b"", after, rules);
            }
        }
        absolute(scheme, rest, rules)
    }

    fn reference(&self, reference: &[u8], rules: &NormalRules) -> Option<Result<Url, UrlError>> {
        let before: &[u8] = match reference {
            [b'/', ..] => b"",
            [b'?', ..] => &self.path,
            _ => self.path.get(..self.directory_end)?,
        };
        let mut out = Vec::with_capacity(self.origin.len() + before.len() + reference.len());
        out.extend_from_slice(&self.origin);
        push_reference(out, before, reference, rules)
    }
}

/// An absolute URL of a plain host name. `input` has no white space around it.
pub(super) fn parse(input: &str, rules: &NormalRules) -> Option<Result<Url, UrlError>> {
    match scheme_of(input.as_bytes()) {
        GivenScheme::Crawled(scheme, rest) => absolute(scheme, rest, rules),
        GivenScheme::Other(scheme) => Some(Err(UrlError::Scheme(scheme))),
        GivenScheme::None | GivenScheme::Peculiar => None,
    }
}

fn absolute(scheme: Scheme, rest: &[u8], rules: &NormalRules) -> Option<Result<Url, UrlError>> {
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#' | b'\\')).unwrap_or(rest.len());
    let (authority, reference) = rest.split_at(end);
    let mut out = Vec::with_capacity(scheme.prefix().len() + rest.len() + 1);
    out.extend_from_slice(scheme.prefix().as_bytes());
    push_plain_authority(&mut out, scheme, authority)?;
    push_reference(out, b"", reference, rules)
}

enum GivenScheme<'h> {
    None,
    /// The part after `//`.
    Crawled(Scheme, &'h [u8]),
    /// http or https, but not followed by two slashes.
    Peculiar,
    Other(String),
}

fn scheme_of(href: &[u8]) -> GivenScheme<'_> {
    if !href.first().is_some_and(u8::is_ascii_alphabetic) {
        return GivenScheme::None;
    }
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    let end = href.iter().position(|b| !word(b)).unwrap_or(href.len());
    let (name, rest) = href.split_at(end);
    let scheme = match rest {
        [b':', ..] if name.eq_ignore_ascii_case(b"http") => Scheme::Http,
        [b':', ..] if name.eq_ignore_ascii_case(b"https") => Scheme::Https,
        [b':', ..] => return GivenScheme::Other(String::from_utf8_lossy(name).to_ascii_lowercase()),
        _ => return GivenScheme::None,
    };
    match rest.strip_prefix(b"://") {
        Some(rest) => GivenScheme::Crawled(scheme, rest),
        None => GivenScheme::Peculiar,
    }
}

/// Appends a host name of ASCII letters, digits and hyphens, or a dotted address, with its port.
fn push_plain_authority(out: &mut Vec<u8>, scheme: Scheme, authority: &[u8]) -> Option<()> {
    let (name, port) = match authority.iter().position(|b| *b == b':') {
        Some(colon) => (authority.get(..colon)?, authority.get(colon + 1..)),
        None => (authority, None),
    };
    let last = name.rsplit(|b| *b == b'.').next()?;
    // A last label that begins like a number makes the whole name an address.
    let is_plain = if last.first()?.is_ascii_alphabetic() { is_plain_name(name) } else { is_address(name) };
    if !is_plain {
        return None;
    }
    out.extend(name.iter().map(u8::to_ascii_lowercase));
    match port {
        None => Some(()),
        Some(digits) => {
            let number = decimal(digits, 5).and_then(|n| u16::try_from(n).ok())?;
            if number != scheme.default_port() {
                out.push(b':');
                out.extend_from_slice(digits);
            }
            Some(())
        }
    }
}

fn is_plain_name(name: &[u8]) -> bool {
    name.split(|b| *b == b'.').all(|label| {
        let is_encoded = label.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"xn--"));
        !label.is_empty() && !is_encoded && label.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
    })
}

fn is_address(name: &[u8]) -> bool {
    let mut labels = 0;
    name.split(|b| *b == b'.').all(|label| {
        labels += 1;
        decimal(label, 3).is_some_and(|n| n < 256)
    }) && labels == 4
}

/// A decimal number without leading zeros.
fn decimal(digits: &[u8], longest: usize) -> Option<u32> {
    if digits.is_empty() || digits.len() > longest || (digits.len() > 1 && digits.starts_with(b"0")) {
        return None;
    }
    digits.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0')))
}

/// Appends path and query of `reference` to an origin. The path goes below `directory`, or is absolute if that is
/// empty. The directory is in normal form.
fn push_reference(
    mut out: Vec<u8>,
    directory: &[u8],
    reference: &[u8],
    rules: &NormalRules,
) -> Option<Result<Url, UrlError>> {
    let path_start = out.len();
    let scanned = scan(reference)?;
    let path = reference.get(..scanned.path_end)?;
    out.extend_from_slice(directory);
    if scanned.has_dot_segment {
        let segments = match path {
            [b'/', segments @ ..] => {
                out.push(b'/');
                segments
            }
            segments => segments,
        };
        push_resolved(&mut out, path_start, segments);
    } else {
        out.extend_from_slice(path);
        if out.len() == path_start {
            out.push(b'/');
        }
    }
    let path_end = out.len();
    let mut is_normal = scanned.path_is_normal && path_stays(out.get(path_start..)?, rules);
    if let Some(query) = scanned.query {
        out.push(b'?');
        out.extend_from_slice(query);
        let origin = out.get(..path_start)?;
        is_normal = is_normal && scanned.query_is_normal && query_stays(query, origin, rules);
    }
    Some(match is_normal {
        true => Url::from_parts(out, path_start, path_end, None),
        false => Url::complete(out, path_start, path_end, rules),
    })
}

/// Appends segments unchanged and resolves dot segments against the content of `out` from `path_start` on. `out` must
/// end with the slash before the first segment; only the last segment may be empty.
fn push_resolved(out: &mut Vec<u8>, path_start: usize, path: &[u8]) {
    let mut segments = path.split(|b| *b == b'/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            b"" | b"." => {}
            b".." => pop_segment(out, path_start),
            segment => {
                out.extend_from_slice(segment);
                if segments.peek().is_some() {
                    out.push(b'/');
                }
            }
        }
    }
}

struct Scanned<'r> {
    path_end: usize,
    /// What follows the question mark, if there is one.
    query: Option<&'r [u8]>,
    /// A segment begins with a dot.
    has_dot_segment: bool,
    /// Whether it is its own normal form, except for the rules about its end.
    path_is_normal: bool,
    /// The same for the query, except for the rules about its parameters.
    query_is_normal: bool,
}

/// One pass over all bytes: where path and query end, and whether they are in normal form already. `None` if only the
/// general parser can tell.
fn scan(reference: &[u8]) -> Option<Scanned<'_>> {
    let mut found = 0;
    let mut has_dot_segment = false;
    let mut path_end = reference.len();
    let mut previous = b'/';
    for (at, byte) in reference.iter().enumerate() {
        let class = class_of(&PATH, *byte);
        if class & END != 0 {
            path_end = at;
            break;
        }
        found |= class;
        if previous == b'/' {
            // The general parser counts an empty segment when it resolves `..`; a normal form does not have it.
            if *byte == b'/' && at > 0 {
                return None;
            }
            has_dot_segment |= *byte == b'.';
        }
        previous = *byte;
    }
    if found & (PECULIAR | ILLEGAL) != 0 {
        return None;
    }
    // `%2e` is a dot, too.
    if found & ESCAPE != 0 && reference.get(..path_end)?.windows(3).any(|w| w.eq_ignore_ascii_case(b"%2e")) {
        return None;
    }
    let mut scanned = Scanned {
        path_end,
        query: None,
        has_dot_segment,
        path_is_normal: found & (ESCAPE | PARAMETER) == 0,
        query_is_normal: true,
    };
    if reference.get(path_end) == Some(&b'?') {
        let query = reference.get(path_end + 1..)?;
        let mut length = query.len();
        let mut found = 0;
        for (at, byte) in query.iter().enumerate() {
            let class = class_of(&QUERY, *byte);
            if class & END != 0 {
                length = at;
                break;
            }
            found |= class;
        }
        if found & (PECULIAR | ILLEGAL) != 0 {
            return None;
        }
        scanned.query = Some(query.get(..length)?);
        scanned.query_is_normal = found == 0;
    }
    Some(scanned)
}
