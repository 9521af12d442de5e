//! From bytes to directives: lines, comments, keys with their usual misspellings. Knows nothing of groups.

/// How much of a file is read; RFC 9309 §2.5 requires at least 500 KiB.
pub(super) const MAX_FILE_BYTES: usize = 500 * 1024;
/// The rest of a longer line is ignored.
const MAX_LINE_BYTES: usize = 2083 * 8 - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directive<'f> {
    pub(super) key: Key,
    pub(super) value: &'f [u8],
    /// Counted from 1.
    pub(super) line: u32,
}

/// The directives of a file in order. Lines end in LF, CR LF or CR; blank lines, comments and lines without a separator
/// are ignored.
pub(super) fn directives(file: &[u8]) -> impl Iterator<Item = Directive<'_>> {
    lines(capped(without_byte_order_mark(file)))
        .zip(1u32..)
        .filter_map(|(line, number)| directive(line, number))
}

/// Also ignores an incomplete mark.
fn without_byte_order_mark(file: &[u8]) -> &[u8] {
    let marked = file.iter().zip(b"\xEF\xBB\xBF").take_while(|(is, mark)| is == mark).count();
    file.get(marked..).unwrap_or_default()
}

/// A line that the limit cuts in two is dropped: half of an Allow would allow more than its author meant.
fn capped(file: &[u8]) -> &[u8] {
    match file.get(..MAX_FILE_BYTES) {
        Some(head) if file.len() > MAX_FILE_BYTES => {
            let end = memchr::memrchr2(b'\n', b'\r', head).unwrap_or(0);
            head.get(..end).unwrap_or_default()
        }
        _ => file,
    }
}

fn lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(file);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = memchr::memchr2(b'\n', b'\r', text) else {
            rest = None;
            return Some(text);
        };
        let (line, behind) = text.split_at(end);
        rest = behind.strip_prefix(b"\r\n").or_else(|| behind.get(1..));
        Some(line)
    })
}

fn directive(line: &[u8], number: u32) -> Option<Directive<'_>> {
    let line = line.get(..MAX_LINE_BYTES).unwrap_or(line);
    // A NUL ends the line as a comment does.
    let line = memchr::memchr2(b'#', 0, line).and_then(|end| line.get(..end)).unwrap_or(line).trim_ascii();
    let (key, value) = key_and_value(line)?;
    Some(Directive { key: key_of(key), value, line: number })
}

fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let split = |at: usize| {
        let (key, rest) = line.split_at(at);
        (key.trim_ascii(), rest.get(1..).unwrap_or_default().trim_ascii())
    };
    let colon = memchr::memchr(b':', line);
    if let Some(blank) = line.iter().position(is_blank) {
        let (key, value) = split(blank);
        match colon {
            // Without a colon, a blank counts as the separator if there are exactly two words.
            None => return (!value.iter().any(is_blank)).then_some((key, value)),
            // `Disallow /a:b` has lost its colon too; the one it has belongs to the path.
            Some(colon) if blank < colon && matches!(value.first(), Some(b'/' | b'*')) => {
                return Some((key, value));
            }
            Some(_) => {}
        }
    }
    let (key, value) = split(colon?);
    (!key.is_empty()).then_some((key, value))
}

/// A key is recognized by its beginning, so that `Disallowed` counts too.
fn key_of(text: &[u8]) -> Key {
    let starts = |names: &[&str]| {
        names
            .iter()
            .any(|name| text.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes())))
    };
    if starts(&["user-agent", "useragent", "user agent"]) {
        Key::UserAgent
    } else if starts(&["allow"]) {
        Key::Allow
    } else if starts(&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"]) {
        Key::Disallow
    } else if starts(&["crawl-delay", "crawldelay", "crawl delay"]) {
        Key::CrawlDelay
    } else if starts(&["sitemap", "site-map"]) {
        Key::Sitemap
    } else {
        Key::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(file: &[u8]) -> Vec<(Key, u32)> {
        directives(file).map(|directive| (directive.key, directive.line)).collect()
    }

    fn known_unknown_last(file: &[u8]) -> (usize, usize, u32) {
        let all = keys(file);
        let unknown = all.iter().filter(|(key, _)| *key == Key::Unknown).count();
        (all.len() - unknown, unknown, all.last().map_or(0, |(_, line)| *line))
    }

    #[test]
    fn every_kind_of_line_ending_is_counted_once() {
        for file in [
            "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nDisallow: /\n",
            "User-Agent: foo\r\nAllow: /some/path\r\nUser-Agent: bar\r\n\r\n\r\nDisallow: /\r\n",
            "User-Agent: foo\rAllow: /some/path\rUser-Agent: bar\r\r\rDisallow: /\r",
            "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nDisallow: /",
            "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /",
        ] {
            assert_eq!(known_unknown_last(file.as_bytes()), (4, 0, 6), "{file:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_start_only() {
        let count = |file: &[u8]| {
            let (known, unknown, _) = known_unknown_last(file);
            (known, unknown)
        };
        assert_eq!(count(b"\xEF\xBB\xBFUser-Agent: foo\nAllow: /AnyValue\n"), (2, 0));
        assert_eq!(count(b"\xEF\xBBUser-Agent: foo\nAllow: /AnyValue\n"), (2, 0));
        assert_eq!(count(b"\xEFUser-Agent: foo\nAllow: /AnyValue\n"), (2, 0));
        assert_eq!(count(b"\xEF\x11\xBFUser-Agent: foo\nAllow: /AnyValue\n"), (1, 1));
        assert_eq!(count(b"User-Agent: foo\n\xEF\xBB\xBFAllow: /AnyValue\n"), (1, 1));
    }

    #[test]
    fn misspelt_keys_are_understood() {
        for key in ["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw", "DISALLOWED"] {
            assert_eq!(keys(format!("{key}: /").as_bytes()), [(Key::Disallow, 1)], "{key}");
        }
        for key in ["user-agent", "useragent", "user agent", "User-Agents"] {
            assert_eq!(keys(format!("{key}: x").as_bytes()), [(Key::UserAgent, 1)], "{key}");
        }
        assert_eq!(keys(b"site-map: x\nSitemap: y"), [(Key::Sitemap, 1), (Key::Sitemap, 2)]);
    }

    #[test]
    fn a_missing_colon_is_made_up_for() {
        let one = |line: &'static str| {
            directives(line.as_bytes()).next().map(|d| (d.key, std::str::from_utf8(d.value).unwrap()))
        };
        assert_eq!(one("disallow /"), Some((Key::Disallow, "/")));
        assert_eq!(one("disallow \t /x"), Some((Key::Disallow, "/x")));
        assert_eq!(one("disallow / x"), None);
        assert_eq!(one("disallow"), None);
        assert_eq!(one(": /x"), None);
        assert_eq!(one("disallow /wiki/Special:Random"), Some((Key::Disallow, "/wiki/Special:Random")));
        assert_eq!(one("disallow : /x"), Some((Key::Disallow, "/x")));
        assert_eq!(one("user agent: x"), Some((Key::UserAgent, "x")));
        assert_eq!(one("disallow: /a\0b"), Some((Key::Disallow, "/a")));
        assert_eq!(one("disallow: # all"), Some((Key::Disallow, "")));
    }

    #[test]
    fn a_line_cut_by_the_file_cap_is_dropped() {
        let mut file = b"User-agent: *\nDisallow: /x\n".to_vec();
        file.resize(MAX_FILE_BYTES - 8, b'#');
        file.extend_from_slice(b"\nAllow: /private\n");
        assert_eq!(keys(&file), [(Key::UserAgent, 1), (Key::Disallow, 2)]);
    }
}
