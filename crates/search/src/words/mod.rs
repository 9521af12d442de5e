//! Words of any language, as they are indexed, searched and highlighted: the same everywhere, or a word that is on a page
//! would not be found.
//!
//! A word is a run of letters, digits and marks. It is compared in lower case and without accents. Scripts that put no
//! blanks between words (Chinese, Japanese, Korean, Thai ...) are cut into overlapping pairs of characters, so that a
//! phrase of pairs finds every piece of text.

mod folding;

use std::ops::Range;

/// Longer ones are hashes and data, not words. In bytes of their indexed form.
pub const LONGEST_WORD: usize = 64;

/// How text is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Of an indexed text: the last character of a run without blanks is a word of its own, too, so that a search for one
    /// character finds it wherever it stands.
    Indexed,
    /// Of a query.
    Asked,
}

/// Reads one word after the other.
pub struct Words<'t> {
    text: &'t str,
    at: usize,
    side: Side,
    /// The last step was a pair, so the character that comes next has been in a word.
    is_in_pairs: bool,
}

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is indexed.
    pub form: String,
    /// Where it stands.
    pub range: Range<usize>,
}

impl<'t> Words<'t> {
    pub fn new(text: &'t str, side: Side) -> Words<'t> {
        Words { text, at: 0, side, is_in_pairs: false }
    }

    /// Puts the next word into `form`, and says where it stands.
    pub fn read(&mut self, form: &mut String) -> Option<Range<usize>> {
        loop {
            form.clear();
            let rest = self.text.get(self.at..)?;
            let first = rest.chars().next()?;
            if is_unspaced(first) {
                if let Some(range) = self.read_pair(first, form) {
                    return Some(range);
                }
                continue;
            }
            self.is_in_pairs = false;
            if !first.is_alphanumeric() {
                self.at += first.len_utf8();
                continue;
            }
            let start = self.at;
            self.read_run(form);
            if !form.is_empty() && form.len() <= LONGEST_WORD {
                return Some(start..self.at);
            }
        }
    }

    /// Reads to the end of a run of letters. What is beyond [`LONGEST_WORD`] is stepped over.
    fn read_run(&mut self, form: &mut String) {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if byte.is_ascii_alphanumeric() {
                form.push(char::from(byte.to_ascii_lowercase()));
                self.at += 1;
            } else if byte.is_ascii() {
                return;
            } else {
                let Some(letter) = self.text.get(self.at..).and_then(|rest| rest.chars().next()) else {
                    return;
                };
                if is_unspaced(letter) || !(letter.is_alphanumeric() || is_mark(letter)) {
                    return;
                }
                self.at += letter.len_utf8();
                fold(letter, form);
            }
            // One more than allowed tells that it is too long.
            if form.len() > LONGEST_WORD + 8 {
                form.truncate(0);
                form.extend(std::iter::repeat_n('x', LONGEST_WORD + 1));
            }
        }
    }

    /// A pair at the current place, or a last character. Steps over one character.
    fn read_pair(&mut self, first: char, form: &mut String) -> Option<Range<usize>> {
        let start = self.at;
        let middle = start + first.len_utf8();
        self.at = middle;
        let second = self.text.get(middle..).and_then(|rest| rest.chars().next());
        let was_in_pairs = self.is_in_pairs;
        form.extend(first.to_lowercase());
        match second.filter(|second| is_unspaced(*second)) {
            Some(second) => {
                form.extend(second.to_lowercase());
                self.is_in_pairs = true;
                Some(start..middle + second.len_utf8())
            }
            None => {
                self.is_in_pairs = false;
                (!was_in_pairs || self.side == Side::Indexed).then_some(start..middle)
            }
        }
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let mut form = String::new();
        let range = self.read(&mut form)?;
        Some(Word { form, range })
    }
}

/// The words of a query's text.
pub fn asked(text: &str) -> Vec<String> {
    Words::new(text, Side::Asked).map(|word| word.form).collect()
}

/// Whether a word is one character of a script without blanks: it is searched as the beginning of pairs.
pub fn is_beginning(form: &str) -> bool {
    let mut letters = form.chars();
    letters.next().is_some_and(is_unspaced) && letters.next().is_none()
}

