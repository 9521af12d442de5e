//! One row of CSV, cell by cell. Texts from the web may contain spreadsheet formulas: a cell that begins like one gets an
//! apostrophe before it.

use argiope_model::Millis;
use std::fmt::{self, Display};
use std::io::{self, Write};

/// How CSV is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// An apostrophe before cells that a spreadsheet would take for a formula.
    pub guarded: bool,
    /// A byte order mark at the beginning: some spreadsheets take a file without it for another encoding than UTF-8.
    pub byte_order_mark: bool,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions { guarded: true, byte_order_mark: false }
    }
}

pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Cells that begin like this may be formulas.
const BEGINNINGS: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

pub struct CsvRow<W: Write> {
    csv: csv::Writer<W>,
    guarded: bool,
    cell: String,
}

impl<W: Write> CsvRow<W> {
    pub(super) fn new(to: W, guarded: bool) -> CsvRow<W> {
        CsvRow { csv: csv::Writer::from_writer(to), guarded, cell: String::new() }
    }

    /// A text from outside.
    pub fn text(&mut self, text: &str) -> csv::Result<()> {
        if !self.guarded || !text.starts_with(BEGINNINGS) {
            return self.csv.write_field(text);
        }
        self.cell.clear();
        self.cell.push('\'');
        self.cell.push_str(text);
        self.csv.write_field(&self.cell)
    }

    pub fn optional(&mut self, text: &Option<String>) -> csv::Result<()> {
        self.text(text.as_deref().unwrap_or(""))
    }

    /// A value that cannot be a formula: hashes and times.
    pub fn shown(&mut self, value: Option<impl Display>) -> csv::Result<()> {
        self.cell.clear();
        if let Some(value) = value {
            // Writing to a string does not fail.
            let _ = fmt::Write::write_fmt(&mut self.cell, format_args!("{value}"));
        }
        self.csv.write_field(&self.cell)
    }

    pub fn time(&mut self, at: Option<Millis>) -> csv::Result<()> {
        self.shown(at.map(Millis::rfc3339))
    }

    /// Digits are written into a buffer on the stack: a crawl writes eight numbers for every page.
    pub fn number(&mut self, value: Option<impl Into<u64>>) -> csv::Result<()> {
        let Some(value) = value else { return self.csv.write_field("") };
        let mut digits = io::Cursor::new([0u8; 20]);
        write!(digits, "{}", value.into())?;
        let length = usize::try_from(digits.position()).unwrap_or(0);
        self.csv.write_field(digits.get_ref().get(..length).unwrap_or(&[]))
    }

    pub(super) fn header(&mut self, fields: &[&str]) -> csv::Result<()> {
        self.csv.write_record(fields)
    }

    pub(super) fn end(&mut self) -> csv::Result<()> {
        self.csv.write_record(None::<&[u8]>)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.csv.flush()
    }

    pub(super) fn get_ref(&self) -> &W {
        self.csv.get_ref()
    }
}
