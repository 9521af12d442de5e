//! Pages in other character sets than UTF-8, declared by the header, by the page, by a byte order mark, or wrongly.

use super::Feature;
use crate::answer::Answer;

const WESTERN: &str = "Café in Zürich – naïve?";
/// [`WESTERN`] in windows-1252.
const WESTERN_BYTES: &[u8] = b"Caf\xe9 in Z\xfcrich \x96 na\xefve?";
const JAPANESE: &str = "日本語のページ";
/// [`JAPANESE`] in Shift_JIS.
const JAPANESE_BYTES: &[u8] = b"\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x79\x81\x5b\x83\x57";

/// [`JAPANESE`] in ISO-2022-JP, seven bits a byte.
const JAPANESE_SEVEN_BITS: &[u8] = b"\x1b$BF|K\x5c8l$N%Z!<%8\x1b(B";

/// Path, Content-Type, bytes of the page; the title is what a reader must get.
fn pages() -> Vec<(&'static str, &'static str, Vec<u8>, &'static str)> {
    let utf_16 = |little: bool| {
        let text = String::from_utf8(html("", JAPANESE.as_bytes())).unwrap_or_default();
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
    };
    let marked = [b"\xef\xbb\xbf".to_vec(), html("", WESTERN.as_bytes())].concat();
    vec![
        ("/c/header-1252", "text/html; charset=windows-1252", html("", WESTERN_BYTES), WESTERN),
        ("/c/header-latin1", "text/html; charset=ISO-8859-1", html("", WESTERN_BYTES), WESTERN),
        ("/c/meta-1252", "text/html", html("<meta charset=\"windows-1252\">", WESTERN_BYTES), WESTERN),
        (
            "/c/meta-shift-jis",
            "text/html",
            html(
                "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=Shift_JIS\">",
                JAPANESE_BYTES,
            ),
            JAPANESE,
        ),
        ("/c/header-shift-jis", "text/html; charset=\"shift_jis\"", html("", JAPANESE_BYTES), JAPANESE),
        ("/c/bom-utf-16le", "text/html", utf_16(true), JAPANESE),
        ("/c/bom-utf-16be", "text/html", utf_16(false), JAPANESE),
        ("/c/bom-utf-8", "text/html; charset=windows-1252", marked, WESTERN),
        ("/c/nothing-said", "text/html", html("", JAPANESE.as_bytes()), JAPANESE),
        ("/c/nothing-said-seven-bits", "text/html", html("", &with_blank(JAPANESE_SEVEN_BITS)), JAPANESE),
    ]
}

/// Two escapes may not follow each other.
fn with_blank(text: &[u8]) -> Vec<u8> {
    [text, b" "].concat()
}

fn html(head: &str, title: &[u8]) -> Vec<u8> {
    let parts: [&[u8]; 7] = [
        b"<!DOCTYPE html>\n<html><head>",
        head.as_bytes(),
        b"<title>",
        title,
        b"</title></head>\n<body><h1>",
        &title.repeat(3),
        b"</h1><p><a href=\"/\">Home</a></p></body></html>\n",
    ];
    parts.concat()
}

pub(super) fn features() -> Vec<Feature> {
    pages().into_iter().map(|(path, _, _, title)| Feature::linked(path, 200).titled(title)).collect()
}

pub(super) fn answer(target: &str) -> Option<Answer> {
    let (_, content_type, bytes, _) = pages().into_iter().find(|(path, ..)| *path == target)?;
    Some(Answer::bytes(content_type, bytes))
}
