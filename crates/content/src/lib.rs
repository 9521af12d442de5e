//! What a page is about, beyond what `argiope_extract` reads in its one pass.
//!
//! [`language`] and [`topics`] are cheap enough for every page of a crawl. All else runs when somebody asks for it.

pub mod language;
mod stop_words;
pub mod topics;
mod words;
