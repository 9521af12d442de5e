//! 64-bit SimHash over shingles of three words: similar texts have hashes that differ in few bits. One hash per word,
//! three of them mixed per shingle, counted in bit-sliced counters: a handful of word operations advances 64 counters.
//!
//! The values are stored and compared across runs: a change here makes old pages incomparable.

use crate::text::{Finished, PADDING, Text, Word};
use argiope_model::SimHash;
use xxhash_rust::xxh3::xxh3_64;

/// The SimHash of a text whose words are separated by white space; `None` if it has none.
pub fn simhash_of_text(text: &str) -> Option<SimHash> {
    let mut words = Text::default();
    words.push(text.as_bytes());
    Fingerprints::of(&mut words.finish(), || ()).simhash
}

const SHINGLE_WORDS: u32 = 3;

/// The hashes of a text's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprints {
    pub(crate) word_count: u32,
    pub(crate) simhash: Option<SimHash>,
    /// The same with all words that contain a digit treated alike.
    pub(crate) without_numbers: Option<SimHash>,
}

impl Fingerprints {
    /// Leaves the text in lower case. `beside` is called now and then: for work that is mostly waiting.
    pub(crate) fn of(text: &mut Finished<'_>, mut beside: impl FnMut()) -> Fingerprints {
        text.lower();
        let mut counters = Counters::default();
        let mut numbers = Numbers::default();
        let mut words = text.words();
        let mut word_count = 0u32;
        let (mut older, mut old) = (Hashed::default(), Hashed::default());
        for word in words.by_ref().take(SHINGLE_WORDS as usize - 1) {
            (older, old) = (old, hash_of_word(text.raw(), word));
            word_count += 1;
        }
        let mut shingles = [0; 8];
        let mut waiting = 0;
        for word in words {
            let last = hash_of_word(text.raw(), word);
            // A text has fewer than 2^32 bytes.
            word_count = word_count.wrapping_add(1);
            if (older.digits | old.digits | last.digits) & HIGH_BITS != 0 {
                numbers.add(older, old, last);
            } else if let Some(slot) = shingles.get_mut(waiting) {
                *slot = shingle(older.hash, old.hash, last.hash);
                waiting += 1;
            }
            (older, old) = (old, last);
            if waiting == shingles.len() {
                counters.add_eight(shingles);
                waiting = 0;
                beside();
            }
        }
        for shingle in shingles.iter().take(waiting) {
            counters.add(*shingle);
        }
        if (1..SHINGLE_WORDS).contains(&word_count) {
            numbers.add(Hashed::default(), older, old);
        }
        let is_some = word_count > 0;
        let majority = |part: &Counters| is_some.then(|| SimHash(counters.plus(part).majority()));
        Fingerprints {
            word_count,
            simhash: majority(&numbers.as_they_are),
            without_numbers: majority(&numbers.alike),
        }
    }
}

/// The shingles with a number in them, which are few: unchanged, and with all numbers alike.
#[derive(Default)]
struct Numbers {
    as_they_are: Counters,
    alike: Counters,
}

impl Numbers {
    #[inline(never)]
    fn add(&mut self, first: Hashed, second: Hashed, third: Hashed) {
        self.as_they_are.add(shingle(first.hash, second.hash, third.hash));
        self.alike.add(shingle(first.without_number(), second.without_number(), third.without_number()));
    }
}

/// A word's hash. The word before the first of a text is 0.
#[derive(Clone, Copy, Default)]
struct Hashed {
    hash: u64,
    /// The high bit of each byte is set if a letter is a digit; the other bits are undefined. Checked for three words
    /// together.
    digits: u64,
}

impl Hashed {
    /// The common replacement for words with a digit.
    const NUMBER: u64 = 0x9e6c_63d0_876a_9a62;

    fn has_digit(self) -> bool {
        self.digits & HIGH_BITS != 0
    }

    fn without_number(self) -> u64 {
        if self.has_digit() { Self::NUMBER } else { self.hash }
    }
}

