//! Bytes of paths and queries by RFC 3986: which stand for themselves, which must be escaped, which escapes must be
//! undone. Appends to a buffer; knows nothing of segments or parameters.

/// A percent sign: an escape, or a stray that becomes `%25`.
pub(super) const ESCAPE: u8 = 1;
/// Illegal here: escaped.
pub(super) const ILLEGAL: u8 = 2;
/// `;` in a path, which may begin a session id.
pub(super) const PARAMETER: u8 = 4;
/// Tabs, line breaks, other controls, and the backslash of a path: left to the general parser.
pub(super) const PECULIAR: u8 = 8;
/// Ends the component.
pub(super) const END: u8 = 16;

pub(super) type Classes = [u8; 256];

pub(super) const PATH: Classes = classes(false);
pub(super) const QUERY: Classes = classes(true);

const fn classes(query: bool) -> Classes {
    let mut table = [0; 256];
    let mut byte = 0u8;
    loop {
        // The index is a byte and the table has a place for each.
        #[allow(clippy::indexing_slicing, reason = "const evaluation; out of range would not compile")]
        {
            table[byte as usize] = class(byte, query);
        }
        if byte == u8::MAX {
            return table;
        }
        byte += 1;
    }
}

const fn class(byte: u8, query: bool) -> u8 {
    match byte {
        b'%' => ESCAPE,
        b'#' => END,
        b'?' if !query => END,
        b'?' => 0,
        b';' if !query => PARAMETER,
        b'\\' if !query => PECULIAR,
        // Legal in a query, but browsers send it escaped.
        b'\'' if query => ILLEGAL,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/' => 0,
        0..=0x1f => PECULIAR,
        _ if is_unreserved(byte) => 0,
        _ => ILLEGAL,
    }
}

const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The class of a byte.
pub(super) fn class_of(table: &Classes, byte: u8) -> u8 {
    // A byte always has its place; `get` compiles to a plain load.
    table.get(usize::from(byte)).copied().unwrap_or(PECULIAR)
}

/// Appends `raw` in its normal form: escapes of unreserved characters undone, the digits of the others in upper case,
/// everything illegal escaped.
pub(super) fn push_escaped(out: &mut Vec<u8>, raw: &[u8], table: &Classes) {
    let mut rest = raw;
    loop {
        let plain = rest.iter().position(|b| class_of(table, *b) & !PARAMETER != 0).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(plain);
        out.extend_from_slice(run);
        rest = match tail {
            [] => return,
            [b'%', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let byte = hex_value(*high) << 4 | hex_value(*low);
                if is_unreserved(byte) {
                    out.push(byte);
                } else {
                    out.extend_from_slice(&[b'%', high.to_ascii_uppercase(), low.to_ascii_uppercase()]);
                }
                after
            }
            [byte, after @ ..] => {
                out.extend_from_slice(&[b'%', hex_digit(byte >> 4), hex_digit(byte & 15)]);
                after
            }
        };
    }
}

fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a').wrapping_add(10),
    }
}

fn hex_digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'A' + (nibble - 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(raw: &str, table: &Classes) -> String {
        let mut out = Vec::new();
        push_escaped(&mut out, raw.as_bytes(), table);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_are_undone_where_they_are_not_needed_and_written_in_upper_case() {
        assert_eq!(escaped("%41%7e%2d%2F%c3%a9", &PATH), "A~-%2F%C3%A9");
    }

    #[test]
    fn a_stray_percent_sign_is_escaped() {
        assert_eq!(escaped("100%", &PATH), "100%25");
        assert_eq!(escaped("%zz%4", &PATH), "%25zz%254");
        assert_eq!(escaped("%%32e", &PATH), "%252e");
    }

    #[test]
    fn what_rfc_3986_does_not_allow_is_escaped() {
        assert_eq!(escaped("a b\"<>[]^`{|}é", &PATH), "a%20b%22%3C%3E%5B%5D%5E%60%7B%7C%7D%C3%A9");
        assert_eq!(escaped("it's", &PATH), "it's");
        assert_eq!(escaped("it's\\", &QUERY), "it%27s%5C");
        assert_eq!(escaped("!$&()*+,;=:@/?", &QUERY), "!$&()*+,;=:@/?");
    }
}
