//! Checks whether a text is valid for a setting, for code that checks a file value by value. The settings are parsed
//! with the same functions.

use super::behaviour::{days_of, time_of_day, time_zone};
use crate::rules::domain_name;

/// `example.com`, `*.example.com`, `example.com:8080`
pub fn is_domain(text: &str) -> bool {
    domain_name(text, "").is_ok()
}

/// `08:00`
pub fn is_time_of_day(text: &str) -> bool {
    time_of_day(text).is_some()
}

/// `mon`, `mon-fri`
pub fn is_days(text: &str) -> bool {
    days_of(text).is_some()
}

/// `Europe/Berlin`, `+02:00`
pub fn is_time_zone(text: &str) -> bool {
    time_zone(text).is_some()
}
