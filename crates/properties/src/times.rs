//! Times as hosts and people write them: always within the calendar, and written as they are read.

use argiope_model::{Millis, format_duration, parse_duration};
use argiope_politeness::{RetryAfter, parse_retry_after};
use std::time::Duration;

const NOW: Millis = Millis(1_767_323_045_678);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The bytes are a header, a date, a duration; eight of them also a number.
pub(crate) fn stay_within_the_calendar(bytes: &[u8]) {
    for now in [Millis(0), NOW, Millis::NEVER] {
        if let Some(until) = parse_retry_after(bytes, now) {
            assert!(until >= now && until <= now + YEAR);
            assert_eq!(RetryAfter::classify(until, now, YEAR), RetryAfter::Wait(until));
        }
    }
    if let Some(number) = bytes.first_chunk::<8>() {
        let at = Millis(u64::from_le_bytes(*number));
        let read = Millis::parse_rfc3339(&at.rfc3339()).expect("what is written can be read");
        assert_eq!(read.rfc3339(), at.rfc3339());
        check_duration(Duration::from_millis(at.0));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(at) = Millis::parse_rfc3339(text) {
        assert_eq!(Millis::parse_rfc3339(&at.rfc3339()), Some(at));
    }
    if let Ok(duration) = parse_duration(text) {
        check_duration(duration);
    }
}

fn check_duration(duration: Duration) {
    let Ok(ms) = u64::try_from(duration.as_millis()) else { return };
    assert_eq!(parse_duration(&format_duration(duration)), Ok(Duration::from_millis(ms)));
}
