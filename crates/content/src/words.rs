//! Words as people count them, for topics and for the check of a language: letters only, case folded, hashed on the way.
//!
//! Numbers, addresses, names of files and what stands in identifiers are no words. The scanner walks bytes and decodes only
//! what is not ASCII, since it runs on every page.

/// What a word is written in, as far as this decides how it becomes a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters of a script that puts blanks between words.
    Spaced,
    /// Chinese characters, as many as follow each other.
    Han,
    Katakana,
    /// Hiragana and the scripts of Thailand, Laos, Cambodia and Burma: no word can be told from the next without a
    /// dictionary.
    Unspaced,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Of the letters in lower case.
    pub(crate) hash: u64,
    /// Characters.
    pub(crate) length: u32,
    pub(crate) kind: Kind,
    /// Only a blank or a hyphen is between this word and the one before it.
    pub(crate) joins: bool,
    /// Two letters, both capitals.
    pub(crate) capitals: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Blank,
    Hyphen,
    Apostrophe,
    Dot,
    /// Within a word it makes that an address or an identifier.
    Technical,
    High,
    Other,
}

const CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::indexing_slicing, reason = "evaluated when it is compiled")]
        {
            classes[byte] = match byte as u8 {
                b'A'..=b'Z' => Class::Upper,
                b'a'..=b'z' => Class::Lower,
                b'0'..=b'9' => Class::Digit,
                b' ' => Class::Blank,
                b'-' => Class::Hyphen,
                b'\'' => Class::Apostrophe,
                b'.' => Class::Dot,
                b'@' | b'_' | b'\\' | b'=' | b'&' | b'{' | b'}' | b'#' | b'%' | b'$' => Class::Technical,
                0x80.. => Class::High,
                _ => Class::Other,
            };
        }
        byte += 1;
    }
    classes
}

#[inline]
fn class(byte: u8) -> Class {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(Class::Other)
}

/// A hash that is fed letter by letter.
#[derive(Clone, Copy)]
pub(crate) struct Folding {
    state: u64,
    pending: u64,
    bytes: u32,
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Folding {
    #[inline]
    pub(crate) fn new() -> Folding {
        Folding { state: 0x243f_6a88_85a3_08d3, pending: 0, bytes: 0 }
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.pending |= u64::from(byte) << (8 * (self.bytes & 7));
        self.bytes += 1;
        if self.bytes.is_multiple_of(8) {
            self.mix();
        }
    }

    #[inline]
    fn mix(&mut self) {
        self.state = (self.state ^ self.pending).wrapping_mul(MULTIPLIER);
        self.state ^= self.state >> 29;
        self.pending = 0;
    }

    pub(crate) fn character(&mut self, character: char) {
        let mut buffer = [0; 4];
        character.encode_utf8(&mut buffer).bytes().for_each(|byte| self.byte(byte));
    }

    #[inline]
    pub(crate) fn finish(mut self) -> u64 {
        self.mix();
        finished(self.state ^ u64::from(self.bytes))
    }
}

#[inline]
fn finished(state: u64) -> u64 {
    let state = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    state ^ (state >> 32)
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The high bits of those bytes that are letters of ASCII.
#[inline]
fn letters_of(eight: u64) -> u64 {
    let lower = (eight | 0x2020_2020_2020_2020) & !HIGH_BITS;
    let from_a = lower + 0x1f1f_1f1f_1f1f_1f1f;
    let beyond_z = lower + 0x0505_0505_0505_0505;
    (from_a ^ beyond_z) & !eight & HIGH_BITS
}

/// The hash of two words in a row.
#[inline]
pub(crate) fn hash_of_pair(first: u64, second: u64) -> u64 {
    finished(first.wrapping_mul(MULTIPLIER).rotate_left(23) ^ second)
}

/// Whether a character that is not ASCII is part of a word, and of which kind.
#[inline]
fn kind_of(character: char) -> Option<Kind> {
    match u32::from(character) {
        0xd7 | 0xf7 => None,
        0xaa | 0xb5 | 0xba | 0xc0..=0x24f | 0x300..=0x36f | 0x370..=0x373 | 0x386 | 0x388..=0x52f => {
            Some(Kind::Spaced)
        }
        // A danda ends a sentence; digits are digits.
        0x964..=0x96f => None,
        0x5d0..=0x5ea | 0x620..=0x65f | 0x66e..=0x6d3 => Some(Kind::Spaced),
        0x900..=0xdff => character.is_numeric().eq(&false).then_some(Kind::Spaced),
        0xe00..=0xeff | 0x1000..=0x109f | 0x1780..=0x17ff => {
            character.is_alphabetic().then_some(Kind::Unspaced)
        }
        0x3041..=0x309f => Some(Kind::Unspaced),
        0x30a1..=0x30fa | 0x30fc..=0x30ff | 0xff66..=0xff9f => Some(Kind::Katakana),
        0x3005 | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff => Some(Kind::Han),
        _ => character.is_alphabetic().then_some(Kind::Spaced),
    }
}

#[inline]
fn lower(character: char) -> char {
    match u32::from(character) {
        code @ (0xc0..=0xde | 0x391..=0x3a9 | 0x410..=0x42f) => {
            char::from_u32(code + 0x20).unwrap_or(character)
        }
        code @ 0x400..=0x40f => char::from_u32(code + 0x50).unwrap_or(character),
        // Small letters of the same blocks.
        0xdf..=0xff | 0x3b1..=0x3c9 | 0x430..=0x45f | 0x5d0.. if !character.is_uppercase() => character,
        _ => character.to_lowercase().next().unwrap_or(character),
    }
}

/// Calls `each` for every word of `text`, in order.
pub(crate) fn each_word(text: &str, mut each: impl FnMut(Word)) {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, joins: false };
    while let Some(byte) = scanner.bytes.get(scanner.at).copied() {
        match class(byte) {
            Class::Upper | Class::Lower => scanner.spaced(&mut each),
            Class::High => scanner.high(&mut each),
            Class::Blank => scanner.at += 1,
            Class::Hyphen => {
                scanner.joins &= scanner.is_between_letters();
                scanner.at += 1;
            }
            Class::Digit => {
                scanner.skip_alphanumeric();
                scanner.joins = false;
            }
            Class::Technical => scanner.skip_chunk(),
            Class::Apostrophe | Class::Dot | Class::Other => {
                scanner.joins = false;
                scanner.at += 1;
            }
        }
    }
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    joins: bool,
}

/// A word that is being read.
struct Reading {
    start: usize,
    folding: Folding,
    length: u32,
    digits: u32,
    capitals: bool,
    is_ascii: bool,
}

impl Scanner<'_> {
    fn peek(&self, at: usize) -> Class {
        self.bytes.get(at).map_or(Class::Blank, |byte| class(*byte))
    }

