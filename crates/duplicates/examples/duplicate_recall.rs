//! How many near-duplicates are found, and how many pages are taken for one that are none. Pages are made of real text with
//! known edits; `bench/duplicates` gets the text and runs this.
//!
//! ```text
//! cargo run --profile quick -p argiope-duplicates --example duplicate_recall -- DIRECTORY...
//! ```
//!
//! Every page is HTML and goes through the extraction of a crawl. Articles are consecutive words of one file, each word in one
//! article only. What is random follows from a fixed seed.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot be made has failed")]

use argiope_duplicates::{NearIndex, may_be_near};
use argiope_extract::{Extracted, Input, Limits, Scratch, Wants, extract};
use argiope_model::{NormalForm, SimHash, Url};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Words of a page.
const LENGTHS: [usize; 10] = [10, 20, 30, 50, 75, 100, 200, 500, 1000, 3000];
const ARTICLES: usize = 400;
const PARAGRAPH: usize = 60;
/// Edits of words, in thousandths of the words.
const EDITS: [usize; 8] = [1, 2, 5, 10, 20, 50, 100, 200];
/// The words of a page that are its own, in hundredths; the others are those of its template.
const OWN: [usize; 6] = [5, 10, 20, 30, 50, 80];

fn main() {
    let mut files = Vec::new();
    for directory in std::env::args_os().skip(1) {
        collect(Path::new(&directory), &mut files);
    }
    files.sort();
    let mut pages = Pages::new();
    let texts: Vec<Vec<String>> = files.iter().filter_map(|file| pages.text_of(file)).collect();
    let vocabulary: Vec<String> = texts.iter().flatten().step_by(37).cloned().collect();
    let words: usize = texts.iter().map(Vec::len).sum();
    println!("{} files, {words} words\n", texts.len());
    assert!(words > 100_000, "give directories with more text");
    let mut sets = Vec::new();
    for length in LENGTHS {
        sets.push(articles(&texts, length));
    }
    header("near-duplicates found, of 100; pages of so many words");
    let mut random = Random(7);
    for (name, edit) in [("replaced", Edit::Replace), ("inserted", Edit::Insert), ("deleted", Edit::Delete)] {
        for thousandths in EDITS {
            let label = format!("{:.1} % of words {name}", thousandths as f64 / 10.0);
            row(&label, &sets, |article| {
                let edited = edit.apply(article, thousandths, &vocabulary, &mut random);
                Some((pages.page(&[], article, &[]), pages.page(&[], &edited, &[])))
            });
        }
    }
    row("one word replaced", &sets, |article| {
        let mut edited = article.to_vec();
        *edited.get_mut(random.below(article.len()))? = random.pick(&vocabulary);
        Some((pages.page(&[], article, &[]), pages.page(&[], &edited, &[])))
    });
    row("one paragraph of 60 words moved", &sets, |article| {
        let edited = moved(article, &mut random)?;
        Some((pages.page(&[], article, &[]), pages.page(&[], &edited, &[])))
    });
    for (label, boilerplate) in
        [("5 words of menu and footer changed", 5), ("20 words of it", 20), ("60 words of it", 60)]
    {
        row(label, &sets, |article| {
            let mut other =
                || -> Vec<String> { (0..boilerplate).map(|_| random.pick(&vocabulary)).collect() };
            let (one, two) = (other(), other());
            let (head, foot) = one.split_at(boilerplate / 2);
            let (other_head, other_foot) = two.split_at(boilerplate / 2);
            Some((pages.page(head, article, foot), pages.page(other_head, article, other_foot)))
        });
    }

    println!();
    header("other pages taken for near-duplicates, of 100");
    for hundredths in OWN {
        let label = format!("same template, {hundredths} % own words");
        for (set, length) in sets.iter().zip(LENGTHS) {
            let own = (length * hundredths).div_ceil(100);
            let taken = set.chunks_exact(3).map(|three| {
                let [template, one, other] = three else { return false };
                let (head, foot) = template.split_at((length - own) / 2);
                let foot = foot.get(..length - own - head.len()).unwrap_or_default();
                let start = |article: &'_ Vec<String>| article.get(..own).unwrap_or_default().to_vec();
                near(pages.page(head, &start(one), foot), pages.page(head, &start(other), foot))
            });
            let taken: Vec<bool> = taken.collect();
            cell(&label, length, &taken);
        }
        println!();
    }

    println!();
    println!("articles in one index: each is added, then each is looked up with 0.5 % of its words replaced");
    println!(
        "{:>36} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "words", "articles", "near", "found", "wrong", "precision"
    );
    for (set, length) in sets.iter().zip(LENGTHS) {
        let mut index = NearIndex::new(1 << 20);
        let prints: Vec<SimHash> = set.iter().map(|article| pages.page(&[], article, &[])).collect();
        let near =
            (0u64..).zip(&prints).filter(|(number, print)| index.insert(**print, *number).is_some()).count();
        let (mut found, mut wrong) = (0, 0);
        for (number, article) in (0u64..).zip(set) {
            let edited = Edit::Replace.apply(article, 5, &vocabulary, &mut random);
            match index.find(pages.page(&[], &edited, &[]), u64::MAX) {
                Some(near) if near.page == number => found += 1,
                Some(_) => wrong += 1,
                None => {}
            }
        }
        let precision = 100.0 * f64::from(found) / f64::from((found + wrong).max(1));
        let counted = if may_be_near(length as u32) { "" } else { "  (too short: not compared in a crawl)" };
        println!("{length:>36} {:>9} {near:>9} {found:>9} {wrong:>9} {precision:>8.1}%{counted}", set.len());
    }
}

