//! Detects the encoding of a page: byte order mark, header, declaration in the first kilobyte, and only then a guess.
//! UTF-8, which most pages are, is parsed in place.

use crate::Media;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, WINDOWS_1252};

/// How much of a page is searched for a declaration; the HTML standard says 1024.
const PRESCANNED_BYTES: usize = 1024;
/// The size of the sample for the detector: enough text to be sure, without taking too long.
const DETECTED_BYTES: usize = 64 * 1024;
const ESCAPE: u8 = 0x1b;

/// The encoding of `body`. `host_name` ends in the top-level domain that breaks ties of the detector.
pub(crate) fn detect(
    body: &[u8],
    content_type: Option<&str>,
    media: Media,
    host_name: &str,
) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return encoding;
    }
    if let Some(encoding) = content_type.and_then(declared_in_header) {
        return encoding;
    }
    let head = body.get(..PRESCANNED_BYTES).unwrap_or(body);
    if media.is_markup()
        && let Some(encoding) = declared_in_markup(head)
    {
        return encoding;
    }
    guess(body, host_name)
}

/// The body without the UTF-8 byte order mark.
pub(crate) fn without_bom(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

fn declared_in_header(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("charset") {
            return None;
        }
        Encoding::for_label(value.trim().trim_matches(['"', '\'']).as_bytes())
    })
}

/// A `<meta>` with a charset, or the XML declaration.
fn declared_in_markup(head: &[u8]) -> Option<&'static Encoding> {
    if head.starts_with(b"<?xml") {
        let end = memchr::memchr(b'>', head).unwrap_or(head.len());
        if let Some(label) = value_of(head.get(..end)?, b"encoding") {
            return declared(label);
        }
    }
    let mut rest = head;
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = rest.get(at..)?;
        if rest.starts_with(b"<!--") {
            let end = memchr::memmem::find(rest, b"-->")?;
            rest = rest.get(end + 3..)?;
            continue;
        }
        let end = memchr::memchr(b'>', rest).unwrap_or(rest.len());
        let tag = rest.get(..end)?;
        let is_meta = tag.get(1..5).is_some_and(|name| name.eq_ignore_ascii_case(b"meta"))
            && tag.get(5).is_some_and(|b| b.is_ascii_whitespace() || *b == b'/');
        if is_meta && let Some(encoding) = value_of(tag, b"charset").and_then(declared) {
            return Some(encoding);
        }
        rest = rest.get(1..)?;
    }
    None
}

/// The value of the first `name = value` in a tag, in any attribute: `charset=x` and `content="text/html; charset=x"`
/// give the same.
fn value_of<'t>(tag: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let at = tag.windows(name.len()).position(|window| window.eq_ignore_ascii_case(name))?;
    let rest = tag.get(at + name.len()..)?.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = match rest.split_first()? {
        (b'"', rest) => (Some(b'"'), rest),
        (b'\'', rest) => (Some(b'\''), rest),
        _ => (None, rest),
    };
    let end = rest.iter().position(|b| match quote {
        Some(quote) => *b == quote,
        None => b.is_ascii_whitespace() || matches!(b, b';' | b'"' | b'\'' | b'/' | b'?'),
    });
    rest.get(..end.unwrap_or(rest.len()))
}

/// A declaration that can be read as ASCII cannot be in UTF-16, whatever it claims.
fn declared(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label.trim_ascii())?;
    match encoding.name() {
        "UTF-16LE" | "UTF-16BE" => Some(UTF_8),
        "x-user-defined" => Some(WINDOWS_1252),
        _ => Some(encoding),
    }
}

fn guess(body: &[u8], host_name: &str) -> &'static Encoding {
    let head = body.get(..DETECTED_BYTES).unwrap_or(body);
    match std::str::from_utf8(head) {
        Ok(_) if memchr::memchr(ESCAPE, head).is_none() => return UTF_8,
        Ok(_) => return seven_bits(head, head.len() == body.len()),
        // An incomplete character at the end of the sample does not rule out UTF-8.
        Err(error) if error.error_len().is_none() && head.len() < body.len() => return UTF_8,
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(head, head.len() == body.len());
    let top_level = host_name.rsplit('.').next().map(str::to_ascii_lowercase).unwrap_or_default();
    // The detector requires a label of lower-case letters, or none.
    let hint =
        (!top_level.is_empty() && top_level.bytes().all(|b| b.is_ascii_lowercase())).then_some(top_level);
    detector.guess(hint.as_ref().map(|label| label.as_bytes()), Utf8Detection::Deny)
}