/// The hash of a short text, a title, with all words that contain a digit treated alike.
pub fn hash_without_numbers(text: &str) -> u64 {
    let mut words = Text::default();
    words.push(text.as_bytes());
    let mut finished = words.finish();
    finished.lower();
    finished.words().fold(0, |hash, word| {
        folded_product(hash ^ 0xe703_7ed1_a0b4_28db, hash_of_word(finished.raw(), word).without_number())
    })
}

/// Lower-case ASCII is hashed sixteen letters at a time in two registers, for most words without a branch on their
/// length.
#[inline(always)]
fn hash_of_word(raw: &[u8], word: Word) -> Hashed {
    let start = word.start as usize;
    let letters = raw.get(start..start + PADDING).and_then(|letters| letters.first_chunk::<PADDING>());
    let (Some(letters), Some((low_mask, high_mask))) = (letters, MASKS.get(word.length as usize)) else {
        return hash_of_unusual_word(raw, word);
    };
    let letters = u128::from_le_bytes(*letters);
    let (low, high) = (letters as u64 & low_mask, (letters >> 64) as u64 & high_mask);
    if (low | high) & HIGH_BITS != 0 {
        return hash_of_unusual_word(raw, word);
    }
    Hashed { hash: hash_of_sixteen(0, low, high), digits: !(others(low) & others(high)) }
}

/// The high bit of each byte that is not a digit. All bytes are ASCII.
#[inline(always)]
fn others(letters: u64) -> u64 {
    // 0 to 9 for digits, 10 and more for others, which then set the high bit; no byte overflows into the next.
    (letters ^ 0x3030_3030_3030_3030).wrapping_add(0x7676_7676_7676_7676)
}

#[inline(never)]
fn hash_of_unusual_word(raw: &[u8], word: Word) -> Hashed {
    let word = raw.get(word.start as usize..word.end() as usize).unwrap_or_default();
    let hash = if word.is_ascii() { hash_of_long_word(word) } else { hash_beyond_ascii(word) };
    Hashed { hash, digits: if word.iter().any(u8::is_ascii_digit) { HIGH_BITS } else { 0 } }
}

/// The part of two registers that a word of this length occupies.
const MASKS: [(u64, u64); PADDING + 1] = {
    let mut masks = [(0, 0); PADDING + 1];
    let mut rest = masks.as_mut_slice();
    let mut mask = 0u128;
    while let Some((first, others)) = rest.split_first_mut() {
        *first = (mask as u64, (mask >> 64) as u64);
        mask = (mask << 8) | 0xff;
        rest = others;
    }
    masks
};

#[inline(always)]
fn hash_of_sixteen(before: u64, low: u64, high: u64) -> u64 {
    folded_product(low ^ 0x2d35_8dcc_aa6c_78a5 ^ before, high ^ 0x8bb8_4b93_962e_acc9)
}

fn hash_of_long_word(word: &[u8]) -> u64 {
    word.chunks(PADDING).fold(0, |hash, chunk| {
        let mut padded = [0; PADDING];
        padded.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        let letters = u128::from_le_bytes(padded);
        hash_of_sixteen(hash, letters as u64, (letters >> 64) as u64)
    })
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

#[inline]
fn folded_product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Words with other letters go through a small buffer, so that a text without blanks is not copied a second time.
fn hash_beyond_ascii(word: &[u8]) -> u64 {
    const BUFFER: usize = 256;
    let mut hash = 0;
    let mut buffer = [0u8; BUFFER];
    let mut used = 0;
    let mut push = |letter: char| {
        if let Some(free) = buffer.get_mut(used..)
            && free.len() >= letter.len_utf8()
        {
            used += letter.encode_utf8(free).len();
        }
        if used > BUFFER - char::MAX_LEN_UTF8 {
            hash =
                folded_product(hash, 0xe703_7ed1_a0b4_28db) ^ xxh3_64(buffer.get(..used).unwrap_or_default());
            used = 0;
        }
    };
    for piece in word.utf8_chunks() {
        for letter in piece.valid().chars() {
            lower_of(letter).for_each(&mut push);
        }
        if !piece.invalid().is_empty() {
            push(char::REPLACEMENT_CHARACTER);
        }
    }
    folded_product(hash, 0xe703_7ed1_a0b4_28db) ^ xxh3_64(buffer.get(..used).unwrap_or_default())
}

/// Ideographs and syllables have no case; looking them up would be most of the work on such pages.
fn lower_of(letter: char) -> impl Iterator<Item = char> {
    let caseless = matches!(letter, '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}');
    let looked_up = (!caseless).then(|| letter.to_lowercase());
    caseless.then_some(letter).into_iter().chain(looked_up.into_iter().flatten())
}

#[inline]
fn shingle(first: u64, second: u64, third: u64) -> u64 {
    let mixed = first.rotate_left(42) ^ second.rotate_left(21) ^ third;
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9fb2_1c65_1e98_df25);
    mixed ^ (mixed >> 29)
}

