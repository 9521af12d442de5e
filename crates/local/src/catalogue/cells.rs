//! How values are kept in columns: hashes as bytes, instants as integers. A text that has not the expected form is kept
//! as it is, so that reading gives back exactly what was written.

use argiope_model::{Millis, RequestKind};
use rusqlite::ToSql;
use rusqlite::types::{FromSqlError, FromSqlResult, ToSqlOutput, Value, ValueRef};
use std::fmt::Write;

/// A value or, where it has another form, its text.
pub(super) enum Cell<'t, T> {
    Value(T),
    Text(&'t str),
}

impl<T: ToSql> ToSql for Cell<'_, T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Cell::Value(value) => value.to_sql(),
            Cell::Text(text) => text.to_sql(),
        }
    }
}

/// 64 hex digits become 32 bytes.
pub(super) fn hash_cell(text: &str) -> Cell<'_, [u8; 32]> {
    let mut bytes = [0u8; 32];
    if text.len() != 64 {
        return Cell::Text(text);
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
        let [Some(high), Some(low)] = pair.map(hex_digit) else { return Cell::Text(text) };
        *byte = (high << 4) | low;
    }
    Cell::Value(bytes)
}

/// Lower case only: only that is written back the same.
fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

pub(super) fn hash_text(cell: ValueRef<'_>) -> FromSqlResult<Option<String>> {
    match cell {
        ValueRef::Null => Ok(None),
        ValueRef::Blob(bytes) => {
            let mut text = String::with_capacity(2 * bytes.len());
            for byte in bytes {
                for digit in [byte >> 4, byte & 15] {
                    text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
                }
            }
            Ok(Some(text))
        }
        other => Ok(Some(other.as_str()?.to_owned())),
    }
}

/// 16 hex digits become an integer.
pub(super) fn simhash_cell(text: &str) -> Cell<'_, i64> {
    let plain = text.len() == 16 && text.bytes().all(|byte| hex_digit(byte).is_some());
    match u64::from_str_radix(text, 16) {
        Ok(number) if plain => Cell::Value(number as i64),
        _ => Cell::Text(text),
    }
}

pub(super) fn simhash_text(cell: ValueRef<'_>) -> FromSqlResult<Option<String>> {
    match cell {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => {
            let mut text = String::with_capacity(16);
            let _ = write!(text, "{:016x}", number as u64);
            Ok(Some(text))
        }
        other => Ok(Some(other.as_str()?.to_owned())),
    }
}

/// `2026-01-02T03:04:05.678Z` becomes milliseconds.
pub(super) fn instant_cell(text: &str) -> Cell<'_, i64> {
    let shape = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        19 => byte == b'.',
        23 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    // A leap second would be read as the one before.
    if text.len() != 24 || !text.bytes().enumerate().all(shape) || text.get(17..19) == Some("60") {
        return Cell::Text(text);
    }
    match Millis::parse_rfc3339(text) {
        Some(Millis(ms)) => Cell::Value(ms as i64),
        None => Cell::Text(text),
    }
}

pub(super) fn instant_text(cell: ValueRef<'_>) -> FromSqlResult<Option<String>> {
    match cell {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(ms) => Ok(Some(Millis(ms as u64).rfc3339())),
        other => Ok(Some(other.as_str()?.to_owned())),
    }
}

/// A list as JSON; an empty one as null.
pub(super) fn list_cell<T: serde::Serialize>(list: &[T]) -> rusqlite::Result<Value> {
    if list.is_empty() {
        return Ok(Value::Null);
    }
    json_cell(list)
}

pub(super) fn json_cell<T: serde::Serialize + ?Sized>(value: &T) -> rusqlite::Result<Value> {
    serde_json::to_string(value)
        .map(Value::Text)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

pub(super) fn json_value<T: serde::de::DeserializeOwned>(cell: ValueRef<'_>) -> FromSqlResult<Option<T>> {
    match cell {
        ValueRef::Null => Ok(None),
        other => serde_json::from_str(other.as_str()?).map(Some).map_err(FromSqlError::other),
    }
}

pub(super) fn kind_code(kind: RequestKind) -> i64 {
    match kind {
        RequestKind::Page => 0,
        RequestKind::Robots => 1,
        RequestKind::Sitemap => 2,
        RequestKind::Resource => 3,
    }
}

pub(super) fn kind_of(code: i64) -> Option<RequestKind> {
    [RequestKind::Page, RequestKind::Robots, RequestKind::Sitemap, RequestKind::Resource]
        .into_iter()
        .find(|kind| kind_code(*kind) == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_ref<T: ToSql>(cell: &Cell<'_, T>) -> Value {
        match cell.to_sql().unwrap() {
            ToSqlOutput::Borrowed(value) => value.try_into().unwrap(),
            ToSqlOutput::Owned(value) => value,
            _ => Value::Null,
        }
    }

    #[test]
    fn hashes_are_bytes_and_read_back_the_same() {
        for text in ["ab".repeat(32), "AB".repeat(32), "zz".repeat(32), "abc".into(), String::new()] {
            let value = value_ref(&hash_cell(&text));
            assert_eq!(matches!(value, Value::Blob(_)), text == "ab".repeat(32));
            assert_eq!(hash_text(ValueRef::from(&value)).unwrap().as_deref(), Some(text.as_str()));
        }
    }

    #[test]
    fn simhashes_are_integers_and_read_back_the_same() {
        for text in ["00000000000000ff", "ffffffffffffffff", "+0000000000000ff", "FF", "12"] {
            let value = value_ref(&simhash_cell(text));
            assert_eq!(simhash_text(ValueRef::from(&value)).unwrap().as_deref(), Some(text));
        }
    }

    #[test]
    fn instants_are_integers_and_read_back_the_same() {
        for text in [
            "2026-01-02T03:04:05.678Z",
            "2026-01-02T03:04:05Z",
            "2026-01-02t03:04:05.678z",
            "2016-12-31T23:59:60.000Z",
            "2026-13-02T03:04:05.678Z",
            "1960-01-01T00:00:00.000Z",
        ] {
            let value = value_ref(&instant_cell(text));
            assert_eq!(instant_text(ValueRef::from(&value)).unwrap().as_deref(), Some(text));
        }
        assert!(matches!(instant_cell("2026-01-02T03:04:05.678Z"), Cell::Value(_)));
    }
}
