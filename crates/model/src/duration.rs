//! Durations as people write them, in configuration and stored job specs: `250ms`, `2s`, `1h`.

use crate::parse_duration;
use serde::de::{Error, Unexpected, Visitor};
use std::fmt;
use std::time::Duration;

/// The shortest text in whole units that [`parse_duration`] reads back as the same duration, to the millisecond.
pub fn format_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    const UNITS: [(u128, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    match UNITS.iter().find(|(length, _)| ms > 0 && ms.is_multiple_of(*length)) {
        Some((length, unit)) => format!("{}{unit}", ms / length),
        None if ms == 0 => String::from("0"),
        None => format!("{ms}ms"),
    }
}

/// Accepts a text with a unit, or a bare number of seconds.
struct DurationText;

impl Visitor<'_> for DurationText {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as 250ms, 2s, 5m or 24h")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
        parse_duration(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<Duration, E> {
        Ok(Duration::from_secs(seconds))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Duration, E> {
        u64::try_from(seconds)
            .map(Duration::from_secs)
            .map_err(|_| E::invalid_value(Unexpected::Signed(seconds), &self))
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Duration, E> {
        Duration::try_from_secs_f64(seconds).map_err(|_| E::invalid_value(Unexpected::Float(seconds), &self))
    }
}

/// `#[serde(with = "human_duration")]` on a `Duration`.
pub mod human_duration {
    use super::{DurationText, format_duration};
    use serde::{Deserializer, Serializer};
    use std::time::Duration;

    pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format_duration(*duration))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        from.deserialize_any(DurationText)
    }
}

/// `#[serde(default, with = "human_optional_duration")]` on an `Option<Duration>`.
pub mod human_optional_duration {
    use super::human_duration;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Given(#[serde(with = "human_duration")] Duration);

    pub fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => human_duration::serialize(duration, to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Given>::deserialize(from)?.map(|given| given.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for ms in [0, 1, 250, 1000, 1500, 60_000, 90_000, 3_600_000, 86_400_000, 604_800_000] {
            let duration = Duration::from_millis(ms);
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration), "{ms}");
        }
        assert_eq!(format_duration(Duration::from_secs(90)), "90s");
        assert_eq!(format_duration(Duration::from_secs(7200)), "2h");
        assert_eq!(format_duration(Duration::from_millis(250)), "250ms");
    }
}
