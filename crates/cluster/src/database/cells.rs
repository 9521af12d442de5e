//! How values are stored in columns and read back exactly: times as `timestamptz`, unsigned numbers by their bits, and
//! texts with a character that PostgreSQL does not accept.

use argiope_model::{ContentHash, Millis, SimHash};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::error::Error as StdError;
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

type Wrong = Box<dyn StdError + Sync + Send>;

/// From 1970 to 2000, the epoch of PostgreSQL.
const EPOCH_MILLISECONDS: i64 = 946_684_800_000;
/// PostgreSQL's infinity.
const INFINITY: i64 = i64::MAX;

/// A time as a `timestamptz`. Times beyond the calendar become infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Millis);

impl Time {
    /// Microseconds, as in the protocol.
    pub(crate) fn encoded(self) -> i64 {
        i64::try_from(self.0.0)
            .ok()
            .and_then(|ms| (ms - EPOCH_MILLISECONDS).checked_mul(1000))
            // The last day of its calendar.
            .filter(|microseconds| *microseconds < 9_223_371_331_200_000_000)
            .unwrap_or(INFINITY)
    }

    fn decoded(microseconds: i64) -> Time {
        if microseconds == INFINITY {
            return Time(Millis::NEVER);
        }
        let ms = (microseconds.div_euclid(1000)).saturating_add(EPOCH_MILLISECONDS);
        Time(Millis(u64::try_from(ms).unwrap_or(0)))
    }
}

impl ToSql for Time {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Wrong> {
        self.encoded().to_sql(ty, out)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl<'r> FromSql<'r> for Time {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Time, Wrong> {
        Ok(Time::decoded(i64::from_sql(&Type::INT8, raw)?))
    }

    accepts!(TIMESTAMPTZ);
}

/// The key of a URL, as the 16 hex digits of `url_hash`.
struct Hash(u64);

impl<'r> FromSql<'r> for Hash {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Hash, Wrong> {
        Ok(Hash(u64::from_str_radix(std::str::from_utf8(raw)?, 16)?))
    }

    accepts!(BPCHAR);
}

/// A hash of a page's content, as hex digits.
struct Hex<T>(T);

impl<'r> FromSql<'r> for Hex<ContentHash> {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Hex<ContentHash>, Wrong> {
        let hash = ContentHash::parse(std::str::from_utf8(raw)?);
        Ok(Hex(hash.ok_or("a content hash has 64 hex digits")?))
    }

    accepts!(TEXT);
}

impl<'r> FromSql<'r> for Hex<SimHash> {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Hex<SimHash>, Wrong> {
        let hash = SimHash::parse(std::str::from_utf8(raw)?);
        Ok(Hex(hash.ok_or("a SimHash has 16 hex digits")?))
    }

    accepts!(TEXT);
}

/// A value stored as `jsonb`.
struct Json<T>(T);

impl<'r, T: DeserializeOwned> FromSql<'r> for Json<T> {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Json<T>, Wrong> {
        // The first byte is the version of the format.
        let (_, text) = raw.split_first().ok_or("an empty value")?;
        Ok(Json(serde_json::from_slice(text)?))
    }

    accepts!(JSONB);
}

/// The escape character: stands for itself and for NUL, which PostgreSQL does not accept in texts. It is a Unicode
/// noncharacter, which no page should contain.
const ESCAPE: char = '\u{10FFFF}';

/// A text that PostgreSQL accepts.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => out.extend([ESCAPE, '0']),
            ESCAPE => out.extend([ESCAPE, '1']),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// The inverse of [`storable`].
pub(crate) fn restored(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        out.push(match character {
            ESCAPE => match characters.next() {
                Some('0') => '\0',
                _ => ESCAPE,
            },
            other => other,
        });
    }
    out
}

type Read<T> = Result<T, tokio_postgres::Error>;

/// Reads the columns of a row in order.
pub(crate) struct Cells<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> Cells<'r> {
    pub(crate) fn of(row: &'r Row) -> Cells<'r> {
        Cells { row, next: 0 }
    }

    pub(crate) fn take<T: FromSql<'r>>(&mut self) -> Read<T> {
        let value = self.row.try_get(self.next)?;
        self.next += 1;
        Ok(value)
    }

    pub(crate) fn text(&mut self) -> Read<String> {
        self.take().map(restored)
    }

    pub(crate) fn optional_text(&mut self) -> Read<Option<String>> {
        Ok(self.take::<Option<String>>()?.map(restored))
    }

    pub(crate) fn optional_texts(&mut self) -> Read<Option<Vec<String>>> {
        let texts: Option<Vec<String>> = self.take()?;
        Ok(texts.map(|texts| texts.into_iter().map(restored).collect()))
    }

    /// PostgreSQL's numbers are signed; these keep their bits.
    pub(crate) fn number(&mut self) -> Read<u64> {
        self.take::<i64>().map(|number| number as u64)
    }

    pub(crate) fn optional_number(&mut self) -> Read<Option<u64>> {
        Ok(self.take::<Option<i64>>()?.map(|number| number as u64))
    }

    pub(crate) fn small(&mut self) -> Read<u32> {
        self.take::<i32>().map(|number| number as u32)
    }

    pub(crate) fn optional_small(&mut self) -> Read<Option<u32>> {
        Ok(self.take::<Option<i32>>()?.map(|number| number as u32))
    }

    pub(crate) fn short(&mut self) -> Read<u16> {
        self.take::<i16>().map(|number| number as u16)
    }

    pub(crate) fn optional_short(&mut self) -> Read<Option<u16>> {
        Ok(self.take::<Option<i16>>()?.map(|number| number as u16))
    }

    pub(crate) fn byte(&mut self) -> Read<u8> {
        self.take::<i16>().map(|number| number as u8)
    }

    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// 16 hex digits.
    pub(crate) fn hash(&mut self) -> Read<u64> {
        self.take::<Hash>().map(|hash| hash.0)
    }

    pub(crate) fn content_hash(&mut self) -> Read<Option<ContentHash>> {
        Ok(self.take::<Option<Hex<ContentHash>>>()?.map(|hash| hash.0))
    }

    pub(crate) fn simhash(&mut self) -> Read<Option<SimHash>> {
        Ok(self.take::<Option<Hex<SimHash>>>()?.map(|hash| hash.0))
    }

    /// `jsonb`.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Read<Option<T>> {
        Ok(self.take::<Option<Json<T>>>()?.map(|json| json.0))
    }

    pub(crate) fn time(&mut self) -> Read<Millis> {
        self.take::<Time>().map(|time| time.0)
    }

    pub(crate) fn optional_time(&mut self) -> Read<Option<Millis>> {
        Ok(self.take::<Option<Time>>()?.map(|time| time.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_back_exactly() {
        for ms in [0, 1, 946_684_800_000, 1_767_323_045_678, 9_000_000_000_000_000] {
            assert_eq!(Time::decoded(Time(Millis(ms)).encoded()), Time(Millis(ms)));
        }
        for beyond in [u64::MAX, i64::MAX as u64, 9_300_000_000_000_000] {
            assert_eq!(Time::decoded(Time(Millis(beyond)).encoded()), Time(Millis::NEVER));
        }
    }

    #[test]
    fn every_text_can_be_stored_and_is_read_back() {
        for text in ["", "plain", "a\0b", "\0", "\u{10FFFF}", "\u{10FFFF}0\0\u{10FFFF}1"] {
            let stored = storable(text);
            assert!(!stored.contains('\0'));
            assert_eq!(restored(stored.into_owned()), text);
        }
        assert!(matches!(storable("plain"), Cow::Borrowed(_)));
    }
}
