//! Reasons for decisions. The names here are printed, stored and matched by scripts: do not change them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a URL was skipped before a request was made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    RobotsDisallowed,
    RobotsUnreachable,
    OutOfScope,
    /// Include/exclude patterns, file extensions, nofollow.
    Filtered,
    Trap,
    Blacklisted,
    /// Deeper than the job's limit.
    TooDeep,
    /// Over `max_pages` of the job or of the domain.
    OverBudget,
    /// Evicted from a capped queue.
    QueueFull,
    /// Private, loopback, link-local or metadata address.
    PrivateAddress,
    /// Not a URL that can be crawled: another scheme, no host, or not parseable.
    NotCrawlable,
    /// About a page or sitemap, not a URL: it has more links than the limit.
    TooManyLinks,
    /// The same URL as another one except for parameters that the normal form drops.
    Merged,
    /// One of the links beyond the limit. Only a sample of them is recorded.
    OverLinkLimit,
    /// Longer than the URL length limit.
    UrlTooLong,
    /// About a page: its body was cut, so links after the cut are unknown.
    BodyTruncated,
}

impl SkipReason {
    pub const ALL: [SkipReason; 16] = [
        SkipReason::RobotsDisallowed,
        SkipReason::RobotsUnreachable,
        SkipReason::OutOfScope,
        SkipReason::Filtered,
        SkipReason::Trap,
        SkipReason::Blacklisted,
        SkipReason::TooDeep,
        SkipReason::OverBudget,
        SkipReason::QueueFull,
        SkipReason::PrivateAddress,
        SkipReason::NotCrawlable,
        SkipReason::TooManyLinks,
        SkipReason::Merged,
        SkipReason::OverLinkLimit,
        SkipReason::UrlTooLong,
        SkipReason::BodyTruncated,
    ];

    /// Reasons that come from limits and trap rules; summaries report them. Catalogues have an index on them.
    pub const CUTS: [SkipReason; 4] =
        [SkipReason::Trap, SkipReason::TooManyLinks, SkipReason::UrlTooLong, SkipReason::BodyTruncated];

    pub const ABOUT_PAGES: [SkipReason; 2] = [SkipReason::TooManyLinks, SkipReason::BodyTruncated];

    /// Whether it describes a page that was fetched rather than a skipped URL.
    pub fn is_about_a_page(self) -> bool {
        Self::ABOUT_PAGES.contains(&self)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            SkipReason::RobotsDisallowed => "robots_disallowed",
            SkipReason::RobotsUnreachable => "robots_unreachable",
            SkipReason::OutOfScope => "out_of_scope",
            SkipReason::Filtered => "filtered",
            SkipReason::Trap => "trap",
            SkipReason::Blacklisted => "blacklisted",
            SkipReason::TooDeep => "too_deep",
            SkipReason::OverBudget => "over_budget",
            SkipReason::QueueFull => "queue_full",
            SkipReason::PrivateAddress => "private_address",
            SkipReason::NotCrawlable => "not_crawlable",
            SkipReason::TooManyLinks => "too_many_links",
            SkipReason::Merged => "merged",
            SkipReason::OverLinkLimit => "over_link_limit",
            SkipReason::UrlTooLong => "url_too_long",
            SkipReason::BodyTruncated => "body_truncated",
        }
    }

    pub fn parse(word: &str) -> Option<SkipReason> {
        Self::ALL.into_iter().find(|r| r.as_str() == word)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A skip with the details a person needs: which rule, which pattern, which limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    pub reason: SkipReason,
    pub detail: String,
}

impl Skip {
    pub fn new(reason: SkipReason, detail: impl Into<String>) -> Skip {
        Skip { reason, detail: detail.into() }
    }
}

/// The first word of the output of `why`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Fetched,
    Failed,
    Pending,
    RobotsDisallowed,
    RobotsUnreachable,
    OutOfScope,
    Filtered,
    Trap,
    Blacklisted,
    Duplicate,
    Unknown,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Fetched => "fetched",
            Decision::Failed => "failed",
            Decision::Pending => "pending",
            Decision::RobotsDisallowed => "robots_disallowed",
            Decision::RobotsUnreachable => "robots_unreachable",
            Decision::OutOfScope => "out_of_scope",
            Decision::Filtered => "filtered",
            Decision::Trap => "trap",
            Decision::Blacklisted => "blacklisted",
            Decision::Duplicate => "duplicate",
            Decision::Unknown => "unknown",
        }
    }
}

impl From<SkipReason> for Decision {
    /// `why` shows the finer reasons as kinds of filtering; its steps name them.
    fn from(reason: SkipReason) -> Decision {
        match reason {
            SkipReason::RobotsDisallowed => Decision::RobotsDisallowed,
            SkipReason::RobotsUnreachable => Decision::RobotsUnreachable,
            SkipReason::OutOfScope => Decision::OutOfScope,
            SkipReason::Trap => Decision::Trap,
            SkipReason::Blacklisted => Decision::Blacklisted,
            SkipReason::Merged => Decision::Duplicate,
            SkipReason::Filtered
            | SkipReason::TooDeep
            | SkipReason::OverBudget
            | SkipReason::QueueFull
            | SkipReason::PrivateAddress
            | SkipReason::NotCrawlable
            | SkipReason::TooManyLinks
            | SkipReason::OverLinkLimit
            | SkipReason::UrlTooLong
            | SkipReason::BodyTruncated => Decision::Filtered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_read_back_from_its_word() {
        for reason in SkipReason::ALL {
            assert_eq!(SkipReason::parse(reason.as_str()), Some(reason));
        }
    }
}
