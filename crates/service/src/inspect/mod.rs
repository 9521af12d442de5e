//! One URL, robots.txt, page or sitemap, looked at by the very functions a crawl uses.

mod document;
mod fetching;
mod page;
mod robots;
mod sitemap;
mod url;

pub use document::{InspectOptions, Source};
pub use page::page;
pub use robots::{RobotsAnswer, robots};
pub use sitemap::{SitemapEntries, SitemapEntry, sitemap};
pub use url::{InspectedUrl, UrlInspector};
