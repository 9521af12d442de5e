//! What a page is about, beyond what `argiope_extract` reads in its one pass.
//!
//! [`language`] and [`topics`] are cheap enough for every page of a crawl. All else runs when somebody asks for it:
//! [`structured`] data, and the [`rules`] of a job for fields
//! of its own. [`processor`] says which of them a body gets, by its content type;
//! [`pdf`] is the one that needs a process of its own, and the only part here that does I/O.

pub mod language;
pub mod pdf;
pub mod processor;
pub mod rules;
mod stop_words;
pub mod structured;
mod tokens;
pub mod topics;
mod words;