fn fold(letter: char, form: &mut String) {
    match letter {
        // Marks on the letter before, soft hyphens and joiners.
        '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200c}' | '\u{200d}' => {}
        // Letters and digits of full width.
        '\u{ff01}'..='\u{ff5e}' => {
            let narrow = char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter);
            form.push(narrow.to_ascii_lowercase());
        }
        _ => match folding::folded(letter) {
            Some(typed) => form.push_str(typed),
            None => form.extend(letter.to_lowercase()),
        },
    }
}

/// Of a script that is written without blanks between words.
fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e01}'..='\u{edf}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17d3}' // Khmer
        | '\u{3005}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{20000}'..='\u{3ffff}')
}

/// What stands in the middle of words without being a letter: combining marks, vowel signs, joiners.
fn is_mark(letter: char) -> bool {
    match letter {
        '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200c}' | '\u{200d}' => true,
        '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'..='\u{5c2}'
        | '\u{5c4}'..='\u{5c5}' => true,
        '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6ed}' => true,
        // Indian scripts: all that is no letter, but for dandas, signs of abbreviation and of money.
        '\u{900}'..='\u{dff}' => !matches!(letter,
            '\u{964}' | '\u{965}' | '\u{970}' | '\u{9f2}' | '\u{9f3}' | '\u{9fa}'..='\u{9fd}' | '\u{a76}' | '\u{af0}'
            | '\u{af1}' | '\u{b70}' | '\u{bf3}'..='\u{bfa}' | '\u{c77}' | '\u{c84}' | '\u{df4}'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexed(text: &str) -> Vec<String> {
        Words::new(text, Side::Indexed).map(|word| word.form).collect()
    }

    #[test]
    fn words_are_compared_in_lower_case_without_accents() {
        assert_eq!(
            indexed("The Café's CRÈME brûlée, 3.14"),
            ["the", "cafe", "s", "creme", "brulee", "3", "14"]
        );
        assert_eq!(indexed("Straße Łódź ΆΛΦΑ Ёлка"), ["strasse", "lodz", "αλφα", "елка"]);
        assert_eq!(indexed("re\u{301}sume\u{301} soft\u{ad}ware ＡＢＣ"), ["resume", "software", "abc"]);
        assert_eq!(indexed("snake_case example.com C++"), ["snake", "case", "example", "com", "c"]);
        assert_eq!(indexed("हिन्दी भाषा।"), ["हिन्दी", "भाषा"]);
    }

    #[test]
    fn scripts_without_blanks_are_cut_into_pairs() {
        assert_eq!(indexed("東京都 x"), ["東京", "京都", "都", "x"]);
        assert_eq!(asked("東京都"), ["東京", "京都"]);
        assert_eq!(asked("都"), ["都"]);
        assert_eq!(asked("Rust入門"), ["rust", "入門"]);
        assert!(is_beginning("都") && !is_beginning("東京") && !is_beginning("a"));
    }

    #[test]
    fn a_word_says_where_it_stands() {
        let text = "— Crème, 東京";
        let places: Vec<&str> =
            Words::new(text, Side::Indexed).map(|word| &text[word.range.clone()]).collect();
        assert_eq!(places, ["Crème", "東京", "京"]);
    }

    #[test]
    fn what_is_too_long_is_no_word() {
        let text = format!("a {} b", "f".repeat(5000));
        assert_eq!(indexed(&text), ["a", "b"]);
        assert_eq!(indexed(&"é".repeat(64)), ["e".repeat(64)]);
    }

    proptest::proptest! {
        #[test]
        fn places_are_whole_characters_in_order(text in "\\PC{0,80}") {
            let mut last = 0;
            for word in Words::new(&text, Side::Indexed) {
                proptest::prop_assert!(text.get(word.range.clone()).is_some());
                proptest::prop_assert!(word.range.start >= last && !word.form.is_empty());
                proptest::prop_assert!(word.form.len() <= LONGEST_WORD);
                last = word.range.start;
            }
        }

        #[test]
        fn what_was_indexed_is_found_by_its_own_form(text in "\\PC{0,40}") {
            for word in Words::new(&text, Side::Asked) {
                proptest::prop_assert_eq!(asked(&word.form), vec![word.form.clone()]);
            }
        }
    }
}
