//! Records to bytes, in one of three formats.

use super::Record;
use super::row::{BYTE_ORDER_MARK, CsvOptions, CsvRow};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One object a line.
    Jsonl,
    /// One array.
    Json,
    /// RFC 4180 with a header row.
    Csv,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Jsonl, Format::Json, Format::Csv];

    pub fn as_str(self) -> &'static str {
        match self {
            Format::Jsonl => "jsonl",
            Format::Json => "json",
            Format::Csv => "csv",
        }
    }

    pub fn parse(word: &str) -> Option<Format> {
        Self::ALL.into_iter().find(|format| format.as_str() == word)
    }

    /// By the extension of a file's name.
    pub fn of_path(path: &Path) -> Option<Format> {
        path.extension().and_then(|extension| extension.to_str()).and_then(Format::parse)
    }
}

enum Encoder<W: Write> {
    Jsonl(W),
    Json { to: W, first: bool },
    Csv(Box<CsvRow<W>>),
}

/// Writes records of one kind.
pub struct RecordWriter<R, W: Write> {
    encoder: Encoder<W>,
    record: PhantomData<fn(&R)>,
}

impl<R: Record, W: Write> RecordWriter<R, W> {
    /// Begins a new document: CSV gets its header.
    pub fn new(format: Format, to: W) -> io::Result<RecordWriter<R, W>> {
        RecordWriter::with(format, CsvOptions::default(), to)
    }

    /// The same, with options for CSV.
    pub fn with(format: Format, csv: CsvOptions, mut to: W) -> io::Result<RecordWriter<R, W>> {
        if format == Format::Csv && csv.byte_order_mark {
            to.write_all(BYTE_ORDER_MARK)?;
        }
        let mut writer = RecordWriter::going_on(format, csv, to);
        match &mut writer.encoder {
            Encoder::Csv(csv) => csv.header(R::FIELDS).map_err(csv_error)?,
            Encoder::Json { to, .. } => to.write_all(b"[")?,
            Encoder::Jsonl(_) => {}
        }
        Ok(writer)
    }

    /// Continues a document that was started before.
    pub fn resume(format: Format, to: W) -> RecordWriter<R, W> {
        RecordWriter::going_on(format, CsvOptions::default(), to)
    }

    fn going_on(format: Format, csv: CsvOptions, to: W) -> RecordWriter<R, W> {
        let encoder = match format {
            Format::Jsonl => Encoder::Jsonl(to),
            Format::Json => Encoder::Json { to, first: true },
            Format::Csv => Encoder::Csv(Box::new(CsvRow::new(to, csv.guarded))),
        };
        RecordWriter { encoder, record: PhantomData }
    }

    pub fn write(&mut self, record: &R) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Jsonl(to) => {
                serde_json::to_writer(&mut *to, record)?;
                to.write_all(b"\n")
            }
            Encoder::Json { to, first } => {
                to.write_all(if *first { b"\n" } else { b",\n" })?;
                *first = false;
                serde_json::to_writer(to, record)?;
                Ok(())
            }
            Encoder::Csv(csv) => {
                record.write_fields(csv).map_err(csv_error)?;
                csv.end().map_err(csv_error)
            }
        }
    }

    /// Flushes to the underlying writer.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Jsonl(to) | Encoder::Json { to, .. } => to.flush(),
            Encoder::Csv(csv) => csv.flush(),
        }
    }

    /// Ends the document.
    pub fn finish(mut self) -> io::Result<()> {
        if let Encoder::Json { to, .. } = &mut self.encoder {
            to.write_all(b"\n]\n")?;
        }
        self.flush()
    }

    pub fn get_ref(&self) -> &W {
        match &self.encoder {
            Encoder::Jsonl(to) | Encoder::Json { to, .. } => to,
            Encoder::Csv(csv) => csv.get_ref(),
        }
    }
}

