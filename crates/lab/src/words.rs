//! A vocabulary of word-like words with the frequencies of a language: few are common, most are rare.

use crate::random::Random;

/// The head of the distribution: what makes the text look English to a language detector.
const COMMON: &[&str] = &[
    "the", "of", "and", "to", "in", "a", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on",
    "not", "he", "his", "but", "at", "are", "this", "have", "from", "or", "had", "an", "they", "which",
    "one", "you", "were", "all", "her", "she", "there", "would", "their", "we", "him", "been", "has", "when",
    "who", "will", "no", "more", "if", "out",
];

/// Words that a page must have entities for.
const WITH_ENTITIES: &[&str] = &[
    "caf&eacute;",
    "na&iuml;ve",
    "it&#x27;s",
    "r&eacute;sum&eacute;",
    "R&amp;D",
    "Z&uuml;rich",
    "5&nbsp;km",
];

const STARTS: &[&str] = &[
    "b", "br", "c", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "pl", "qu",
    "r", "s", "st", "t", "tr", "v", "w",
];
const VOWELS: &[&str] = &["a", "e", "i", "o", "u", "ea", "ai", "ou", "ie"];
const ENDS: &[&str] = &["", "n", "r", "s", "t", "l", "nd", "rk", "st", "m", "ck", "ng"];

/// So many that a page compresses as well as pages do, to two fifths.
const RARE_WORDS: usize = 24_000;
/// A power of two: a word is drawn with so many bits of chance.
const DRAW_BITS: u32 = 16;

pub(crate) struct Vocabulary {
    words: Vec<String>,
    /// Each word stands here as often as it should be drawn.
    draw: Vec<u16>,
}

impl Vocabulary {
    pub(crate) fn new(seed: u64) -> Vocabulary {
        let mut random = Random::new(seed ^ 0x766f_6361_6275_6c61);
        let mut words: Vec<String> = COMMON.iter().map(|word| (*word).to_owned()).collect();
        words.extend((0..RARE_WORDS).map(|_| invent(&mut random)));
        Vocabulary { draw: frequencies(words.len()), words }
    }

    /// A word by Zipf's law.
    pub(crate) fn word(&self, random: &mut Random) -> &str {
        self.drawn(random.next())
    }

    fn drawn(&self, chance: u64) -> &str {
        let slot = usize::try_from(chance & ((1 << DRAW_BITS) - 1)).unwrap_or(0);
        let index = self.draw.get(slot).copied().unwrap_or(0);
        self.words.get(usize::from(index)).map_or("", String::as_str)
    }

    /// A word without entities that is not among the common ones: for names, slugs and titles.
    pub(crate) fn name(&self, chance: u64) -> &str {
        let index = usize::try_from(chance % RARE_WORDS as u64).unwrap_or(0);
        self.words.get(COMMON.len() + index).map_or("", String::as_str)
    }

    /// Terms that a text keeps coming back to, as texts about something do.
    pub(crate) fn topics(&self, random: &mut Random) -> Vec<String> {
        let mut topics: Vec<String> = Vec::with_capacity(16);
        for number in 0..16 {
            let first = self.name(random.next());
            topics.push(if number % 3 == 0 {
                first.to_owned()
            } else {
                format!("{first} {}", self.name(random.next()))
            });
        }
        topics
    }

    /// Appends a sentence of 6 to 20 words, an eighth of them topics if there are any.
    pub(crate) fn sentence(&self, topics: &[String], random: &mut Random, out: &mut Vec<u8>) {
        let count = 6 + random.below(15);
        for position in 0..count {
            if position > 0 {
                out.extend_from_slice(if random.below(12) == 0 { b", " } else { b" " });
            }
            if position == 0 {
                capitalized(self.word(random), out);
            } else if random.below(90) == 0 {
                let index = usize::try_from(random.next() % WITH_ENTITIES.len() as u64).unwrap_or(0);
                out.extend_from_slice(WITH_ENTITIES.get(index).unwrap_or(&"").as_bytes());
            } else {
                let topic = usize::try_from(random.below(128)).ok().and_then(|index| topics.get(index));
                out.extend_from_slice(topic.map_or_else(|| self.word(random), String::as_str).as_bytes());
            }
        }
        out.extend_from_slice(b". ");
    }

    /// Appends `count` words with a full stop now and then: cheaper than sentences, four words to a draw.
    pub(crate) fn run_of_words(&self, random: &mut Random, count: u32, out: &mut Vec<u8>) {
        for group in 0..count.div_ceil(4) {
            let mut chance = random.next();
            for _ in 0..4 {
                out.extend_from_slice(self.drawn(chance).as_bytes());
                out.push(b' ');
                chance >>= DRAW_BITS;
            }
            if group % 3 == 2 {
                out.pop();
                out.extend_from_slice(b". ");
            }
        }
    }
}

pub(crate) fn capitalized(word: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(word.as_bytes());
    if let Some(first) = out.get_mut(start) {
        first.make_ascii_uppercase();
    }
}

fn invent(random: &mut Random) -> String {
    let mut word = String::new();
    for _ in 0..=random.below(2) + u32::from(random.below(3) == 0) {
        for parts in [STARTS, VOWELS, ENDS] {
            let index = usize::try_from(random.next() % parts.len() as u64).unwrap_or(0);
            word.push_str(parts.get(index).copied().unwrap_or(""));
        }
    }
    word
}

/// Slots in proportion to 1 / (rank + 3), every word at least one while there is room.
fn frequencies(words: usize) -> Vec<u16> {
    let slots = 1usize << DRAW_BITS;
    let weight = |rank: usize| 1.0 / (rank as f64 + 3.0);
    let total: f64 = (0..words).map(weight).sum();
    let mut draw = Vec::with_capacity(slots);
    let mut cumulated = 0.0;
    for rank in 0..words {
        cumulated += weight(rank);
        let until = cumulated / total * slots as f64;
        while (draw.len() as f64) < until && draw.len() < slots {
            draw.push(u16::try_from(rank).unwrap_or(0));
        }
    }
    draw.resize(slots, 0);
    draw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_are_common_and_many_are_rare() {
        let vocabulary = Vocabulary::new(7);
        let mut random = Random::new(1);
        let drawn: Vec<&str> = (0..20_000).map(|_| vocabulary.word(&mut random)).collect();
        let the = drawn.iter().filter(|word| **word == "the").count();
        assert!((400..2000).contains(&the), "'the' {the} times");
        let distinct: std::collections::HashSet<&&str> = drawn.iter().collect();
        assert!(distinct.len() > 1000, "{} distinct words", distinct.len());
    }

    #[test]
    fn a_vocabulary_follows_from_its_seed() {
        assert_eq!(Vocabulary::new(3).words, Vocabulary::new(3).words);
        assert_ne!(Vocabulary::new(3).words, Vocabulary::new(4).words);
    }
}
