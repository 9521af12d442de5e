//! The links port: which page links to which URL, with which text. Written in the order of the crawl, read as a whole.
//!
//! Neighbours: workers fill a [`LinkBatch`] each, the committer appends the batches and stores the length reached in
//! the catalogue's transaction; exports and reports iterate.
//!
//! # Contract
//!
//! * [`Links::append`] takes all pages of a batch or none.
//! * [`Links::sync`] makes durable what was appended and returns the position to be catalogued. A failed sync must end
//!   the process: the kernel may have dropped the pages it could not write.
//! * [`Links::truncate_to`] runs at start with the catalogued position (or the default one, if there is none) and cuts
//!   off what is beyond it. Missing data before it is an error of kind `Corrupt`.
//! * [`Links::committed`] is called when the catalogue has a position: links before it are not cut any more.
//! * [`Links::read`] returns the pages up to a position, in the order they were appended, once each.

use crate::error::{ErrorKind, Result, StoreError};
use argiope_model::{JobId, LinkKind, Rel};

#[cfg(any(test, feature = "contract"))]
pub mod contract;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    pub target: &'a str,
    pub anchor: &'a str,
    pub rel: Rel,
    pub kind: LinkKind,
}

/// The links of one page, read back.
#[derive(Debug, PartialEq, Eq)]
pub struct PageLinks<'a> {
    pub job: JobId,
    pub source: &'a str,
    pub links: Vec<Link<'a>>,
}

/// Pages with their links, encoded as they are stored.
///
/// Per page: job, source, number of links; per link: kind, rel, target as (length shared with the target before, rest),
/// anchor. Lengths and numbers are LEB128. Leaving the shared part out makes compression cheaper.
#[derive(Clone, Debug, Default)]
pub struct LinkBatch {
    bytes: Vec<u8>,
    pages: u64,
    links: u64,
}

impl LinkBatch {
    pub fn new() -> LinkBatch {
        LinkBatch::default()
    }

    /// With capacity for this many links of usual length.
    pub fn with_room_for(links: usize) -> LinkBatch {
        LinkBatch { bytes: Vec::with_capacity(128 + 64 * links), ..LinkBatch::default() }
    }

    pub fn push<'a>(&mut self, job: JobId, source: &str, links: impl ExactSizeIterator<Item = Link<'a>>) {
        put_number(&mut self.bytes, u64::from(job.0));
        put_text(&mut self.bytes, source.as_bytes());
        put_number(&mut self.bytes, links.len() as u64);
        self.pages += 1;
        self.links += links.len() as u64;
        let mut last = source;
        for link in links {
            let shared = shared_prefix(last, link.target);
            self.bytes.extend_from_slice(&[link.kind.code(), link.rel.0]);
            put_number(&mut self.bytes, shared as u64);
            put_text(&mut self.bytes, link.target.as_bytes().get(shared..).unwrap_or_default());
            put_text(&mut self.bytes, link.anchor.as_bytes());
            last = link.target;
        }
    }

    /// Adds the pages of another batch behind those of this one.
    pub fn extend(&mut self, other: &LinkBatch) {
        self.bytes.extend_from_slice(&other.bytes);
        self.pages += other.pages;
        self.links += other.links;
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn pages(&self) -> u64 {
        self.pages
    }

    pub fn links(&self) -> u64 {
        self.links
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Frees capacity beyond this many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.bytes.shrink_to(bytes);
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.pages = 0;
        self.links = 0;
    }
}

/// More than the targets of any page add up to. A few bytes can repeat a long target many times, so the length of a
/// batch bounds nothing.
const MOST_TARGET_BYTES: usize = 64 << 20;

/// Decodes the pages of a batch. Damage is an error, never a panic and never unbounded memory.
pub fn decode(bytes: &[u8], page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>) -> Result<()> {
    let mut rest = bytes;
    let mut targets = String::new();
    let mut shared_part = String::new();
    while !rest.is_empty() {
        let job = JobId(u32::try_from(take_number(&mut rest)?).map_err(|_| damaged())?);
        let source = take_text(&mut rest)?;
        let count = take_number(&mut rest)?;
        // A link takes at least five bytes: a larger count is damage, found before memory is allocated for it.
        if count > rest.len() as u64 / 5 {
            return Err(damaged());
        }
        // Targets are rebuilt one after the other in one text, which is split when it no longer moves.
        targets.clear();
        let mut found = Vec::with_capacity(count as usize);
        let mut last = (0, 0);
        for number in 0..count {
            let [code, rel] = *take(&mut rest, 2)? else {
                return Err(damaged());
            };
            let kind = LinkKind::from_code(code).ok_or_else(damaged)?;
            let shared = usize::try_from(take_number(&mut rest)?).map_err(|_| damaged())?;
            let start = targets.len();
            if number == 0 {
                targets.push_str(source.get(..shared).ok_or_else(damaged)?);
            } else {
                let (from, to) = last;
                let prefix = targets.get(from..to).and_then(|target| target.get(..shared));
                shared_part.clear();
                shared_part.push_str(prefix.ok_or_else(damaged)?);
                targets.push_str(&shared_part);
            }
            targets.push_str(take_text(&mut rest)?);
            if targets.len() > MOST_TARGET_BYTES {
                return Err(damaged());
            }
            let anchor = take_text(&mut rest)?;
            last = (start, targets.len());
            found.push((last, anchor, Rel(rel), kind));
        }
        let links = found
            .into_iter()
            .map(|((from, to), anchor, rel, kind)| {
                Ok(Link { target: targets.get(from..to).ok_or_else(damaged)?, anchor, rel, kind })
            })
            .collect::<Result<Vec<_>>>()?;
        page(&PageLinks { job, source, links })?;
    }
    Ok(())
}