    fn character(&self, at: usize) -> Option<char> {
        self.text.get(at..).and_then(|rest| rest.chars().next())
    }

    fn is_between_letters(&self) -> bool {
        let is_letter = |class| matches!(class, Class::Upper | Class::Lower | Class::High);
        self.at > 0 && is_letter(self.peek(self.at - 1)) && is_letter(self.peek(self.at + 1))
    }

    /// Over what is neither blank nor the end: an address, an identifier.
    fn skip_chunk(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| *byte <= b' ').unwrap_or(rest.len());
        self.joins = false;
    }

    fn skip_alphanumeric(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_part = |byte: &u8| matches!(class(*byte), Class::Upper | Class::Lower | Class::Digit);
        self.at += rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
    }

    #[inline]
    fn spaced(&mut self, each: &mut impl FnMut(Word)) {
        if !self.plain(each) {
            self.any(each);
        }
    }

    /// A word of nothing but letters of ASCII with a blank or a comma behind it, which most are: eight bytes at a time.
    #[inline]
    fn plain(&mut self, each: &mut impl FnMut(Word)) -> bool {
        let mut folding = Folding::new();
        let start = self.at;
        let mut at = start;
        loop {
            let Some(eight) = self.bytes.get(at..).and_then(|rest| rest.first_chunk()) else { return false };
            let eight = u64::from_le_bytes(*eight);
            let lower = eight | 0x2020_2020_2020_2020;
            let others = !letters_of(eight) & HIGH_BITS;
            if others == 0 {
                folding.pending = lower;
                folding.bytes += 8;
                folding.mix();
                at += 8;
                continue;
            }
            let more = others.trailing_zeros() / 8;
            folding.pending = lower & ((1 << (8 * more)) - 1);
            folding.bytes += more;
            at += more as usize;
            break;
        }
        if !matches!(self.bytes.get(at), Some(b' ' | b',' | b'-' | b')')) {
            return false;
        }
        let capitals = self
            .bytes
            .get(start..at)
            .is_some_and(|word| word.len() == 2 && word.iter().all(u8::is_ascii_uppercase));
        self.at = at;
        self.emit(start, at, folding.finish(), folding.bytes, Kind::Spaced, capitals, each);
        true
    }

    #[inline(never)]
    fn any(&mut self, each: &mut impl FnMut(Word)) {
        let mut word = Reading {
            start: self.at,
            folding: Folding::new(),
            length: 0,
            digits: 0,
            capitals: true,
            is_ascii: true,
        };
        while let Some(byte) = self.bytes.get(self.at).copied() {
            match class(byte) {
                Class::Lower => {
                    word.folding.byte(byte);
                    word.length += 1;
                    word.capitals = false;
                    self.at += 1;
                }
                Class::Upper => {
                    word.folding.byte(byte | 0x20);
                    word.length += 1;
                    self.at += 1;
                }
                Class::High => {
                    let Some(character) = self.character(self.at) else { break };
                    if matches!(character, '\u{2019}' | '\u{2bc}') {
                        if self.apostrophe(&mut word, character.len_utf8(), each) {
                            continue;
                        }
                        return;
                    }
                    // A soft hyphen is not seen.
                    if character == '\u{ad}' {
                        self.at += 2;
                        continue;
                    }
                    if kind_of(character) != Some(Kind::Spaced) {
                        break;
                    }
                    word.folding.character(lower(character));
                    word.length += 1;
                    word.is_ascii = false;
                    self.at += character.len_utf8();
                }
                Class::Digit => {
                    word.folding.byte(byte);
                    word.digits += 1;
                    word.length += 1;
                    self.at += 1;
                }
                Class::Apostrophe => {
                    if self.apostrophe(&mut word, 1, each) {
                        continue;
                    }
                    return;
                }
                _ => break,
            }
        }
        self.end(&word, self.at, each);
    }

    /// At an apostrophe within or behind a word. Whether the word goes on; otherwise it has been dealt with.
    fn apostrophe(&mut self, word: &mut Reading, width: usize, each: &mut impl FnMut(Word)) -> bool {
        let before = self.at;
        let next = before + width;
        let is_letter = match self.peek(next) {
            Class::Upper | Class::Lower => true,
            Class::High => self.character(next).and_then(kind_of) == Some(Kind::Spaced),
            _ => false,
        };
        if !is_letter {
            self.end(word, before, each);
            return false;
        }
        let letters = letters_before_end(self.text.get(next..).unwrap_or_default());
        let is_suffix_s = letters == 1 && matches!(self.bytes.get(next), Some(b's' | b'S'));
        if is_suffix_s {
            self.end(word, before, each);
            self.at = next + 1;
            return false;
        }
        if letters <= 2 && word.is_ascii {
            // A contraction is none of the words that say what a text is about.
            self.at = next + letters;
            self.joins = false;
            return false;
        }
        let is_name = word.length == 1 && word.capitals && matches!(self.peek(next), Class::Upper);
        if word.length <= 4 && word.is_ascii && !is_name {
            // An article that has lost its vowel; the word is what follows.
            self.at = next;
            self.joins = false;
            return false;
        }
        word.folding.byte(b'\'');
        self.at = next;
        true
    }

    fn end(&mut self, word: &Reading, end: usize, each: &mut impl FnMut(Word)) {
        let next = self.peek(self.at + 1);
        let is_address = match self.peek(self.at) {
            Class::Technical => true,
            Class::Dot => matches!(next, Class::Upper | Class::Lower | Class::Digit),
            _ => self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(b"://")),
        };
        if is_address {
            self.skip_chunk();
            return;
        }
        // MP3 and Python3 are names, the rest are numbers.
        if word.digits > 2 || (word.digits > 0 && word.length - word.digits < 2) {
            self.joins = false;
            return;
        }
        self.emit(
            word.start,
            end,
            word.folding.finish(),
            word.length,
            Kind::Spaced,
            word.capitals && word.length == 2,
            each,
        );
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a word")]
    #[inline]
    fn emit(
        &mut self,
        start: usize,
        end: usize,
        hash: u64,
        length: u32,
        kind: Kind,
        capitals: bool,
        each: &mut impl FnMut(Word),
    ) {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        each(Word {
            start: offset(start),
            end: offset(end),
            hash,
            length,
            kind,
            joins: self.joins,
            capitals,
        });
        self.joins = true;
    }

    /// A character that is not ASCII begins here.
    fn high(&mut self, each: &mut impl FnMut(Word)) {
        let Some(first) = self.character(self.at) else {
            self.at += 1;
            return;
        };
        match kind_of(first) {
            Some(Kind::Spaced) => self.spaced(each),
            None => {
                self.at += first.len_utf8();
                self.joins &= matches!(first, '\u{a0}' | '\u{2010}' | '\u{2011}');
            }
            Some(kind) => {
                let start = self.at;
                let mut folding = Folding::new();
                let mut length = 0;
                while let Some(character) = self.character(self.at)
                    && kind_of(character) == Some(kind)
                {
                    folding.character(character);
                    length += 1;
                    self.at += character.len_utf8();
                }
                self.joins = false;
                self.emit(start, self.at, folding.finish(), length, kind, false, each);
                self.joins = false;
            }
        }
    }
}

