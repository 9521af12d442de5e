//! The fetch history: one row for every request, of any kind. `audit` checks politeness with it, and recovery uses it
//! to find which visits were recorded.

use argiope_model::{FetchTimings, JobId, RequestKind};
use serde::Serialize;

/// How the visit continued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchOutcome {
    /// The visit is over: answered, or failed for good.
    #[default]
    Final,
    /// It failed and another attempt follows.
    Retry,
    /// It was redirected and another hop follows.
    Redirect,
}

impl FetchOutcome {
    pub const ALL: [FetchOutcome; 3] = [FetchOutcome::Final, FetchOutcome::Retry, FetchOutcome::Redirect];

    /// The number stored for it.
    pub fn code(self) -> u8 {
        match self {
            FetchOutcome::Final => 0,
            FetchOutcome::Retry => 1,
            FetchOutcome::Redirect => 2,
        }
    }

    pub fn from_code(code: u8) -> Option<FetchOutcome> {
        Self::ALL.into_iter().find(|outcome| outcome.code() == code)
    }
}

/// The line of robots.txt that allowed a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RobotsRule {
    pub text: String,
    pub line: u32,
}

impl RobotsRule {
    /// From the two columns of a stored request.
    pub fn of_columns(text: Option<String>, line: Option<u32>) -> Option<RobotsRule> {
        text.zip(line).map(|(text, line)| RobotsRule { text, line })
    }
}

const KINDS: [RequestKind; 4] =
    [RequestKind::Page, RequestKind::Robots, RequestKind::Sitemap, RequestKind::Resource];

/// The number stored for a kind of request.
pub fn kind_code(kind: RequestKind) -> u8 {
    match kind {
        RequestKind::Page => 0,
        RequestKind::Robots => 1,
        RequestKind::Sitemap => 2,
        RequestKind::Resource => 3,
    }
}

/// The kind of request that is stored as this number.
pub fn kind_of_code(code: u8) -> Option<RequestKind> {
    KINDS.into_iter().find(|kind| kind_code(*kind) == code)
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FetchRow {
    pub job: JobId,
    pub host: String,
    /// The URL that was requested.
    pub url: String,
    /// The URL as scheduled, if redirects have led to another one.
    pub scheduled_url: Option<String>,
    /// Key of the URL as scheduled.
    pub url_key: u64,
    pub kind: RequestKind,
    pub round: u32,
    pub attempt: u8,
    pub hop: u8,
    pub outcome: FetchOutcome,
    pub timings: FetchTimings,
    pub status: Option<u16>,
    pub error: Option<String>,
    /// Bytes received.
    pub bytes: u64,
    /// The address that was connected to.
    pub address: Option<String>,
    /// None if no rule applied: robots.txt has none for this path, does not exist, or is itself the request.
    pub rule: Option<RobotsRule>,
    /// The required delay before this request.
    pub required_delay_ms: u64,
    /// The limit of requests in flight on this host. At 1 the delay runs from the end of the previous response, above
    /// from start to start.
    pub per_host: u32,
    pub worker_id: Option<String>,
}

impl FetchRow {
    pub fn new(job: JobId, host: impl Into<String>, url: impl Into<String>, url_key: u64) -> FetchRow {
        FetchRow {
            job,
            host: host.into(),
            url: url.into(),
            scheduled_url: None,
            url_key,
            kind: RequestKind::Page,
            round: 0,
            attempt: 0,
            hop: 0,
            outcome: FetchOutcome::Final,
            timings: FetchTimings::default(),
            status: None,
            error: None,
            bytes: 0,
            address: None,
            rule: None,
            required_delay_ms: 0,
            per_host: 1,
            worker_id: None,
        }
    }

    pub fn scheduled_url(&self) -> &str {
        self.scheduled_url.as_deref().unwrap_or(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_back_from_their_code() {
        for outcome in FetchOutcome::ALL {
            assert_eq!(FetchOutcome::from_code(outcome.code()), Some(outcome));
        }
        assert_eq!(FetchOutcome::from_code(9), None);
    }
}