fn damaged() -> StoreError {
    StoreError::new(ErrorKind::Corrupt, "links", "a batch of links cannot be decoded")
}

/// The length of the common prefix, not splitting a character.
fn shared_prefix(a: &str, b: &str) -> usize {
    let mut shared = 0;
    for (left, right) in a.as_bytes().chunks(8).zip(b.as_bytes().chunks(8)) {
        if left == right {
            shared += left.len();
        } else {
            shared += left.iter().zip(right).take_while(|(l, r)| l == r).count();
            break;
        }
    }
    while !b.is_char_boundary(shared) {
        shared -= 1;
    }
    shared
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number as u8) | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    put_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

fn take_number(rest: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..63).step_by(7) {
        let (byte, later) = rest.split_first().ok_or_else(damaged)?;
        *rest = later;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(damaged())
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Result<&'b [u8]> {
    let (now, later) = rest.split_at_checked(length).ok_or_else(damaged)?;
    *rest = later;
    Ok(now)
}

fn take_text<'b>(rest: &mut &'b [u8]) -> Result<&'b str> {
    let length = usize::try_from(take_number(rest)?).map_err(|_| damaged())?;
    std::str::from_utf8(take(rest, length)?).map_err(|_| damaged())
}

/// How far the links are valid: all segments before `segment`, and `length` bytes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinksPosition {
    pub segment: u32,
    pub length: u64,
}

pub trait Links: Send {
    /// Writes a batch. With `DiskFull` nothing of it is stored and it may be tried again.
    fn append(&mut self, batch: &LinkBatch) -> Result<()>;

    fn sync(&mut self) -> Result<LinksPosition>;

    /// The catalogue has the links up to here.
    fn committed(&mut self, reached: LinksPosition);

    /// Returns the number of bytes cut.
    fn truncate_to(&mut self, valid: LinksPosition) -> Result<u64>;

    fn read(&self, until: LinksPosition, page: &mut dyn FnMut(&PageLinks<'_>) -> Result<()>) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages(bytes: &[u8]) -> Result<Vec<(u32, String, Vec<String>)>> {
        let mut all = Vec::new();
        decode(bytes, &mut |page| {
            let links =
                page.links.iter().map(|l| format!("{} {} {} {:?}", l.target, l.anchor, l.rel.0, l.kind));
            all.push((page.job.0, page.source.to_owned(), links.collect()));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn characters_are_never_split_by_a_shared_prefix() {
        let mut batch = LinkBatch::new();
        let link = |target| Link { target, anchor: "", rel: Rel::default(), kind: LinkKind::Anchor };
        batch.push(JobId(1), "http://h/ä", [link("http://h/ö"), link("http://h/ö/x")].into_iter());
        assert_eq!(pages(batch.as_bytes()).unwrap()[0].2, ["http://h/ö  0 Anchor", "http://h/ö/x  0 Anchor"]);
    }

    #[test]
    fn a_long_target_repeated_without_end_is_damage() {
        let mut batch = LinkBatch::new();
        let target = "a".repeat(1 << 20);
        let link = Link { target: &target, anchor: "", rel: Rel::default(), kind: LinkKind::Anchor };
        batch.push(JobId(1), "", std::iter::repeat_n(link, 100));
        assert!(batch.as_bytes().len() < 2 << 20);
        assert!(pages(batch.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            given in proptest::collection::vec(
                (any::<u32>(), ".{0,40}", proptest::collection::vec((".{0,60}", ".{0,20}", 0u8..128, 0usize..13), 0..8)),
                0..6,
            )
        ) {
            let mut batch = LinkBatch::new();
            for (job, source, links) in &given {
                batch.push(JobId(*job), source, links.iter().map(|(target, anchor, rel, kind)| Link {
                    target, anchor, rel: Rel(*rel), kind: LinkKind::ALL[*kind],
                }));
            }
            let expected: Vec<_> = given.iter().map(|(job, source, links)| {
                let links = links.iter().map(|(t, a, r, k)| format!("{t} {a} {r} {:?}", LinkKind::ALL[*k])).collect();
                (*job, source.clone(), links)
            }).collect();
            prop_assert_eq!(pages(batch.as_bytes()).unwrap(), expected);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = pages(&bytes);
        }
    }
}
