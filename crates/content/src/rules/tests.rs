use super::*;
use proptest::prelude::*;
use serde_json::json;

const PAGE: &str = r#"<!DOCTYPE html><html><head><title>Shop</title></head><body>
    <h1 class="title big">Blue <b>kettle</b></h1><h1>second</h1>
    <p id=price data-currency="EUR">from 12.50 to 20.00
    <div class="tags"><a href="/t/blue">blue</a><a href="/t/tea" rel="tag nofollow">tea</a></div>
    <article><p>One.</p><p>Two &amp; <i>three</i>.</p><script>var x = "<p>no</p>";</script></article>
    <table><tr><th>Size<td>2 l<tr><th>Weight<td>1 kg</table>
    <div class=offer><span class=seller>Ada</span><span class=price>13</span></div>
    <div class=offer><span class=seller>Bob</span></div></body></html>"#;

fn rules(text: &str) -> RuleSet {
    serde_json::from_str(text).unwrap()
}

fn run(text: &str) -> Value {
    let found = Rules::compile(&rules(text)).unwrap().run(PAGE, Some("https://e.org/p"));
    assert!(!found.truncated);
    Value::Object(found.fields)
}

fn texts(selector: &str) -> Vec<String> {
    let set = RuleSet::from([(
        "x".to_owned(),
        Rule { selector: selector.to_owned(), list: true, ..Rule::default() },
    )]);
    let found = Rules::compile(&set).unwrap().run(PAGE, None).fields;
    serde_json::from_value(found["x"].clone()).unwrap()
}

#[test]
fn rules_fill_fields() {
    let found = run(
        r##"{"title": "h1", "missing": ".none", "currency": {"selector": "#price", "attribute": "data-currency"},
            "low": {"selector": "#price", "regex": "from ([0-9.]+)"}, "no": {"selector": "#price", "regex": "x+"},
            "tags": {"selector": ".tags a", "attribute": "href", "list": true}, "none": {"selector": "u", "list": true},
            "body": {"selector": "article p:last-of-type", "html": true}, "text": "article",
            "offers": {"selector": ".offer", "list": true, "fields": {"seller": ".seller", "price": {"selector": ".price"},
                "class": {"selector": ":scope", "attribute": "class"}}},
            "rows": {"selector": "table > tbody > tr", "list": true, "fields": {"name": "th", "value": "td"}}}"##,
    );
    assert_eq!(
        found,
        json!({
            "title": "Blue kettle", "missing": null, "currency": "EUR", "low": "12.50", "no": null,
            "tags": ["https://e.org/t/blue", "https://e.org/t/tea"], "none": [],
            "body": "Two &amp; <i>three</i>.", "text": "One. Two & three.",
            "offers": [{"seller": "Ada", "price": "13", "class": "offer"}, {"seller": "Bob", "price": null, "class": "offer"}],
            "rows": [{"name": "Size", "value": "2 l"}, {"name": "Weight", "value": "1 kg"}]
        })
    );
}

#[test]
fn selectors_mean_what_they_mean_in_a_browser() {
    for (selector, expected) in [
        ("h1.title", vec!["Blue kettle"]),
        ("H1:not(.title), #price", vec!["second", "from 12.50 to 20.00"]),
        ("[rel~=tag]", vec!["tea"]),
        ("a[href^='/t/'][href$=blue]", vec!["blue"]),
        ("a[href*=\"T/B\" i]", vec!["blue"]),
        ("div.tags > a + a", vec!["tea"]),
        ("h1 ~ h1", vec!["second"]),
        ("body a:first-child", vec!["blue"]),
        ("tr:nth-child(2n+2) td", vec!["1 kg"]),
        ("tr:nth-last-child(2) th", vec!["Size"]),
        ("td:is(td, th):last-child", vec!["2 l", "1 kg"]),
        ("html > body > h1 > b", vec!["kettle"]),
        ("article b", vec![]),
        (".offer .price:empty", vec![]),
        ("*[data-currency|=EUR]", vec!["from 12.50 to 20.00"]),
    ] {
        assert_eq!(texts(selector), expected, "{selector}");
    }
}

