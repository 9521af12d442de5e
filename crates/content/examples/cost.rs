//! What language and topics cost for each page. Instructions are counted from outside:
//!
//! ```sh
//! cargo build --profile quick -p argiope-content --example cost
//! for n in 0 1000; do valgrind --tool=callgrind --callgrind-out-file=/dev/null target/quick/examples/cost topics $n < page.txt; done
//! ```
//!
//! The difference of the two, divided by 1,000, is the cost of a page. The text comes from standard input, and is cut into
//! pages of 4 KB. Without valgrind it prints microseconds.

use argiope_content::language::{LanguageCode, page_language};
use argiope_content::topics::{DocumentFrequencies, TopicExtractor, TopicSettings};
use std::io::Read;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "topics".to_owned());
    let rounds: usize = arguments.next().unwrap_or_else(|| "1000".to_owned()).parse()?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut pages: Vec<&str> = Vec::new();
    let mut rest = text.as_str();
    while rest.len() > 4096 {
        let (page, after) = rest.split_at(rest.floor_char_boundary(4096));
        pages.push(page);
        rest = after;
    }
    pages.push(rest);
    let english = LanguageCode::of("en");
    let mut frequencies = DocumentFrequencies::default();
    let mut extractor = TopicExtractor::new(TopicSettings::default());
    let mut last = String::new();
    let start = Instant::now();
    for page in pages.iter().cycle().take(rounds) {
        match what.as_str() {
            "topics" => last = extractor.count_and_rank(&mut frequencies, english, "", page).join(", "),
            "declared" => last = format!("{:?}", page_language(Some("en"), page)),
            "undeclared" => last = format!("{:?}", page_language(None, page)),
            other => return Err(format!("'{other}' is none of topics, declared, undeclared").into()),
        }
    }
    let microseconds = start.elapsed().as_secs_f64() * 1e6 / rounds.max(1) as f64;
    println!("{} pages, {microseconds:.1} us each; the last: {last}", rounds);
    Ok(())
}
