//! Properties for every input: the request form is that of the `url` crate, the normal form is a fixed point, stored
//! URLs are read back, and the fast path agrees with the general one.

use super::*;
use proptest::prelude::*;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() }
}

/// Pieces that reach every branch of the normal form, in any order, mixed with arbitrary text.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "/",
        "//",
        ".",
        "..",
        "/../",
        "/./",
        "%2e",
        "%2E%2e",
        ";",
        ";jsessionid=1",
        ";jsessionid=0123456789abcdef",
        "sid=0123456789abcdef",
        "ref=x",
        ";v=2",
        "?",
        "&",
        "=",
        "#",
        "%",
        "%41",
        "%7e",
        "%c3%a9",
        "%2f",
        "%zz",
        "%25",
        " ",
        "\t",
        "\n",
        "\\",
        "é",
        "日本",
        "[",
        "]",
        "|",
        "^",
        "'",
        "\"",
        "utm_source=x",
        "sid=9",
        "a=1",
        "b=",
        "b",
        "a",
        "index.html",
        ":",
        "@",
        "+",
        "~",
        "a-b=3",
        "http:",
        "https:",
        "http://",
        "https://",
        "mailto:",
        "example.com",
        "EXAMPLE.com.",
        "user:pw@",
        ":80",
        ":443",
        ":8080",
        "xn--",
        "127.0.0.1",
        "0x7f.1",
        "1.2.3",
        "[::1]",
        "\u{a0}",
        "\u{0}",
        "%00",
        "xn--bcher-kva",
        "bücher",
        "-",
        "_",
        "*",
    ])
    .prop_map(str::to_owned);
    prop_oneof![8 => known, 2 => "[ -~]{0,6}", 1 => "\\PC{0,4}", 1 => any::<char>().prop_map(String::from)]
}

fn reference() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..9).prop_map(|pieces| pieces.concat())
}

