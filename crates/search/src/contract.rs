//! The contract suite of indexes. The tests of an adapter say `argiope_search::search_index_contract!(open)`, where `open()`
//! gives an [`IndexFixture`]. Each check is one test. Where `open` gives `None`, for want of a server, it ends at once.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test suite: what is not as it should be ends the test"
)]

use crate::document::{Document, DocumentId};
use crate::hits::{Count, Hits, Request};
use crate::index::{Deletion, IndexBatch, IndexReader, IndexWriter};
use crate::query::parse;
use argiope_model::{JobId, Millis};
use argiope_store::error::ErrorKind;
use argiope_store::follower::Position;

/// An index that is empty at first.
pub trait IndexFixture {
    /// Opens it as a process does when it starts. The writer before has ended, however it did.
    fn writer(&mut self) -> Box<dyn IndexWriter>;

    fn reader(&mut self) -> Box<dyn IndexReader>;
}

/// One `#[test]` for each check.
#[macro_export]
macro_rules! search_index_contract {
    ($open:expr) => {
        $crate::search_index_contract!(@each $open,
            an_empty_index_finds_nothing,
            all_words_have_to_be_there,
            words_may_be_excluded_and_be_alternatives,
            a_phrase_is_words_in_their_order,
            accents_and_case_make_no_difference,
            text_without_blanks_is_found,
            a_title_counts_more_than_text,
            the_text_of_links_counts,
            filters_narrow_a_search,
            error_pages_are_found_only_if_they_are_asked_for,
            a_hit_says_what_it_is_and_shows_why,
            hits_come_in_pages,
            facets_count_all_results,
            of_copies_the_original_is_listed,
            a_document_replaces_its_earlier_version,
            documents_are_deleted_one_by_one_by_job_and_by_url,
            a_position_is_never_beyond_what_survived,
            a_misspelt_word_gets_a_hint,
            a_job_is_known_by_its_number
        );
    };
    (@each $open:expr, $($check:ident),+) => {
        $(
            #[test]
            fn $check() {
                let opened: Option<Box<dyn $crate::contract::IndexFixture>> = ($open)().into();
                let Some(mut fixture) = opened else { return };
                $crate::contract::$check(fixture.as_mut());
            }
        )+
    };
}

fn page(number: u64, title: &str, text: &str) -> Document {
    Document {
        id: DocumentId { job: JobId(1), url_key: number },
        url: format!("https://www.site{number}.test/{number}"),
        host: format!("www.site{number}.test"),
        root_domain: format!("site{number}.test"),
        title: title.into(),
        text: text.into(),
        status: 200,
        // 2026-05-01, then a day later each.
        crawled_at: Millis(1_777_593_600_000 + number * 86_400_000),
        content: number,
        ..Document::default()
    }
}

fn write(fixture: &mut dyn IndexFixture, documents: Vec<Document>) {
    let mut writer = fixture.writer();
    let at = writer.position().unwrap();
    let reached = Position { page: at.page + documents.len() as u64, batch: at.batch + 1 };
    writer.add(IndexBatch { documents, reached, ..IndexBatch::default() }).unwrap();
    writer.commit().unwrap();
}

fn search(fixture: &mut dyn IndexFixture, query: &str) -> Hits {
    let mut query = parse(query).unwrap();
    query.resolve_jobs(&mut |name| name.parse().map(JobId)).unwrap();
    fixture.reader().search(&Request { facets: true, ..Request::new(query) }).unwrap()
}

/// The numbers of the pages that were found, the best first.
fn found(fixture: &mut dyn IndexFixture, query: &str) -> Vec<u64> {
    let hits = search(fixture, query);
    hits.hits.iter().map(|hit| hit.url.rsplit('/').next().unwrap().parse().unwrap()).collect()
}

fn sorted(fixture: &mut dyn IndexFixture, query: &str) -> Vec<u64> {
    let mut numbers = found(fixture, query);
    numbers.sort_unstable();
    numbers
}

pub fn an_empty_index_finds_nothing(fixture: &mut dyn IndexFixture) {
    assert_eq!(fixture.writer().position().unwrap(), Position::default());
    let hits = search(fixture, "anything");
    assert_eq!((hits.total, hits.hits.len(), hits.suggestion), (0, 0, None));
    assert_eq!(fixture.reader().documents().unwrap(), 0);
}