fn csv_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::Page;

    fn written(format: Format, pages: &[Page]) -> String {
        let mut bytes = Vec::new();
        let mut writer = RecordWriter::new(format, &mut bytes).unwrap();
        for page in pages {
            writer.write(page).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn tricky_page() -> Page {
        Page {
            url: "https://a.test/?q=1,2".into(),
            status: Some(200),
            title: Some("a \"quoted\",\nbroken title; ü".into()),
            bytes: Some(u64::MAX),
            topics: Some(vec!["one".into(), "two".into()]),
            ..Page::default()
        }
    }

    #[test]
    fn json_lines_are_one_object_a_line_and_read_back_the_same() {
        let text = written(Format::Jsonl, &[tricky_page(), Page::default()]);
        let pages: Vec<Page> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(pages, [tricky_page(), Page::default()]);
    }

    #[test]
    fn json_is_one_array_even_when_it_is_empty() {
        let pages: Vec<Page> =
            serde_json::from_str(&written(Format::Json, &[tricky_page(), tricky_page()])).unwrap();
        assert_eq!(pages.len(), 2);
        let none: Vec<Page> = serde_json::from_str(&written(Format::Json, &[])).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn csv_has_a_header_joined_topics_and_empty_unknowns() {
        let text = written(Format::Csv, &[tricky_page()]);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), Page::FIELDS);
        let row = reader.records().next().unwrap().unwrap();
        let field = |name: &str| row.get(Page::FIELDS.iter().position(|f| *f == name).unwrap()).unwrap();
        assert_eq!(field("title"), "a \"quoted\",\nbroken title; ü");
        assert_eq!(field("topics"), "one;two");
        assert_eq!(field("bytes"), u64::MAX.to_string());
        assert_eq!(field("depth"), "0");
        assert_eq!(field("final_url"), "");
        assert_eq!(row.len(), 22);
    }

    fn csv_with(options: CsvOptions, page: &Page) -> String {
        let mut bytes = Vec::new();
        let mut writer = RecordWriter::with(Format::Csv, options, &mut bytes).unwrap();
        writer.write(page).unwrap();
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn no_cell_of_csv_is_a_formula() {
        for title in ["=cmd|' /C calc'!A0", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n=1"] {
            let page = Page { title: Some(title.to_owned()), ..Page::default() };
            let cell = |options| {
                let text = csv_with(options, &page);
                let mut reader = csv::Reader::from_reader(text.as_bytes());
                let at = Page::FIELDS.iter().position(|field| *field == "title").unwrap();
                reader.records().next().unwrap().unwrap().get(at).unwrap().to_owned()
            };
            assert_eq!(cell(CsvOptions::default()), format!("'{title}"));
            assert_eq!(cell(CsvOptions { guarded: false, ..CsvOptions::default() }), title);
            // Programs that read JSON get the unchanged text.
            let read: Page =
                serde_json::from_str(&written(Format::Jsonl, std::slice::from_ref(&page))).unwrap();
            assert_eq!(read.title.as_deref(), Some(title));
        }
        let harmless = Page { title: Some("a = b - c".into()), ..Page::default() };
        assert!(!csv_with(CsvOptions::default(), &harmless).contains('\''));
    }

    #[test]
    fn a_byte_order_mark_comes_first_where_it_is_wanted() {
        let marked = CsvOptions { byte_order_mark: true, ..CsvOptions::default() };
        assert!(csv_with(marked, &Page::default()).starts_with("\u{feff}url,final_url"));
        assert!(csv_with(CsvOptions::default(), &Page::default()).starts_with("url,"));
    }

    #[test]
    fn formats_are_known_by_extension() {
        assert_eq!(Format::of_path(Path::new("a/b.csv")), Some(Format::Csv));
        assert_eq!(Format::of_path(Path::new("pages.jsonl")), Some(Format::Jsonl));
        assert_eq!(Format::of_path(Path::new("pages.txt")), None);
    }
}
