//! Incomplete bodies.

use serde::{Deserialize, Serialize};

/// Why a body is incomplete. The names are those of `WARC-Truncated`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// It is longer than the limit.
    Length,
    /// The time limit of the whole fetch was reached.
    Time,
    /// The server ended it early, or it is malformed. No setting helps.
    Disconnect,
}

impl Truncation {
    pub fn as_str(self) -> &'static str {
        match self {
            Truncation::Length => "length",
            Truncation::Time => "time",
            Truncation::Disconnect => "disconnect",
        }
    }

    /// Reads the cause back from the detail of a [`crate::SkipReason::BodyTruncated`], which begins with it.
    pub fn of_detail(detail: &str) -> Truncation {
        let begins = |words: &[&str]| words.iter().any(|word| detail.starts_with(word));
        if begins(&["body over ", "more than "]) {
            Truncation::Length
        } else if begins(&["body not complete after "]) {
            Truncation::Time
        } else {
            Truncation::Disconnect
        }
    }
}
