//! What a text is about: the terms of one or two words that it has often and the rest of the crawl has seldom.
//!
//! The head of a text is read (4 KB), terms are counted, and weighed by `count * (1 + ln((documents + 1) / (documents with
//! the term + 1)))`. Document frequencies are those of the pages before, in the same language; the first pages of a crawl are
//! weighed by little more than their own counts, so whoever wants better ranks them again at the end
//! ([`TopicExtractor::rank`]).
//!
//! A term is shown as the text writes it most often. A pair of words takes the place of those of its words that occur in it
//! only. Chinese is taken two characters at a time; of Japanese, runs of kanji and of katakana are terms; Thai, Lao, Khmer and
//! Burmese have no terms, since words cannot be told apart without a dictionary.

mod frequencies;
mod sketch;
mod terms;

pub use frequencies::{DEFAULT_BYTES, DocumentFrequencies, FrequenciesError};

use crate::language::LanguageCode;
use sketch::Sketch;
use terms::{NONE, Terms};

/// The keys `top_n` and `ngram_range` of the section `topics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSettings {
    /// How many terms a page has at most.
    pub most_topics: usize,
    /// Words of a term, from and to: `[1, 2]` for words and pairs, `[1, 1]` for words, `[2, 2]` for pairs.
    pub words_per_topic: (usize, usize),
    /// How much of a text is read.
    pub text_bytes: usize,
}

impl Default for TopicSettings {
    fn default() -> TopicSettings {
        TopicSettings { most_topics: 15, words_per_topic: (1, 2), text_bytes: 4096 }
    }
}

impl TopicSettings {
    /// Why these settings cannot be used, if so.
    pub fn problem(&self) -> Option<&'static str> {
        let (from, to) = self.words_per_topic;
        if !(1..=2).contains(&from) || !(1..=2).contains(&to) || from > to {
            Some("the words of a topic must be [1, 1], [1, 2] or [2, 2]")
        } else if self.most_topics > 100 {
            Some("the number of topics must be at most 100")
        } else if !(64..=MOST_TEXT_BYTES).contains(&self.text_bytes) {
            Some("text_bytes must be between 64 and 65536")
        } else {
            None
        }
    }
}

const MOST_TEXT_BYTES: usize = 64 * 1024;
/// Of a term that occurs so often, not all ways to write it are looked at.
const MOST_SPELLINGS: usize = 24;

/// Finds topics; has the buffers of one thread.
pub struct TopicExtractor {
    settings: TopicSettings,
    terms: Terms,
    /// Document frequency of each entry.
    frequencies: Vec<u16>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy)]
struct Candidate {
    score: f32,
    entry: u32,
    /// Occurrences that are not in a pair that is a topic itself.
    count: u32,
    weight: f32,
}

impl TopicExtractor {
    pub fn new(settings: TopicSettings) -> TopicExtractor {
        TopicExtractor { settings, terms: Terms::default(), frequencies: Vec::new(), candidates: Vec::new() }
    }

    /// The topics of a page that is new to the crawl, best first; its terms are counted among those of the documents.
    pub fn count_and_rank(
        &mut self,
        frequencies: &mut DocumentFrequencies,
        language: Option<LanguageCode>,
        title: &str,
        text: &str,
    ) -> Vec<String> {
        self.terms.read(language, title, text, &self.settings);
        self.frequencies.clear();
        if self.terms.entries.is_empty() {
            return Vec::new();
        }
        let sketch = frequencies.sketch_mut(language);
        let documents = sketch.documents();
        sketch.begin_document();
        self.frequencies.extend(self.terms.entries.iter().map(|entry| sketch.add(entry.hash)));
        self.ranked(documents)
    }

    /// The topics of a page that has been counted, or is not to be.
    pub fn rank(
        &mut self,
        frequencies: &DocumentFrequencies,
        language: Option<LanguageCode>,
        title: &str,
        text: &str,
    ) -> Vec<String> {
        self.terms.read(language, title, text, &self.settings);
        self.frequencies.clear();
        let sketch = frequencies.sketch(language);
        let count = |hash| sketch.map_or(0, |sketch| sketch.count(hash));
        self.frequencies.extend(self.terms.entries.iter().map(|entry| count(entry.hash)));
        self.ranked(sketch.map_or(0, Sketch::documents))
    }

    fn ranked(&mut self, documents: u32) -> Vec<String> {
        self.weigh(documents);
        let wanted = self.settings.most_topics;
        if wanted == 0 || self.candidates.is_empty() {
            return Vec::new();
        }
        // Enough for those that pairs take the place of.
        keep_best(&mut self.candidates, wanted.saturating_mul(4));
        self.let_pairs_stand_for_their_words();
        keep_best(&mut self.candidates, wanted);
        let mut topics: Vec<String> = Vec::with_capacity(self.candidates.len());
        for candidate in &self.candidates {
            let topic = self.as_written(candidate.entry);
            if !topic.is_empty() && !topics.contains(&topic) {
                topics.push(topic);
            }
        }
        topics
    }

