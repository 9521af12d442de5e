use super::*;
use proptest::prelude::*;

fn code(code: &str) -> Option<LanguageCode> {
    LanguageCode::of(code)
}

fn topics_of(language: &str, title: &str, text: &str) -> Vec<String> {
    let mut frequencies = DocumentFrequencies::default();
    TopicExtractor::new(TopicSettings::default()).count_and_rank(
        &mut frequencies,
        code(language),
        title,
        text,
    )
}

const SPIDERS: &str = "Garden spiders build orb webs. The orb web of a garden spider is made anew every night. \
    An orb web catches flies, and the garden spider eats the old silk. Silk is protein. In 2024 we counted 120 \
    orb webs; see www.example.com/spiders. Spiders' silk is stronger than steel.";

#[test]
fn a_person_finds_the_topics_sensible() {
    let topics = topics_of("en", "Garden spiders", SPIDERS);
    assert!(topics.len() <= 15);
    let best = &topics[..4];
    assert!(best.contains(&"Garden spiders".to_owned()), "{topics:?}");
    assert!(topics.contains(&"orb web".to_owned()), "{topics:?}");
    assert!(topics.contains(&"silk".to_owned()) || topics.contains(&"Silk".to_owned()), "{topics:?}");
    for fragment in ["the", "2024", "120", "www", "com", "s", "is", "of"] {
        assert!(!topics.iter().any(|topic| topic.eq_ignore_ascii_case(fragment)), "{fragment}: {topics:?}");
    }
}

#[test]
fn a_pair_takes_the_place_of_words_that_occur_in_it_only() {
    let text = "machine learning here, machine learning there; more machine learning. Models of learning.";
    let topics = topics_of("en", "", text);
    assert_eq!(topics[0], "machine learning");
    assert!(!topics.contains(&"machine".to_owned()), "{topics:?}");
    assert!(topics.contains(&"learning".to_owned()), "once it stands alone: {topics:?}");
}

#[test]
fn a_term_is_shown_as_it_is_mostly_written() {
    let text = "postgresql is one. PostgreSQL two. PostgreSQL three. POSTGRESQL four";
    assert_eq!(topics_of("en", "", text)[0], "PostgreSQL");
    let text = "open-source tools. Open-source licences. The open-source way";
    assert!(topics_of("en", "", text).contains(&"open-source".to_owned()));
}

#[test]
fn what_every_page_has_weighs_less() {
    let mut frequencies = DocumentFrequencies::default();
    let mut extractor = TopicExtractor::new(TopicSettings { most_topics: 3, ..TopicSettings::default() });
    for page in 0..200 {
        let text = format!("Shipping returns basket. Shipping returns basket. thing{}", "x".repeat(page % 7));
        extractor.count_and_rank(&mut frequencies, code("en"), "", &text);
    }
    assert_eq!(frequencies.documents(code("en")), 200);
    let text = "Shipping returns basket. Shipping returns basket. A trombone; the trombone";
    let topics = extractor.count_and_rank(&mut frequencies, code("en"), "", text);
    assert_eq!(topics[0], "trombone");
    // In another language nothing of this is known.
    assert_eq!(frequencies.documents(code("de")), 0);
    assert_eq!(extractor.rank(&frequencies, code("en"), "", text)[0], "trombone");
    assert_eq!(frequencies.documents(code("en")), 201);
}

#[test]
fn the_settings_are_obeyed() {
    let mut frequencies = DocumentFrequencies::default();
    let mut of = |words_per_topic, most_topics| {
        let settings = TopicSettings { most_topics, words_per_topic, ..TopicSettings::default() };
        assert_eq!(settings.problem(), None);
        TopicExtractor::new(settings).count_and_rank(&mut frequencies, code("en"), "Garden spiders", SPIDERS)
    };
    assert!(of((1, 1), 15).iter().all(|topic| !topic.contains(' ')));
    assert!(of((2, 2), 15).iter().all(|topic| topic.contains(' ')));
    assert_eq!(of((1, 2), 2).len(), 2);
    assert!(of((1, 2), 0).is_empty());
    for (from, to) in [(0, 1), (2, 1), (1, 3)] {
        let settings = TopicSettings { words_per_topic: (from, to), ..TopicSettings::default() };
        assert!(settings.problem().is_some());
    }
    let only_the_head = TopicSettings { text_bytes: 64, ..TopicSettings::default() };
    let text = format!("elephants {}", SPIDERS.repeat(9));
    let topics = TopicExtractor::new(only_the_head).count_and_rank(&mut frequencies, code("en"), "", &text);
    assert!(topics.contains(&"elephants".to_owned()) && !topics.contains(&"silk".to_owned()), "{topics:?}");
}