fn problem(text: &str) -> String {
    Rules::compile(&rules(text)).unwrap_err().to_string()
}

#[test]
fn an_error_names_the_field_and_the_place() {
    for (selector, place, what) in [
        ("div..x", 5, "expected a name"),
        ("a[href", 7, "expected '='"),
        ("a[href='x]", 8, "has no end"),
        ("a:hover", 3, "':hover' is not supported"),
        ("a::before", 3, "pseudo-elements"),
        ("", 1, "expected a name, '.', '#', '[' or ':' at the end"),
        ("a >", 4, "expected a name"),
        ("a,", 3, "at the end"),
        ("a:nth-child(x)", 13, "'x' is no place"),
        ("a { b }", 3, "found '{'"),
    ] {
        let text =
            json!({"offers": {"selector": "b", "fields": {"price": {"selector": selector}}}}).to_string();
        let problem = problem(&text);
        let place = format!("field 'offers.price': selector '{selector}', character {place}: ");
        assert!(problem.starts_with(&place) && problem.contains(what), "{problem}");
    }
    assert!(problem(r#"{"x": {"selector": "a", "regex": "("}}"#).starts_with("field 'x': regex '(': "));
    assert!(problem(r#"{"x": {"selector": "a", "html": true, "attribute": "b"}}"#).contains("only one of"));
}

#[test]
fn unknown_keys_are_refused() {
    let read = |text| serde_json::from_str::<RuleSet>(text).unwrap_err().to_string();
    assert!(read(r#"{"x": {"selector": "a", "atribute": "b"}}"#).contains("unknown field `atribute`"));
    assert!(read(r#"{"x": {"list": true}}"#).contains("missing field `selector`"));
    assert!(read(r#"{"x": 5}"#).contains("a CSS selector, or a rule"));
    let written = serde_json::to_string(&rules(r#"{"x": "a"}"#)).unwrap();
    assert_eq!(rules(&written), rules(r#"{"x": "a"}"#));
}

#[test]
fn hostile_pages_are_bounded() {
    let rules = Rules::compile(&rules(
        r#"{"a": {"selector": "div div > div div ~ div b", "list": true}, "b": {"selector": "i:nth-last-of-type(3)", "list": true},
            "c": {"selector": "div", "list": true}, "d": {"selector": "div", "html": true}}"#,
    ))
    .unwrap();
    let deep = "<div>".repeat(50_000) + "<b>x</b>" + &"</div>".repeat(50_000);
    let found = rules.run(&deep, None);
    assert!(found.truncated && found.fields["c"].as_array().unwrap().len() <= 256);
    let wide = rules.run(&"<i>x</i>".repeat(30_000), None);
    assert!(wide.truncated);
    let large = rules.run(&format!("<div>{}</div>", "word ".repeat(100_000)).repeat(5), None);
    assert!(large.fields["d"].as_str().unwrap().len() <= 64 * 1024);
    let attributes = rules.run(&format!("<div {}>x</div>", "a=b ".repeat(100_000)), None);
    assert_eq!(attributes.fields["c"], json!(["x"]));
}

proptest! {
    #[test]
    fn whatever_the_selector_it_is_compiled_or_refused(selector in "[a-z.#:\\[\\]()=\"'>+~, *0-9n\\\\-]{0,30}|\\PC{0,20}") {
        let set = RuleSet::from([("x".to_owned(), Rule { selector, list: true, ..Rule::default() })]);
        match Rules::compile(&set) {
            Ok(rules) => prop_assert!(rules.run(PAGE, None).fields["x"].is_array()),
            Err(RuleError::Selector { place, selector, .. }) => prop_assert!(place >= 1 && place <= selector.chars().count() + 1),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn whatever_the_page_it_is_read(html in "(</?(table|tr|td|p|div|ul|li|b|script|select|option)>|[a-z ]{0,5}|\\PC){0,60}") {
        let rules = Rules::compile(&rules(r#"{"x": {"selector": "*", "list": true}, "y": {"selector": "*", "html": true}}"#)).unwrap();
        prop_assert!(rules.run(&html, None).fields["x"].is_array());
    }
}
