//! URL lists of sites: sitemaps and their indexes, plain lists, RSS, RDF and Atom feeds, all optionally gzipped. A
//! broken file gives what was read before the damage; the caller decides whether to follow indexes inside indexes.

mod date;
mod xml;

use crate::charset::without_bom;
use argiope_model::Millis;
use flate2::bufread::MultiGzDecoder;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Read;

/// The protocol's limits, applied to what is read, not to what is sent.
const MOST_URLS: usize = 50_000;
const MOST_BYTES: usize = 50 * 1024 * 1024;
/// No URL that is crawled is longer.
const LONGEST_LOCATION: usize = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SitemapKind {
    UrlSet,
    Index,
    Text,
    Rss,
    Atom,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SitemapUrl {
    /// As written, entities decoded, white space trimmed. In feeds it may be relative to the feed.
    pub loc: String,
    /// As written.
    pub lastmod: Option<String>,
    /// The same as a timestamp, if it is valid.
    #[serde(skip)]
    pub modified_at: Option<Millis>,
    pub changefreq: Option<String>,
    /// 0.0 to 1.0.
    pub priority: Option<f32>,
}

/// An entry of an index: another sitemap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SitemapReference {
    pub loc: String,
    pub lastmod: Option<String>,
    #[serde(skip)]
    pub modified_at: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SitemapContents {
    pub kind: SitemapKind,
    pub urls: Vec<SitemapUrl>,
    pub sitemaps: Vec<SitemapReference>,
    /// There was more: over the limits, or after the damage.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SitemapErrorKind {
    /// Claims to be gzip and is not.
    Compression,
    /// Damaged before the first entry.
    Malformed,
    /// Something else: an HTML page, an image, another kind of document.
    NotASitemap,
}

/// Why a body is not a sitemap. Another request brings the same bytes, so none of these is worth a retry; the caller
/// adds the URL.
#[derive(Debug, thiserror::Error)]
#[error("{}: {detail}", match kind {
    SitemapErrorKind::Compression => "the sitemap cannot be decompressed",
    SitemapErrorKind::Malformed => "the sitemap is broken",
    SitemapErrorKind::NotASitemap => "not a sitemap",
})]
pub struct SitemapError {
    pub kind: SitemapErrorKind,
    pub detail: String,
    #[source]
    pub source: Option<std::io::Error>,
}

impl SitemapError {
    fn new(kind: SitemapErrorKind, detail: impl Into<String>) -> SitemapError {
        SitemapError { kind, detail: detail.into(), source: None }
    }

    pub fn is_retryable(&self) -> bool {
        false
    }
}

/// Reads a sitemap of any kind. `content_type` only matters for plain lists, which have no other mark.
pub fn parse_sitemap(body: &[u8], content_type: Option<&str>) -> Result<SitemapContents, SitemapError> {
    let (bytes, cut) = decompressed(body)?;
    let text = decoded(&bytes, content_type);
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let mut contents = if text.starts_with('<') { xml::parse(text)? } else { parse_lines(text)? };
    contents.truncated |= cut;
    Ok(contents)
}

/// At most [`MOST_BYTES`] of the body, and whether that cut something off. A truncated gzip stream gives what it
/// contains.
fn decompressed(body: &[u8]) -> Result<(Cow<'_, [u8]>, bool), SitemapError> {
    if !body.starts_with(&[0x1f, 0x8b]) {
        let kept = body.get(..MOST_BYTES).unwrap_or(body);
        return Ok((Cow::Borrowed(kept), kept.len() < body.len()));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    let mut decoder = MultiGzDecoder::new(body).take(limit + 1);
    let broken = match decoder.read_to_end(&mut bytes) {
        Ok(_) => false,
        Err(_) if !bytes.is_empty() => true,
        Err(error) => {
            return Err(SitemapError {
                kind: SitemapErrorKind::Compression,
                detail: error.to_string(),
                source: Some(error),
            });
        }
    };
    let cut = bytes.len() > MOST_BYTES;
    bytes.truncate(MOST_BYTES);
    Ok((Cow::Owned(bytes), broken || cut))
}

/// UTF-8 unless a byte order mark, the header or the XML declaration says otherwise.
fn decoded<'b>(bytes: &'b [u8], content_type: Option<&str>) -> Cow<'b, str> {
    let encoding = crate::charset::detect(bytes, content_type, crate::Media::Xhtml, "");
    if encoding == encoding_rs::UTF_8 {
        String::from_utf8_lossy(without_bom(bytes))
    } else {
        encoding.decode(bytes).0
    }
}

/// One URL per line.
fn parse_lines(text: &str) -> Result<SitemapContents, SitemapError> {
    let mut contents =
        SitemapContents { kind: SitemapKind::Text, urls: Vec::new(), sitemaps: Vec::new(), truncated: false };
    for line in text.lines().map(str::trim).filter(|line| is_location(line)) {
        if contents.urls.len() >= MOST_URLS {
            contents.truncated = true;
            break;
        }
        contents.urls.push(SitemapUrl { loc: line.to_owned(), ..SitemapUrl::default() });
    }
    if contents.urls.is_empty() && !text.is_empty() {
        return Err(SitemapError::new(
            SitemapErrorKind::NotASitemap,
            "neither XML nor a list of http and https URLs",
        ));
    }
    Ok(contents)
}

fn is_location(text: &str) -> bool {
    let starts =
        |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    text.len() <= LONGEST_LOCATION && (starts("http://") || starts("https://"))
}

/// A reference relative to its file.
fn is_reference(text: &str) -> bool {
    let scheme = text.find([':', '/', '?', '#']).is_some_and(|at| text.as_bytes().get(at) == Some(&b':'));
    !text.is_empty() && !scheme && text.len() <= LONGEST_LOCATION
}
