//! "Did you mean": the known key that is most similar to an unknown one.

/// A known key, and whether it is similar enough to be suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nearest<'w> {
    pub(crate) word: &'w str,
    pub(crate) near: bool,
}

/// No known key is longer, so longer ones are not compared.
const LONGEST: usize = 100;

/// The most similar of `known`, the first among equals; `None` only if nothing is known.
pub(crate) fn nearest<'w>(unknown: &str, known: impl IntoIterator<Item = &'w str>) -> Option<Nearest<'w>> {
    let spelled = plain(&unknown.chars().take(LONGEST).collect::<String>());
    let (_, near, word) = known
        .into_iter()
        .map(|word| {
            let candidate = plain(word);
            let distance = strsim::damerau_levenshtein(&spelled, &candidate);
            let near = distance <= (spelled.chars().count() / 3).max(1) || shares_words(&spelled, &candidate);
            (distance, near, word)
        })
        .min_by_key(|(distance, near, _)| (!near, *distance))?;
    Some(Nearest { word, near })
}

/// Ignores case and the separator of words.
fn plain(word: &str) -> String {
    word.to_lowercase().replace(['-', ' ', '.'], "_")
}

/// `depth` for `max_depth`, `delay` for `crawl_delay`.
fn shares_words(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let long: Vec<&str> = long.split('_').collect();
    short.len() >= 4 && short.split('_').all(|word| long.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 5] = ["max_depth", "max_pages", "user_agent", "scope", "crawl_delay"];

    fn near(unknown: &str) -> Option<&'static str> {
        nearest(unknown, KEYS).filter(|n| n.near).map(|n| n.word)
    }

    #[test]
    fn typos_find_their_word() {
        assert_eq!(near("max_dpeth"), Some("max_depth"));
        assert_eq!(near("user-agent"), Some("user_agent"));
        assert_eq!(near("userAgent"), Some("user_agent"));
        assert_eq!(near("scop"), Some("scope"));
        assert_eq!(near("depth"), Some("max_depth"));
        assert_eq!(near("delay"), Some("crawl_delay"));
    }

    #[test]
    fn strange_words_have_a_nearest_that_is_not_near() {
        assert_eq!(near("frobnicate"), None);
        assert!(nearest("frobnicate", KEYS).is_some());
        assert_eq!(nearest("x", []), None);
    }
}
