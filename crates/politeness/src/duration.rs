//! A duration as a type, as people write it in a configuration: `250ms`, `2s`, `24h`, or a bare number of seconds. For
//! lists and optional keys, where serde's `with` does not apply.

use argiope_model::human_duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HumanDuration(#[serde(with = "human_duration")] pub Duration);

impl HumanDuration {
    pub const fn seconds(seconds: u64) -> HumanDuration {
        HumanDuration(Duration::from_secs(seconds))
    }
}

impl From<HumanDuration> for Duration {
    fn from(duration: HumanDuration) -> Duration {
        duration.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Duration, serde_json::Error> {
        serde_json::from_str::<HumanDuration>(json).map(Duration::from)
    }

    #[test]
    fn strings_take_units_and_bare_numbers_are_seconds() {
        assert_eq!(read("\"250ms\"").unwrap(), Duration::from_millis(250));
        assert_eq!(read("5").unwrap(), Duration::from_secs(5));
        assert_eq!(read("0.5").unwrap(), Duration::from_millis(500));
        assert!(read("-1").is_err());
        assert!(read("\"soon\"").unwrap_err().to_string().contains("soon"));
    }
}
