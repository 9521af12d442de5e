//! Rows in the format of `COPY ... FROM STDIN (FORMAT binary)`: the fastest way into the server.

use super::cells::{Time, storable};
use argiope_model::Millis;
use std::fmt::Display;
use std::io::Write;

const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// The number of the type `text`.
const TEXT_TYPE: u32 = 25;

/// Rows, one cell after the other.
pub(crate) struct Rows {
    bytes: Vec<u8>,
    count: usize,
}

impl Rows {
    pub(crate) fn new() -> Rows {
        Rows { bytes: HEADER.to_vec(), count: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Starts a new row with this many columns.
    pub(crate) fn row(&mut self, columns: usize) {
        self.count += 1;
        let columns = i16::try_from(columns).unwrap_or(i16::MAX);
        self.bytes.extend_from_slice(&columns.to_be_bytes());
    }

    /// All rows, with the trailer.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&(-1i16).to_be_bytes());
        self.bytes
    }

    fn cell(&mut self, content: &[u8]) {
        self.length(content.len());
        self.bytes.extend_from_slice(content);
    }

    fn length(&mut self, length: usize) {
        // No cell exceeds the server's limit of a gigabyte.
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        self.bytes.extend_from_slice(&length.to_be_bytes());
    }

    pub(crate) fn null(&mut self) {
        self.bytes.extend_from_slice(&(-1i32).to_be_bytes());
    }

    /// A value, or null.
    pub(crate) fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Rows, T)) {
        match value {
            Some(value) => put(self, value),
            None => self.null(),
        }
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.cell(&[u8::from(value)]);
    }

    /// `smallint`, by its bits.
    pub(crate) fn short(&mut self, value: u16) {
        self.cell(&value.to_be_bytes());
    }

    /// `integer`, by its bits.
    pub(crate) fn small(&mut self, value: u32) {
        self.cell(&value.to_be_bytes());
    }

    /// `bigint`, by its bits.
    pub(crate) fn number(&mut self, value: u64) {
        self.cell(&value.to_be_bytes());
    }

    pub(crate) fn time(&mut self, value: Millis) {
        self.cell(&Time(value).encoded().to_be_bytes());
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.cell(value);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.cell(storable(value).as_bytes());
    }

    /// A `text` from a value's `Display`, written in place. Only for values whose text has no NUL.
    pub(crate) fn shown(&mut self, value: impl Display) {
        let start = self.begin();
        // Writing to memory does not fail.
        let _ = write!(self.bytes, "{value}");
        self.end(start);
    }

    pub(crate) fn optional_text(&mut self, value: Option<&str>) {
        self.optional(value, Rows::text);
    }

    /// `jsonb`.
    pub(crate) fn json(&mut self, text: &str) {
        self.length(text.len() + 1);
        self.bytes.push(1);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// `text[]`.
    pub(crate) fn texts(&mut self, values: &[String]) {
        let start = self.begin();
        let dimensions = u32::from(!values.is_empty());
        for number in [dimensions, 0, TEXT_TYPE] {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        }
        if !values.is_empty() {
            self.length(values.len());
            self.bytes.extend_from_slice(&1u32.to_be_bytes());
            values.iter().for_each(|value| self.text(value));
        }
        self.end(start);
    }

    /// Starts a cell whose length is known at its end.
    fn begin(&mut self) -> usize {
        let start = self.bytes.len();
        self.length(0);
        start
    }

    fn end(&mut self, start: usize) {
        let length = i32::try_from(self.bytes.len() - start - 4).unwrap_or(i32::MAX);
        if let Some(place) = self.bytes.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }
}
