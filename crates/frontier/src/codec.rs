//! The stored form of a queued visit: short, self-describing by a version byte, decoded only when it is dispatched.

use argiope_model::{ArchiveRef, Hop, JobId, Millis, PreviousFetch, RequestKind, Url, Validators, Visit};
use std::borrow::Cow;

const VERSION: u8 = 1;
/// The same, followed by the last fetch of the URL: the visit is a recrawl.
const VERSION_WITH_PREVIOUS: u8 = 2;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored {what} cannot be read: {why}")]
pub struct CodecError {
    pub what: &'static str,
    pub why: &'static str,
}

/// The stored part of a visit: everything but job and priority, which are in its key.
pub(crate) struct VisitFacts<'v> {
    pub(crate) kind: RequestKind,
    pub(crate) attempt: u8,
    pub(crate) round: u32,
    pub(crate) depth: u32,
    pub(crate) scheduled_at: Millis,
    pub(crate) url: &'v Url,
    pub(crate) source: Option<&'v Url>,
    pub(crate) hops: &'v [Hop],
    pub(crate) previous: Option<&'v PreviousFetch>,
}

pub fn encode_visit(visit: &Visit) -> Box<[u8]> {
    VisitFacts {
        kind: visit.kind,
        attempt: visit.attempt,
        round: visit.round,
        depth: visit.depth,
        scheduled_at: visit.scheduled_at,
        url: &visit.url,
        source: visit.source.as_ref(),
        hops: &visit.hops,
        previous: visit.previous.as_deref(),
    }
    .encode()
}

impl VisitFacts<'_> {
    pub(crate) fn encode(&self) -> Box<[u8]> {
        let url = self.url.to_stored();
        let source = self.source.map_or(Cow::Borrowed(""), Url::to_stored);
        // Exact size: a boxed slice with spare capacity would be copied once more.
        let hops =
            self.hops.iter().map(|hop| length_of(hop.status.into()) + text_length(&hop.url.to_stored()));
        let numbers = [self.round.into(), self.depth.into(), self.scheduled_at.0, self.hops.len() as u64];
        let length = 3 + text_length(&url) + text_length(&source) + hops.sum::<usize>();
        let mut out = Vec::with_capacity(length + numbers.into_iter().map(length_of).sum::<usize>());
        out.push(if self.previous.is_some() { VERSION_WITH_PREVIOUS } else { VERSION });
        out.push(match self.kind {
            RequestKind::Page => 0,
            RequestKind::Robots => 1,
            RequestKind::Sitemap => 2,
            RequestKind::Resource => 3,
        });
        out.push(self.attempt);
        put_number(&mut out, u64::from(self.round));
        put_number(&mut out, u64::from(self.depth));
        put_number(&mut out, self.scheduled_at.0);
        put_text(&mut out, &url);
        put_text(&mut out, &source);
        put_number(&mut out, self.hops.len() as u64);
        for hop in self.hops {
            put_number(&mut out, u64::from(hop.status));
            put_text(&mut out, &hop.url.to_stored());
        }
        if let Some(previous) = self.previous {
            put_previous(&mut out, previous);
        }
        out.into_boxed_slice()
    }
}

pub fn decode_visit(job: JobId, priority: u8, bytes: &[u8]) -> Result<Visit, CodecError> {
    let mut from = Reader { bytes, what: "visit" };
    let has_previous = match from.byte()? {
        VERSION => false,
        VERSION_WITH_PREVIOUS => true,
        _ => return Err(from.error("unknown version")),
    };
    let kind = match from.byte()? {
        0 => RequestKind::Page,
        1 => RequestKind::Robots,
        2 => RequestKind::Sitemap,
        3 => RequestKind::Resource,
        _ => return Err(from.error("unknown kind")),
    };
    let attempt = from.byte()?;
    let round = from.small()?;
    let depth = from.small()?;
    let scheduled_at = Millis(from.number()?);
    let url = from.url()?;
    let source = match from.text()? {
        "" => None,
        text => Some(Url::from_stored(text).map_err(|_| from.error("bad source URL"))?),
    };
    let mut hops = Vec::new();
    for _ in 0..from.number()? {
        let status = u16::try_from(from.number()?).map_err(|_| from.error("bad status"))?;
        hops.push(Hop { url: from.url()?, status });
    }
    let previous = if has_previous { Some(Box::new(take_previous(&mut from)?)) } else { None };
    Ok(Visit { job, kind, url, round, attempt, depth, priority, scheduled_at, hops, source, previous })
}

pub(crate) fn put_previous(out: &mut Vec<u8>, previous: &PreviousFetch) {
    let PreviousFetch { url, validators, archive } = previous;
    put_text(out, &url.to_stored());
    for validator in [&validators.etag, &validators.last_modified] {
        put_optional_text(out, validator.as_deref());
    }
    let archive = archive.as_ref().map(ArchiveRef::to_string);
    put_optional_text(out, archive.as_deref());
}

