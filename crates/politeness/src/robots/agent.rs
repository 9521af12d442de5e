//! Whose rules apply: the product token of a crawler, and whether a `User-agent` line matches it.

/// True for a name that a robots.txt can address: letters, `_` and `-`, at least one of them (RFC 9309 §2.2.1).
pub fn is_product_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token_byte)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')
}

/// The name under which a crawler looks for its group. A bare name is used as is. From a whole User-Agent header it is
/// the product before the version; from one in the form of a browser's, `Mozilla/5.0 (compatible; Name/1.0)`, the
/// product named there.
pub fn product_token(user_agent: &str) -> &str {
    let text = user_agent.trim();
    let text = match text.split_once("compatible;") {
        Some((browser, rest)) if browser.starts_with("Mozilla/") => rest.trim_start(),
        _ => text,
    };
    if text.contains(['/', '(']) {
        text.split(|c: char| c.is_whitespace() || matches!(c, '/' | '(' | ';')).next().unwrap_or(text)
    } else {
        text
    }
}

/// What a `User-agent` line means for one crawler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addressee {
    Us,
    Everyone,
    Others,
}

pub(super) fn addressee(line_value: &[u8], product_token: &str) -> Addressee {
    // A star followed by a space and anything else still means everyone.
    if let Some((b'*', rest)) = line_value.split_first()
        && rest.first().is_none_or(u8::is_ascii_whitespace)
    {
        return Addressee::Everyone;
    }
    let prefix = |end: fn(&u8) -> bool| line_value.split(end).next().unwrap_or_default();
    let ours = product_token.as_bytes();
    let named = |name: &[u8]| !name.is_empty() && name.eq_ignore_ascii_case(ours);
    // The token ends at the first character that cannot be part of one. A crawler name with a digit is not a valid
    // token, but whoever writes that name in full means it.
    if named(prefix(|byte| !is_token_byte(*byte)))
        || named(prefix(|byte| byte.is_ascii_whitespace() || *byte == b'/'))
    {
        return Addressee::Us;
    }
    Addressee::Others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_found_in_a_whole_header() {
        assert_eq!(product_token("Argiope/0.1 (+https://example.org/bot)"), "Argiope");
        assert_eq!(product_token("Mozilla/5.0 (compatible; Argiope/0.1; +https://example.org)"), "Argiope");
        assert_eq!(product_token("Argiope (contact: me@example.org)"), "Argiope");
        assert_eq!(product_token("Argiope"), "Argiope");
        assert_eq!(product_token("Foo Bar"), "Foo Bar");
        assert_eq!(product_token(""), "");
    }

    #[test]
    fn lines_address_us_everyone_or_others() {
        assert_eq!(addressee(b"argiope", "Argiope"), Addressee::Us);
        assert_eq!(addressee(b"Argiope/2.1", "Argiope"), Addressee::Us);
        assert_eq!(addressee(b"Argiope images", "Argiope"), Addressee::Us);
        assert_eq!(addressee(b"*", "Argiope"), Addressee::Everyone);
        assert_eq!(addressee(b"* all of you", "Argiope"), Addressee::Everyone);
        assert_eq!(addressee(b"*bot", "Argiope"), Addressee::Others);
        assert_eq!(addressee(b"Argiope-Images", "Argiope"), Addressee::Others);
        assert_eq!(addressee(b"", ""), Addressee::Others);
        assert_eq!(addressee(b"bot2", "bot2"), Addressee::Us);
        assert_eq!(addressee(b"bot2/1.0", "bot2"), Addressee::Us);
    }
}
