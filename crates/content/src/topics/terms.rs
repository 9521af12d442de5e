//! The terms of one text: words and pairs of words with how often and where they occur.

use super::TopicSettings;
use crate::language::LanguageCode;
use crate::stop_words::StopWords;
use crate::words::{Folding, Kind, Word, each_word, hash_of_pair};

/// Longer ones are no words, whatever their letters.
const LONGEST_WORD: u32 = 30;
/// Of a language that is not known, short words are taken for stop words.
const LEAST_LETTERS_OF_UNKNOWN: u32 = 5;
/// A title says more than the text; each of its words counts as often.
const WEIGHT_OF_TITLE: u32 = 3;
/// Longer titles are cut.
const TITLE_BYTES: usize = 300;
/// Runs of kanji up to this length are words in Japanese.
const LONGEST_RUN: u32 = 4;

pub(super) const NONE: u32 = u32::MAX;

/// Where a term was found.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The one before, of the same term.
    pub(super) previous: u32,
}

pub(super) struct Entry {
    pub(super) hash: u64,
    pub(super) count: u32,
    /// The last occurrence.
    pub(super) last: u32,
    /// Of a pair, the entries of its words.
    pub(super) parts: Option<(u32, u32)>,
}

/// Buffers, reused from page to page.
#[derive(Default)]
pub(super) struct Terms {
    /// Title and text, as far as they are read.
    pub(super) text: String,
    pub(super) occurrences: Vec<Occurrence>,
    pub(super) entries: Vec<Entry>,
    /// Hash -> entry + 1, 0 for none.
    index: Vec<u16>,
}

const LEAST_INDEX: usize = 1024;

impl Terms {
    pub(super) fn read(
        &mut self,
        language: Option<LanguageCode>,
        title: &str,
        text: &str,
        settings: &TopicSettings,
    ) {
        self.text.clear();
        self.text.push_str(head(title, TITLE_BYTES));
        let title_end = self.text.len() as u32;
        // Ends what the title joins.
        self.text.push_str(" | ");
        self.text.push_str(head(text, settings.text_bytes));
        self.entries.clear();
        self.occurrences.clear();
        // An entry is numbered in 16 bits, and half of the places stay free.
        let places = (self.text.len() / 2).next_power_of_two().clamp(LEAST_INDEX, usize::from(u16::MAX) + 1);
        self.index.clear();
        self.index.resize(places, 0);
        let read = std::mem::take(&mut self.text);
        self.count(&read, language, title_end, settings);
        self.text = read;
    }

    fn count(
        &mut self,
        text: &str,
        language: Option<LanguageCode>,
        title_end: u32,
        settings: &TopicSettings,
    ) {
        let stops = language.map(StopWords::of);
        let has_pairs = settings.words_per_topic.1 >= 2;
        let is_chinese = language.is_some_and(|code| code.as_str() == "zh");
        // The word before and its entry.
        let mut before: Option<(Word, u32)> = None;
        let is_alphabet = is_alphabet(language);
        each_word(text, |word| {
            let weight = if word.end <= title_end { WEIGHT_OF_TITLE } else { 1 };
            match word.kind {
                Kind::Unspaced => before = None,
                Kind::Han if is_chinese || word.length > LONGEST_RUN => {
                    before = None;
                    self.add_character_pairs(text, &word, weight, stops.as_deref());
                }
                Kind::Han | Kind::Katakana => {
                    before = None;
                    if word.length >= 2 && word.length <= LONGEST_WORD {
                        self.add(word.hash, word.start, word.end, weight, None);
                    }
                }
                Kind::Spaced => {
                    let is_stop = match &stops {
                        Some(stops) => stops.contains(word.hash),
                        None => word.length < LEAST_LETTERS_OF_UNKNOWN,
                    };
                    let is_short = word.length < 2 || (word.length == 2 && !word.capitals && is_alphabet);
                    if is_stop || is_short || word.length > LONGEST_WORD {
                        before = None;
                        return;
                    }
                    let entry = self.add(word.hash, word.start, word.end, weight, None);
                    if has_pairs
                        && let Some((first, of_first)) = before
                        && word.joins
                        && first.hash != word.hash
                    {
                        let hash = hash_of_pair(first.hash, word.hash);
                        self.add(hash, first.start, word.end, weight, Some((of_first, entry)));
                    }
                    before = Some((word, entry));
                }
            }
        });
    }

    /// Chinese has no blanks between words, most of which have two characters.
    fn add_character_pairs(&mut self, text: &str, run: &Word, weight: u32, stops: Option<&StopWords>) {
        let characters = text.get(run.start as usize..run.end as usize).unwrap_or_default();
        let mut previous: Option<(u32, char)> = None;
        for (at, character) in characters.char_indices() {
            let start = run.start + at as u32;
            if is_grammar(character) {
                previous = None;
                continue;
            }
            if let Some((from, first)) = previous {
                let mut folding = Folding::new();
                folding.character(first);
                folding.character(character);
                let hash = folding.finish();
                if !stops.is_some_and(|stops| stops.contains(hash)) {
                    self.add(hash, from, start + character.len_utf8() as u32, weight, None);
                }
            }
            previous = Some((start, character));
        }
    }

    /// Counts an occurrence; the answer is the place of its entry.
    #[inline]
    fn add(&mut self, hash: u64, start: u32, end: u32, weight: u32, parts: Option<(u32, u32)>) -> u32 {
        let occurrence = self.occurrences.len() as u32;
        let mask = self.index.len().wrapping_sub(1);
        let mut at = (hash >> 20) as usize & mask;
        loop {
            let Some(place) = self.index.get_mut(at) else { return NONE };
            if *place == 0 {
                // Of a text so long, the rest adds nothing.
                let next = self.entries.len();
                if next * 2 > mask || next >= usize::from(u16::MAX) - 1 {
                    return NONE;
                }
                *place = next as u16 + 1;
                self.occurrences.push(Occurrence { start, end, previous: NONE });
                self.entries.push(Entry { hash, count: weight, last: occurrence, parts });
                return next as u32;
            }
            let known = u32::from(*place) - 1;
            if let Some(entry) = self.entries.get_mut(known as usize)
                && entry.hash == hash
            {
                entry.count += weight;
                self.occurrences.push(Occurrence { start, end, previous: entry.last });
                entry.last = occurrence;
                return known;
            }
            at = (at + 1) & mask;
        }
    }
}

/// The beginning of a text, to the end of a word.
fn head(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let head = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    match head.rfind(' ') {
        Some(blank) if blank > bytes / 2 => head.get(..blank).unwrap_or(head),
        _ => head,
    }
}

/// Scripts in which two letters are hardly a word.
fn is_alphabet(language: Option<LanguageCode>) -> bool {
    !language.is_some_and(|code| matches!(code.as_str(), "ko" | "vi" | "zh" | "ja"))
}

/// Characters of Chinese that are no part of a word that a text is about.
fn is_grammar(character: char) -> bool {
    "的了是在和不有我你他她它们这那也就都而及与着或个到说为以于对等被从把让给呢吗吧啊又很更最还要会能可其此该之".contains(character)
}
