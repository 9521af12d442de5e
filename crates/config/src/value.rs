//! One scalar: text -> a JSON value of the kind in the schema. Durations become text with a unit, sizes become bytes,
//! as the typed structures expect.

use crate::schema::{Kind, Unit};
use argiope_politeness::robots::MAX_CRAWL_DELAY;
use serde_json::Value;
use std::time::Duration;

/// Reads `text` as `kind`; the error says what was found instead.
pub(crate) fn read(text: &str, kind: &Kind) -> Result<Value, String> {
    let found = || format!("found '{}'", shown(text));
    match kind {
        Kind::Text => Ok(Value::from(text)),
        Kind::Flag | Kind::Switch(_) => match text {
            "true" | "True" | "TRUE" | "yes" | "on" => Ok(Value::from(true)),
            "false" | "False" | "FALSE" | "no" | "off" => Ok(Value::from(false)),
            _ => Err(found()),
        },
        Kind::Whole { least, most } => {
            whole(text).filter(|number| (*least..=*most).contains(number)).map(Value::from).ok_or_else(found)
        }
        Kind::Number { least, most } => text
            .parse::<f64>()
            .ok()
            .filter(|number| (*least..=*most).contains(number))
            .map(Value::from)
            .ok_or_else(found),
        Kind::Delay => match argiope_model::parse_duration(text) {
            Ok(time) if time <= MAX_CRAWL_DELAY => Ok(duration(time)),
            _ => Err(found()),
        },
        Kind::Duration => argiope_model::parse_duration(text).map(duration).map_err(|_| found()),
        Kind::SomeTime => match argiope_model::parse_duration(text) {
            Ok(time) if time >= Duration::from_millis(1) => Ok(duration(time)),
            _ => Err(found()),
        },
        Kind::Size => size(text).map(Value::from).ok_or_else(found),
        Kind::Pattern => match regex::Regex::new(text) {
            Ok(_) => Ok(Value::from(text)),
            Err(error) => Err(format!("{}: {}", found(), pattern_problem(&error))),
        },
        Kind::Word(words) | Kind::WordOr(words, _) if words.contains(&text) => Ok(Value::from(text)),
        Kind::Parsed(form) if (form.fits)(text) => Ok(Value::from(text)),
        Kind::Parsed(_)
        | Kind::Word(_)
        | Kind::WordOr(..)
        | Kind::List(_)
        | Kind::Fixed(..)
        | Kind::Named(..)
        | Kind::Section(_)
        | Kind::Free => Err(found()),
    }
}

/// Short, in one line, and without a password.
pub(crate) fn shown(text: &str) -> String {
    let masked = crate::mask_url(text);
    let short = masked.as_deref().unwrap_or(text).chars().take(60);
    short.flat_map(|c| if c.is_control() { c.escape_debug().collect() } else { vec![c] }).collect()
}

/// Reads a bare number under a key whose name has the unit; the error says what was expected.
pub(crate) fn read_in_unit(text: &str, unit: Unit) -> Result<Value, String> {
    let seconds =
        |factor: f64| text.parse::<f64>().ok().and_then(|n| Duration::try_from_secs_f64(n * factor).ok());
    match unit {
        Unit::Same => Ok(Value::from(text)),
        Unit::Milliseconds => {
            seconds(0.001).map(duration).ok_or_else(|| String::from("a number of milliseconds"))
        }
        Unit::Seconds => seconds(1.0).map(duration).ok_or_else(|| String::from("a number of seconds")),
        Unit::Hours => seconds(3600.0).map(duration).ok_or_else(|| String::from("a number of hours")),
        Unit::Bytes => whole(text).map(Value::from).ok_or_else(|| String::from("a number of bytes")),
    }
}

/// `1000`, `1_000`.
fn whole(text: &str) -> Option<u64> {
    let digits = text.starts_with(|c: char| c.is_ascii_digit());
    digits.then(|| text.replace('_', "").parse().ok()).flatten()
}

/// Durations have the precision of the crawl's clock: milliseconds.
fn duration(duration: Duration) -> Value {
    Value::from(argiope_model::format_duration(duration))
}

/// `10MB` is ten million bytes, `10MiB` ten times 2^20; a bare number is bytes.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.replace('_', "").parse().ok()?;
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let bytes = number * factor;
    // Up to 2^53 every whole number of bytes is exact.
    (0.0..=9e15).contains(&bytes).then_some(bytes as u64)
}

/// The regex crate reports errors over several lines; the last one has the message.
pub fn pattern_problem(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or("").trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_units() {
        assert_eq!(size("10MB"), Some(10_000_000));
        assert_eq!(size("1 MiB"), Some(1_048_576));
        assert_eq!(size("1.5k"), Some(1500));
        assert_eq!(size("5_242_880"), Some(5_242_880));
        assert_eq!(size("5 parsecs"), None);
        assert_eq!(size("MB"), None);
        assert_eq!(size("99999999999TB"), None);
    }

    #[test]
    fn durations_come_out_with_units() {
        assert_eq!(read("1.5s", &Kind::Duration), Ok(Value::from("1500ms")));
        assert_eq!(read("24h", &Kind::Duration), Ok(Value::from("1d")));
        assert_eq!(read("24h", &Kind::Delay), Ok(Value::from("1d")));
        assert_eq!(read("25h", &Kind::Delay), Err(String::from("found '25h'")));
        assert_eq!(read("soon", &Kind::Duration), Err(String::from("found 'soon'")));
        assert_eq!(read_in_unit("24", Unit::Hours), Ok(Value::from("1d")));
        assert!(read_in_unit("-1", Unit::Seconds).is_err());
        assert!(read_in_unit("2s", Unit::Seconds).is_err());
    }

    #[test]
    fn a_broken_pattern_says_what_is_wrong_in_one_line() {
        let reason = read("a(b", &Kind::Pattern).unwrap_err();
        assert_eq!(reason, "found 'a(b': unclosed group");
    }

    #[test]
    fn numbers_keep_within_their_bounds() {
        let kind = Kind::Whole { least: 1, most: 10 };
        assert_eq!(read("10", &kind), Ok(Value::from(10)));
        for wrong in ["0", "11", "-3", "1.5", "ten", "+5"] {
            assert!(read(wrong, &kind).is_err(), "{wrong}");
        }
    }
}
