use super::parse;
use crate::query::{DEEPEST, Node, Query, Scope, Statuses, Text};
use argiope_model::JobId;
use proptest::prelude::*;

fn word(text: &str) -> Node {
    Node::Text(Text { text: text.into(), is_phrase: false, scope: Scope::Anywhere })
}

fn phrase(text: &str) -> Node {
    Node::Text(Text { text: text.into(), is_phrase: true, scope: Scope::Anywhere })
}

fn root(text: &str) -> Node {
    parse(text).unwrap().root
}

fn error(text: &str) -> (usize, String) {
    let error = parse(text).unwrap_err();
    (error.column, error.message)
}

#[test]
fn words_are_all_wanted_and_or_binds_less() {
    assert_eq!(root("rust"), word("rust"));
    assert_eq!(root("rust crawler"), Node::And(vec![word("rust"), word("crawler")]));
    assert_eq!(root("a AND b"), root("a b"));
    let or = Node::Or(vec![Node::And(vec![word("a"), word("b")]), word("c")]);
    assert_eq!(root("a b OR c"), or);
    assert_eq!(root("a (b OR c)"), Node::And(vec![word("a"), Node::Or(vec![word("b"), word("c")])]));
    assert_eq!(root("((a))"), word("a"));
}

#[test]
fn phrases_and_exclusions() {
    assert_eq!(root("\"open web\" x"), Node::And(vec![phrase("open web"), word("x")]));
    assert_eq!(root("“open web”"), phrase("open web"));
    let not = Node::And(vec![word("a"), Node::Not(Box::new(word("b")))]);
    assert_eq!(root("a -b"), not);
    assert_eq!(root("a NOT b"), not);
    assert_eq!(root("-(a OR b)"), Node::Not(Box::new(Node::Or(vec![word("a"), word("b")]))));
    assert_eq!(root("--json out"), Node::And(vec![word("--json"), word("out")]));
}

#[test]
fn fields_have_values_in_quotes_or_without() {
    assert_eq!(root("site:Example.COM"), Node::Site("example.com".into()));
    assert_eq!(root("site:https://a.test/x"), Node::Site("a.test".into()));
    assert_eq!(root("lang:pt_BR"), Node::Language("pt-br".into()));
    assert_eq!(root("job:\"my job\""), Node::Job("my job".into()));
    assert_eq!(root("status:404"), Node::Status(Statuses { first: 404, last: 404 }));
    assert_eq!(root("STATUS:4xx"), Node::Status(Statuses { first: 400, last: 499 }));
    let title =
        |text: &str, is_phrase| Node::Text(Text { text: text.into(), is_phrase, scope: Scope::Title });
    assert_eq!(root("title:\"two words\""), title("two words", true));
    assert_eq!(root("title:one"), title("one", false));
    assert_eq!(parse("after:2026-05").unwrap().to_string(), "after:2026-05-01");
    assert_eq!(parse("before:2026").unwrap().to_string(), "before:2026-01-01");
    let Node::After(day) = root("after:1970-01-02") else { panic!("no date") };
    assert_eq!(day.begins().0, 86_400_000);
}

#[test]
fn a_colon_in_a_text_makes_no_field() {
    assert_eq!(root("std::vec"), word("std::vec"));
    assert_eq!(root("http://a.test/"), word("http://a.test/"));
    assert_eq!(root("10:30"), word("10:30"));
}

#[test]
fn punctuation_alone_is_left_out() {
    assert_eq!(root("rust & tantivy"), root("rust tantivy"));
    assert_eq!(root("a -"), word("a"));
    assert_eq!(root("a ()"), word("a"));
}

#[test]
fn an_error_says_where_and_what_was_expected() {
    assert_eq!(error("").0, 1);
    assert!(error("&").1.contains("nothing to search for"));
    assert_eq!(error("a \"b"), (3, "this quote is not closed; expected another \"".into()));
    assert_eq!(error("(a"), (3, "expected ) to close the ( of column 1, found the end".into()));
    assert_eq!(error("a )").0, 3);
    assert_eq!(error("a OR").0, 3);
    assert_eq!(error("OR a").0, 1);
    assert_eq!(error("a OR OR b").0, 3);
    assert_eq!(error("a -OR").0, 3);
    assert_eq!(error("ä site:"), (8, "expected a value right after 'site:'".into()));
    let (column, message) = error("x status:abc");
    assert_eq!((column, message.contains("404 or 4xx")), (10, true), "{message}");
    assert!(error("after:2026-13-01").1.contains("2026-05-17"));
    assert!(error("lang:x_").1.contains("pt-br"));
    assert!(error("site:\"a b\"").1.contains("example.com"));
    let (column, message) = error("x tilte:y");
    assert_eq!((column, message.contains("did you mean 'title:'?")), (3, true), "{message}");
    assert!(error("colour:red").1.contains("title, site, lang"));
}

#[test]
fn a_query_is_bounded() {
    let deep = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(root(&deep(DEEPEST)), word("a"));
    assert!(parse(&deep(DEEPEST + 1)).is_err());
    assert!(parse(&"(".repeat(4000)).is_err());
    assert!(parse(&"a ".repeat(65)).is_err());
    assert!(parse(&"a".repeat(5000)).is_err());
}

#[test]
fn names_of_jobs_become_numbers() {
    let mut query = parse("x -job:docs OR job:3").unwrap();
    let mut find =
        |name: &str| name.parse().map(JobId).or(if name == "docs" { Ok(JobId(7)) } else { Err(()) });
    query.resolve_jobs(&mut find).unwrap();
    assert_eq!(query.to_string(), "x -job:7 OR job:3");
    assert_eq!(parse("job:none").unwrap().resolve_jobs(&mut find), Err(()));
}

#[test]
fn terms_are_what_a_result_has() {
    let terms = parse("a \"b c\" -d (title:e OR a) x-y").unwrap().terms();
    let words: Vec<String> = terms.iter().map(|term| term.words.join("+")).collect();
    assert_eq!(words, ["a", "b+c", "e", "x+y"]);
}

#[test]
fn a_word_can_be_replaced() {
    let query = parse("rust crwaler -crwaler").unwrap();
    let better = query.with_words(&mut |text: &Text| (text.text == "crwaler").then(|| "crawler".into()));
    assert_eq!(better.map(|query| query.to_string()), Some(String::from("rust crawler -crwaler")));
    assert_eq!(query.with_words(&mut |_| None), None);
    assert_eq!(Query::everything().and(word("a")).to_string(), "a");
}

fn written_and_read_again(text: &str) {
    let Ok(query) = parse(text) else { return };
    let written = query.to_string();
    assert_eq!(parse(&written).as_ref(), Ok(&query), "{text:?} was written as {written:?}");
}

proptest! {
    #[test]
    fn any_text_is_a_query_or_an_error_with_a_place(text in "\\PC{0,60}") {
        if let Err(error) = parse(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
        }
        written_and_read_again(&text);
    }

    #[test]
    fn what_is_written_is_read_again(parts in proptest::collection::vec(
        proptest::sample::select(vec!["a", "b-c", "\"d e\"", "(", ")", " ", "-", "OR", "AND", "NOT", "title:", "site:x.test",
            "lang:en", "job:\"j k\"", "status:4xx", "after:2026", "\"", ":", "&", "é", "東京"]), 0..14)) {
        written_and_read_again(&parts.concat());
        written_and_read_again(&parts.join(" "));
    }
}
