//! What is made of bodies: whatever the bytes, languages have codes, topics are in the text, structured data and fields keep
//! their limits, and what is stored is read back or refused.

use crate::{choice, first_line};
use argiope_content::language::{LanguageCode, page_language};
use argiope_content::processor::{Budget, Input, Registry};
use argiope_content::rules::{Rule, RuleError, RuleSet, Rules};
use argiope_content::structured;
use argiope_content::topics::{DocumentFrequencies, TopicExtractor, TopicSettings};

const URL: &str = "https://www.example.com/a/b";
const LANGUAGES: [Option<&str>; 8] =
    [None, Some("en"), Some("de-AT"), Some("zh"), Some("ja"), Some("th"), Some("pl"), Some("nonsense")];

/// The first byte chooses the declared language, the rest is the text.
pub(crate) fn topics_are_in_the_text(bytes: &[u8]) {
    let (chosen, text) = choice(bytes);
    let text = String::from_utf8_lossy(text);
    let declared = LANGUAGES[usize::from(chosen & 7)];
    let language = page_language(declared, &text);
    if let Some(language) = language {
        assert!((0.0..=1.0).contains(&language.confidence), "{language:?}");
        assert_eq!(LanguageCode::of(language.code.as_str()), Some(language.code));
    } else {
        assert!(declared.and_then(LanguageCode::declared).is_none(), "a declaration is forgotten");
    }
    let code = language.map(|language| language.code);
    let mut frequencies = DocumentFrequencies::with_bytes(0);
    let mut extractor = TopicExtractor::new(TopicSettings::default());
    let topics = extractor.count_and_rank(&mut frequencies, code, "", &text);
    assert!(topics.len() <= 15);
    let collapsed = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\u{ad}', "");
    for topic in &topics {
        assert!(!topic.is_empty() && collapsed.contains(topic), "{topic:?} of {text:?}");
    }
}

/// The bytes as they are, and behind a right beginning and before a right checksum.
pub(crate) fn frequencies_are_read_back_or_refused(bytes: &[u8]) {
    const SMALL: usize = 256 << 10;
    let read = |bytes: &[u8]| DocumentFrequencies::from_bytes(bytes, SMALL);
    let check = |bytes: &[u8]| {
        if let Ok(frequencies) = read(bytes) {
            assert!(read(&frequencies.to_bytes()).expect("what was written") == frequencies);
        }
    };
    check(bytes);
    let mut framed = [b"argi-df1", bytes].concat();
    let checksum = xxhash_rust::xxh3::xxh3_64(&framed);
    framed.extend_from_slice(&checksum.to_le_bytes());
    check(&framed);
}

/// All bytes are a page.
pub(crate) fn structured_data_keeps_its_limits(bytes: &[u8]) {
    let html = String::from_utf8_lossy(bytes);
    let found = structured::read(&html, Some(URL));
    assert!(found.json_ld.len() <= 100 && found.images.len() <= 1_000 && found.videos.len() <= 200);
    assert!(found.microdata.len() <= 1_000 && found.rdfa.len() <= 1_000 && found.problems.len() <= 20);
    assert!(found.open_graph.len() <= 200 && found.twitter.len() <= 200);
    assert!(found.feeds.len() <= 500 && found.alternates.len() <= 500);
    assert!(found.videos.iter().all(|video| !video.url.is_empty()));
    serde_json::to_string(&found).expect("structured data is JSON");
}

/// The first line is a selector, the rest a page.
pub(crate) fn rules_find_or_are_refused(bytes: &[u8]) {
    let (selector, page) = first_line(bytes);
    let html = String::from_utf8_lossy(page);
    let rule = Rule { selector, ..Rule::default() };
    let rules = RuleSet::from([
        ("all".to_owned(), Rule { list: true, ..rule.clone() }),
        ("first".to_owned(), rule.clone()),
        ("html".to_owned(), Rule { html: true, ..rule.clone() }),
    ]);
    match Rules::compile(&rules) {
        Ok(rules) => {
            let found = rules.run(&html, Some(URL)).fields;
            let all = found["all"].as_array().expect("a list");
            assert!(all.len() <= 1_000);
            assert_eq!(all.first().cloned().unwrap_or_default(), found["first"]);
            assert!(found["html"].as_str().is_none_or(|html| html.len() <= 64 * 1024));
        }
        Err(RuleError::Selector { place, selector, .. }) => {
            assert!(place >= 1 && place <= selector.chars().count() + 1, "{place} of {selector:?}");
        }
        Err(other) => panic!("{other}"),
    }
}

const TYPES: [Option<&str>; 8] = [
    None,
    Some("text/html"),
    Some("application/rss+xml"),
    Some("text/xml; charset=koi8-r"),
    Some("application/json"),
    Some("text/plain; charset=utf-16"),
    Some("image/png"),
    Some("application/octet-stream"),
];

/// The first byte chooses type and budget, the rest is the body.
pub(crate) fn bodies_are_processed_or_refused(bytes: &[u8]) {
    let (chosen, body) = choice(bytes);
    let most = if chosen & 0x80 == 0 { 1 << 20 } else { 16 };
    let input = Input {
        bytes: body,
        content_type: TYPES[usize::from(chosen & 7)],
        charset: None,
        url: URL,
        budget: Budget { bytes: most, ..Budget::default() },
    };
    if let Ok(processed) = Registry::default().process(&input) {
        assert!(processed.links.len() <= 10_000);
        assert!(processed.truncated || body.len() <= most || processed.processor == "binary");
        serde_json::to_string(&processed).expect("what was made is JSON");
    }
}
