//! Times of day at which a host is crawled more slowly, or not at all, in that host's time zone.

use argiope_model::Millis;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::time::Duration;

/// What a window does to the delay. It never shortens it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Multiplies the delay.
    Factor(f64),
    /// At least this delay.
    Delay(Duration),
    /// No requests.
    Closed,
}

#[derive(Clone, Debug)]
pub struct Window {
    from: Time,
    to: Time,
    /// Bit 0 is Monday. A window that runs past midnight belongs to the day on which it starts.
    days: u8,
    zone: TimeZone,
    pace: Pace,
}

pub(crate) const EVERY_DAY: u8 = 0b111_1111;

impl Window {
    /// From `from` until before `to`, which is on the next day unless it is later than `from`.
    pub(crate) fn new(from: Time, to: Time, days: u8, zone: TimeZone, pace: Pace) -> Window {
        Window { from, to, days, zone, pace }
    }

    pub fn pace(&self) -> Pace {
        self.pace
    }

    /// When the window that contains `now` ends.
    fn ends(&self, now: Millis) -> Option<Millis> {
        let at = Timestamp::from_millisecond(i64::try_from(now.0).ok()?).ok()?;
        let today = at.to_zoned(self.zone.clone()).date();
        let yesterday = today.yesterday().ok();
        [Some(today), yesterday].into_iter().flatten().find_map(|day| self.ends_if_begun_on(day, at))
    }

    fn ends_if_begun_on(&self, day: Date, at: Timestamp) -> Option<Millis> {
        if self.days >> day.weekday().to_monday_zero_offset() & 1 == 0 {
            return None;
        }
        let last_day = if self.to > self.from { day } else { day.checked_add(1.day()).ok()? };
        let instant =
            |day: Date, time: Time| Some(day.to_datetime(time).to_zoned(self.zone.clone()).ok()?.timestamp());
        let end = instant(last_day, self.to)?;
        if instant(day, self.from)? <= at && at < end {
            u64::try_from(end.as_millisecond()).ok().map(Millis)
        } else {
            None
        }
    }
}

/// All windows of a domain.
#[derive(Clone, Debug, Default)]
pub struct Windows(Vec<Window>);

impl Windows {
    /// Closed windows that follow each other for longer than this are treated as closed forever.
    const LONGEST_CLOSED: Duration = Duration::from_secs(8 * 24 * 3600);