pub fn all_words_have_to_be_there(fixture: &mut dyn IndexFixture) {
    let pages =
        vec![page(1, "Spiders", "weave silk"), page(2, "Worms", "spin silk"), page(3, "Spiders", "jump")];
    write(fixture, pages);
    assert_eq!(sorted(fixture, "spiders"), [1, 3]);
    assert_eq!(found(fixture, "spiders silk"), [1], "words of title and text together");
    assert!(found(fixture, "spiders wool").is_empty());
    assert_eq!(sorted(fixture, "-silk"), [3]);
    assert_eq!(search(fixture, "silk").total, 2);
    assert_eq!(fixture.reader().documents().unwrap(), 3);
}

pub fn words_may_be_excluded_and_be_alternatives(fixture: &mut dyn IndexFixture) {
    let pages = vec![
        page(1, "a", "red green"),
        page(2, "b", "green blue"),
        page(3, "c", "blue red"),
        page(4, "d", "grey"),
    ];
    write(fixture, pages);
    assert_eq!(found(fixture, "red -green"), [3]);
    assert_eq!(sorted(fixture, "red OR grey"), [1, 3, 4]);
    assert_eq!(sorted(fixture, "red green OR grey"), [1, 4]);
    assert_eq!(sorted(fixture, "(red OR green) blue"), [2, 3]);
    assert_eq!(found(fixture, "-(red OR green)"), [4]);
    assert_eq!(sorted(fixture, "-(red green)"), [2, 3, 4]);
    assert_eq!(sorted(fixture, "red OR -blue"), [1, 3, 4]);
}

pub fn a_phrase_is_words_in_their_order(fixture: &mut dyn IndexFixture) {
    let pages = vec![
        page(1, "Of the open", "web is open"),
        page(2, "x", "the open web is there"),
        page(3, "On open-web", "y"),
    ];
    write(fixture, pages);
    assert_eq!(sorted(fixture, "\"open web\""), [2, 3], "not from the title into the text");
    assert_eq!(found(fixture, "\"web is open\""), [1]);
    assert_eq!(sorted(fixture, "open-web"), [2, 3]);
    assert_eq!(found(fixture, "title:\"open web\""), [3]);
    assert_eq!(found(fixture, "open -\"open web\""), [1]);
}

pub fn accents_and_case_make_no_difference(fixture: &mut dyn IndexFixture) {
    let pages = vec![page(1, "CRÈME brûlée", "Ein Café"), page(2, "Plain", "creme und cafe")];
    write(fixture, pages);
    assert_eq!(sorted(fixture, "creme CAFÉ"), [1, 2]);
    assert_eq!(found(fixture, "Brulee"), [1]);
}

pub fn text_without_blanks_is_found(fixture: &mut dyn IndexFixture) {
    write(fixture, vec![page(1, "東京都", "日本の首都です"), page(2, "京都", "古い都市")]);
    assert_eq!(found(fixture, "東京"), [1]);
    assert_eq!(found(fixture, "首都"), [1]);
    assert_eq!(sorted(fixture, "京都"), [1, 2]);
    assert_eq!(found(fixture, "東京都"), [1]);
}

pub fn a_title_counts_more_than_text(fixture: &mut dyn IndexFixture) {
    let filler = "some other words that fill a page of text with this and that ".repeat(3);
    let pages = vec![
        page(1, "Menu", &format!("silk silk silk and silk, {filler}")),
        page(2, "Silk", &filler),
        page(3, "Other", &format!("silk once, {filler}")),
    ];
    write(fixture, pages);
    assert_eq!(found(fixture, "silk"), [2, 1, 3]);
}

pub fn the_text_of_links_counts(fixture: &mut dyn IndexFixture) {
    let linked =
        Document { anchors: vec!["The manual of looms".into()], ..page(1, "Start", "Welcome to this page") };
    write(fixture, vec![linked, page(2, "News", "where looms are mentioned, and a manual too")]);
    assert_eq!(found(fixture, "looms manual"), [1, 2]);
}

pub fn filters_narrow_a_search(fixture: &mut dyn IndexFixture) {
    let with = |number: u64, language: Option<&str>, job: u32| Document {
        language: language.map(str::to_owned),
        id: DocumentId { job: JobId(job), url_key: number },
        ..page(number, "Loom", "weaves")
    };
    write(
        fixture,
        vec![with(1, Some("en-GB"), 1), with(2, Some("pt"), 1), with(3, Some("PT_br"), 2), with(4, None, 2)],
    );
    assert_eq!(sorted(fixture, "loom"), [1, 2, 3, 4]);
    assert_eq!(found(fixture, "loom site:site1.test"), [1]);
    assert_eq!(found(fixture, "site:www.site2.test"), [2]);
    assert_eq!(sorted(fixture, "site:test"), [1, 2, 3, 4]);
    assert!(found(fixture, "site:ite1.test").is_empty());
    assert_eq!(sorted(fixture, "lang:pt"), [2, 3]);
    assert_eq!(found(fixture, "lang:pt-BR"), [3]);
    assert_eq!(sorted(fixture, "loom job:2"), [3, 4]);
    assert_eq!(sorted(fixture, "after:2026-05-03"), [2, 3, 4]);
    assert_eq!(found(fixture, "before:2026-05-03"), [1]);
    assert_eq!(sorted(fixture, "loom after:2026-05-02 before:2026-05-04"), [1, 2]);
    assert_eq!(sorted(fixture, "after:2026-05 before:2026-06 -lang:pt"), [1, 4]);
}

