//! The top-level settings of the section that a domain can override. What is left out keeps the value of the level
//! above; at the top, the built-in default.

use super::Switch;
use crate::robots::{RobotsPolicy, WhenUnavailable};
use crate::window::EVERY_DAY;
use crate::{
    AdaptivePolicy, BreakerPolicy, HumanDuration, Pace, PolitenessError, RetryPolicy, RetrySteps, Window,
};
use jiff::civil::Time;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Overwrites the given settings.
fn set<T: Clone>(place: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *place = value;
    }
}

fn duration(given: Option<HumanDuration>) -> Option<Duration> {
    given.map(Duration::from)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveSettings {
    #[serde(skip_serializing_if = "Option::is_none", alias = "slow_above_seconds")]
    pub slow_above: Option<HumanDuration>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "fast_below_seconds")]
    pub fast_below: Option<HumanDuration>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "longest_delay_seconds")]
    pub longest_delay: Option<HumanDuration>,
}

impl Switch<AdaptiveSettings> {
    pub(crate) fn over(&self, mut policy: AdaptivePolicy) -> AdaptivePolicy {
        match self {
            Switch::Off => policy.enabled = false,
            Switch::On(given) => {
                policy.enabled = true;
                set(&mut policy.slow_above, duration(given.slow_above));
                set(&mut policy.fast_below, duration(given.fast_below));
                set(&mut policy.longest_delay, duration(given.longest_delay));
            }
        }
        policy
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "open_for_seconds")]
    pub open_for: Option<HumanDuration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successes: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "window_seconds")]
    pub window: Option<HumanDuration>,
    /// A share from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_requests: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "suspend_for_seconds")]
    pub suspend_for: Option<HumanDuration>,
}

impl Switch<BreakerSettings> {
    pub(crate) fn over(
        &self,
        mut policy: BreakerPolicy,
        subject: &str,
    ) -> Result<BreakerPolicy, PolitenessError> {
        let given = match self {
            Switch::Off => return Ok(BreakerPolicy { enabled: false, ..policy }),
            Switch::On(given) => given,
        };
        policy.enabled = true;
        set(&mut policy.failures, given.failures);
        set(&mut policy.open_for, duration(given.open_for));
        set(&mut policy.successes, given.successes);
        set(&mut policy.window, duration(given.window));
        set(&mut policy.error_share, given.error_share);
        set(&mut policy.minimum_requests, given.minimum_requests);
        set(&mut policy.suspend_for, duration(given.suspend_for));
        if policy.failures == 0 {
            return Err(PolitenessError::setting(format!("{subject}.failures"), "must be at least 1"));
        }
        if !(0.0..=1.0).contains(&policy.error_share) {
            return Err(PolitenessError::setting(
                format!("{subject}.error_share"),
                "must lie between 0 and 1",
            ));
        }
        Ok(policy)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryStepsSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "after_seconds")]
    pub after: Option<HumanDuration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<f64>,
}

impl RetryStepsSettings {
    fn over(&self, steps: &mut RetrySteps, subject: &str) -> Result<(), PolitenessError> {
        set(&mut steps.times, self.times);
        set(&mut steps.first_after, duration(self.after));
        set(&mut steps.growth, self.growth);
        if !(1.0..=100.0).contains(&steps.growth) {
            return Err(PolitenessError::setting(format!("{subject}.growth"), "must lie between 1 and 100"));
        }
        Ok(())
    }
}

/// `retries: false` means no retries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrySettings {
    /// 429 and 503.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<RetryStepsSettings>,
    /// Other 5xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_error: Option<RetryStepsSettings>,
    /// Timeouts and broken connections.
    #[serde(skip_serializing_if = "Option::is_none", alias = "timeout")]
    pub no_answer: Option<RetryStepsSettings>,
    /// A share of the wait, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u8>,
}

impl Switch<RetrySettings> {
    pub(crate) fn over(
        &self,
        mut policy: RetryPolicy,
        subject: &str,
    ) -> Result<RetryPolicy, PolitenessError> {
        let given = match self {
            Switch::Off => return Ok(RetryPolicy { max_retries: 0, ..policy }),
            Switch::On(given) => given,
        };
        for (steps, given, name) in [
            (&mut policy.busy, &given.busy, "busy"),
            (&mut policy.server_error, &given.server_error, "server_error"),
            (&mut policy.no_answer, &given.no_answer, "no_answer"),
        ] {
            if let Some(given) = given {
                given.over(steps, &format!("{subject}.{name}"))?;
            }
        }
        set(&mut policy.jitter, given.jitter);
        set(&mut policy.max_retries, given.max_retries);
        if !(0.0..=1.0).contains(&policy.jitter) {
            return Err(PolitenessError::setting(format!("{subject}.jitter"), "must lie between 0 and 1"));
        }
        Ok(policy)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RobotsSettings {
    /// What a 4xx other than 429 means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_error: Option<WhenUnavailable>,
    /// What a 5xx, a 429 or a missing response means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<WhenUnavailable>,
    /// The waits before each retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Vec<HumanDuration>>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "unreachable_for_seconds")]
    pub unreachable_for: Option<HumanDuration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_redirects: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none", alias = "timeout_seconds")]
    pub timeout: Option<HumanDuration>,
}

impl RobotsSettings {
    pub(crate) fn over(&self, mut policy: RobotsPolicy) -> RobotsPolicy {
        set(&mut policy.client_error, self.client_error);
        set(&mut policy.unreachable, self.unreachable);
        let waits = self.retry_after.as_ref().map(|waits| waits.iter().map(|wait| wait.0).collect());
        set(&mut policy.retry_after, waits);
        set(&mut policy.unreachable_for, duration(self.unreachable_for));
        set(&mut policy.max_redirects, self.max_redirects);
        set(&mut policy.timeout, duration(self.timeout));
        policy
    }
}

/// `{from: "08:00", to: "20:00", days: [mon-fri], zone: Europe/Berlin, factor: 3}`; instead of `factor` a `delay`, or
/// `closed: true`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowSettings {
    pub from: String,
    pub to: String,
    /// `mon`, `sat`, `mon-fri`; default: all days.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<String>,
    /// A name of the IANA database or an offset such as `+02:00`; default: UTC.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "timezone", alias = "utc_offset")]
    pub zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "delay_seconds")]
    pub delay: Option<HumanDuration>,
    #[serde(default)]
    pub closed: bool,
}

