//! Pages of many kinds and languages in `tests/pages`, each with the text that is expected of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use argiope_article::{Options, extract};
use std::path::Path;

fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages");
    let page = std::fs::read_to_string(folder.join(format!("{name}.html"))).unwrap();
    let expected = std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
    let article = extract(&page, Some("https://example.com/a"), &Options::default());
    let text = article.map(|article| article.text).unwrap_or_default();
    assert_eq!(text.trim(), expected.trim(), "the text of {name}");
}

macro_rules! pages {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_page_is_tested() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages");
            let mut names: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names.dedup();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

pages! {
    amp arabic blog breaks captions chinese comments cookie_banner documentation forum french german hindi japanese news
    news_without_names paywall recipe russian shell shop spanish wiki with_sidebar
}