fn absolute() -> impl Strategy<Value = String> {
    let scheme = prop::sample::select(vec!["http://", "https://", "HTTP://", "https:", "http:/"]);
    let host = prop_oneof![
        4 => prop::sample::select(vec![
            "example.com", "WWW.Example.COM", "example.com.", "example.com..", "127.0.0.1", "0x7f.1..", "1.2.3.4.",
            "127.1", "01.2.3.4", "1.2.3.256", "bücher.de", "xn--bcher-kva.de", "[::1]", "a..b", "-a-.com", "a_b.com",
            "1.com", "com.1", "com.0x", "a--b.test", "u:p@h.test", "localhost", "%65xample.com", "h.test:80",
            "h.test:443", "h.test:", "h.test:00080", "h.test:65536", "h.test:8080", "10.0.0.1:81",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9.-]{1,20}(:[0-9]{0,6})?",
        1 => "\\PC{1,8}",
    ];
    (scheme, host, reference()).prop_map(|(scheme, host, rest)| format!("{scheme}{host}/{rest}"))
}

fn rules(strip_trailing_slash: bool) -> NormalRules {
    NormalForm { strip_trailing_slash, ..NormalForm::default() }.compile()
}

/// What every URL looks like to callers.
fn check_shape(url: &Url, rules: &NormalRules) {
    let text = url.as_str();
    assert!(text.is_ascii(), "{text}");
    assert!(text.len() <= Url::MAX_LENGTH);
    assert!(!text.contains(['#', ' ']), "{text}");
    assert!(url.path().starts_with('/'), "{text}");
    assert!(!url.path().split('/').any(|segment| segment == "." || segment == ".."), "{text}");
    assert!(!url.host().is_empty() && !url.host().contains('@') && !url.host_name().ends_with('.'), "{text}");
    assert_eq!(format!("{}{}", url.origin(), url.path_and_query()), text);
    assert!(url.normal().len() <= Url::MAX_LENGTH);
    let normal = Url::parse(url.normal(), rules).unwrap();
    check_normal(&normal);
    assert_eq!(normal.as_str(), url.normal(), "the normal form is its own request form");
}

/// What every normal form looks like.
fn check_normal(url: &Url) {
    let text = url.as_str();
    assert!(url.is_normal(), "{url:?}");
    assert!(!text.contains(['\\', '[', '|']) || url.host().starts_with('['), "{text}");
    assert!(!url.path().contains("//"), "{text}");
    assert_ne!(url.query(), Some(""));
    let names: Vec<&str> = url.parameters().map(|(name, _)| name).collect();
    assert!(names.is_sorted(), "{text}");
}

/// Both forms are the same, not only the identity.
fn same(one: &Url, other: &Url) -> bool {
    one.to_stored() == other.to_stored() && one.path() == other.path() && one.query() == other.query()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn both_forms_come_back_from_the_request_form(input in absolute(), strip in any::<bool>()) {
        let rules = rules(strip);
        if let Ok(url) = Url::parse(&input, &rules) {
            check_shape(&url, &rules);
            for again in [
                Url::parse(url.as_str(), &rules),
                Base::new(&url).join(url.as_str(), &rules),
                Base::new(&url).join("", &rules),
                url.under(&rules),
            ] {
                let again = again.unwrap();
                prop_assert!(same(&again, &url), "{again:?} is not {url:?}");
            }
        }
    }

    #[test]
    fn what_is_stored_is_read_back(input in absolute()) {
        if let Ok(url) = Url::parse(&input, &NormalRules::default()) {
            let stored = Url::from_stored(&url.to_stored()).unwrap();
            prop_assert!(same(&stored, &url), "{stored:?} is not {url:?}");
        }
    }

    #[test]
    fn the_request_form_is_what_the_url_crate_writes(input in absolute()) {
        let Ok(mut parsed) = url::Url::parse(input.trim()) else { return Ok(()) };
        let Ok(url) = Url::parse(&input, &NormalRules::default()) else { return Ok(()) };
        parsed.set_fragment(None);
        let _ = parsed.set_username("");
        let _ = parsed.set_password(None);
        if !parsed.host_str().is_some_and(|host| host.ends_with('.')) {
            prop_assert_eq!(url.as_str(), parsed.as_str());
        }
    }

    #[test]
    fn the_short_way_to_parse_agrees_with_the_general_one(input in absolute(), strip in any::<bool>()) {
        let rules = rules(strip);
        let input = input.trim();
        let general = general::parse(input, &rules);
        if let Some(short) = plain::parse(input, &rules) {
            prop_assert_eq!(short.is_ok(), general.is_ok());
            if let (Ok(short), Ok(general)) = (short, general) {
                prop_assert!(same(&short, &general), "{short:?} is not {general:?}");
            }
        }
    }

    #[test]
    fn the_short_way_to_join_agrees_with_the_general_one(
        page in absolute(), base_href in reference(), href in reference(), strip in any::<bool>()
    ) {
        let rules = rules(strip);
        let Ok(page) = Url::parse(&page, &rules) else { return Ok(()) };
        let own = Base::new(&page);
        let mut bases = vec![own.rebase(&base_href).ok(), Some(own)];
        while let Some(base) = bases.pop() {
            let Some(base) = base else { continue };
            let trimmed = href.trim_matches(|c: char| c <= ' ');
            match (base.join(&href, &rules), base.join_generally(trimmed, &rules)) {
                (Ok(short), Ok(general)) => prop_assert!(same(&short, &general), "{short:?} is not {general:?}"),
                (short, general) => prop_assert_eq!(short.is_ok(), general.is_ok()),
            }
        }
    }

    #[test]
    fn anything_may_come_in(input in any::<String>(), page in absolute()) {
        let rules = NormalRules::default();
        if let Ok(url) = Url::parse(&input, &rules) {
            check_shape(&url, &rules);
        }
        let _ = Url::from_stored(&input);
        if let Ok(page) = Url::parse(&page, &rules) && let Ok(url) = Base::new(&page).join(&input, &rules) {
            check_shape(&url, &rules);
        }
    }
}