/// 64 counters, transposed: bit `i` of `planes[p]` is bit `p` of counter `i`.
#[derive(Default)]
struct Counters {
    planes: [u64; 32],
    total: u32,
}

impl Counters {
    fn add(&mut self, hash: u64) {
        self.total = self.total.saturating_add(1);
        self.ripple(hash, 0);
    }

    /// Carry-save adders sum eight hashes before they reach the higher planes.
    #[inline]
    fn add_eight(&mut self, hashes: [u64; 8]) {
        self.total = self.total.saturating_add(8);
        let [a, b, c, d, e, f, g, h] = hashes;
        let [ones, twos, fours, ..] = &mut self.planes;
        let (sum, two_a) = carry_save(*ones, a, b);
        let (sum, two_b) = carry_save(sum, c, d);
        let (sum, two_c) = carry_save(sum, e, f);
        let (sum, two_d) = carry_save(sum, g, h);
        *ones = sum;
        let (sum, four_a) = carry_save(*twos, two_a, two_b);
        let (sum, four_b) = carry_save(sum, two_c, two_d);
        *twos = sum;
        let (sum, eight) = carry_save(*fours, four_a, four_b);
        *fours = sum;
        self.ripple(eight, 3);
    }

    /// Adds a bit to each counter at `plane`, carrying as far as needed.
    #[inline]
    fn ripple(&mut self, mut carry: u64, plane: usize) {
        for plane in self.planes.iter_mut().skip(plane) {
            if carry == 0 {
                break;
            }
            let next = *plane & carry;
            *plane ^= carry;
            carry = next;
        }
    }

    /// The counts of both.
    fn plus(&self, other: &Counters) -> Counters {
        let mut sum = Counters { planes: [0; 32], total: self.total.saturating_add(other.total) };
        let mut carry = 0;
        for (to, (a, b)) in sum.planes.iter_mut().zip(self.planes.iter().zip(&other.planes)) {
            (*to, carry) = carry_save(*a, *b, carry);
        }
        sum
    }

    /// The bits set in more than half of the hashes.
    fn majority(self) -> u64 {
        let half = self.total / 2;
        // Compares all counters at once, from the highest bits on.
        let (mut more, mut equal) = (0, u64::MAX);
        for (weight, plane) in self.planes.iter().enumerate().rev() {
            let half_bit = if (half >> weight) & 1 == 1 { u64::MAX } else { 0 };
            more |= equal & plane & !half_bit;
            equal &= !(plane ^ half_bit);
        }
        more
    }
}