pub fn error_pages_are_found_only_if_they_are_asked_for(fixture: &mut dyn IndexFixture) {
    let with = |number, status| Document { status, ..page(number, "Loom", "weaves") };
    write(fixture, vec![with(1, 200), with(2, 404), with(3, 410), with(4, 503)]);
    assert_eq!(found(fixture, "loom"), [1]);
    assert_eq!(found(fixture, "loom status:404"), [2]);
    assert_eq!(sorted(fixture, "status:4xx"), [2, 3]);
    assert_eq!(sorted(fixture, "loom -status:5xx"), [1, 2, 3]);
}

pub fn a_hit_says_what_it_is_and_shows_why(fixture: &mut dyn IndexFixture) {
    let filler = "Lorem ipsum dolor sit amet consetetur. ".repeat(50);
    let text = format!("{filler}Here a Spider makes silk.\n{filler}");
    let document = Document { language: Some("en-GB".into()), ..page(1, "On spiders", &text) };
    write(fixture, vec![document.clone()]);
    let hits = search(fixture, "spider silk");
    let hit = &hits.hits[0];
    assert_eq!((&hit.url, &hit.title, &hit.host), (&document.url, &document.title, &document.host));
    assert_eq!((hit.job, hit.status, hit.crawled_at), (JobId(1), 200, document.crawled_at));
    assert_eq!(hit.language.as_deref(), Some("en"));
    assert!(hit.score > 0.0);
    let marked: Vec<&str> =
        hit.snippet.highlights.iter().map(|range| &hit.snippet.text[range.clone()]).collect();
    assert_eq!(marked, ["Spider", "silk"], "{}", hit.snippet.text);
}

pub fn hits_come_in_pages(fixture: &mut dyn IndexFixture) {
    let text = |number: u64| format!("loom {}", "filler ".repeat(number as usize));
    write(fixture, (1..=7).map(|number| page(number, "x", &text(number))).collect());
    let mut pages = Vec::new();
    for offset in [0, 3, 6, 9] {
        let request = Request { offset, limit: 3, ..Request::new(parse("loom").unwrap()) };
        let hits = fixture.reader().search(&request).unwrap();
        assert_eq!((hits.total, hits.facets), (7, None));
        pages.push(hits.hits.into_iter().map(|hit| hit.url).collect::<Vec<_>>());
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1, 0]);
    let mut all = pages.concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 7);
    let beyond = Request { offset: usize::MAX, ..Request::new(parse("loom").unwrap()) };
    assert_eq!(fixture.reader().search(&beyond).unwrap_err().kind, ErrorKind::Usage);
}

pub fn facets_count_all_results(fixture: &mut dyn IndexFixture) {
    let with = |number: u64, domain: &str, language: Option<&str>, topics: &[&str]| Document {
        root_domain: domain.into(),
        language: language.map(str::to_owned),
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        ..page(number, "Loom", "weaves")
    };
    let mut pages = vec![
        with(1, "a.test", Some("en-GB"), &["silk", "loom"]),
        with(2, "a.test", Some("en"), &["silk"]),
        with(3, "b.test", None, &["wool"]),
    ];
    pages.extend((10..40).map(|number| Document {
        title: "Other".into(),
        text: "x".into(),
        ..with(number, "c.test", Some("de"), &["x"])
    }));
    write(fixture, pages);
    let facets = search(fixture, "loom").facets.unwrap();
    let shown = |counts: &[Count]| {
        counts.iter().map(|count| format!("{} {}", count.name, count.pages)).collect::<Vec<_>>()
    };
    assert_eq!(shown(&facets.domains), ["a.test 2", "b.test 1"]);
    assert_eq!(shown(&facets.languages), ["en 2"]);
    assert_eq!(shown(&facets.topics), ["silk 2", "loom 1", "wool 1"]);
    let facets = search(fixture, "after:2026-01").facets.unwrap();
    assert_eq!(facets.domains[0], Count { name: "c.test".into(), pages: 30 }, "more than are listed");
}

