//! A record of `url_ingest`: bytes that some other program wrote -> what it wishes, or why that cannot be known.

use serde::Deserialize;

/// As priorities go: 0 is first, as it is for seeds.
const LAST: u8 = 100;

/// `{"job": "feed", "url": "https://example.com/", "priority": 20, "skip_recent_days": 7}`; the latter two may be missing.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wish {
    pub(super) job: JobName,
    pub(super) url: String,
    #[serde(default)]
    pub(super) priority: u8,
    /// Left out if some job has fetched it within so many days.
    pub(super) skip_recent_days: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`job` is neither a job's number nor its name")]
pub(super) enum JobName {
    Number(u32),
    Name(String),
}

impl Wish {
    pub(super) fn read(value: &[u8]) -> Result<Wish, String> {
        let wish: Wish = serde_json::from_slice(value).map_err(|error| error.to_string())?;
        if wish.priority > LAST {
            return Err(format!("priority {} is not between 0 and {LAST}", wish.priority));
        }
        Ok(wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_which_job_and_which_url() {
        let read = |text: &str| Wish::read(text.as_bytes());
        let wish = read(r#"{"job": "feed", "url": "example.com"}"#).unwrap();
        assert_eq!((wish.job, wish.priority, wish.skip_recent_days), (JobName::Name("feed".into()), 0, None));
        let wish = read(r#"{"url": "x", "job": 7, "priority": 100, "skip_recent_days": 3}"#).unwrap();
        assert_eq!((wish.job, wish.priority, wish.skip_recent_days), (JobName::Number(7), 100, Some(3)));
    }

    #[test]
    fn what_is_no_record_is_told_why() {
        for (text, part) in [
            ("", "EOF"),
            ("https://example.com/", "expected value"),
            ("[]", "length"),
            (r#"{"url": "x"}"#, "missing field `job`"),
            (r#"{"job": 1}"#, "missing field `url`"),
            (r#"{"job": -1, "url": "x"}"#, "neither a job's number nor its name"),
            (r#"{"job": 1, "url": ["x"]}"#, "expected a string"),
            (r#"{"job": 1, "url": "x", "prio": 3}"#, "unknown field `prio`"),
            (r#"{"job": 1, "url": "x", "priority": 101}"#, "between 0 and 100"),
            (r#"{"job": 1, "url": "x", "priority": 1.5}"#, "floating point"),
            (r#"{"job": 1, "url": "x"} {}"#, "trailing"),
        ] {
            let why = Wish::read(text.as_bytes()).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(Wish::read(&[0xff, 0xfe]).is_err());
        assert!(Wish::read("[".repeat(1 << 20).as_bytes()).is_err());
    }
}
