//! Charsets: what is declared is obeyed, and a page says the same in every encoding.

use crate::choice;
use argiope_extract::{Extracted, Input, Limits, Scratch, Wants, extract};
use argiope_model::Url;
use encoding_rs::{Encoding, UTF_8};

const LABELS: [&str; 12] = [
    "utf-8",
    "windows-1252",
    "windows-1251",
    "koi8-r",
    "iso-8859-2",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "gb18030",
    "big5",
    "euc-kr",
    "utf-16le",
];
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The first byte chooses the encoding of the header, the rest is the body.
pub(crate) fn is_told_and_obeyed(bytes: &[u8]) {
    let (chosen, body) = choice(bytes);
    let guessed = read(body, "text/html");
    let name = guessed.charset.expect("HTML is read as text");
    assert_eq!(Encoding::for_label(name.as_bytes()).map(Encoding::name), Some(name));
    let is_marked = Encoding::for_bom(body).is_some();
    if std::str::from_utf8(body).is_ok() && !is_marked && !body.contains(&b'<') {
        assert_eq!(name, UTF_8.name(), "valid UTF-8 that declares nothing");
    }
    let marked = read(&[MARK, body].concat(), "text/html; charset=big5");
    assert_eq!(marked.charset, Some(UTF_8.name()), "a byte order mark goes before everything");
    if is_marked {
        return;
    }
    let label = LABELS[usize::from(chosen) % LABELS.len()];
    let told = read(body, &format!("text/html; charset=\"{label}\""));
    let encoding = Encoding::for_label(label.as_bytes()).expect("a known label");
    assert_eq!(told.charset, Some(encoding.name()), "the header goes before the page");
    let text = encoding.decode_without_bom_handling(body).0;
    if encoding != UTF_8 && !text.starts_with('\u{feff}') {
        let same = read(text.as_bytes(), "text/html; charset=utf-8");
        assert_eq!((told.title, told.text), (same.title, same.text), "in {label} and in UTF-8");
    }
}

fn read(body: &[u8], content_type: &str) -> Extracted {
    let url = Url::from_stored("https://www.example.com/").expect("a URL");
    let input = Input {
        body,
        payload: None,
        content_type: Some(content_type),
        url: &url,
        x_robots_tag: &[],
        agent: "argiope",
        limits: Limits::default(),
        wants: Wants::ALL,
    };
    extract(&input, &mut Scratch::new())
}