impl WindowSettings {
    pub(crate) fn compile(&self, subject: &str) -> Result<Window, PolitenessError> {
        let wrong =
            |key: &str, problem: String| PolitenessError::setting(format!("{subject}.{key}"), problem);
        let time = |key: &str, text: &str| {
            time_of_day(text).ok_or_else(|| wrong(key, format!("'{text}' is not a time of day; write 08:00")))
        };
        let pace = match (self.factor, self.delay, self.closed) {
            (Some(factor), None, false) if (1.0..=100_000.0).contains(&factor) => Pace::Factor(factor),
            (Some(factor), None, false) => {
                return Err(wrong(
                    "factor",
                    format!("{factor} would not lengthen the delay; write 1 or more"),
                ));
            }
            (None, Some(delay), false) => Pace::Delay(delay.0),
            (None, None, true) => Pace::Closed,
            _ => {
                return Err(PolitenessError::setting(
                    subject,
                    "a window takes exactly one of factor, delay and closed: true",
                ));
            }
        };
        let mut days = 0;
        for text in &self.days {
            days |= days_of(text)
                .ok_or_else(|| wrong("days", format!("'{text}' is not a day; write mon, sat or mon-fri")))?;
        }
        let zone = match &self.zone {
            None => TimeZone::UTC,
            Some(name) => time_zone(name).ok_or_else(|| {
                wrong("zone", format!("'{name}' is not a time zone; write Europe/Berlin or +02:00"))
            })?,
        };
        let days = if self.days.is_empty() { EVERY_DAY } else { days };
        Ok(Window::new(time("from", &self.from)?, time("to", &self.to)?, days, zone, pace))
    }
}

/// `24:00` is the midnight at the end of a day.
pub(super) fn time_of_day(text: &str) -> Option<Time> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = if (hour, minute) == (24, 0) { 0 } else { hour };
    Time::new(hour, minute, 0, 0).ok()
}

pub(super) fn days_of(text: &str) -> Option<u8> {
    let day = |name: &str| {
        let name = name.trim().to_ascii_lowercase();
        let short = name.get(..3)?;
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
        names.iter().position(|full| full.starts_with(short) && full.starts_with(&*name))
    };
    let Some((first, last)) = text.split_once('-') else { return Some(1 << day(text)?) };
    let (first, last) = (day(first)?, day(last)?);
    // `sat-mon` wraps around the end of the week.
    let length = (last + 7 - first) % 7;
    Some((0..=length).fold(0, |days, step| days | 1 << ((first + step) % 7)))
}

pub(super) fn time_zone(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    let (sign, offset) = match name.split_at_checked(1)? {
        ("+", offset) => (1, offset),
        ("-", offset) => (-1, offset),
        _ => return TimeZoneDatabase::bundled().get(name).ok(),
    };
    let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    if minutes > 59 {
        return None;
    }
    let seconds = sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60);
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_single_or_ranges() {
        assert_eq!(days_of("mon"), Some(0b1));
        assert_eq!(days_of("Sunday"), Some(0b100_0000));
        assert_eq!(days_of("mon-fri"), Some(0b1_1111));
        assert_eq!(days_of("sat-mon"), Some(0b110_0001));
        assert_eq!(days_of("someday"), None);
        assert_eq!(days_of("mo"), None);
        assert_eq!(days_of("monkey"), None);
    }

    #[test]
    fn times_and_zones_are_checked() {
        assert_eq!(time_of_day("24:00"), Time::new(0, 0, 0, 0).ok());
        assert_eq!(time_of_day("08:30"), Time::new(8, 30, 0, 0).ok());
        assert_eq!(time_of_day("25:00"), None);
        assert_eq!(time_of_day("8"), None);
        assert!(time_zone("Europe/Berlin").is_some());
        assert!(time_zone("+05:30").is_some());
        assert!(time_zone("-3").is_some());
        assert!(time_zone("Middle/Earth").is_none());
        assert!(time_zone("+99").is_none());
        assert!(time_zone("").is_none());
    }
}