pub(crate) fn take_previous(from: &mut Reader<'_>) -> Result<PreviousFetch, CodecError> {
    let url = from.url()?;
    let etag = from.optional_text()?.map(str::to_owned);
    let last_modified = from.optional_text()?.map(str::to_owned);
    let archive = match from.optional_text()? {
        Some(place) => Some(place.parse().map_err(|_| from.error("bad reference to the archive"))?),
        None => None,
    };
    Ok(PreviousFetch { url, validators: Validators { etag, last_modified }, archive })
}

pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The bytes that [`put_number`] writes.
fn length_of(number: u64) -> usize {
    (64 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

fn text_length(text: &str) -> usize {
    length_of(text.len() as u64) + text.len()
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Distinguishes no text from an empty one.
fn put_optional_text(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(out, text);
    }
}

/// Writes the output of `write`, preceded by its length.
pub(crate) fn put_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write(out);
    let length = out.len() - start;
    put_number(out, length as u64);
    let end = out.len();
    // The length is written last and moved to the front.
    if let Some(written) = out.get_mut(start..end) {
        written.rotate_right(end - start - length);
    }
}

pub(crate) struct Reader<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) what: &'static str,
}

impl<'b> Reader<'b> {
    pub(crate) fn error(&self, why: &'static str) -> CodecError {
        CodecError { what: self.what, why }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, CodecError> {
        let (first, rest) = self.bytes.split_first().ok_or_else(|| self.error("too short"))?;
        self.bytes = rest;
        Ok(*first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, CodecError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.error("number too long"))
    }

    pub(crate) fn small(&mut self) -> Result<u32, CodecError> {
        u32::try_from(self.number()?).map_err(|_| self.error("number too large"))
    }

    pub(crate) fn take(&mut self) -> Result<&'b [u8], CodecError> {
        let length = usize::try_from(self.number()?).map_err(|_| self.error("too long"))?;
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or_else(|| self.error("too short"))?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(crate) fn text(&mut self) -> Result<&'b str, CodecError> {
        std::str::from_utf8(self.take()?).map_err(|_| self.error("not UTF-8"))
    }

    fn optional_text(&mut self) -> Result<Option<&'b str>, CodecError> {
        match self.byte()? {
            0 => Ok(None),
            1 => self.text().map(Some),
            _ => Err(self.error("neither a text nor none")),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or_else(|| self.error("too short"))?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn url(&mut self) -> Result<Url, CodecError> {
        Url::from_stored(self.text()?).map_err(|_| self.error("bad URL"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn url(text: &str) -> Url {
        Url::from_stored(text).unwrap()
    }

    #[test]
    fn a_visit_is_read_back_as_it_was_written() {
        let visit = Visit {
            job: JobId(7),
            kind: RequestKind::Page,
            url: url("https://www.example.com/b"),
            round: 3,
            attempt: 2,
            depth: 300,
            priority: 41,
            scheduled_at: Millis(1_767_323_045_678),
            hops: vec![Hop { url: url("https://example.com/a"), status: 301 }],
            source: Some(url("https://example.com/")),
            previous: None,
        };
        let bytes = encode_visit(&visit);
        assert_eq!(decode_visit(JobId(7), 41, &bytes), Ok(visit.clone()));
        let previous = |etag: Option<&str>, archive: Option<&str>| {
            let validators = Validators { etag: etag.map(String::from), last_modified: Some(String::new()) };
            let archive = archive.map(|place| place.parse().unwrap());
            Some(Box::new(PreviousFetch { url: url("https://www.example.com/b"), validators, archive }))
        };
        for previous in [previous(Some("\"a\""), Some("w-1.warc.gz:77")), previous(None, None)] {
            let again = Visit { previous, ..visit.clone() };
            assert_eq!(decode_visit(JobId(7), 41, &encode_visit(&again)), Ok(again));
        }
    }

    #[test]
    fn entries_of_earlier_versions_are_read() {
        let mut bytes = vec![1, 0, 0, 0, 2, 9, 15];
        bytes.extend_from_slice(b"http://a.test/x");
        bytes.extend_from_slice(&[0, 0]);
        let visit = decode_visit(JobId(1), 50, &bytes).unwrap();
        assert_eq!((visit.url.as_str(), visit.depth, &visit.previous), ("http://a.test/x", 2, &None));
        assert_eq!(*encode_visit(&visit), *bytes, "a visit that is no recrawl is written as before");
    }

    #[test]
    fn the_length_of_a_number_is_known_before_it_is_written() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(out.len(), length_of(number), "{number}");
        }
    }

    proptest! {
        #[test]
        fn rubbish_is_an_error_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_visit(JobId(0), 0, &bytes);
        }
    }
}