pub fn of_copies_the_original_is_listed(fixture: &mut dyn IndexFixture) {
    let copy = |number: u64| Document {
        content: 3,
        is_duplicate: number != 3,
        ..page(number, "Loom", "weaves silk")
    };
    let mut pages: Vec<Document> = (1..=5).map(copy).collect();
    pages.push(page(6, "Other", "a loom that weaves"));
    write(fixture, pages);
    let hits = search(fixture, "loom");
    assert_eq!(hits.total, 6);
    assert_eq!(found(fixture, "loom"), [3, 6]);
    assert_eq!(found(fixture, "loom site:site2.test"), [2], "where the original is not among the results");
}

pub fn a_document_replaces_its_earlier_version(fixture: &mut dyn IndexFixture) {
    write(fixture, vec![page(1, "Old", "first"), page(2, "Two", "stays")]);
    write(fixture, vec![page(1, "New", "second")]);
    assert!(found(fixture, "old").is_empty());
    assert_eq!(found(fixture, "new second"), [1]);
    assert_eq!(fixture.reader().documents().unwrap(), 2);
    let twice = vec![page(3, "Once", "x"), page(3, "Twice", "x")];
    write(fixture, twice);
    assert_eq!((found(fixture, "once"), found(fixture, "twice")), (vec![], vec![3]));
}

pub fn documents_are_deleted_one_by_one_by_job_and_by_url(fixture: &mut dyn IndexFixture) {
    let of = |job: u32, number: u64| Document {
        id: DocumentId { job: JobId(job), url_key: number },
        content: u64::from(job) * 100 + number,
        ..page(number, "Loom", "x")
    };
    write(fixture, vec![of(1, 1), of(1, 2), of(2, 1), of(2, 3), of(3, 1), of(3, 4)]);
    let mut delete = |deletion: Deletion, batch: u64| {
        let mut writer = fixture.writer();
        let page = writer.position().unwrap().page;
        let reached = Position { page, batch };
        writer.add(IndexBatch { deletions: vec![deletion], reached, ..IndexBatch::default() }).unwrap();
        writer.commit().unwrap();
        assert_eq!(writer.position().unwrap(), reached);
        drop(writer);
        sorted(fixture, "loom")
    };
    assert_eq!(delete(Deletion::Document(DocumentId { job: JobId(1), url_key: 2 }), 2), [1, 1, 1, 3, 4]);
    assert_eq!(delete(Deletion::Job(JobId(2)), 3), [1, 1, 4]);
    assert_eq!(delete(Deletion::Url(1), 4), [4]);
}

pub fn a_position_is_never_beyond_what_survived(fixture: &mut dyn IndexFixture) {
    write(fixture, vec![page(1, "Loom", "x")]);
    let mut writer = fixture.writer();
    let committed = writer.position().unwrap();
    assert_eq!(committed, Position { page: 1, batch: 1 });
    let reached = Position { page: 2, batch: 2 };
    writer
        .add(IndexBatch { documents: vec![page(2, "Loom", "y")], reached, ..IndexBatch::default() })
        .unwrap();
    assert_eq!(writer.position().unwrap(), reached, "after what it took");
    // The process is killed.
    drop(writer);
    let mut writer = fixture.writer();
    let at = writer.position().unwrap();
    assert!(at == committed || (at == reached && found(fixture, "y") == [2]), "{at:?}");
    writer
        .add(IndexBatch { documents: vec![page(2, "Loom", "y")], reached, ..IndexBatch::default() })
        .unwrap();
    writer.commit().unwrap();
    drop(writer);
    assert_eq!(sorted(fixture, "loom"), [1, 2]);
    assert_eq!(fixture.writer().position().unwrap(), reached);
}

pub fn a_misspelt_word_gets_a_hint(fixture: &mut dyn IndexFixture) {
    let mut pages: Vec<Document> = (1..=20).map(|number| page(number, "Crawler", "of the web")).collect();
    pages.push(page(30, "Rare", "crawlers"));
    write(fixture, pages);
    assert_eq!(search(fixture, "crwaler").suggestion.as_deref(), Some("crawler"));
    assert_eq!(search(fixture, "web crawlr -x").suggestion.as_deref(), Some("web crawler -x"));
    assert_eq!(search(fixture, "crawler").suggestion, None, "enough is found");
    assert_eq!(search(fixture, "zzzzzzzz").suggestion, None);
}

pub fn a_job_is_known_by_its_number(fixture: &mut dyn IndexFixture) {
    write(fixture, vec![page(1, "Loom", "x")]);
    let named = Request::new(parse("loom job:weavers").unwrap());
    let error = fixture.reader().search(&named).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage, "{error}");
}
