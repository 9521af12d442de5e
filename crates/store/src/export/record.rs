//! What can be exported: a thing with named fields in a fixed order, as an object of JSON or a row of CSV.

use crate::catalogue::SkippedRow;
use argiope_model::Page;
use serde::Serialize;
use std::io::{self, Write};

/// serde writes its JSON; this writes its row of CSV. Unknown values are null there and empty here.
pub trait Record: Serialize {
    const FIELDS: &'static [&'static str];

    /// Writes every field but does not end the row.
    fn write_fields<W: Write>(&self, row: &mut csv::Writer<W>) -> csv::Result<()>;
}

impl Record for Page {
    const FIELDS: &'static [&'static str] = &Page::FIELDS;

    fn write_fields<W: Write>(&self, row: &mut csv::Writer<W>) -> csv::Result<()> {
        row.write_field(&self.url)?;
        text(row, &self.final_url)?;
        number(row, self.status)?;
        number(row, Some(self.depth))?;
        text(row, &self.title)?;
        text(row, &self.description)?;
        text(row, &self.keywords)?;
        text(row, &self.author)?;
        text(row, &self.language)?;
        text(row, &self.canonical)?;
        text(row, &self.content_type)?;
        number(row, self.bytes)?;
        text(row, &self.content_hash)?;
        text(row, &self.simhash)?;
        text(row, &self.duplicate_of)?;
        number(row, self.word_count)?;
        row.write_field(self.topics.as_ref().map(|topics| topics.join(";")).unwrap_or_default())?;
        number(row, self.links)?;
        text(row, &self.crawled_at)?;
        number(row, self.fetch_ms)?;
        text(row, &self.error)?;
        text(row, &self.archive)
    }
}

/// A page with its content, where that is text and still there.
#[derive(Clone, Debug, Serialize)]
pub struct PageWithHtml {
    #[serde(flatten)]
    pub page: Page,
    pub html: Option<String>,
}

impl Record for PageWithHtml {
    const FIELDS: &'static [&'static str] = &with_html();

    fn write_fields<W: Write>(&self, row: &mut csv::Writer<W>) -> csv::Result<()> {
        self.page.write_fields(row)?;
        text(row, &self.html)
    }
}

/// The fields of a page, and the one more.
const fn with_html() -> [&'static str; Page::FIELDS.len() + 1] {
    let mut fields = ["html"; Page::FIELDS.len() + 1];
    let (before, _) = fields.split_at_mut(Page::FIELDS.len());
    before.copy_from_slice(&Page::FIELDS);
    fields
}

/// A refused URL as users see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedRecord {
    pub url: String,
    pub reason: &'static str,
    pub detail: String,
    pub source: Option<String>,
}

impl From<SkippedRow> for SkippedRecord {
    fn from(row: SkippedRow) -> SkippedRecord {
        SkippedRecord { url: row.url, reason: row.reason.as_str(), detail: row.detail, source: row.source }
    }
}

impl Record for SkippedRecord {
    const FIELDS: &'static [&'static str] = &["url", "reason", "detail", "source"];

    fn write_fields<W: Write>(&self, row: &mut csv::Writer<W>) -> csv::Result<()> {
        row.write_field(&self.url)?;
        row.write_field(self.reason)?;
        row.write_field(&self.detail)?;
        text(row, &self.source)
    }
}

fn text<W: Write>(row: &mut csv::Writer<W>, value: &Option<String>) -> csv::Result<()> {
    row.write_field(value.as_deref().unwrap_or(""))
}

/// Digits are written into a buffer on the stack: a crawl writes eight numbers for every page.
fn number<W: Write>(row: &mut csv::Writer<W>, value: Option<impl Into<u64>>) -> csv::Result<()> {
    let Some(value) = value else { return row.write_field("") };
    let mut digits = io::Cursor::new([0u8; 20]);
    write!(digits, "{}", value.into())?;
    let length = usize::try_from(digits.position()).unwrap_or(0);
    row.write_field(digits.get_ref().get(..length).unwrap_or(&[]))
}
