//! The options of `inspect`: a single thing, looked at the way the crawler does.

use super::network::NetworkArgs;
use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum InspectCommand {
    /// The normal form of URLs, their host, root domain and identity
    Url(UrlArgs),
    /// What a robots.txt says about URLs
    Robots(RobotsArgs),
    /// What is extracted from a page
    Page(PageArgs),
    /// The URLs of a sitemap
    Sitemap(SitemapArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope inspect url 'HTTP://Example.com:80/a/../b?utm_source=x'\n\n\
    A line of JSON each: input request normal_form host root_domain identity key, or input error.")]
pub(crate) struct UrlArgs {
    /// URLs as people and pages write them; - reads one a line from stdin
    #[arg(required = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  argiope inspect robots robots.txt --agent Argiope https://example.com/private\n\n\
    A line of JSON each: url allowed rule line crawl_delay."
)]
pub(crate) struct RobotsArgs {
    /// A robots.txt: file, URL, or - for stdin
    #[arg(value_name = "FILE|URL", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    /// The agent that asks
    #[arg(long, value_name = "A", default_value = "Argiope")]
    pub(crate) agent: String,
    /// The URLs to ask for, taken as given
    #[arg(required = true, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) urls: Vec<String>,
    #[command(flatten)]
    pub(crate) fetch: InspectFetch,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope inspect page page.html --base https://example.com/")]
pub(crate) struct PageArgs {
    /// A page: file, URL, or - for stdin
    #[arg(value_name = "FILE|URL", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    /// What links are resolved against, for a file
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base: Option<String>,
    #[command(flatten)]
    pub(crate) fetch: InspectFetch,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  argiope inspect sitemap https://example.com/sitemap.xml\n\n\
    A line of JSON each: url lastmod changefreq priority.")]
pub(crate) struct SitemapArgs {
    /// A sitemap, feed or list, gzipped or not: file, URL, or - for stdin
    #[arg(value_name = "FILE|URL", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) fetch: InspectFetch,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct InspectFetch {
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    /// Also ask loopback and private addresses
    #[arg(long)]
    pub(crate) allow_private: bool,
}
