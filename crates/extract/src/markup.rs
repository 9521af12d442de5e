//! The tokenizer, for those who read pages for another purpose than links and text: whoever implements [`Sink`] gets
//! the tags and texts of a page in one pass, in time linear in its length, whatever the page is.

pub use crate::element::Raw;
pub use crate::tokenizer::{Sink, StartTag, decode_value, tokenize};
