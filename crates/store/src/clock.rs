//! The wall clock, for the times that stores and the engine record. The pure crates take the time as an argument.

use argiope_model::Millis;
use std::time::{SystemTime, UNIX_EPOCH};

/// The current time. A clock before 1970 reads as 1970.
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
