//! A record of `url_ingest`: bytes that some other program wrote -> what it records, or why that cannot be known.

use serde::Deserialize;

/// The lowest priority. 0 is the highest, and that of seeds.
const LAST: u8 = 100;

/// `{"job": "feed", "url": "https://example.com/", "priority": 20, "skip_recent_days": 7}`; the latter two may be missing.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IngestRecord {
    pub(super) job: JobName,
    pub(super) url: String,
    #[serde(default)]
    pub(super) priority: u8,
    /// Not sent if any job has fetched it within this many days.
    pub(super) skip_recent_days: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "`job` is neither a job's number nor its name")]
pub(super) enum JobName {
    Number(u32),
    Name(String),
}

impl IngestRecord {
    pub(super) fn read(value: &[u8]) -> Result<IngestRecord, String> {
        let record: IngestRecord = serde_json::from_slice(value).map_err(|error| error.to_string())?;
        if record.priority > LAST {
            return Err(format!("priority {} is not between 0 and {LAST}", record.priority));
        }
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_which_job_and_which_url() {
        let read = |text: &str| IngestRecord::read(text.as_bytes());
        let record = read(r#"{"job": "feed", "url": "example.com"}"#).unwrap();
        assert_eq!(
            (record.job, record.priority, record.skip_recent_days),
            (JobName::Name("feed".into()), 0, None)
        );
        let record = read(r#"{"url": "x", "job": 7, "priority": 100, "skip_recent_days": 3}"#).unwrap();
        assert_eq!(
            (record.job, record.priority, record.skip_recent_days),
            (JobName::Number(7), 100, Some(3))
        );
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
            let why = IngestRecord::read(text.as_bytes()).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(IngestRecord::read(&[0xff, 0xfe]).is_err());
        assert!(IngestRecord::read("[".repeat(1 << 20).as_bytes()).is_err());
    }
}
