//! Wall-clock time in milliseconds. It is always passed in; nothing here reads a clock.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl Millis {
    pub const NEVER: Millis = Millis(u64::MAX);

    /// The duration from `earlier` to `self`, zero if it lies in the future.
    pub fn since(self, earlier: Millis) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// RFC 3339 in UTC with milliseconds: `2026-01-02T03:04:05.678Z`. Times after the end of the calendar become its
    /// last moment.
    pub fn rfc3339(self) -> String {
        let ms = i64::try_from(self.0).unwrap_or(i64::MAX);
        let at = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
        format!("{at:.3}")
    }

    /// The inverse of [`Millis::rfc3339`]; accepts any RFC 3339 timestamp.
    pub fn parse_rfc3339(text: &str) -> Option<Millis> {
        let at: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(at.as_millisecond()).ok().map(Millis)
    }
}

/// For fields that are RFC 3339 texts in JSON.
pub mod optional_rfc3339 {
    use super::Millis;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[allow(clippy::ref_option, reason = "the signature that serde calls")]
    pub fn serialize<S: Serializer>(at: &Option<Millis>, to: S) -> Result<S::Ok, S::Error> {
        at.map(Millis::rfc3339).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Millis>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        let parse = |text: String| {
            Millis::parse_rfc3339(&text)
                .ok_or_else(|| D::Error::custom(format!("'{text}' is not a time in RFC 3339")))
        };
        text.map(parse).transpose()
    }
}

impl Add<Duration> for Millis {
    type Output = Millis;
    /// Rounds up: a deadline computed from a duration is never early.
    fn add(self, by: Duration) -> Millis {
        let whole = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        let rest = u64::from(!by.subsec_nanos().is_multiple_of(1_000_000));
        Millis(self.0.saturating_add(whole).saturating_add(rest))
    }
}

impl Sub<Duration> for Millis {
    type Output = Millis;
    fn sub(self, by: Duration) -> Millis {
        Millis(self.0.saturating_sub(u64::try_from(by.as_millis()).unwrap_or(u64::MAX)))
    }
}

/// `0`, `250ms`, `2s`, `1.5s`, `5m`, `24h`, `7d`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let fraction: f64 = number
        .parse()
        .map_err(|_| format!("'{text}' is not a duration; write for example 0, 250ms, 2s, 5m, 24h or 7d"))?;
    let unit_ms: u32 = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        other => return Err(format!("'{other}' is not a unit of time; use ms, s, m, h or d")),
    };
    // Exact for whole numbers: a floating-point number of seconds would lose the milliseconds of a duration of months.
    let whole = number.parse().ok().and_then(|whole: u64| whole.checked_mul(unit_ms.into()));
    match whole {
        Some(ms) => Ok(Duration::from_millis(ms)),
        None => Duration::try_from_secs_f64(fraction * f64::from(unit_ms) / 1000.0)
            .map_err(|_| format!("'{text}' is too long for a duration")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_and_read_in_rfc3339() {
        let at = Millis(1_767_323_045_678);
        assert_eq!(at.rfc3339(), "2026-01-02T03:04:05.678Z");
        assert_eq!(Millis::parse_rfc3339(&at.rfc3339()), Some(at));
    }

    #[test]
    fn an_instant_beyond_the_calendar_is_written_as_one_that_can_be_read() {
        let last = Millis::parse_rfc3339(&Millis::NEVER.rfc3339());
        assert_eq!(last.map(Millis::rfc3339), Some(Millis::NEVER.rfc3339()));
    }

    #[test]
    fn deadlines_round_up_to_the_next_millisecond() {
        assert_eq!(Millis(10) + Duration::from_micros(1500), Millis(12));
        assert_eq!(Millis(10) + Duration::from_millis(2), Millis(12));
    }

    #[test]
    fn durations_take_units() {
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(parse_duration("12345678901ms"), Ok(Duration::from_millis(12_345_678_901)));
        assert!(parse_duration("99999999999999999999999d").is_err());
        assert!(parse_duration("soon").is_err());
        assert!(parse_duration("5 parsecs").is_err());
        assert!(parse_duration("-1s").is_err());
    }
}
