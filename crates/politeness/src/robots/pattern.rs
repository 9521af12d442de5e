//! Matches one pattern against one path, in time linear in both. `*` stands for any run of characters. Matching each
//! piece between stars at its leftmost place leaves the most room for the rest, so no backtracking is needed.

/// Counts the octets examined, so that tests can check the running time without a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Octets(pub(super) usize);

/// `pattern` is in comparison form without its final `$`; `to_end` says whether it had one.
pub(super) fn matches(pattern: &[u8], to_end: bool, path: &[u8], looked_at: &mut Octets) -> bool {
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    looked_at.0 += first.len();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let Some(mut piece) = pieces.next() else { return !to_end || rest.is_empty() };
    for next in pieces {
        let Some(behind) = behind_first(rest, piece, looked_at) else { return false };
        rest = behind;
        piece = next;
    }
    if to_end {
        looked_at.0 += piece.len();
        rest.ends_with(piece)
    } else {
        behind_first(rest, piece, looked_at).is_some()
    }
}

/// The text after the first occurrence of `piece`. The search is linear (two-way) for any bytes; most pieces do not
/// occur, and the search for their first byte shows that much sooner.
fn behind_first<'p>(text: &'p [u8], piece: &[u8], looked_at: &mut Octets) -> Option<&'p [u8]> {
    let Some(first) = piece.first() else { return Some(text) };
    looked_at.0 += piece.len();
    let Some(start) = memchr::memchr(*first, text) else {
        looked_at.0 += text.len();
        return None;
    };
    looked_at.0 += start;
    let text = text.get(start..)?;
    let found = memchr::memmem::find(text, piece);
    looked_at.0 += found.map_or(text.len(), |at| at + piece.len());
    text.get(found? + piece.len()..)
}

/// Several stars in a row mean the same as one.
pub(super) fn collapse_stars(pattern: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pattern.len());
    for byte in pattern {
        if *byte != b'*' || out.last() != Some(&b'*') {
            out.push(*byte);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_match(pattern: &str, path: &str) -> bool {
        let (body, to_end) = pattern.strip_suffix('$').map_or((pattern, false), |body| (body, true));
        matches(body.as_bytes(), to_end, path.as_bytes(), &mut Octets::default())
    }

    #[test]
    fn stars_and_the_end_mark_mean_what_they_should() {
        for (pattern, path, expected) in [
            ("/", "/x", true),
            ("/fish*", "/fish", true),
            ("/*.php", "/a/b.php?x", true),
            ("/*.php$", "/a/b.php", true),
            ("/*.php$", "/a/b.php5", false),
            ("/*.php$", "/a.php/b.php", true),
            ("/a*a$", "/a", false),
            ("/a*a$", "/aa", true),
            ("/$", "/", true),
            ("/$", "/x", false),
            ("*", "/", true),
            ("*$", "/x", true),
            ("/a*b*c", "/a--c--b--c", true),
            ("/a*b*c", "/a--c--b", false),
            ("/ab*ba$", "/aba", false),
        ] {
            assert_eq!(is_match(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn forty_stars_against_a_long_path_cost_no_more_than_their_lengths() {
        let path = format!("/{}", "a".repeat(1999));
        for tail in ["", "b", "b$"] {
            let pattern = format!("/{}{tail}", "a*".repeat(40));
            let (body, to_end) = pattern.strip_suffix('$').map_or((&*pattern, false), |body| (body, true));
            let mut looked_at = Octets::default();
            matches(body.as_bytes(), to_end, path.as_bytes(), &mut looked_at);
            assert!(looked_at.0 <= path.len() + 2 * pattern.len(), "{tail}: {looked_at:?}");
        }
    }

    /// The plain definition, exponential in stars: the reference for the fast one.
    fn by_definition(pattern: &[u8], to_end: bool, path: &[u8]) -> bool {
        match pattern.split_first() {
            None => !to_end || path.is_empty(),
            Some((b'*', rest)) => (0..=path.len()).any(|skip| by_definition(rest, to_end, &path[skip..])),
            Some((byte, rest)) => path.first() == Some(byte) && by_definition(rest, to_end, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn the_quick_matcher_agrees_with_the_definition(
            pattern in "[ab*]{0,8}", path in "[ab]{0,12}", to_end in any::<bool>(),
        ) {
            let quick = matches(&collapse_stars(pattern.as_bytes()), to_end, path.as_bytes(), &mut Octets::default());
            prop_assert_eq!(quick, by_definition(pattern.as_bytes(), to_end, path.as_bytes()));
        }

        #[test]
        fn the_work_is_linear(pattern in "[ab*]{0,200}", path in "[ab]{0,400}", to_end in any::<bool>()) {
            let mut looked_at = Octets::default();
            matches(pattern.as_bytes(), to_end, path.as_bytes(), &mut looked_at);
            prop_assert!(looked_at.0 <= path.len() + 2 * pattern.len());
        }
    }
}
