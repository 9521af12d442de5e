//! The metadata of a visit: everything needed to complete it without a second request.

use argiope_model::{FetchTimings, Millis, Truncation, Url, Visit, VisitKey};
use serde::{Deserialize, Serialize};

/// The block of a metadata record, or a field of the response's header, as JSON; default values are left out. A visit
/// is in the archive exactly if the record with this is complete, because it is the visit's last or only one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VisitMetadata {
    /// The visit as it was dispatched: job, kind, URL, round, attempt, depth, priority, redirects so far, source.
    pub visit: Visit,
    #[serde(default, skip_serializing_if = "VisitOutcome::is_final")]
    pub outcome: VisitOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there is no response, or what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    pub timings: FetchTimings,
    /// The robots.txt rule that allowed the request, as `audit` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots_rule: Option<String>,
    /// Its line number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots_line: Option<u32>,
    /// The delay that was required before the request.
    #[serde(default, skip_serializing_if = "argiope_model::is_zero")]
    pub required_delay_ms: u64,
    /// How many requests the host might have in flight.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub per_host: u32,
    /// Where the frontier has the visit queued: what recovery removes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The charset the body was decoded with, so that a replay decodes it the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charset: Option<String>,
    /// Headers of a resource's response, because its body may not be archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerFacts>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFacts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl VisitMetadata {
    pub fn key(&self) -> VisitKey {
        self.visit.key()
    }
}

/// How the visit continues after this request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum VisitOutcome {
    /// The response or the failure ends the visit.
    #[default]
    Final,
    /// Another attempt is due.
    Retry { due: Millis },
    /// The request was answered with a redirect that is followed.
    Redirect { to: Url },
}

impl VisitOutcome {
    fn is_final(&self) -> bool {
        *self == VisitOutcome::Final
    }
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}
