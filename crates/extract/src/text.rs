//! Visible text. During parsing its pieces are only appended; at the end white space is collapsed and words are found:
//! first the blanks, 64 bytes at a time, then word by word.

/// Words are what white space separates.
#[derive(Default)]
pub(crate) struct Text {
    raw: Vec<u8>,
    /// A bit for each byte that is blank, once words were requested.
    blanks: Vec<[u8; 8]>,
}

/// Larger buffers are freed after a page.
const KEPT_BYTES: usize = 1 << 20;
const BLOCK: usize = 64;
/// How many bytes may be read past the end of a word, see [`Words`].
pub(crate) const PADDING: usize = 16;

/// The length of the blank at the start of `bytes`, 0 if there is none. Control characters, the no-break space, the
/// ideographic space and similar ones are blanks.
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
        self.blanks.clear();
        self.blanks.shrink_to(KEPT_BYTES / BLOCK);
    }

    /// A piece of text; it need not end at a word boundary.
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

    /// A position for [`Text::between`].
    pub(crate) fn position(&self) -> u32 {
        offset(self.raw.len())
    }

    /// The text between two positions, with its original white space.
    pub(crate) fn between(&self, start: u32, end: u32) -> &[u8] {
        self.raw.get(start as usize..end as usize).unwrap_or_default().trim_ascii()
    }

    /// Removes the text from a position on.
    pub(crate) fn truncate(&mut self, position: u32) {
        self.raw.truncate(position as usize);
    }

    /// Closes the text: nothing is added any more.
    pub(crate) fn finish(&mut self) -> Finished<'_> {
        let length = self.raw.len();
        // Blanks to the end of the last block and beyond end the last word and avoid special cases for partial blocks.
        self.raw.resize(length.next_multiple_of(BLOCK) + BLOCK, b' ');
        self.blanks.clear();
        let mut pending = 0;
        let (blocks, _) = self.raw.as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            let (mut blanks, ascii) = blank_bits(block);
            blanks |= pending;
            pending = 0;
            if !ascii {
                let rest = self.raw.get(number * BLOCK..).unwrap_or_default();
                let (more, over) = wide_blank_bits(rest);
                blanks |= more;
                pending = over;
            }
            self.blanks.push(blanks.to_le_bytes());
        }
        Finished { raw: &mut self.raw, blanks: self.blanks.as_flattened(), length: offset(length) }
    }
}

/// A text that can be split into words.
pub(crate) struct Finished<'t> {
    /// Followed by blanks.
    raw: &'t mut [u8],
    blanks: &'t [u8],
    length: u32,
}

impl Finished<'_> {
    /// Converts ASCII letters to lower case, for comparing words.
    pub(crate) fn lower(&mut self) {
        self.raw.make_ascii_lowercase();
    }

    #[inline]
    pub(crate) fn raw(&self) -> &[u8] {
        self.raw
    }

    #[inline]
    pub(crate) fn words(&self) -> Words<'_> {
        Words { blanks: self.blanks, length: self.length, at: 0 }
    }

    /// The text with its white space collapsed.
    pub(crate) fn collapsed(&self) -> String {
        let mut text = Vec::with_capacity(self.length as usize);
        let mut run = 0..0;
        for word in self.words() {
            let (start, end) = (word.start as usize, word.end() as usize);
            // Words one space apart are copied together.
            if start == run.end + 1 && self.raw.get(run.end) == Some(&b' ') && run.end > 0 {
                run.end = end;
            } else {
                push_run(&mut text, self.raw.get(run).unwrap_or_default());
                run = start..end;
            }
        }
        push_run(&mut text, self.raw.get(run).unwrap_or_default());
        match String::from_utf8(text) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

/// The position of a word in the text.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub(crate) start: u32,
    pub(crate) length: u32,
}

impl Word {
    #[inline]
    pub(crate) fn end(self) -> u32 {
        self.start.saturating_add(self.length)
    }
}

/// The words of a text, one after the other. At least [`PADDING`] bytes follow each.
#[derive(Clone, Copy)]
pub(crate) struct Words<'t> {
    blanks: &'t [u8],
    length: u32,
    at: u32,
}

impl Iterator for Words<'_> {
    type Item = Word;

    /// Most words are short and preceded by one blank: then one step is enough.
    #[inline(always)]
    fn next(&mut self) -> Option<Word> {
        let start = self.at;
        let length = length_before_blank(self.blanks, start);
        let word = if length.wrapping_sub(1) < PADDING as u32 {
            Word { start, length }
        } else {
            unusual_word(self.blanks, start, self.length)?
        };
        self.at = word.start.wrapping_add(word.length).wrapping_add(1);
        Some(word)
    }
}

