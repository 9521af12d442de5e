//! The URLs of a sitemap, a sitemap index, a feed or a plain list.

use super::document::{self, InspectOptions, Source, What};
use argiope_config::{Failure, GlobalOptions, chain};
use argiope_extract::parse_sitemap;
use serde::Serialize;

/// An entry, its fields in this order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SitemapEntry {
    pub url: String,
    pub lastmod: Option<String>,
    pub changefreq: Option<String>,
    pub priority: Option<f32>,
    /// `sitemap` for an entry of an index, absent for a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SitemapEntries {
    /// Pages, then other sitemaps.
    pub entries: Vec<SitemapEntry>,
    /// It is longer than a sitemap may be, or damaged.
    pub truncated: bool,
}

/// `name` is what the source is called in messages.
pub fn sitemap(
    global: &GlobalOptions,
    source: Source,
    name: &str,
    options: &InspectOptions,
    notice: &dyn Fn(&str),
) -> Result<SitemapEntries, Failure> {
    let document = document::read(global, source, What::Other, options, notice)?;
    document.require_success()?;
    let contents = parse_sitemap(&document.body, document.content_type())
        .map_err(|error| Failure::failed(format!("{name}: {}", chain(&error))))?;
    let pages = contents.urls.into_iter().map(|url| SitemapEntry {
        url: url.loc,
        lastmod: url.lastmod,
        changefreq: url.changefreq,
        priority: url.priority,
        kind: None,
    });
    let sitemaps = contents.sitemaps.into_iter().map(|sitemap| SitemapEntry {
        url: sitemap.loc,
        lastmod: sitemap.lastmod,
        changefreq: None,
        priority: None,
        kind: Some("sitemap"),
    });
    Ok(SitemapEntries { entries: pages.chain(sitemaps).collect(), truncated: contents.truncated })
}
