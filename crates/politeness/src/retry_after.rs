//! The `Retry-After` header: a number of seconds or a date in one of HTTP's three forms.

use argiope_model::Millis;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::time::Duration;

/// Longer waits are cut to this, so that times stay within the calendar.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The pause that a host asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// The host waits as for a delay.
    Wait(Millis),
    /// Long enough to park the host and to report it.
    Park(Millis),
}

impl RetryAfter {
    pub fn classify(until: Millis, now: Millis, park_over: Duration) -> RetryAfter {
        if until.since(now) > park_over { RetryAfter::Park(until) } else { RetryAfter::Wait(until) }
    }

    pub fn until(self) -> Millis {
        match self {
            RetryAfter::Wait(until) | RetryAfter::Park(until) => until,
        }
    }
}

/// The time the header names; a time in the past becomes `now`. None if it is invalid.
pub fn parse_retry_after(header: &[u8], now: Millis) -> Option<Millis> {
    let text = std::str::from_utf8(header).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let wait = text.parse().map_or(LONGEST, Duration::from_secs);
        return Some(now + wait.min(LONGEST));
    }
    Some(http_date(text)?.clamp(now, now + LONGEST))
}

/// IMF-fixdate, RFC 850 and asctime; all of them are in GMT.
fn http_date(text: &str) -> Option<Millis> {
    const FORMS: [&str; 3] =
        ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let at = FORMS.iter().find_map(|form| DateTime::strptime(form, text).ok())?;
    match at.to_zoned(TimeZone::UTC) {
        Ok(at) => Some(Millis(u64::try_from(at.timestamp().as_millisecond()).unwrap_or(0))),
        // The last days of the year 9999 are valid dates but not valid timestamps; they mean "never".
        Err(_) => (at.year() > 0).then_some(Millis::NEVER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1994-11-06T08:49:30Z.
    const NOW: Millis = Millis(784_111_770_000);

    fn wait(header: &str) -> Option<Duration> {
        parse_retry_after(header.as_bytes(), NOW).map(|until| until.since(NOW))
    }

    #[test]
    fn seconds_are_taken() {
        assert_eq!(wait("120"), Some(Duration::from_secs(120)));
        assert_eq!(wait(" 0 "), Some(Duration::ZERO));
        assert_eq!(wait("99999999999999999999999999"), Some(LONGEST));
    }

    #[test]
    fn dates_are_taken_in_all_three_forms() {
        for date in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(wait(date), Some(Duration::from_secs(7)), "{date}");
        }
        assert_eq!(wait("Sat, 05 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("Fri, 31 Dec 9999 23:59:59 GMT"), Some(LONGEST));
    }

    #[test]
    fn nonsense_is_no_wish() {
        for header in ["", "soon", "-5", "1.5", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(wait(header), None, "{header}");
        }
        assert_eq!(parse_retry_after(b"\xff", NOW), None);
    }

    #[test]
    fn more_than_an_hour_parks_the_host() {
        let hour = Duration::from_secs(3600);
        let at = |seconds| NOW + Duration::from_secs(seconds);
        assert_eq!(RetryAfter::classify(at(3600), NOW, hour), RetryAfter::Wait(at(3600)));
        assert_eq!(RetryAfter::classify(at(3601), NOW, hour), RetryAfter::Park(at(3601)));
    }
}