/// Within one step, which covers 57 bytes or more.
#[inline(always)]
fn length_before_blank(blanks: &[u8], start: u32) -> u32 {
    let place = (start / 8) as usize;
    let seen = match blanks.get(place..place + 8) {
        Some(seen) => seen.first_chunk().copied().unwrap_or_default(),
        None => [0xff; 8],
    };
    (u64::from_le_bytes(seen) >> (start % 8)).trailing_zeros()
}

/// A word after several blanks, a long one, or none.
#[inline(never)]
fn unusual_word(blanks: &[u8], mut start: u32, length_of_text: u32) -> Option<Word> {
    const SURELY_SEEN: u32 = 57;
    let is_blank = |at: u32| blanks.get(at as usize / 8).is_none_or(|bits| bits >> (at % 8) & 1 == 1);
    while start < length_of_text && is_blank(start) {
        start += 1;
    }
    if start >= length_of_text {
        return None;
    }
    let mut length = 0;
    loop {
        let more = length_before_blank(blanks, start + length);
        length += more.min(SURELY_SEEN);
        if more < SURELY_SEEN {
            return Some(Word { start, length });
        }
    }
}

fn push_run(text: &mut Vec<u8>, run: &[u8]) {
    if !text.is_empty() && !run.is_empty() {
        text.push(b' ');
    }
    text.extend_from_slice(run);
}

/// Bit `i` is set if byte `i` alone is a blank; and whether all bytes are ASCII.
#[inline]
fn blank_bits(block: &[u8; BLOCK]) -> (u64, bool) {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut blanks = 0;
    let mut high = 0;
    let (words, _) = block.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        high |= word;
        // The top bit of each byte that is 0x21 or more; no sum overflows into the next byte.
        let not_blank = ((word & !HIGH) + 0x5f5f_5f5f_5f5f_5f5f) | word;
        let bits = ((!not_blank & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        blanks |= bits << (at * 8);
    }
    (blanks, high & HIGH == 0)
}

/// The same for multi-byte blanks that begin in the first block of `rest`; the second value is for their bytes in the
/// next block.
fn wide_blank_bits(rest: &[u8]) -> (u64, u64) {
    let mut bits = 0u128;
    let block = rest.get(..BLOCK).unwrap_or(rest);
    for at in memchr::memchr3_iter(0xc2, 0xe2, 0xe3, block) {
        let length = blank_length(rest.get(at..).unwrap_or_default());
        bits |= ((1u128 << length) - 1) << at;
    }
    (bits as u64, (bits >> 64) as u64)
}

/// The fetcher limits bodies far below 4 GB; a larger one loses positions, not memory safety.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// White space collapsed and trimmed, for titles and similar; `None` if nothing is left.
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
        let text = text.finish();
        let word = |word: Word| {
            assert!(word.end() as usize + PADDING <= text.raw.len());
            String::from_utf8(text.raw[word.start as usize..word.end() as usize].to_vec()).unwrap()
        };
        text.words().map(word).collect()
    }

    #[test]
    fn blanks_of_all_kinds_become_one_space() {
        let mut text = text_of(&["  a\n\t b  c\u{a0}d \u{3000}e\u{2003} ", "", "\n", "f"]);
        assert_eq!(text.finish().collapsed(), "a b c d e f");
        assert_eq!(words_of(&mut text), ["a", "b", "c", "d", "e", "f"]);
        assert_eq!(words_of(&mut text_of(&["\u{201c}quoted\u{201d} \u{c5}ngstr\u{f6}m \u{a9}"])).len(), 3);
        assert_eq!(text_of(&[" \n ", ""]).finish().collapsed(), "");
    }

    #[test]
    fn a_word_may_come_in_pieces() {
        assert_eq!(text_of(&["sep", "ara", "te ", " words"]).finish().collapsed(), "separate words");
    }

    #[test]
    fn broken_characters_are_replaced() {
        let mut text = Text::default();
        text.push(b"caf\xe9 \xff");
        assert_eq!(text.finish().collapsed(), "caf\u{fffd} \u{fffd}");
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
            prop_assert_eq!(text.finish().collapsed(), expected.join(" "));
        }

        #[test]
        fn words_of_any_length_are_found(lengths in prop::collection::vec((1usize..200, 1usize..100), 0..20)) {
            let expected: Vec<String> = lengths.iter().map(|(length, _)| "x".repeat(*length)).collect();
            let whole: String =
                expected.iter().zip(&lengths).map(|(word, (_, blanks))| word.clone() + &" ".repeat(*blanks)).collect();
            prop_assert_eq!(words_of(&mut text_of(&[&whole])), expected.clone());
            prop_assert_eq!(words_of(&mut text_of(&[" ", whole.trim_end()])), expected);
        }
    }
}
