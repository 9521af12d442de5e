//! Character references, decoded only if the result is kept. The table of names is that of htmlize.

use htmlize::Context;
use std::borrow::Cow;

/// Decodes the reference at the start of `rest`, which starts with an ampersand: returns its value and its length.
/// Invalid references are returned unchanged.
#[inline]
pub(super) fn decode_in_text(rest: &[u8]) -> (Cow<'_, [u8]>, usize) {
    // The usual ones.
    match rest {
        [b'&', b'a', b'm', b'p', b';', ..] => (Cow::Borrowed(b"&"), 5),
        [b'&', b'l', b't', b';', ..] => (Cow::Borrowed(b"<"), 4),
        [b'&', b'g', b't', b';', ..] => (Cow::Borrowed(b">"), 4),
        [b'&', b'q', b'u', b'o', b't', b';', ..] => (Cow::Borrowed(b"\""), 6),
        [b'&', b'n', b'b', b's', b'p', b';', ..] => (Cow::Borrowed("\u{a0}".as_bytes()), 6),
        [b'&', b'#' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z', ..] => look_up(rest),
        _ => (Cow::Borrowed(b"&"), 1),
    }
}

#[inline(never)]
fn look_up(rest: &[u8]) -> (Cow<'_, [u8]>, usize) {
    let after = rest.get(1..).unwrap_or_default();
    let sign = usize::from(after.first() == Some(&b'#'));
    let name = after.get(sign..).unwrap_or_default();
    let name_length = name.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(name.len());
    let semicolon = usize::from(name.get(name_length) == Some(&b';'));
    let length = 1 + sign + name_length + semicolon;
    if sign == 0
        && semicolon == 1
        && let Some(usual) = name.get(..name_length).and_then(usual)
    {
        return (Cow::Borrowed(usual.as_bytes()), length);
    }
    (htmlize::unescape_bytes_in(rest.get(..length).unwrap_or(rest), Context::General), length)
}

/// The most frequent ones, without a search of the whole table.
fn usual(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"apos" => "'",
        b"copy" => "\u{a9}",
        b"laquo" => "\u{ab}",
        b"raquo" => "\u{bb}",
        b"middot" => "\u{b7}",
        b"auml" => "\u{e4}",
        b"ouml" => "\u{f6}",
        b"uuml" => "\u{fc}",
        b"szlig" => "\u{df}",
        b"agrave" => "\u{e0}",
        b"egrave" => "\u{e8}",
        b"eacute" => "\u{e9}",
        b"ndash" => "\u{2013}",
        b"mdash" => "\u{2014}",
        b"lsquo" => "\u{2018}",
        b"rsquo" => "\u{2019}",
        b"ldquo" => "\u{201c}",
        b"rdquo" => "\u{201d}",
        b"bull" => "\u{2022}",
        b"hellip" => "\u{2026}",
        b"trade" => "\u{2122}",
        b"rarr" => "\u{2192}",
        _ => return None,
    })
}

/// The decoded value of an attribute: references decoded, line ends made one byte, and U+FFFD for NUL.
#[inline]
pub fn decode_value(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr3(b'&', 0, b'\r', value).is_none() {
        return Cow::Borrowed(value);
    }
    // References last: one may stand for a carriage return, which must stay.
    match plain_value(value) {
        Cow::Borrowed(value) => htmlize::unescape_bytes_in(value, Context::Attribute),
        Cow::Owned(value) => Cow::Owned(htmlize::unescape_bytes_in(value, Context::Attribute).into_owned()),
    }
}

fn plain_value(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(0, b'\r', value).is_none() {
        return Cow::Borrowed(value);
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut after_return = false;
    for byte in value {
        match byte {
            0 => plain.extend_from_slice("\u{fffd}".as_bytes()),
            b'\r' => plain.push(b'\n'),
            b'\n' if after_return => {}
            _ => plain.push(*byte),
        }
        after_return = *byte == b'\r';
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_in_text_end_at_the_longest_name() {
        for (text, decoded, length) in [
            ("&amp;x", "&", 5),
            ("&notit; x", "\u{ac}it;", 7),
            ("&notin;", "\u{2209}", 7),
            ("&copy2", "\u{a9}2", 6),
            ("&#65;&", "A", 5),
            ("&#x41g", "Ag", 6),
            ("&#0;", "\u{fffd}", 4),
            ("&#128;", "\u{20ac}", 6),
            ("&#99999999999;", "\u{fffd}", 14),
            ("&", "&", 1),
            ("& ", "&", 1),
            ("&;", "&", 1),
            ("&#;", "&#;", 3),
            ("&unknown;", "&unknown;", 9),
        ] {
            let (value, consumed) = decode_in_text(text.as_bytes());
            assert_eq!((String::from_utf8_lossy(&value).as_ref(), consumed), (decoded, length), "{text}");
        }
    }

    #[test]
    fn the_usual_names_mean_what_the_table_says() {
        let names = "apos copy laquo raquo middot auml ouml uuml szlig agrave egrave eacute ndash mdash lsquo rsquo \
                     ldquo rdquo bull hellip trade rarr";
        for name in names.split_whitespace() {
            let text = format!("&{name};");
            let table = htmlize::unescape_bytes_in(text.as_bytes(), Context::General);
            assert_eq!(usual(name.as_bytes()).map(str::as_bytes), Some(&*table), "{name}");
            assert_eq!(decode_in_text(text.as_bytes()), (table.clone(), text.len()), "{name}");
        }
    }

    #[test]
    fn references_in_attributes_spare_query_strings() {
        for (value, decoded) in [
            ("?a=1&amp;b=2", "?a=1&b=2"),
            ("?a=1&copy=2&lt", "?a=1&copy=2<"),
            ("?a=1&copyx", "?a=1&copyx"),
            ("&copy x", "\u{a9} x"),
            ("a\r\nb\rc\n&#13;", "a\nb\nc\n\r"),
            ("a\0b", "a\u{fffd}b"),
        ] {
            assert_eq!(String::from_utf8_lossy(&decode_value(value.as_bytes())), decoded, "{value}");
        }
    }
}
