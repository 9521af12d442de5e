//! Properties of every parser, for any bytes: limits are kept, normal forms are fixed points, output is read back. Each
//! property is a function of bytes that panics where it does not hold. The fuzzer drives them without end
//! (`scripts/fuzz`); the tests of this crate drive them over the committed corpora and what becomes of those when they
//! are mutated.
//!
//! In no program: it stands beside the rooms, as `lab` does. What the binary reads itself, configuration and control
//! socket, has its properties beside its code, for a binary is nobody's dependency.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "for tests only: a property that does not hold is a panic"
)]

mod article;
mod charset;
mod content;
mod content_coding;
mod cookies;
mod frontier_records;
mod html;
mod link_batch;
mod robots_txt;
mod search_query;
mod sitemap;
mod times;
mod url;
mod warc;
mod words;

/// A property by the name of its fuzz target and corpus.
pub struct Property {
    pub name: &'static str,
    pub holds_for: fn(&[u8]),
}

pub const ALL: [Property; 22] = [
    Property { name: "article", holds_for: article::is_taken_within_limits },
    Property { name: "charset", holds_for: charset::is_told_and_obeyed },
    Property { name: "content_coding", holds_for: content_coding::is_undone_within_limits },
    Property { name: "content_frequencies", holds_for: content::frequencies_are_read_back_or_refused },
    Property { name: "content_processors", holds_for: content::bodies_are_processed_or_refused },
    Property { name: "content_rules", holds_for: content::rules_find_or_are_refused },
    Property { name: "content_structured", holds_for: content::structured_data_keeps_its_limits },
    Property { name: "content_topics", holds_for: content::topics_are_in_the_text },
    Property { name: "cookies", holds_for: cookies::are_kept_within_limits },
    Property { name: "frontier_records", holds_for: frontier_records::are_read_back_or_refused },
    Property { name: "html", holds_for: html::is_read_within_limits },
    Property { name: "link_batch", holds_for: link_batch::is_read_back_or_refused },
    Property { name: "link_segment", holds_for: link_batch::segment_is_read_back_or_refused },
    Property { name: "messages", holds_for: frontier_records::messages_are_read_back_or_refused },
    Property { name: "robots_txt", holds_for: robots_txt::has_one_meaning },
    Property { name: "search_query", holds_for: search_query::is_read_back_and_marks_whole_characters },
    Property { name: "sitemap", holds_for: sitemap::is_read_within_limits },
    Property { name: "times", holds_for: times::stay_within_the_calendar },
    Property { name: "url", holds_for: url::has_one_normal_form },
    Property { name: "warc_read", holds_for: warc::is_read_within_limits },
    Property { name: "warc_round_trip", holds_for: warc::is_read_back },
    Property { name: "words", holds_for: words::are_written_as_they_are_read },
];

/// For a fuzz target: the property of this name, which exists.
pub fn check(name: &str, bytes: &[u8]) {
    let property = ALL.iter().find(|property| property.name == name).expect("a property of this name");
    (property.holds_for)(bytes);
}

/// The first byte, to choose by, and the rest.
fn choice(bytes: &[u8]) -> (u8, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest))
}

/// The first line as text, and what follows it.
fn first_line(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    (String::from_utf8_lossy(&bytes[..end]).into_owned(), bytes.get(end + 1..).unwrap_or_default())
}
