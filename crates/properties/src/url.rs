//! URLs: the request form is kept and the normal form is a fixed point, however one comes to it.

use crate::{choice, first_line};
use argiope_model::{Base, NormalForm, NormalRules, Url};

/// The first byte chooses the rules, the first line is an absolute URL, the rest a reference on its page.
pub(crate) fn has_one_normal_form(bytes: &[u8]) {
    let (chosen, rest) = choice(bytes);
    let rules = NormalForm { strip_trailing_slash: chosen & 1 == 1, ..NormalForm::default() }.compile();
    let (absolute, reference) = first_line(rest);
    let reference = String::from_utf8_lossy(reference);
    let Ok(url) = Url::parse(&absolute, &rules) else { return };
    check(&url, &rules);
    if absolute.ends_with(|c: char| c.is_ascii_graphic()) && !absolute.contains('#') {
        let with_fragment = format!("{absolute}#part");
        assert_eq!(Url::parse(&with_fragment, &rules), Ok(url.clone()), "a fragment makes a difference");
    }
    let base = Base::new(&url);
    assert_eq!(base.join("", &rules), Ok(url.clone()), "the empty reference");
    let Ok(joined) = base.join(&reference, &rules) else { return };
    check(&joined, &rules);
    assert_eq!(base.join(joined.as_str(), &rules), Ok(joined), "joined again");
    if let Ok(rebased) = base.rebase(&reference)
        && let Ok(there) = rebased.join("x", &rules)
    {
        check(&there, &rules);
    }
}

fn check(url: &Url, rules: &NormalRules) {
    let text = url.as_str();
    let again = Url::parse(text, rules).expect("a request form is a URL");
    assert_eq!(again.to_stored(), url.to_stored(), "the forms of a request form");
    let stored = Url::from_stored(&url.to_stored()).expect("a URL can be stored");
    assert_eq!((stored.path(), stored.query(), stored.host()), (url.path(), url.query(), url.host()));
    assert_eq!(stored.normal(), url.normal());
    assert!(text.len() <= Url::MAX_LENGTH && text.is_ascii() && !text.contains(['#', ' ']), "{text}");
    assert_eq!(format!("{}{}", url.origin(), url.path_and_query()), text);
    assert!(url.path().starts_with('/'), "{text}");
    assert!(!url.segments().any(|segment| segment == "." || segment == ".."), "{text}");
    assert!(!url.host_name().is_empty() && !url.host_name().ends_with('.') && !url.host().contains('@'));
    if let Ok(normal) = Url::parse(url.normal(), rules) {
        assert!(normal.is_normal() && normal == *url, "the normal form of a normal form");
        assert!(!normal.path().contains("//") && normal.query() != Some(""), "{normal}");
    }
}
