//! Which page is a duplicate of which, within one job. No I/O: pages go in, in the order they are stored, and out comes
//! which earlier page each one duplicates.
//!
//! ```text
//! page -> same content?  (ContentIndex)  \
//!      -> canonical link of another page? > decide -> Original, or Duplicate with its reason
//!      -> nearly the same text?  (NearIndex) /
//! ```
//!
//! [`DuplicateIndex`] puts the parts together. Only originals are kept in it, so that a duplicate always names an
//! original, and a thousand copies of one page cost what one page costs. A page is its key (`u64`); the URLs are in
//! the catalogue, from which the index is built again at a start ([`DuplicateIndex::restore`]).

mod content;
mod decide;
mod frozen;
mod index;
mod near;
mod recent;

pub use content::ContentIndex;
pub use decide::{MIN_WORDS, Original, Reason, Verdict, decide, may_be_near};
pub use index::{DuplicateIndex, Facts};
pub use near::{Near, NearIndex};

/// Vectors grow by an eighth: doubling one of a gigabyte would waste half of it.
fn push<T>(to: &mut Vec<T>, item: T) {
    if to.len() == to.capacity() {
        to.reserve_exact((to.len() / 8).max(64));
    }
    to.push(item);
}
