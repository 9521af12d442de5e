//! Interprets the response to the request for robots.txt: use it, retry soon, or leave the host alone for a while. The
//! caller follows redirects, up to [`RobotsPolicy::max_redirects`], and counts the tries.

use argiope_model::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What applies when there are no rules to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenUnavailable {
    Allow,
    Disallow,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsPolicy {
    /// How long rules are used before robots.txt is fetched again.
    pub ttl: Duration,
    /// 4xx other than 429, and endless redirects.
    pub client_error: WhenUnavailable,
    /// 5xx, 429, timeout, no connection, DNS failure.
    pub unreachable: WhenUnavailable,
    /// The waits before each retry when there was no usable response.
    pub retry_after: Vec<Duration>,
    /// How long a host is left alone if it stays unreachable.
    pub unreachable_for: Duration,
    pub max_redirects: u8,
    /// For the whole request.
    pub timeout: Duration,
}

impl Default for RobotsPolicy {
    fn default() -> RobotsPolicy {
        RobotsPolicy {
            ttl: Duration::from_secs(24 * 3600),
            client_error: WhenUnavailable::Allow,
            unreachable: WhenUnavailable::Disallow,
            retry_after: vec![Duration::from_secs(2), Duration::from_secs(4)],
            unreachable_for: Duration::from_secs(3600),
            max_redirects: 5,
            timeout: Duration::from_secs(10),
        }
    }
}

/// How the request for robots.txt ended, after redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsAnswer {
    Status(u16),
    TooManyRedirects,
    /// No response: timeout, refused, reset, TLS, DNS.
    NoAnswer,
}

/// Which rules to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsUse {
    /// [`super::Robots::parse`] of the body.
    Body,
    AllowAll,
    DisallowAll,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsNext {
    Use {
        rules: RobotsUse,
        expires: Millis,
    },
    RetryAt(Millis),
    /// The host's URLs are blocked as `robots_unreachable` until then.
    UnreachableUntil(Millis),
}

impl RobotsPolicy {
    /// `tries` counts the requests so far without a usable response, including this one, so it is at least 1.
    pub fn next(&self, answer: RobotsAnswer, tries: u8, now: Millis) -> RobotsNext {
        let expires = now + self.ttl;
        match answer {
            RobotsAnswer::Status(200..=299) => RobotsNext::Use { rules: RobotsUse::Body, expires },
            // A rate limit says nothing about the rules.
            RobotsAnswer::Status(429) => self.unreachable(tries, now),
            // A redirect that was not followed counts as no rules, and so does one too many (RFC 9309 §2.3.1.2).
            RobotsAnswer::Status(300..=499) | RobotsAnswer::TooManyRedirects => {
                RobotsNext::Use { rules: rules_for(self.client_error), expires }
            }
            RobotsAnswer::Status(_) | RobotsAnswer::NoAnswer => self.unreachable(tries, now),
        }
    }

    fn unreachable(&self, tries: u8, now: Millis) -> RobotsNext {
        match self.retry_after.get(usize::from(tries.saturating_sub(1))) {
            Some(wait) => RobotsNext::RetryAt(now + *wait),
            None => match self.unreachable {
                WhenUnavailable::Disallow => RobotsNext::UnreachableUntil(now + self.unreachable_for),
                // Fetched again as soon as for a host that is left alone: the next response may have rules.
                WhenUnavailable::Allow => {
                    RobotsNext::Use { rules: RobotsUse::AllowAll, expires: now + self.unreachable_for }
                }
            },
        }
    }
}

fn rules_for(choice: WhenUnavailable) -> RobotsUse {
    match choice {
        WhenUnavailable::Allow => RobotsUse::AllowAll,
        WhenUnavailable::Disallow => RobotsUse::DisallowAll,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = Millis(1_000_000);

    #[test]
    fn answers_are_used_for_a_day() {
        let policy = RobotsPolicy::default();
        let expires = NOW + Duration::from_secs(86_400);
        for (answer, rules) in [
            (RobotsAnswer::Status(200), RobotsUse::Body),
            (RobotsAnswer::Status(204), RobotsUse::Body),
            (RobotsAnswer::Status(404), RobotsUse::AllowAll),
            (RobotsAnswer::Status(403), RobotsUse::AllowAll),
            (RobotsAnswer::Status(302), RobotsUse::AllowAll),
            (RobotsAnswer::TooManyRedirects, RobotsUse::AllowAll),
        ] {
            assert_eq!(policy.next(answer, 1, NOW), RobotsNext::Use { rules, expires }, "{answer:?}");
        }
    }

    #[test]
    fn an_unreachable_host_is_tried_after_two_and_four_seconds_and_then_left_alone_for_an_hour() {
        let policy = RobotsPolicy::default();
        for answer in [
            RobotsAnswer::Status(503),
            RobotsAnswer::Status(500),
            RobotsAnswer::Status(429),
            RobotsAnswer::NoAnswer,
        ] {
            assert_eq!(policy.next(answer, 1, NOW), RobotsNext::RetryAt(Millis(1_002_000)));
            assert_eq!(policy.next(answer, 2, NOW), RobotsNext::RetryAt(Millis(1_004_000)));
            assert_eq!(policy.next(answer, 3, NOW), RobotsNext::UnreachableUntil(Millis(4_600_000)));
            assert_eq!(policy.next(answer, 200, NOW), RobotsNext::UnreachableUntil(Millis(4_600_000)));
        }
    }

    #[test]
    fn both_choices_can_be_turned_around() {
        let policy = RobotsPolicy {
            client_error: WhenUnavailable::Disallow,
            unreachable: WhenUnavailable::Allow,
            ..RobotsPolicy::default()
        };
        let expires = NOW + policy.ttl;
        assert_eq!(
            policy.next(RobotsAnswer::Status(401), 1, NOW),
            RobotsNext::Use { rules: RobotsUse::DisallowAll, expires }
        );
        assert_eq!(
            policy.next(RobotsAnswer::NoAnswer, 3, NOW),
            RobotsNext::Use { rules: RobotsUse::AllowAll, expires: NOW + policy.unreachable_for }
        );
    }
}
