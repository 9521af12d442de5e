//! Pages as files that other programs read: Parquet, sitemaps, WARC and WACZ. Each writer takes one page after the other
//! and holds a bounded part of what it writes. Bytes go to any writer; names, times and chance are arguments.
//!
//! The formats that are text line by line (JSON, CSV) are in `argiope_store::export`.

mod index;
mod pages;
mod sitemap;
mod wacz;
mod warc;

pub use pages::PageParquet;
pub use sitemap::{SitemapPart, Sitemaps, belongs, write_index};
pub use wacz::Wacz;
pub use warc::{Produced, WarcFile};
