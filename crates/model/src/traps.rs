//! What counts as a crawler trap, and how a skip names the rule that found it.

use crate::reason::{Skip, SkipReason};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// What counts as a crawler trap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrapRules {
    pub enabled: bool,
    /// How many URLs of one pattern a host may have before its pages must differ from each other.
    pub urls_per_pattern: u32,
    /// Pages of a pattern that are fetched before it is judged. At most twice as many are remembered.
    pub pages_before_judgement: u32,
    /// The share of a pattern's latest pages, in percent, that must be near-duplicates of each other, or empty, for the
    /// pattern to be a trap.
    pub worthless_percent: u8,
    /// How often one segment may occur in a path.
    pub max_repeated_segments: u32,
    /// Calendar years before this one are a trap.
    pub earliest_year: u16,
    /// Calendar years further ahead than this are a trap.
    pub years_ahead: u16,
    /// Host or domain -> its own rules, subdomains included; the most specific entry applies.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub domains: BTreeMap<String, TrapOverride>,
}

impl Default for TrapRules {
    fn default() -> TrapRules {
        TrapRules {
            enabled: true,
            urls_per_pattern: 1000,
            pages_before_judgement: 50,
            worthless_percent: 90,
            max_repeated_segments: 3,
            earliest_year: 1990,
            years_ahead: 5,
            domains: BTreeMap::new(),
        }
    }
}

/// The rules that one domain overrides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrapOverride {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urls_per_pattern: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_before_judgement: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worthless_percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_repeated_segments: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earliest_year: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub years_ahead: Option<u16>,
}

impl TrapRules {
    /// The rules for a host, which may have a port.
    pub fn of_host(&self, host: &str) -> Cow<'_, TrapRules> {
        if self.domains.is_empty() {
            return Cow::Borrowed(self);
        }
        match self.nearest(host) {
            Some(own) => Cow::Owned(self.with(own)),
            None => Cow::Borrowed(self),
        }
    }

    /// The entry of the host itself, or else of the closest parent domain.
    fn nearest(&self, host: &str) -> Option<&TrapOverride> {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => host,
        };
        let parents = name.match_indices('.').filter_map(|(at, _)| name.get(at + 1..));
        let bare = |entry: &str| entry.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
        let entry = |name: &str| self.domains.iter().find(|(entry, _)| bare(entry) == name);
        [host, name].into_iter().chain(parents).find_map(entry).map(|(_, own)| own)
    }

    fn with(&self, own: &TrapOverride) -> TrapRules {
        TrapRules {
            enabled: own.enabled.unwrap_or(self.enabled),
            urls_per_pattern: own.urls_per_pattern.unwrap_or(self.urls_per_pattern),
            pages_before_judgement: own.pages_before_judgement.unwrap_or(self.pages_before_judgement),
            worthless_percent: own.worthless_percent.unwrap_or(self.worthless_percent),
            max_repeated_segments: own.max_repeated_segments.unwrap_or(self.max_repeated_segments),
            earliest_year: own.earliest_year.unwrap_or(self.earliest_year),
            years_ahead: own.years_ahead.unwrap_or(self.years_ahead),
            domains: BTreeMap::new(),
        }
    }
}

/// The rule that found a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrapRule {
    /// The pages of a pattern are near-duplicates of each other, or empty.
    NearDuplicates,
    Calendar,
    SessionId,
    RepeatedSegment,
    PathDepth,
    QueryParameters,
}

impl TrapRule {
    pub const ALL: [TrapRule; 6] = [
        TrapRule::NearDuplicates,
        TrapRule::Calendar,
        TrapRule::SessionId,
        TrapRule::RepeatedSegment,
        TrapRule::PathDepth,
        TrapRule::QueryParameters,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            TrapRule::NearDuplicates => "near_duplicates",
            TrapRule::Calendar => "calendar",
            TrapRule::SessionId => "session_id",
            TrapRule::RepeatedSegment => "repeated_segment",
            TrapRule::PathDepth => "path_depth",
            TrapRule::QueryParameters => "query_parameters",
        }
    }

    pub fn parse(word: &str) -> Option<TrapRule> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == word)
    }

    /// The setting that makes the rule more lenient.
    pub fn setting(self) -> &'static str {
        match self {
            TrapRule::NearDuplicates => "traps.urls_per_pattern, traps.worthless_percent",
            TrapRule::Calendar => "traps.earliest_year, traps.years_ahead",
            TrapRule::SessionId => "traps.enabled",
            TrapRule::RepeatedSegment => "traps.max_repeated_segments",
            TrapRule::PathDepth => "max_path_depth",
            TrapRule::QueryParameters => "max_query_parameters, strict",
        }
    }

    /// The option or setting that fetches what the rule skips.
    pub fn option(self) -> &'static str {
        match self {
            TrapRule::PathDepth => "max_path_depth",
            TrapRule::QueryParameters => "max_query_parameters",
            _ => "--no-traps",
        }
    }
}

impl fmt::Display for TrapRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The detail of such a skip: `RULE: PATTERN: finding`. A pattern is a URL without its numbers and ids, and contains no
/// blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapSkip<'d> {
    pub rule: TrapRule,
    pub pattern: &'d str,
    pub finding: &'d str,
}

impl<'d> TrapSkip<'d> {
    pub fn skip(self) -> Skip {
        Skip::new(SkipReason::Trap, format!("{}: {}: {}", self.rule, self.pattern, self.finding))
    }

    /// None for details that older versions have stored.
    pub fn parse(detail: &'d str) -> Option<TrapSkip<'d>> {
        let (rule, rest) = detail.split_once(": ")?;
        let (pattern, finding) = rest.split_once(": ")?;
        Some(TrapSkip { rule: TrapRule::parse(rule)?, pattern, finding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_domain_has_its_own_rules() {
        let rules: TrapRules = serde_json::from_str(
            r#"{"urls_per_pattern": 7, "domains": {"*.Example.com": {"enabled": false}, "a.example.com": {"worthless_percent": 99}}}"#,
        )
        .unwrap();
        assert!(rules.of_host("other.test").enabled);
        assert!(!rules.of_host("example.com").enabled);
        assert!(!rules.of_host("www.example.com:8080").enabled);
        assert!(rules.of_host("notexample.com").enabled);
        let nearest = rules.of_host("b.a.example.com");
        assert_eq!((nearest.enabled, nearest.worthless_percent, nearest.urls_per_pattern), (true, 99, 7));
    }

    #[test]
    fn a_refusal_is_read_back_from_its_detail() {
        for rule in TrapRule::ALL {
            let told = TrapSkip { rule, pattern: "a.test/x/{n}?y=*", finding: "of 50: 50 are alike" };
            let skip = told.skip();
            assert_eq!(skip.reason, SkipReason::Trap);
            assert_eq!(TrapSkip::parse(&skip.detail), Some(told));
        }
        assert_eq!(TrapSkip::parse("'a' stands more than 3 times in the path"), None);
    }
}
