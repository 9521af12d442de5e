//! Where a page is written to: plain bytes or gzip, from the same calls, so that both forms are the same page.

use crate::deflate::{GzipWriter, Segment};
use crate::huffman::Code;

/// Phrases that come back many times on a page. Gzip refers to their last occurrence.
pub(crate) const PHRASES: [&str; 8] = [
    "\n<li><a href=\"",
    "</a></li>",
    "\" rel=\"nofollow\">",
    "?utm_source=feed&amp;utm_medium=link",
    "\n<li class=\"related\"><a class=\"title\" href=\"",
    "</a> <span class=\"date\">2024-0",
    "\n<meta property=\"og:",
    "http://",
];

#[derive(Clone, Copy)]
pub(crate) enum Phrase {
    Item = 0,
    ItemEnd = 1,
    Nofollow = 2,
    Tracking = 3,
    Related = 4,
    Date = 5,
    OpenGraph = 6,
    Http = 7,
}

impl Phrase {
    fn text(self) -> &'static str {
        PHRASES.get(self as usize).copied().unwrap_or("")
    }
}

pub(crate) trait Sink {
    fn segment(&mut self, segment: &Segment);
    fn text(&mut self, bytes: &[u8]);
    fn phrase(&mut self, phrase: Phrase);
}

impl Sink for Vec<u8> {
    fn segment(&mut self, segment: &Segment) {
        self.extend_from_slice(&segment.raw);
    }

    fn text(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn phrase(&mut self, phrase: Phrase) {
        self.extend_from_slice(phrase.text().as_bytes());
    }
}

pub(crate) struct GzipSink<'a> {
    writer: GzipWriter<'a>,
    /// Where each phrase was written last.
    last: [Option<usize>; PHRASES.len()],
}

impl<'a> GzipSink<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, code: &'a Code) -> GzipSink<'a> {
        GzipSink { writer: GzipWriter::new(out, code), last: [None; PHRASES.len()] }
    }

    pub(crate) fn finish(self) {
        self.writer.finish();
    }
}

impl Sink for GzipSink<'_> {
    fn segment(&mut self, segment: &Segment) {
        self.writer.segment(segment);
    }

    fn text(&mut self, bytes: &[u8]) {
        self.writer.literals(bytes);
    }

    fn phrase(&mut self, phrase: Phrase) {
        let here = self.writer.length();
        let text = phrase.text().as_bytes();
        let last = self.last.get_mut(phrase as usize).and_then(|last| last.replace(here));
        match last {
            Some(last) => self.writer.repeat(text, here - last),
            None => self.writer.literals(text),
        }
    }
}
