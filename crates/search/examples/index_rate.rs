//! How fast pages are indexed and found: writes synthetic pages and searches them.
//!
//! ```sh
//! cargo run --profile quick -p argiope-search --example index_rate -- 100000 [words per page] [directory]
//! ```
//!
//! Words are drawn by Zipf's law from a vocabulary of 200,000, as they are in natural text.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "an example ends where something is not as it should be"
)]

use argiope_model::{JobId, Millis};
use argiope_search::document::{Document, DocumentId};
use argiope_search::embedded::{EmbeddedReader, EmbeddedWriter, WriterOptions};
use argiope_search::hits::Request;
use argiope_search::index::{IndexBatch, IndexReader, IndexWriter};
use argiope_search::query::parse;
use argiope_store::follower::Position;
use rustix::time::ClockId;
use std::path::Path;
use std::time::{Duration, Instant};

const VOCABULARY: usize = 200_000;
const BATCH: u64 = 200;

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Language {
    words: Vec<String>,
}

impl Language {
    fn new() -> Language {
        let syllables = [
            "ka", "lo", "mi", "ten", "ra", "su", "ve", "nor", "di", "pa", "est", "un", "gri", "ho", "ble",
            "tor",
        ];
        let mut chance = Chance(7);
        let mut word = |rank: usize| {
            // Frequent words are short; the rank keeps words apart.
            let length = 1 + (rank as f64).log10() as usize / 2 + (chance.next() % 3) as usize;
            let mut text: String = (0..length).map(|_| syllables[(chance.next() % 16) as usize]).collect();
            let mut rest = rank;
            while rest > 0 {
                text.push(char::from(b'a' + (rest % 26) as u8));
                rest /= 26;
            }
            text
        };
        Language { words: (0..VOCABULARY).map(|rank| word(rank + 1)).collect() }
    }

    /// By Zipf's law, nearly: the inverse of its sum is an exponential.
    fn word(&self, chance: &mut Chance) -> &str {
        let rank = (VOCABULARY as f64).powf(chance.unit()) as usize;
        &self.words[rank.clamp(1, VOCABULARY) - 1]
    }

    fn text(&self, chance: &mut Chance, words: usize) -> String {
        let mut text = String::with_capacity(words * 7);
        for at in 0..words {
            text.push_str(self.word(chance));
            text.push_str(if at % 13 == 12 { ". " } else { " " });
        }
        text
    }

    fn page(&self, number: u64, words: usize) -> Document {
        let mut chance = Chance(number);
        let length = words / 2 + (chance.unit() * words as f64) as usize;
        let domain = format!("site{}.test", (1000f64.powf(chance.unit())) as u64);
        Document {
            id: DocumentId { job: JobId(1), url_key: chance.next() },
            url: format!("https://www.{domain}/{}/{number}", self.word(&mut chance)),
            host: format!("www.{domain}"),
            root_domain: domain,
            title: self.text(&mut chance, 8),
            description: self.text(&mut chance, 20),
            headings: (0..5).map(|_| self.text(&mut chance, 5)).collect(),
            anchors: (0..3).map(|_| self.text(&mut chance, 3)).collect(),
            text: self.text(&mut chance, length),
            language: Some(["en", "de", "pt", "ja"][(chance.next() % 4) as usize].into()),
            topics: (0..15).map(|_| self.word(&mut chance).to_owned()).collect(),
            status: 200,
            crawled_at: Millis(1_777_593_600_000 + number * 1000),
            content: number,
            is_duplicate: false,
        }
    }
}

fn cpu_of(clock: ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn size(directory: &Path) -> u64 {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap_or("unknown")
        .replace("VmHWM:", "")
        .trim()
        .to_owned()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pages: u64 = arguments.first().map_or(20_000, |text| text.parse().unwrap());
    let words: usize = arguments.get(1).map_or(600, |text| text.parse().unwrap());
    let scratch = tempfile::tempdir().unwrap();
    let directory = arguments.get(2).map_or_else(|| scratch.path().join("index"), Into::into);
    let language = Language::new();

    let mut writer = EmbeddedWriter::open(&directory, WriterOptions::default()).unwrap();
    let begun = Instant::now();
    let (mut text_bytes, mut making) = (0, Duration::ZERO);
    let first = writer.position().unwrap().page;
    let cpu_before = cpu_of(ClockId::ProcessCPUTime);
    for batch in first / BATCH..pages.div_ceil(BATCH) {
        let made = cpu_of(ClockId::ThreadCPUTime);
        let documents: Vec<Document> =
            (batch * BATCH..(batch + 1) * BATCH).map(|number| language.page(number, words)).collect();
        text_bytes += documents.iter().map(|page| page.text.len()).sum::<usize>();
        let reached = Position { page: (batch + 1) * BATCH, batch: 0 };
        // The index works on other threads meanwhile.
        making += cpu_of(ClockId::ThreadCPUTime).saturating_sub(made);
        writer.add(IndexBatch { documents, reached, ..IndexBatch::default() }).unwrap();
    }
    writer.finish_merging().unwrap();
    let used = cpu_of(ClockId::ProcessCPUTime).saturating_sub(cpu_before).saturating_sub(making);
    let indexed = pages.saturating_sub(first);
    println!(
        "{indexed} pages of {} bytes of text: {:.0} pages/s of CPU, {:.1} MB/s; {:.0} s on the clock, memory {}",
        text_bytes as u64 / indexed.max(1),
        indexed as f64 / used.as_secs_f64(),
        text_bytes as f64 / 1e6 / used.as_secs_f64(),
        begun.elapsed().as_secs_f64(),
        memory(),
    );
    println!(
        "index: {} MB, {:.2} of the text",
        size(&directory) >> 20,
        size(&directory) as f64 / text_bytes.max(1) as f64
    );

    let reader = EmbeddedReader::open(&directory).unwrap().unwrap();
    let word = |rank: usize| language.words[rank - 1].as_str();
    let (frequent, common, usual, rare) = (word(1), word(30), word(3000), word(150_000));
    let second = word(31);
    for (what, query, facets) in [
        ("rare word", rare.to_owned(), false),
        ("usual word", usual.to_owned(), false),
        ("common word", common.to_owned(), false),
        ("most frequent word", frequent.to_owned(), false),
        ("two common words", format!("{common} {second}"), false),
        ("common OR usual", format!("{common} OR {usual}"), false),
        ("common phrase", format!("\"{frequent} {common}\""), false),
        ("common word of a site", format!("{common} site:site1.test"), false),
        ("common word of a time", format!("{common} after:2026-05-02"), false),
        ("common word with facets", common.to_owned(), true),
        ("misspelt word", format!("{}x", &usual[..usual.len() - 1]), false),
    ] {
        let request = Request { facets, ..Request::new(parse(&query).unwrap()) };
        let mut times = Vec::new();
        let mut total = 0;
        for _ in 0..7 {
            let begun = Instant::now();
            total = reader.search(&request).unwrap().total;
            times.push(begun.elapsed());
        }
        times.sort();
        println!("{what:<24} {:>8.2} ms (first {:.2}), {total} results", ms(times[3]), ms(times[6]));
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