/// 7-bit text with escape sequences is ISO-2022-JP if it can be decoded as that. Browsers do not detect it, because it
/// may hide scripts from filters; a crawler runs none.
fn seven_bits(head: &[u8], whole: bool) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(head, whole);
    match detector.guess(None, Utf8Detection::Allow) {
        guess if guess == ISO_2022_JP => guess,
        _ => UTF_8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &[u8], content_type: Option<&str>) -> &'static str {
        detect(body, content_type, Media::Html, "example.com").name()
    }

    #[test]
    fn the_order_is_bom_header_declaration_guess() {
        let meta = b"<meta charset='windows-1251'>";
        assert_eq!(
            of(b"\xef\xbb\xbf<meta charset='windows-1251'>", Some("text/html; charset=koi8-r")),
            "UTF-8"
        );
        assert_eq!(of(b"\xff\xfea\0", Some("text/html; charset=koi8-r")), "UTF-16LE");
        assert_eq!(of(meta, Some("text/html; charset=\"KOI8-R\"")), "KOI8-R");
        assert_eq!(of(meta, Some("text/html")), "windows-1251");
        assert_eq!(of("\u{e9}t\u{e9}".as_bytes(), None), "UTF-8");
    }

    #[test]
    fn declarations_are_found_in_every_spelling() {
        assert_eq!(
            of(b"<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=Shift_JIS'>", None),
            "Shift_JIS"
        );
        assert_eq!(of(b"<meta charset = gbk />", None), "GBK");
        assert_eq!(of(b"<?xml version='1.0' encoding='iso-8859-2'?><html>", None), "ISO-8859-2");
        assert_eq!(of(b"<meta name=x><meta charset=euc-kr>", None), "EUC-KR");
        assert_eq!(of(b"<!-- <meta charset=euc-kr> --><meta charset=big5>", None), "Big5");
    }

    #[test]
    fn impossible_and_unknown_declarations_do_not_mislead() {
        assert_eq!(of(b"<meta charset=utf-16>", None), "UTF-8");
        assert_eq!(of(b"<meta charset=martian>ok", None), "UTF-8");
        assert_eq!(of(b"<meta charset", None), "UTF-8");
        assert_eq!(of(b"<metalhead charset=big5>", None), "UTF-8");
    }

    #[test]
    fn undeclared_legacy_text_is_detected() {
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(
            "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация южных губерний.",
        );
        assert_eq!(of(&bytes, None), "windows-1251");
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。文字コードを推定します。");
        assert_eq!(of(&bytes, None), "Shift_JIS");
    }

    #[test]
    fn undeclared_iso_2022_jp_is_detected_and_other_escapes_are_not() {
        let text = "これは日本語の文章です。文字コードを推定します。";
        let (bytes, encoding, _) = encoding_rs::SHIFT_JIS.encode(text);
        assert_eq!(of(&bytes, None), encoding.name());
        let japanese = iso_2022_jp(text);
        assert_eq!(of(&[b"<title>", japanese.as_slice(), b"</title>"].concat(), None), "ISO-2022-JP");
        assert_eq!(ISO_2022_JP.decode(&japanese).0, text);
        // Longer than the sample, and cut within a character.
        for shift in 0..2 {
            let lines = [japanese.as_slice(), b"\n"].concat().repeat(9);
            let long = ["a".repeat(DETECTED_BYTES - 99 - shift).as_bytes(), &lines].concat();
            assert_eq!(of(&long, None), "ISO-2022-JP");
        }
        assert_eq!(of(b"\x1b[31mred\x1b[0m", None), "UTF-8");
        assert_eq!(of(b"\x1b$Bcut", None), "UTF-8");
        assert_eq!(of(b"a lone \x1b", None), "UTF-8");
        assert_eq!(of("\u{1b}$B \u{e9}".as_bytes(), None), "UTF-8");
    }

    /// Two bytes per character, between escape sequences. The library encodes this charset only for forms.
    fn iso_2022_jp(text: &str) -> Vec<u8> {
        let (bytes, _, _) = encoding_rs::EUC_JP.encode(text);
        let seven_bits = bytes.iter().map(|byte| byte & 0x7f);
        b"\x1b$B".iter().copied().chain(seven_bits).chain(*b"\x1b(B").collect()
    }

    #[test]
    fn utf_8_cut_at_the_end_of_the_sample_is_still_utf_8() {
        let body = "a".repeat(DETECTED_BYTES - 1) + "\u{e9}";
        assert_eq!(of(body.as_bytes(), None), "UTF-8");
    }
}
