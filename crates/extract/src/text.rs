//! Visible text. While a page is taken apart its pieces are only put one behind the other; white space is collapsed,
//! and words are found, in one pass at the end, 64 bytes at a time and without a branch per word.

/// Words are what white space separates.
#[derive(Default)]
pub(crate) struct Text {
    raw: Vec<u8>,
    edges: Edges,
}

/// Positions where blank and word meet, of the part being visited.
#[derive(Default)]
struct Edges {
    /// With room for a block more than a batch.
    positions: Vec<u32>,
    used: usize,
}

/// Buffers above this are given back after a page.
const KEPT_BYTES: usize = 1 << 20;
const BLOCK: usize = 64;
/// Edges are handed on in batches, so that their memory does not grow with the page.
const BATCH: usize = 4096;
/// The bytes a word may be read past its end, see [`Text::visit_words`].
pub(crate) const PADDING: usize = 16;

/// The length of the blank that `bytes` begin with, 0 if they do not. Control characters are blanks, and so are the
/// no-break space, the ideographic space and their like.
#[inline]
fn blank_length(bytes: &[u8]) -> usize {
    match bytes {
        [0..=0x20, ..] => 1,
        [0xc2, 0x85 | 0xa0, ..] => 2,
        [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

impl Text {
    pub(crate) fn clear(&mut self) {
        self.raw.clear();
        self.raw.shrink_to(KEPT_BYTES);
    }

    /// A piece of text; it need not end where a word ends.
    #[inline]
    pub(crate) fn push(&mut self, piece: &[u8]) {
        // Between tags there is mostly a line break and indentation.
        if piece.first().is_some_and(|b| *b <= 0x20) && piece.iter().all(|b| *b <= 0x20) {
            self.end_word();
        } else {
            self.raw.extend_from_slice(piece);
        }
    }

    #[inline]
    pub(crate) fn end_word(&mut self) {
        if self.raw.last().is_some_and(|last| *last != b' ') {
            self.raw.push(b' ');
        }
    }

    /// A position to ask [`Text::between`] with.
    pub(crate) fn position(&self) -> u32 {
        offset(self.raw.len())
    }

    /// What was pushed between two positions, white space as it came.
    pub(crate) fn between(&self, start: u32, end: u32) -> &[u8] {
        self.raw.get(start as usize..end as usize).unwrap_or_default().trim_ascii()
    }

    /// All letters of ASCII in lower case, for whoever compares words and needs the text no longer.
    pub(crate) fn lower(&mut self) {
        self.raw.make_ascii_lowercase();
    }

    /// Calls `visit` with the text, which goes on for at least [`PADDING`] bytes after the last word, and with start and
    /// end of some of the words in it, until all have been visited.
    pub(crate) fn visit_words(&mut self, mut visit: impl FnMut(&[u8], &[[u32; 2]])) {
        let length = self.raw.len();
        // Blanks to the end of the last block close the last word and spare all cases of half blocks.
        let padded = length.next_multiple_of(BLOCK) + BLOCK;
        self.raw.resize(padded, b' ');
        self.edges.clear();
        let mut before = 1;
        let mut pending_blanks = 0;
        let mut position = 0;
        let (blocks, _) = self.raw.as_chunks::<BLOCK>();
        for block in blocks {
            let (mut blanks, ascii) = blank_bits(block);
            blanks |= pending_blanks;
            pending_blanks = 0;
            if !ascii {
                let rest = self.raw.get(position..).unwrap_or_default();
                let (more, over) = wide_blank_bits(rest);
                blanks |= more;
                pending_blanks = over;
            }
            self.edges.push(blanks ^ ((blanks << 1) | before), offset(position));
            before = blanks >> 63;
            position += BLOCK;
            if self.edges.used >= BATCH {
                self.edges.hand_on(&self.raw, &mut visit);
            }
        }
        self.edges.hand_on(&self.raw, &mut visit);
        self.raw.truncate(length);
    }

    /// The text with its white space collapsed.
    pub(crate) fn collapsed(&mut self) -> String {
        let mut text = Vec::with_capacity(self.raw.len());
        let mut run = 0..0;
        self.visit_words(|raw, words| {
            for [start, end] in words {
                let (start, end) = (*start as usize, *end as usize);
                // Words one space apart are copied together.
                if start == run.end + 1 && raw.get(run.end) == Some(&b' ') && run.end > 0 {
                    run.end = end;
                } else {
                    push_run(&mut text, raw.get(run.clone()).unwrap_or_default());
                    run = start..end;
                }
            }
        });
        push_run(&mut text, self.raw.get(run).unwrap_or_default());
        match String::from_utf8(text) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

fn push_run(text: &mut Vec<u8>, run: &[u8]) {
    if !text.is_empty() && !run.is_empty() {
        text.push(b' ');
    }
    text.extend_from_slice(run);
}

/// Bit `i` says whether byte `i` is blank as far as one byte can tell, and whether all are ASCII.
#[inline]
fn blank_bits(block: &[u8; BLOCK]) -> (u64, bool) {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut blanks = 0;
    let mut high = 0;
    let (words, _) = block.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        high |= word;
        // The top bit of each byte that is 0x21 or more; no sum reaches the next byte.
        let not_blank = ((word & !HIGH) + 0x5f5f_5f5f_5f5f_5f5f) | word;
        let bits = ((!not_blank & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        blanks |= bits << (at * 8);
    }
    (blanks, high & HIGH == 0)
}

/// The same for blanks of more than one byte that begin in the first block of `rest`; the second answer is for those
/// of their bytes that lie in the next block.
fn wide_blank_bits(rest: &[u8]) -> (u64, u64) {
    let mut bits = 0u128;
    let block = rest.get(..BLOCK).unwrap_or(rest);
    for at in memchr::memchr3_iter(0xc2, 0xe2, 0xe3, block) {
        let length = blank_length(rest.get(at..).unwrap_or_default());
        bits |= ((1u128 << length) - 1) << at;
    }
    (bits as u64, (bits >> 64) as u64)
}

impl Edges {
    fn clear(&mut self) {
        self.positions.resize(BATCH + BLOCK, 0);
        self.used = 0;
    }

    /// Adds the positions of the set bits. Eight at a time, needed or not: which is cheaper than asking after each.
    #[inline]
    fn push(&mut self, mut bits: u64, base: u32) {
        let count = bits.count_ones() as usize;
        let free = self.positions.get_mut(self.used..self.used + BLOCK).unwrap_or_default();
        let (groups, _) = free.as_chunks_mut::<8>();
        for group in groups.iter_mut().take(count.div_ceil(8)) {
            for position in group {
                *position = base.wrapping_add(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
        }
        self.used += count;
    }

    /// Hands on the words that are complete.
    fn hand_on(&mut self, raw: &[u8], visit: &mut impl FnMut(&[u8], &[[u32; 2]])) {
        let (words, rest) = self.positions.get(..self.used).unwrap_or_default().as_chunks::<2>();
        visit(raw, words);
        let open = rest.first().copied();
        self.used = 0;
        if let (Some(open), Some(first)) = (open, self.positions.first_mut()) {
            *first = open;
            self.used = 1;
        }
    }
}

/// Bodies are limited far below 4 GB by whoever fetched them; a larger one loses positions, not memory safety.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// White space collapsed and trimmed, for titles and the like; `None` if nothing is left.
pub(crate) fn collapsed(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let mut words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut out = String::with_capacity(text.len());
    out.push_str(words.next()?);
    for word in words {
        out.push(' ');
        out.push_str(word);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(pieces: &[&str]) -> Text {
        let mut text = Text::default();
        pieces.iter().for_each(|piece| text.push(piece.as_bytes()));
        text
    }

    fn words_of(text: &mut Text) -> Vec<String> {
        let mut words = Vec::new();
        text.visit_words(|raw, batch| {
            for [start, end] in batch {
                assert!(*end as usize + PADDING <= raw.len());
                words.push(String::from_utf8(raw[*start as usize..*end as usize].to_vec()).unwrap());
            }
        });
        words
    }

    #[test]
    fn blanks_of_all_kinds_become_one_space() {
        let mut text = text_of(&["  a\n\t b  c\u{a0}d \u{3000}e\u{2003} ", "", "\n", "f"]);
        assert_eq!(text.collapsed(), "a b c d e f");
        assert_eq!(words_of(&mut text), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(words_of(&mut text_of(&["\u{201c}quoted\u{201d} \u{c5}ngstr\u{f6}m \u{a9}"])).len(), 3);
        assert_eq!(text_of(&[" \n ", ""]).collapsed(), "");
    }

    #[test]
    fn a_word_may_come_in_pieces() {
        assert_eq!(text_of(&["sep", "ara", "te ", " words"]).collapsed(), "separate words");
    }

    #[test]
    fn broken_characters_are_replaced() {
        let mut text = Text::default();
        text.push(b"caf\xe9 \xff");
        assert_eq!(text.collapsed(), "caf\u{fffd} \u{fffd}");
    }

    proptest! {
        #[test]
        fn pieces_are_collapsed_like_the_whole(
            pieces in prop::collection::vec("[a-c \n\u{a0}\u{201c}\u{3000}é]{0,90}", 0..8)
        ) {
            let refs: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let mut text = text_of(&refs);
            let whole = pieces.concat();
            let expected: Vec<&str> = whole.split_whitespace().collect();
            prop_assert_eq!(words_of(&mut text), expected.clone());
            prop_assert_eq!(text.collapsed(), expected.join(" "));
        }

        #[test]
        fn long_texts_are_visited_in_batches(count in 0usize..12_000) {
            let whole = "ab ".repeat(count);
            let mut text = text_of(&[&whole]);
            let mut seen = 0;
            text.visit_words(|raw, batch| {
                for [start, end] in batch {
                    assert_eq!(raw.get(*start as usize..*end as usize), Some(b"ab".as_slice()));
                    seen += 1;
                }
            });
            prop_assert_eq!(seen, count);
        }
    }
}
