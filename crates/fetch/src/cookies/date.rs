//! Dates of cookies by RFC 6265, 5.1.1: whatever tokens look like a time, a day, a month and a year, in any order.

use argiope_model::Millis;

const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

pub(super) fn parse(text: &[u8]) -> Option<Millis> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    let is_delimiter =
        |byte: &u8| matches!(byte, 0x09 | 0x20..=0x2F | 0x3B..=0x40 | 0x5B..=0x60 | 0x7B..=0x7E);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none()
            && let Some(found) = time_of_day(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2..=4)
        {
            year = Some(found);
        }
    }
    let (hour, minute, second) = time?;
    let (day, month) = (day?, month?);
    let year = match year? {
        short @ 70..=99 => short + 1900,
        short @ 0..=69 => short + 2000,
        long => long,
    };
    if !(1..=days_in(month, year)).contains(&day) || year < 1601 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    // A date before 1970 is expired all the same.
    Some(Millis(u64::try_from(seconds).unwrap_or(0) * 1000))
}

/// The number at the start of a token, if it has as many digits and no further one.
fn number(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let count = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = std::str::from_utf8(token.get(..count)?).ok()?;
    if digits.contains(&count) { text.parse().ok() } else { None }
}

fn time_of_day(token: &[u8]) -> Option<(i64, i64, i64)> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if !whole(hour) || !whole(minute) {
        return None;
    }
    Some((number(hour, 1..=2)?, number(minute, 1..=2)?, number(second, 1..=2)?))
}

/// From 1.
fn month_of(token: &[u8]) -> Option<i64> {
    let head = token.get(..3)?;
    let at = MONTHS.iter().position(|month| head.eq_ignore_ascii_case(*month))?;
    i64::try_from(at).ok().map(|at| at + 1)
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// In the Gregorian calendar, whose years begin in March for this.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_every_usual_form() {
        let expected = Some(Millis(1_445_412_480_000));
        for text in [
            "Wed, 21 Oct 2015 07:28:00 GMT",
            "Wednesday, 21-Oct-15 07:28:00 GMT",
            "Wed Oct 21 07:28:00 2015",
            "21 oct 2015 7:28:0",
            "2015 Oct 21 07:28:00 +0000",
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(parse(b"Thu, 01 Jan 1970 00:00:00 GMT"), Some(Millis(0)));
        assert_eq!(parse(b"Fri, 29 Feb 2036 23:59:59 GMT"), Some(Millis(2_087_942_399_000)));
        assert_eq!(parse(b"Mon, 01 Jan 1601 00:00:00 GMT"), Some(Millis(0)));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "tomorrow",
            "31 Feb 2015 07:28:00",
            "21 Oct 2015",
            "21 Oct 1500 07:28:00",
            "0 Oct 2015 1:2:3",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
