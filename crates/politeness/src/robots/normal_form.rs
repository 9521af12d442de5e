//! The form in which paths and patterns are compared: RFC 9309 §2.2.2 requires both sides in the same percent-encoding,
//! so that `/%7euser`, `/~user` and `/ツ` mean the same in every spelling.

use std::borrow::Cow;

/// How octets outside ASCII in a checked path are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NonAscii {
    Encode,
    /// Compared unchanged: patterns contain none, so only a wildcard matches them.
    Keep,
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// A path and query in comparison form. Borrowed if nothing changes, which is usual for a URL in normal form.
pub(super) fn path(raw: &[u8], non_ascii: NonAscii) -> Cow<'_, [u8]> {
    let rooted = raw.first() == Some(&b'/');
    if rooted && raw.iter().all(|byte| is_plain(*byte) && !matches!(byte, b'*' | b'$')) {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len() + 16);
    if !rooted {
        out.push(b'/');
    }
    encode(raw, non_ascii, &mut out, |byte, out| match byte {
        // In a pattern these two are special and stand for themselves only as %2A and %24 (RFC 9309 §2.2.3).
        b'*' | b'$' => push_encoded(byte, out),
        _ => out.push(byte),
    });
    Cow::Owned(out)
}

/// The value of an Allow or Disallow line in comparison form: `*` stays special everywhere, `$` only at the end, where
/// the caller removes it first.
pub(super) fn pattern(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    encode(raw, NonAscii::Encode, &mut out, |byte, out| match byte {
        b'$' => push_encoded(byte, out),
        _ => out.push(byte),
    });
    out
}

fn encode(raw: &[u8], non_ascii: NonAscii, out: &mut Vec<u8>, plain: impl Fn(u8, &mut Vec<u8>)) {
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        at += 1;
        if byte == b'%' {
            match (raw.get(at).copied().and_then(hex_value), raw.get(at + 1).copied().and_then(hex_value)) {
                (Some(high), Some(low)) => {
                    at += 2;
                    let decoded = (high << 4) | low;
                    if is_unreserved(decoded) {
                        out.push(decoded);
                    } else {
                        push_encoded(decoded, out);
                    }
                }
                _ => out.extend_from_slice(b"%25"),
            }
        } else if is_plain(byte) || (!byte.is_ascii() && non_ascii == NonAscii::Keep) {
            plain(byte, out);
        } else {
            push_encoded(byte, out);
        }
    }
}

fn push_encoded(byte: u8, out: &mut Vec<u8>) {
    let digit = |nibble: u8| HEX.get(usize::from(nibble & 15)).copied().unwrap_or(b'0');
    out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte)]);
}

fn hex_value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Legal unescaped in a path or query by RFC 3986. `%` is not: the two characters after it decide.
fn is_plain(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(
            byte,
            b'/' | b'?'
                | b':'
                | b'@'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
        )
}

/// Path, parameters and query of a URL that is not in normal form, always with a slash at the start. A text without
/// path, or that is not a URL, gives `/`.
pub fn path_and_query_of(url: &str) -> Cow<'_, str> {
    let rest = url.strip_prefix("//").unwrap_or(url);
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let starts = |text: &str| text.find(['/', '?', ';']);
    let authority = match (rest.find("://"), starts(rest)) {
        // The slash of `://` is itself the first one found, unless a path or query came before it.
        (Some(scheme_end), Some(first)) if first > scheme_end => rest.get(scheme_end + 3..).unwrap_or(""),
        _ => rest,
    };
    match starts(authority).and_then(|at| authority.get(at..)) {
        None => Cow::Borrowed("/"),
        Some(path) if path.starts_with('/') => Cow::Borrowed(path),
        Some(path) => Cow::Owned(format!("/{path}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(raw: &str) -> String {
        String::from_utf8(path(raw.as_bytes(), NonAscii::Encode).into_owned()).unwrap()
    }

    #[test]
    fn a_path_in_normal_form_is_borrowed() {
        assert!(matches!(path(b"/a/b?c=d&e=f;g", NonAscii::Encode), Cow::Borrowed(_)));
    }

    #[test]
    fn both_spellings_of_a_character_become_one() {
        assert_eq!(shown("/%7euser"), "/~user");
        assert_eq!(shown("/a%2fb"), "/a%2Fb");
        assert_eq!(shown("/ツ"), "/%E3%83%84");
        assert_eq!(shown("/%e3%83%84"), "/%E3%83%84");
        assert_eq!(shown("/a b"), "/a%20b");
        assert_eq!(shown("/a*b$"), "/a%2Ab%24");
        assert_eq!(shown(""), "/");
        assert_eq!(shown("?q"), "/?q");
    }

    #[test]
    fn a_stray_percent_sign_is_encoded() {
        assert_eq!(shown("/100%"), "/100%25");
        assert_eq!(shown("/%zz%4"), "/%25zz%254");
        assert_eq!(shown("/100%25"), "/100%25");
    }

    #[test]
    fn the_form_is_stable() {
        for raw in ["/%7Euser", "/ツ?x=%2f*$", "/%", "/a b|c", "/[x]"] {
            let once = shown(raw);
            assert_eq!(shown(&once), once);
        }
    }

    #[test]
    fn patterns_keep_their_stars() {
        assert_eq!(pattern(b"/a*b$c"), b"/a*b%24c");
        assert_eq!(pattern("/\u{e1}".as_bytes()), b"/%C3%A1");
        assert_eq!(pattern(b"%aa"), b"%AA");
    }
}