fn header(what: &str) {
    print!("{what:<60}");
    LENGTHS.iter().for_each(|length| print!("{length:>6}"));
    println!();
}

/// One line: a pair of pages for each article of each length.
fn row(
    label: &str,
    sets: &[Vec<Vec<String>>],
    mut pair: impl FnMut(&[String]) -> Option<(SimHash, SimHash)>,
) {
    for (set, length) in sets.iter().zip(LENGTHS) {
        let found: Vec<bool> =
            set.iter().filter_map(|article| pair(article)).map(|(one, other)| near(one, other)).collect();
        cell(label, length, &found);
    }
    println!();
}

fn cell(label: &str, length: usize, found: &[bool]) {
    if length == LENGTHS[0] {
        print!("{label:<60}");
    }
    match found.len() {
        0 => print!("{:>6}", "-"),
        all => print!("{:>6.1}", 100.0 * found.iter().filter(|found| **found).count() as f64 / all as f64),
    }
}

fn near(one: SimHash, other: SimHash) -> bool {
    one.distance(other) <= SimHash::NEAR
}

#[derive(Clone, Copy)]
enum Edit {
    Replace,
    Insert,
    Delete,
}

impl Edit {
    /// Each word is edited with this chance; at least one is.
    fn apply(
        self,
        article: &[String],
        thousandths: usize,
        vocabulary: &[String],
        random: &mut Random,
    ) -> Vec<String> {
        let sure = random.below(article.len());
        let mut edited = Vec::with_capacity(article.len() + 8);
        for (at, word) in article.iter().enumerate() {
            if at != sure && random.below(1000) >= thousandths {
                edited.push(word.clone());
                continue;
            }
            match self {
                Edit::Replace => edited.push(random.pick(vocabulary)),
                Edit::Insert => edited.extend([random.pick(vocabulary), word.clone()]),
                Edit::Delete => {}
            }
        }
        edited
    }
}

/// One paragraph stands somewhere else. None for pages of one paragraph.
fn moved(article: &[String], random: &mut Random) -> Option<Vec<String>> {
    let mut paragraphs: Vec<&[String]> = article.chunks(PARAGRAPH).collect();
    if paragraphs.len() < 3 {
        return None;
    }
    let from = random.below(paragraphs.len());
    let paragraph = paragraphs.remove(from);
    let to = (from + 1 + random.below(paragraphs.len())) % (paragraphs.len() + 1);
    paragraphs.insert(to, paragraph);
    Some(paragraphs.concat())
}

/// Articles from all over the files, none of which begins as another does.
fn articles(texts: &[Vec<String>], length: usize) -> Vec<Vec<String>> {
    let mut known = HashSet::new();
    let all: Vec<&[String]> = texts
        .iter()
        .flat_map(|text| text.chunks_exact(length))
        .filter(|article| known.insert(article.get(..10.min(length))))
        .collect();
    let step = (all.len() / ARTICLES).max(1);
    all.into_iter().step_by(step).take(ARTICLES).map(<[String]>::to_vec).collect()
}

/// Makes pages, and reads them as a crawl does.
struct Pages {
    scratch: Scratch,
    url: Url,
}

impl Pages {
    fn new() -> Pages {
        let url = Url::parse("https://example.com/page", &NormalForm::default().compile()).expect("a URL");
        Pages { scratch: Scratch::new(), url }
    }

    fn extracted(&mut self, html: &[u8], wants: Wants) -> Extracted {
        let input = Input {
            body: html,
            payload: None,
            content_type: Some("text/html; charset=utf-8"),
            url: &self.url,
            x_robots_tag: &[],
            agent: "argiope",
            limits: Limits::default(),
            wants,
        };
        extract(&input, &mut self.scratch)
    }

    fn page(&mut self, head: &[String], article: &[String], foot: &[String]) -> SimHash {
        let mut html = String::from("<!doctype html><html><head><meta charset=utf-8></head><body><nav>");
        let mut part = |words: &[String], after: &str| {
            for word in words {
                word.chars().for_each(|letter| match letter {
                    '<' => html.push_str("&lt;"),
                    '&' => html.push_str("&amp;"),
                    letter => html.push(letter),
                });
                html.push(' ');
            }
            html.push_str(after);
        };
        part(head, "</nav><main><p>");
        article.chunks(PARAGRAPH).for_each(|paragraph| part(paragraph, "</p><p>"));
        part(&[], "</p></main><footer>");
        part(foot, "</footer></body></html>");
        self.extracted(html.as_bytes(), Wants::NONE).simhash.expect("a page with words")
    }

    fn text_of(&mut self, file: &PathBuf) -> Option<Vec<String>> {
        let bytes = std::fs::read(file).ok()?;
        let text = self.extracted(&bytes, Wants { text: true, ..Wants::NONE }).text?;
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        (words.len() >= 300).then_some(words)
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&path, files),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "html") => files.push(path),
            _ => {}
        }
    }
}

/// xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn pick(&mut self, words: &[String]) -> String {
        words.get(self.below(words.len())).cloned().unwrap_or_default()
    }
}
