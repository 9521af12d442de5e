//! A redirect that was not followed, as stored in the record of its URL.

use crate::{Skip, Url, plural};
use std::fmt;

/// Why a redirect ends a visit. Its text is stored as the error of the record, and [`target_of`](Self::target_of) reads
/// the target back from that text.
#[derive(Clone, Copy, Debug)]
pub enum RedirectEnd<'r> {
    TooMany { most: u32, to: &'r Url },
    Loop { to: &'r Url },
    Refused { to: &'r Url, skip: &'r Skip },
}

const START: &str = "redirect: ";
const TO: &str = "to ";
const LOOP: &str = "a loop at ";
const NEXT: &str = ", the next one to ";

impl fmt::Display for RedirectEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RedirectEnd::TooMany { most, to } => {
                let most = plural(u64::from(*most), "redirect", "redirects");
                write!(f, "{START}more than {most}{NEXT}{to}")
            }
            RedirectEnd::Loop { to } => write!(f, "{START}{LOOP}{to}"),
            RedirectEnd::Refused { to, skip } => {
                write!(f, "{START}{TO}{to}, {}: {}", skip.reason, skip.detail)
            }
        }
    }
}

impl RedirectEnd<'_> {
    /// Whether the error of a record comes from a redirect that was not followed.
    pub fn is_told_by(error: &str) -> bool {
        error.starts_with(START)
    }

    /// The target of the redirect, if the error names it. A text that was cut to its limit may have lost the end of the
    /// URL: `limit` is the longest text that is stored.
    pub fn target_of(error: &str, limit: usize) -> Option<&str> {
        let told = error.strip_prefix(START)?;
        let rest = told.strip_prefix(TO).or_else(|| told.strip_prefix(LOOP));
        let rest = rest.or_else(|| told.split_once(NEXT).map(|(_, rest)| rest))?;
        // A URL contains no blank.
        let (url, is_whole) = match rest.split_once(' ') {
            Some((url, _)) => (url.strip_suffix(',').unwrap_or(url), true),
            // The text is cut between characters, up to three bytes before the limit.
            None => (rest, error.len() + 3 < limit),
        };
        is_whole.then_some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SkipReason;

    #[test]
    fn the_target_is_read_back_from_the_text() {
        let to = Url::from_stored("https://b.test/x,y?a=1,").unwrap();
        let skip = Skip::new(SkipReason::OutOfScope, "b.test is another host");
        let ends = [
            RedirectEnd::TooMany { most: 5, to: &to },
            RedirectEnd::Loop { to: &to },
            RedirectEnd::Refused { to: &to, skip: &skip },
        ];
        for end in ends {
            let text = end.to_string();
            assert!(RedirectEnd::is_told_by(&text), "{text}");
            assert_eq!(RedirectEnd::target_of(&text, 1024), Some(to.as_str()), "{text}");
        }
    }

    #[test]
    fn texts_of_older_versions_and_cut_ones_have_no_wrong_target() {
        for text in ["redirect: more than 5 redirects", "redirect: 301 without a Location", "timeout: x", ""]
        {
            assert_eq!(RedirectEnd::target_of(text, 1024), None, "{text}");
        }
        let cut = "redirect: a loop at https://a.test/lo";
        assert_eq!(RedirectEnd::target_of(cut, cut.len()), None);
        assert_eq!(RedirectEnd::target_of(cut, 1024), Some("https://a.test/lo"));
    }
}
