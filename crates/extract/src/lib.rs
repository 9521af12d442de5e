//! Extracts links, metadata, text and fingerprints from bytes. Nothing here does I/O, reads a clock or keeps anything
//! but buffers between pages; for any input, it returns what it could find.
//!
//! A page passes through the modules in this order: `charset` detects its encoding, `tokenizer` splits it in one pass,
//! `collector` fills `text`, `links` and `metadata`; `simhash` and `content_hash` compute fingerprints; [`resolve`]
//! turns references into URLs. `sitemap` reads lists of URLs, and `inspect` shows a page to a person.

mod charset;
mod collector;
mod content_hash;
mod element;
mod form;
mod inspect;
mod links;
pub mod markup;
mod media;
mod metadata;
#[cfg(test)]
mod oracle;
mod page;
mod resolve;
mod resource;
mod robots;
mod scan;
mod simhash;
mod sitemap;
mod tag;
mod text;
mod tokenizer;

pub use content_hash::content_hash;
pub use form::hidden_fields;
pub use inspect::{InspectedLink, InspectedResource, Inspection, inspect_page};
pub use links::{FoundLink, FoundLinks};
pub use media::Media;
pub use page::{Extracted, Heading, Input, Limits, Scratch, Wants, extract, text_of};
pub use resolve::{Link, Resolved, resolve};
pub use robots::RobotsDirectives;
pub use simhash::{hash_without_numbers, simhash_of_text};
pub use sitemap::{
    SitemapContents, SitemapError, SitemapErrorKind, SitemapKind, SitemapReference, SitemapUrl, parse_sitemap,
};
