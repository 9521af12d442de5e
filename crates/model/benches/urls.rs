//! How fast references become URLs in normal form: `cargo bench -p argiope-model`. Every link of every page goes this way.

use argiope_model::{Base, NormalRules, Url};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 200_000;

const KINDS: [(&str, &[&str]); 7] = [
    ("absolute path", &["/news/sport/football/2024/some-long-article-title-123456", "/about"]),
    ("relative", &["story-12345.html", "../archive/2023/index.html"]),
    ("same origin", &["https://www.example.com/contact-us", "//www.example.com/a/b"]),
    ("other host", &["https://other.example.org/path/to/page", "http://shop.example.net:8080/"]),
    ("query", &["/search?page=2&q=rust", "/item?variant=blue&utm_source=nav&id=7"]),
    ("escapes", &["/a%20b/caf%c3%a9", "/straße/x y"]),
    ("general parser", &["/a//b", "https://bücher.example/"]),
];

fn main() {
    let rules = NormalRules::default();
    let page = Url::parse("https://www.example.com/news/2024/article.html", &rules);
    let Ok(page) = page else { return eprintln!("the base of the benchmark is no URL") };
    let base = Base::new(&page);
    for (kind, references) in KINDS {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for reference in references {
                let _ = black_box(base.join(black_box(reference), &rules));
            }
        }
        let count = f64::from(ROUNDS) * references.len() as f64;
        let nanoseconds = start.elapsed().as_secs_f64() * 1e9 / count;
        println!("{kind:15} {nanoseconds:6.0} ns  {:5.1} M/s", 1e3 / nanoseconds);
    }
}