    fn weigh(&mut self, documents: u32) {
        self.candidates.clear();
        let has_singles = self.settings.words_per_topic.0 == 1;
        let logarithm_of_all = ln(documents as f32 + 1.0);
        let repeated = self.terms.entries.iter().filter(|entry| entry.count >= 2).count();
        // What a text has once says little of it, if there is enough that it has more often.
        let least = if repeated >= self.settings.most_topics.saturating_mul(2) { 2 } else { 1 };
        for (at, (entry, frequency)) in self.terms.entries.iter().zip(&self.frequencies).enumerate() {
            let is_wanted = match entry.parts {
                // Any two words stand side by side once.
                Some(_) => entry.count >= 2,
                None => has_singles && entry.count >= least,
            };
            if !is_wanted {
                continue;
            }
            let weight = 1.0 + (logarithm_of_all - ln(f32::from(*frequency) + 1.0)).max(0.0);
            let score = entry.count as f32 * weight;
            self.candidates.push(Candidate { score, entry: at as u32, count: entry.count, weight });
        }
    }

    /// What remains of a word's count, when the pairs that it is in are topics themselves, is what it weighs.
    fn let_pairs_stand_for_their_words(&mut self) {
        let entries = &self.terms.entries;
        let count_of = |entry: u32| entries.get(entry as usize).map_or(0, |entry| entry.count);
        let parts_of = |entry: u32| entries.get(entry as usize).and_then(|entry| entry.parts);
        let mut taken: Vec<(u32, u32)> = Vec::new();
        self.candidates.retain(|candidate| {
            let Some((first, second)) = parts_of(candidate.entry) else { return true };
            let rarer = count_of(first).min(count_of(second));
            // Two words that mostly occur apart are no term together.
            let is_term = candidate.count * 2 >= rarer;
            if is_term {
                taken.push((first, candidate.count));
                taken.push((second, candidate.count));
            }
            is_term
        });
        for candidate in &mut self.candidates {
            let within: u32 =
                taken.iter().filter(|(part, _)| *part == candidate.entry).map(|(_, count)| count).sum();
            candidate.count = candidate.count.saturating_sub(within);
            candidate.score = candidate.count as f32 * candidate.weight;
        }
        self.candidates.retain(|candidate| candidate.count > 0);
    }

    /// A term as the text writes it most often; of two ways, the one that comes first.
    fn as_written(&self, entry: u32) -> String {
        let Some(entry) = self.terms.entries.get(entry as usize) else { return String::new() };
        let mut spellings: Vec<(&str, u32)> = Vec::new();
        let mut at = entry.last;
        let mut looked_at = 0;
        while at != NONE && looked_at < MOST_SPELLINGS {
            let Some(occurrence) = self.terms.occurrences.get(at as usize) else { break };
            let range = occurrence.start as usize..occurrence.end as usize;
            let written = self.terms.text.get(range).unwrap_or_default();
            match spellings.iter_mut().find(|(known, _)| *known == written) {
                Some((_, count)) => *count += 1,
                None => spellings.push((written, 1)),
            }
            looked_at += 1;
            at = occurrence.previous;
        }
        let best = spellings.iter().max_by_key(|(_, count)| *count).map_or("", |(written, _)| *written);
        let words: Vec<&str> =
            best.split(|c: char| c.is_whitespace()).filter(|word| !word.is_empty()).collect();
        words.join(" ").replace('\u{ad}', "")
    }
}

/// The best of them, best first.
fn keep_best(candidates: &mut Vec<Candidate>, wanted: usize) {
    let order = |one: &Candidate, other: &Candidate| {
        other.score.total_cmp(&one.score).then(one.entry.cmp(&other.entry))
    };
    if wanted < candidates.len() {
        candidates.select_nth_unstable_by(wanted, order);
        candidates.truncate(wanted);
    }
    candidates.sort_unstable_by(order);
}

/// The natural logarithm, to a hundredth: there are hundreds to be taken for a page.
fn ln(value: f32) -> f32 {
    let bits = value.to_bits();
    let exponent = (bits >> 23) as f32 - 127.0;
    let mantissa = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
    // Of 1 to 2, by a parabola.
    let fraction = (-0.344_845 * mantissa + 2.024_658) * mantissa - 1.679_813;
    (exponent + fraction) * std::f32::consts::LN_2
}

#[cfg(test)]
mod tests;
