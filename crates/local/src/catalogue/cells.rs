//! How values are stored in columns: content hashes as bytes, SimHashes and times as integers, lists as JSON.

use argiope_model::{ContentHash, Millis, SimHash};
use rusqlite::types::{FromSqlError, FromSqlResult, Value, ValueRef};

/// Earlier versions stored a text if a value had an unusual form; such a text is read if possible.
pub(super) fn content_hash(cell: ValueRef<'_>) -> FromSqlResult<Option<ContentHash>> {
    match cell {
        ValueRef::Null => Ok(None),
        ValueRef::Blob(bytes) => bytes
            .try_into()
            .map(|bytes| Some(ContentHash(bytes)))
            .map_err(|_| FromSqlError::InvalidBlobSize { expected_size: 32, blob_size: bytes.len() }),
        other => text(other, ContentHash::parse),
    }
}

pub(super) fn simhash(cell: ValueRef<'_>) -> FromSqlResult<Option<SimHash>> {
    match cell {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(number) => Ok(Some(SimHash(number as u64))),
        other => text(other, SimHash::parse),
    }
}

pub(super) fn instant(cell: ValueRef<'_>) -> FromSqlResult<Option<Millis>> {
    match cell {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(ms) => Ok(Some(Millis(ms as u64))),
        other => text(other, Millis::parse_rfc3339),
    }
}

fn text<T>(cell: ValueRef<'_>, parse: impl Fn(&str) -> Option<T>) -> FromSqlResult<Option<T>> {
    parse(cell.as_str()?).map(Some).ok_or(FromSqlError::InvalidType)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_times_are_read_as_values_and_as_texts_of_earlier_versions() {
        let bytes = [0xab; 32];
        assert_eq!(content_hash(ValueRef::Blob(&bytes)), Ok(Some(ContentHash(bytes))));
        assert_eq!(content_hash(ValueRef::Text("AB".repeat(32).as_bytes())), Ok(Some(ContentHash(bytes))));
        assert_eq!(simhash(ValueRef::Integer(-1)), Ok(Some(SimHash(u64::MAX))));
        assert_eq!(simhash(ValueRef::Text(b"00000000000000FF")), Ok(Some(SimHash(255))));
        assert_eq!(instant(ValueRef::Integer(5)), Ok(Some(Millis(5))));
        assert_eq!(instant(ValueRef::Text(b"1970-01-01T00:00:01Z")), Ok(Some(Millis(1000))));
        assert_eq!(instant(ValueRef::Null), Ok(None));
    }

    #[test]
    fn a_cell_of_another_form_is_an_error() {
        assert!(content_hash(ValueRef::Blob(&[1, 2])).is_err());
        assert!(content_hash(ValueRef::Text(b"12")).is_err());
        assert!(simhash(ValueRef::Text(b"12")).is_err());
        assert!(instant(ValueRef::Text(b"yesterday")).is_err());
    }
}