    pub(crate) fn new(windows: Vec<Window>) -> Windows {
        Windows(windows)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The delay at `now` for a host whose delay is `base`: the longest that any window gives.
    pub fn delay_at(&self, now: Millis, base: Duration) -> Duration {
        self.0.iter().filter(|window| window.ends(now).is_some()).fold(base, |delay, window| {
            delay.max(match window.pace {
                Pace::Factor(factor) => {
                    Duration::try_from_secs_f64(base.as_secs_f64() * factor).unwrap_or(base)
                }
                Pace::Delay(at_least) => at_least,
                Pace::Closed => base,
            })
        })
    }

    /// The first moment from `now` on at which requests are allowed; [`Millis::NEVER`] if windows close the whole week.
    pub fn opens_at(&self, now: Millis) -> Millis {
        let mut at = now;
        while let Some(end) = self.closed_until(at) {
            if end.since(now) > Self::LONGEST_CLOSED {
                return Millis::NEVER;
            }
            at = end;
        }
        at
    }

    fn closed_until(&self, at: Millis) -> Option<Millis> {
        self.0.iter().filter(|window| window.pace == Pace::Closed).find_map(|window| window.ends(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::time;
    use jiff::tz::{TimeZoneDatabase, offset};

    const BASE: Duration = Duration::from_secs(2);
    const WORKDAYS: u8 = 0b001_1111;

    fn at(text: &str) -> Millis {
        Millis::parse_rfc3339(text).unwrap()
    }

    fn berlin() -> TimeZone {
        TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap()
    }

    fn hour(hour: i8) -> Time {
        time(hour, 0, 0, 0)
    }

    fn windows(from: Time, to: Time, days: u8, zone: TimeZone, pace: Pace) -> Windows {
        Windows::new(vec![Window::new(from, to, days, zone, pace)])
    }

    #[test]
    fn peak_hours_lengthen_the_delay() {
        let peak = windows(hour(8), hour(20), WORKDAYS, berlin(), Pace::Factor(3.0));
        // Friday in summer: Berlin is two hours ahead.
        assert_eq!(peak.delay_at(at("2025-07-04T05:59:59Z"), BASE), BASE);
        assert_eq!(peak.delay_at(at("2025-07-04T06:00:00Z"), BASE), BASE * 3);
        assert_eq!(peak.delay_at(at("2025-07-04T17:59:59Z"), BASE), BASE * 3);
        assert_eq!(peak.delay_at(at("2025-07-04T18:00:00Z"), BASE), BASE);
        assert_eq!(peak.delay_at(at("2025-07-05T10:00:00Z"), BASE), BASE, "Saturday");
        // In winter it is one hour.
        assert_eq!(peak.delay_at(at("2025-01-06T06:30:00Z"), BASE), BASE);
        assert_eq!(peak.delay_at(at("2025-01-06T07:00:00Z"), BASE), BASE * 3);
    }

    #[test]
    fn a_window_never_shortens_the_delay() {
        let all_day = |pace| windows(hour(0), hour(0), EVERY_DAY, TimeZone::UTC, pace);
        let now = at("2025-07-04T12:00:00Z");
        assert_eq!(all_day(Pace::Factor(0.1)).delay_at(now, BASE), BASE);
        assert_eq!(all_day(Pace::Delay(Duration::from_secs(1))).delay_at(now, BASE), BASE);
        assert_eq!(all_day(Pace::Delay(Duration::from_secs(9))).delay_at(now, BASE), Duration::from_secs(9));
    }

    #[test]
    fn a_closed_night_opens_in_the_morning() {
        let zone = TimeZone::fixed(offset(-5));
        let night = windows(hour(22), hour(6), WORKDAYS, zone, Pace::Closed);
        assert_eq!(night.opens_at(at("2025-07-05T02:59:59Z")), at("2025-07-05T02:59:59Z"));
        assert_eq!(night.opens_at(at("2025-07-05T03:00:00Z")), at("2025-07-05T11:00:00Z"), "begun on Friday");
        assert_eq!(night.opens_at(at("2025-07-05T10:59:59Z")), at("2025-07-05T11:00:00Z"));
        assert_eq!(night.opens_at(at("2025-07-06T04:00:00Z")), at("2025-07-06T04:00:00Z"), "Saturday night");
    }

    #[test]
    fn closed_windows_that_touch_are_passed_together() {
        let close = |from, to| Window::new(hour(from), hour(to), EVERY_DAY, TimeZone::UTC, Pace::Closed);
        let windows = Windows::new(vec![close(10, 12), close(12, 14), close(9, 11)]);
        assert_eq!(windows.opens_at(at("2025-07-04T09:30:00Z")), at("2025-07-04T14:00:00Z"));
    }

    #[test]
    fn closed_all_week_never_opens() {
        let windows = windows(hour(0), hour(0), EVERY_DAY, TimeZone::UTC, Pace::Closed);
        assert_eq!(windows.opens_at(at("2025-07-04T09:30:00Z")), Millis::NEVER);
    }

    #[test]
    fn instants_beyond_the_calendar_do_no_harm() {
        let windows = windows(hour(0), hour(0), EVERY_DAY, TimeZone::UTC, Pace::Closed);
        assert_eq!(windows.opens_at(Millis::NEVER), Millis::NEVER);
        assert_eq!(windows.delay_at(Millis::NEVER, BASE), BASE);
    }
}
