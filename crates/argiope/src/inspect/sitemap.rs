//! `inspect sitemap`: the URLs of a sitemap, a sitemap index, a feed or a plain list.

use super::json_line;
use super::source::{self, What};
use crate::cli::SitemapArgs;
use argiope_config::{Failure, GlobalOptions, chain};
use argiope_extract::parse_sitemap;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Line<'s> {
    url: &'s str,
    lastmod: Option<&'s str>,
    changefreq: Option<&'s str>,
    priority: Option<f32>,
    /// `sitemap` for an entry of an index, absent for a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
}

pub(super) fn run(global: &GlobalOptions, args: &SitemapArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let document = source::read(global, &args.source, What::Other, &args.fetch)?;
    document.require_success()?;
    let contents = parse_sitemap(&document.body, document.content_type())
        .map_err(|error| Failure::failed(format!("{}: {}", args.source, chain(&error))))?;
    for url in &contents.urls {
        let line = Line {
            url: &url.loc,
            lastmod: url.lastmod.as_deref(),
            changefreq: url.changefreq.as_deref(),
            priority: url.priority,
            kind: None,
        };
        json_line(out, &line)?;
    }
    for sitemap in &contents.sitemaps {
        let line = Line {
            url: &sitemap.loc,
            lastmod: sitemap.lastmod.as_deref(),
            changefreq: None,
            priority: None,
            kind: Some("sitemap"),
        };
        json_line(out, &line)?;
    }
    if contents.truncated && !global.quiet {
        eprintln!(
            "argiope: warning: {} is cut off: it is longer than a sitemap may be, or damaged",
            args.source
        );
    }
    Ok(())
}
