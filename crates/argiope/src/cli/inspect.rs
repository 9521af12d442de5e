//! The options of `inspect`: one URL or document, processed as the crawler does it.

use super::network::NetworkArgs;
use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum InspectCommand {
    /// Show the normal form, host, root domain and identity of URLs
    Url(UrlArgs),
    /// Check URLs against a robots.txt
    Robots(RobotsArgs),
    /// Show what is extracted from a page
    Page(PageArgs),
    /// List the URLs of a sitemap
    Sitemap(SitemapArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope inspect url 'HTTP://Example.com:80/a/../b?utm_source=x'\n\n\
    Prints one JSON object per line: input request normal_form host root_domain identity key, or input error.")]
pub(crate) struct UrlArgs {
    /// URLs as found in pages; - reads one per line from stdin
    #[arg(required = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  argiope inspect robots robots.txt --agent Argiope https://example.com/private\n\n\
    Prints one JSON object per line: url allowed rule line crawl_delay."
)]
pub(crate) struct RobotsArgs {
    /// robots.txt: file, URL, or - for stdin
    #[arg(value_name = "FILE|URL", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    /// User agent to check for
    #[arg(long, value_name = "A", default_value = "Argiope")]
    pub(crate) agent: String,
    /// URLs to check, taken as given
    #[arg(required = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<String>,
    #[command(flatten)]
    pub(crate) fetch: InspectFetch,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope inspect page page.html --base https://example.com/")]
pub(crate) struct PageArgs {
    /// Page: file, URL, or - for stdin
    #[arg(value_name = "FILE|URL", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    /// Base URL for the links of a file
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base: Option<String>,
    #[command(flatten)]
    pub(crate) fetch: InspectFetch,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope inspect sitemap https://example.com/sitemap.xml\n\n\
    Prints one JSON object per line: url lastmod changefreq priority.")]
pub(crate) struct SitemapArgs {
    /// Sitemap, feed or URL list, plain or gzip: file, URL, or - for stdin
    #[arg(value_name = "FILE|URL", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) fetch: InspectFetch,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct InspectFetch {
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Allow loopback and private addresses
    #[arg(long)]
    pub(crate) allow_private: bool,
}