#[test]
fn other_scripts_have_topics_where_words_can_be_told() {
    let german =
        topics_of("de", "", "Der Bäcker backt Brötchen. Die Brötchen der Bäckerei sind die besten Brötchen.");
    assert_eq!(german[0], "Brötchen");
    let russian = topics_of("ru", "", "Поисковый робот читает страницы. Этот поисковый робот вежлив.");
    assert_eq!(russian[0], "Поисковый робот");
    let chinese = topics_of("zh", "", "搜索引擎的工作原理。搜索引擎抓取网页,然后建立索引。索引很大。");
    assert!(chinese.contains(&"搜索".to_owned()) && chinese.contains(&"索引".to_owned()), "{chinese:?}");
    let japanese = topics_of("ja", "", "検索エンジンは検索をする。エンジンの仕組みを学ぶ。");
    assert!(
        japanese.contains(&"検索".to_owned()) && japanese.contains(&"エンジン".to_owned()),
        "{japanese:?}"
    );
    assert!(topics_of("th", "", "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกัน").is_empty());
    let unknown = TopicExtractor::new(TopicSettings::default()).count_and_rank(
        &mut DocumentFrequencies::default(),
        None,
        "",
        "the spider and the spider",
    );
    assert_eq!(unknown, ["spider"]);
}

fn filled() -> DocumentFrequencies {
    let mut frequencies = DocumentFrequencies::with_bytes(512 << 10);
    let mut extractor = TopicExtractor::new(TopicSettings::default());
    for (language, text) in [("en", SPIDERS), ("de", "Die Spinne spinnt ein Netz, und das Netz ist groß")] {
        extractor.count_and_rank(&mut frequencies, code(language), "", text);
    }
    extractor.count_and_rank(&mut frequencies, None, "", "unknown things");
    frequencies
}

#[test]
fn frequencies_are_read_back_and_added_up() {
    let frequencies = filled();
    let bytes = frequencies.to_bytes();
    let read = DocumentFrequencies::from_bytes(&bytes, 512 << 10).unwrap();
    assert!(read == frequencies);
    let mut sum = DocumentFrequencies::with_bytes(512 << 10);
    sum.merge(frequencies.clone());
    sum.merge(read);
    assert_eq!(sum.documents(code("en")), 2 * frequencies.documents(code("en")));
    assert_eq!(sum.bytes(), frequencies.bytes());
}

#[test]
fn damaged_frequencies_are_refused() {
    let bytes = filled().to_bytes();
    let read = |bytes: &[u8]| DocumentFrequencies::from_bytes(bytes, 512 << 10).err();
    assert_eq!(read(b""), Some(FrequenciesError::Foreign));
    assert_eq!(read(&bytes[..bytes.len() - 1]), Some(FrequenciesError::Damaged));
    let mut changed = bytes.clone();
    changed[5000] ^= 1;
    assert_eq!(read(&changed), Some(FrequenciesError::Damaged));
}

proptest! {
    #[test]
    fn whatever_the_text_there_are_few_topics_and_all_are_in_it(text in "\\PC{0,300}", language in prop::sample::select(vec!["en", "zh", "ja", "fr", "th"])) {
        for topic in topics_of(language, "", &text) {
            let words: Vec<&str> = text.split_whitespace().collect();
            prop_assert!(words.join(" ").replace('\u{ad}', "").contains(&topic), "{topic:?} of {text:?}");
        }
    }

    #[test]
    fn logarithms_are_near(value in 1.0f32..1e6) {
        prop_assert!((ln(value) - value.ln()).abs() < 0.02, "{value}");
    }
}