/// How many letters there are before something else, up to three.
fn letters_before_end(text: &str) -> usize {
    text.chars().take(3).take_while(|c| c.is_alphabetic()).count()
}

/// The hash of a text that is one word; none otherwise.
pub(crate) fn hash_of_word(text: &str) -> Option<u64> {
    let mut found = None;
    let mut count = 0;
    each_word(text, |word| {
        count += 1;
        found = (word.end as usize == text.len() && word.start == 0).then_some(word.hash);
    });
    found.filter(|_| count == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(&text[word.start as usize..word.end as usize]));
        words
    }

    fn joined(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        each_word(text, |word| {
            if word.joins {
                words.push(&text[word.start as usize..word.end as usize]);
            }
        });
        words
    }

    #[test]
    fn words_are_letters() {
        assert_eq!(words("The quick, brown fox."), ["The", "quick", "brown", "fox"]);
        assert_eq!(words("Ärger über Größe; Ёлка и ёж"), ["Ärger", "über", "Größe", "Ёлка", "и", "ёж"]);
        assert_eq!(words("हिन्दी में। लिखा"), ["हिन्दी", "में", "लिखा"]);
    }

    #[test]
    fn numbers_addresses_and_identifiers_are_no_words() {
        assert_eq!(
            words("in 2024 or 3rd, 1,000.5 or x12 a1b2c3 MP3 covid19"),
            ["in", "or", "or", "MP3", "covid19"]
        );
        assert_eq!(
            words("see www.example.com/a?b=c or me@example.com or https://a.b/c end"),
            ["see", "or", "or", "end"]
        );
        assert_eq!(words("call snake_case_name or $var now"), ["call", "or", "now"]);
    }

    #[test]
    fn apostrophes_are_read_as_each_language_means_them() {
        assert_eq!(words("Moore's law, don't; we've"), ["Moore", "law"]);
        assert_eq!(words("l'eau de l\u{2019}île, dell'acqua"), ["eau", "de", "île", "acqua"]);
        assert_eq!(words("O'Brien комп'ютер rock 'quoted'"), ["O'Brien", "комп'ютер", "rock", "quoted"]);
    }

    #[test]
    fn words_join_over_blanks_and_hyphens_only() {
        assert_eq!(joined("web crawler, open-source code. New (old) 5 six"), ["crawler", "source", "code"]);
        assert_eq!(joined("one - two"), [""; 0]);
    }

    #[test]
    fn scripts_without_blanks_come_in_runs() {
        assert_eq!(words("検索エンジンの仕組み"), ["検索", "エンジン", "の", "仕組", "み"]);
        assert_eq!(words("ภาษาไทย"), ["ภาษาไทย"]);
    }

    #[test]
    fn case_is_folded() {
        for (one, other) in [
            ("WORD", "word"),
            ("Ärger", "ärger"),
            ("ŁÓDŹ", "łódź"),
            ("МОСКВА", "москва"),
            ("ΑΘΗΝΑ", "αθηνα"),
            ("Їжак", "їжак"),
        ] {
            assert_eq!(hash_of_word(one), hash_of_word(other), "{one}");
            assert!(hash_of_word(one).is_some());
        }
        assert_ne!(hash_of_word("abcdefgh"), hash_of_word("abcdefghi"));
        for word in ["a", "abcdefg", "abcdefgh", "Abcdefghi", "ABCDEFGHIJKLMNOP", "abcdefghijklmnopq"] {
            let mut quick = None;
            each_word(&format!("{word} and more words"), |found| quick = quick.or(Some(found.hash)));
            assert_eq!(quick, hash_of_word(word), "{word}");
        }
        assert_eq!(hash_of_word("two words"), None);
    }

    proptest::proptest! {
        #[test]
        fn words_lie_in_the_text_one_after_the_other(text in "\\PC{0,80}") {
            let mut end = 0;
            each_word(&text, |word| {
                assert!(word.start >= end && word.end > word.start);
                assert!(text.get(word.start as usize..word.end as usize).is_some());
                end = word.end;
            });
        }
    }
}
