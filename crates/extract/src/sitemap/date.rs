//! Dates in sitemaps and feeds: W3C (with any precision from the year on) and RFC 2822.

use argiope_model::Millis;
use jiff::civil::{Date, DateTime};
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::tz::TimeZone;

/// A date without a time means its first moment; without a zone it is UTC.
pub(super) fn parse(text: &str) -> Option<Millis> {
    let text = text.trim();
    if let Some(at) = Millis::parse_rfc3339(text) {
        return Some(at);
    }
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let date: Option<Date> = match text.split('-').collect::<Vec<_>>().as_slice() {
        [year] if year.len() == 4 && digits(year) => format!("{year}-01-01").parse().ok(),
        [year, month] if year.len() == 4 && digits(year) && digits(month) => {
            format!("{year}-{month}-01").parse().ok()
        }
        [year, month, day] if digits(year) && digits(month) && digits(day) => text.parse().ok(),
        _ => None,
    };
    let moment = date.map(|date| date.at(0, 0, 0, 0)).or_else(|| text.parse::<DateTime>().ok());
    let timestamp = match moment {
        Some(moment) => TimeZone::UTC.to_timestamp(moment).ok()?,
        None => DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?,
    };
    u64::try_from(timestamp.as_millisecond()).ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_precision_of_a_w3c_date_is_an_instant() {
        let at = |text: &str| parse(text).map(Millis::rfc3339);
        assert_eq!(at("2024").as_deref(), Some("2024-01-01T00:00:00.000Z"));
        assert_eq!(at("2024-05").as_deref(), Some("2024-05-01T00:00:00.000Z"));
        assert_eq!(at("2024-05-06").as_deref(), Some("2024-05-06T00:00:00.000Z"));
        assert_eq!(at("2024-05-06T07:08Z").as_deref(), Some("2024-05-06T07:08:00.000Z"));
        assert_eq!(at("2024-05-06T07:08:09+02:00").as_deref(), Some("2024-05-06T05:08:09.000Z"));
        assert_eq!(at("2024-05-06T07:08:09.123Z").as_deref(), Some("2024-05-06T07:08:09.123Z"));
        assert_eq!(at(" 2024-05-06 07:08:09 ").as_deref(), Some("2024-05-06T07:08:09.000Z"));
    }

    #[test]
    fn feeds_write_dates_like_mail() {
        let at = |text: &str| parse(text).map(Millis::rfc3339);
        assert_eq!(at("Sat, 13 Mar 2010 11:22:33 GMT").as_deref(), Some("2010-03-13T11:22:33.000Z"));
        assert_eq!(at("Mon, 13 Mar 2010 11:22:33 +0100").as_deref(), Some("2010-03-13T10:22:33.000Z"));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in ["", "yesterday", "2024-13-01", "20240506000000000000", "1901-01-01", "-", "2024-05-06Z2"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