#[inline]
fn carry_save(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text of `count` words from a vocabulary with the frequencies of a language: few words frequent, many rare.
    fn prose(count: usize, seed: u64) -> Vec<String> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let uniform = ((state >> 33) as f64 / f64::from(1u32 << 31)).max(1e-9);
                format!("word{}", (uniform.powi(3) * 4000.0) as u32)
            })
            .collect()
    }

    fn hash(words: &[String]) -> SimHash {
        simhash_of_text(&words.join(" ")).unwrap()
    }

    #[test]
    fn small_edits_stay_near() {
        for seed in 0..20 {
            let words = prose(1500, seed);
            let before = hash(&words);
            let mut edited = words.clone();
            edited[700] = "changed".into();
            assert!(before.distance(hash(&edited)) <= SimHash::NEAR, "one word replaced, seed {seed}");
            edited.remove(20);
            edited.push("appended".into());
            assert!(before.distance(hash(&edited)) <= SimHash::NEAR + 1, "three edits, seed {seed}");
        }
    }

    #[test]
    fn different_texts_are_far_apart() {
        for seed in 0..50 {
            let distance = hash(&prose(1500, seed)).distance(hash(&prose(1500, seed + 1000)));
            assert!(distance > 12, "distance {distance} at seed {seed}");
        }
    }

    #[test]
    fn case_and_spacing_do_not_matter_but_order_does() {
        let of = |text| simhash_of_text(text).unwrap();
        assert_eq!(of("The Quick  Brown\nFox"), of("the quick brown fox"));
        assert_eq!(of("ÉTÉ à PARIS toujours"), of("été à paris toujours"));
        assert_ne!(of("the quick brown fox"), of("fox brown quick the"));
    }

    #[test]
    fn short_texts_have_a_hash_and_empty_ones_none() {
        assert_eq!(simhash_of_text("  "), None);
        assert_ne!(simhash_of_text("one"), simhash_of_text("two"));
        assert_ne!(simhash_of_text("one two"), simhash_of_text("two one"));
    }

    #[test]
    fn numbers_can_be_left_out() {
        let of = |text: &str| {
            let mut words = Text::default();
            words.push(text.as_bytes());
            Fingerprints::of(&mut words.finish(), || ())
        };
        let (one, other) = (
            of("Page 7 of the calendar, 3 events, id ab12cd34ef56ab78cd90"),
            of("page 1234 of the calendar, 55 events, id 99"),
        );
        assert_ne!(one.simhash, other.simhash);
        assert_eq!(one.without_numbers, other.without_numbers);
        assert_ne!(one.without_numbers, of("Page 7 of the diary, 3 events, id 9").without_numbers);
        let plain = of("no number in this text at all");
        assert_eq!(plain.simhash, plain.without_numbers);
        assert_eq!(of("7").without_numbers, of("8").without_numbers);
        assert_eq!(of(" ").without_numbers, None);
        assert_eq!(hash_without_numbers("Entry 12 of 99"), hash_without_numbers("ENTRY 1 of 3"));
        assert_ne!(hash_without_numbers("Red shoe 12"), hash_without_numbers("Blue shoe 12"));
    }

    #[test]
    fn values_never_change() {
        assert_eq!(
            simhash_of_text("The spider waits in the middle of its web, and the web tells it everything.")
                .unwrap()
                .to_string(),
            "32e337bf4a589a59"
        );
        assert_eq!(SimHash::parse("00000000000000ff"), Some(SimHash(255)));
        assert_eq!(SimHash::parse("ff"), None);
    }

    proptest! {
        #[test]
        fn digits_are_found_in_a_word_of_any_length(word in "[ -~&&[^ ]]{1,40}") {
            let mut text = Text::default();
            text.push(word.as_bytes());
            let finished = text.finish();
            let hashed = finished.words().next().map(|found| hash_of_word(finished.raw(), found));
            prop_assert_eq!(hashed.unwrap().has_digit(), word.bytes().any(|b| b.is_ascii_digit()));
        }

        #[test]
        fn counters_are_added(hashes in prop::collection::vec(any::<u64>(), 1..100), split in 0usize..100) {
            let (a, b) = hashes.split_at(split.min(hashes.len()));
            let count = |hashes: &[u64]| {
                let mut counters = Counters::default();
                hashes.iter().for_each(|hash| counters.add(*hash));
                counters
            };
            prop_assert_eq!(count(a).plus(&count(b)).majority(), count(&hashes).majority());
        }

        #[test]
        fn counters_agree_with_plain_counting(hashes in prop::collection::vec(any::<u64>(), 1..200)) {
            let mut counters = Counters::default();
            let (eights, last) = hashes.as_chunks::<8>();
            eights.iter().for_each(|eight| counters.add_eight(*eight));
            last.iter().for_each(|hash| counters.add(*hash));
            let plain = (0..64).fold(0u64, |bits, bit| {
                let set = hashes.iter().filter(|hash| (**hash >> bit) & 1 == 1).count();
                if set * 2 > hashes.len() { bits | (1 << bit) } else { bits }
            });
            prop_assert_eq!(counters.majority(), plain);
        }
    }
}
