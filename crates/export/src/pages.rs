//! Pages as Parquet: one column for each field of the record, compressed with zstd. A group of rows is held in memory until it
//! is full; then its columns are written.

use argiope_model::Page;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// The fields in the order of [`Page::FIELDS`].
const SCHEMA: &str = "message page {
    required binary url (UTF8);
    optional binary final_url (UTF8);
    optional int32 status (INTEGER(16,false));
    required int32 depth (INTEGER(32,false));
    optional binary title (UTF8);
    optional binary description (UTF8);
    optional binary keywords (UTF8);
    optional binary author (UTF8);
    optional binary language (UTF8);
    optional binary canonical (UTF8);
    optional binary content_type (UTF8);
    optional int64 bytes (INTEGER(64,false));
    optional binary content_hash (UTF8);
    optional binary simhash (UTF8);
    optional binary duplicate_of (UTF8);
    optional int32 word_count (INTEGER(32,false));
    optional group topics (LIST) { repeated group list { required binary element (UTF8); } }
    optional int32 links (INTEGER(32,false));
    optional int64 crawled_at (TIMESTAMP(MILLIS,true));
    optional int32 fetch_ms (INTEGER(32,false));
    optional binary error (UTF8);
    optional binary archive (UTF8);
}";

/// Of one group of rows.
const MOST_ROWS: usize = 50_000;
const MOST_BYTES: usize = 32 << 20;

/// Values of one column with their definition and repetition levels.
#[derive(Default)]
struct Values<T> {
    values: Vec<T>,
    defined: Vec<i16>,
    repeated: Vec<i16>,
}

impl<T> Values<T> {
    fn push(&mut self, value: Option<T>) {
        self.defined.push(value.is_some().into());
        self.values.extend(value);
    }

    fn clear(&mut self) {
        self.values.clear();
        self.defined.clear();
        self.repeated.clear();
    }
}

enum Column {
    Text(Values<ByteArray>),
    Small(Values<i32>),
    Large(Values<i64>),
}

/// Writes pages to any writer.
pub struct PageParquet<W: Write> {
    to: W,
    file: SerializedFileWriter<Shared>,
    written: Shared,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
}

/// What the Parquet writer has written, on its way to the real one, which need not be `Send`.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> PageParquet<W> {
    pub fn new(to: W) -> io::Result<PageParquet<W>> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
        let level = ZstdLevel::try_new(3).map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(String::from(concat!("argiope ", env!("CARGO_PKG_VERSION"))))
            .build();
        let written = Shared::default();
        let file =
            SerializedFileWriter::new(written.clone(), schema, Arc::new(properties)).map_err(failed)?;
        Ok(PageParquet { to, file, written, columns: Vec::new(), rows: 0, bytes: 0 })
    }

    pub fn write(&mut self, page: &Page) -> io::Result<()> {
        let mut row = Row { columns: &mut self.columns, at: 0, bytes: &mut self.bytes };
        row.text(Some(&page.url));
        row.optional(&page.final_url);
        row.small(page.status.map(u32::from));
        row.small(Some(page.depth));
        row.optional(&page.title);
        row.optional(&page.description);
        row.optional(&page.keywords);
        row.optional(&page.author);
        row.optional(&page.language);
        row.optional(&page.canonical);
        row.optional(&page.content_type);
        row.large(page.bytes);
        row.text(page.content_hash.map(|hash| hash.to_string()).as_deref());
        row.text(page.simhash.map(|hash| hash.to_string()).as_deref());
        row.optional(&page.duplicate_of);
        row.small(page.word_count);
        row.list(page.topics.as_deref());
        row.small(page.links);
        row.large(page.crawled_at.map(|at| at.0));
        row.small(page.fetch_ms);
        row.optional(&page.error);
        row.optional(&page.archive);
        self.rows += 1;
        if self.rows >= MOST_ROWS || self.bytes >= MOST_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group().map_err(failed)?;
        for column in &self.columns {
            let Some(mut writer) = group.next_column().map_err(failed)? else {
                return Err(io::Error::other("a column too many for the Parquet schema"));
            };
            write_column(writer.untyped(), column).map_err(failed)?;
            writer.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.columns.iter_mut().for_each(|column| match column {
            Column::Text(values) => values.clear(),
            Column::Small(values) => values.clear(),
            Column::Large(values) => values.clear(),
        });
        (self.rows, self.bytes) = (0, 0);
        self.pass_on()
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.written.0.lock().unwrap_or_else(PoisonError::into_inner));
        self.to.write_all(&bytes)
    }

    /// Writes what is left and the footer.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_group()?;
        self.file.finish().map_err(failed)?;
        self.pass_on()?;
        self.to.flush()
    }
}

/// One page on its way into the columns.
struct Row<'r> {
    columns: &'r mut Vec<Column>,
    at: usize,
    bytes: &'r mut usize,
}

impl Row<'_> {
    /// The next column, which the first page makes.
    fn column(&mut self, new: fn() -> Column) -> Option<&mut Column> {
        if self.at == self.columns.len() {
            self.columns.push(new());
        }
        self.at += 1;
        self.columns.get_mut(self.at - 1)
    }

    fn text(&mut self, text: Option<&str>) {
        *self.bytes += size_of::<ByteArray>() + text.map_or(0, str::len);
        if let Some(Column::Text(values)) = self.column(|| Column::Text(Values::default())) {
            values.push(text.map(|text| ByteArray::from(text.as_bytes().to_vec())));
        }
    }

    fn optional(&mut self, text: &Option<String>) {
        self.text(text.as_deref());
    }

    /// Unsigned numbers are stored as the signed ones with the same bits.
    fn small(&mut self, number: Option<u32>) {
        if let Some(Column::Small(values)) = self.column(|| Column::Small(Values::default())) {
            values.push(number.map(u32::cast_signed));
        }
    }

    fn large(&mut self, number: Option<u64>) {
        if let Some(Column::Large(values)) = self.column(|| Column::Large(Values::default())) {
            values.push(number.map(u64::cast_signed));
        }
    }

    /// Level 0 is no list, 1 an empty one, 2 an element; elements after the first repeat at level 1.
    fn list(&mut self, texts: Option<&[String]>) {
        *self.bytes += texts.map_or(0, |texts| texts.iter().map(|t| t.len() + size_of::<ByteArray>()).sum());
        let Some(Column::Text(column)) = self.column(|| Column::Text(Values::default())) else { return };
        match texts {
            None | Some([]) => {
                column.defined.push(texts.is_some().into());
                column.repeated.push(0);
            }
            Some(texts) => {
                for (place, text) in texts.iter().enumerate() {
                    column.values.push(ByteArray::from(text.as_bytes().to_vec()));
                    column.defined.push(2);
                    column.repeated.push((place > 0).into());
                }
            }
        }
    }
}

fn write_column(writer: &mut ColumnWriter<'_>, column: &Column) -> ParquetResult<()> {
    match (writer, column) {
        (ColumnWriter::ByteArrayColumnWriter(writer), Column::Text(values)) => {
            let repeated = (!values.repeated.is_empty()).then_some(values.repeated.as_slice());
            writer.write_batch(&values.values, Some(&values.defined), repeated)?;
        }
        (ColumnWriter::Int32ColumnWriter(writer), Column::Small(values)) => {
            writer.write_batch(&values.values, Some(&values.defined), None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Column::Large(values)) => {
            writer.write_batch(&values.values, Some(&values.defined), None)?;
        }
        _ => return Err(ParquetError::General(String::from("a column of another type than its schema"))),
    }
    Ok(())
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{ContentHash, Millis, SimHash};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn written(pages: &[Page]) -> SerializedFileReader<bytes::Bytes> {
        let mut bytes = Vec::new();
        let mut file = PageParquet::new(&mut bytes).unwrap();
        for page in pages {
            file.write(page).unwrap();
        }
        file.finish().unwrap();
        SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap()
    }

    fn page(number: u32) -> Page {
        Page {
            url: format!("https://a.test/{number}"),
            status: Some(200),
            depth: number,
            title: Some("Größe, \"quoted\"".into()),
            bytes: Some(u64::MAX),
            content_hash: Some(ContentHash([0xab; 32])),
            simhash: Some(SimHash(255)),
            topics: Some(vec!["one".into(), "two words".into()]),
            crawled_at: Some(Millis(1_767_323_045_678)),
            ..Page::default()
        }
    }

    #[test]
    fn columns_are_the_fields_of_a_page() {
        let reader = written(&[]);
        let schema = reader.metadata().file_metadata().schema();
        let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
        assert_eq!(names, Page::FIELDS);
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }

    #[test]
    fn pages_are_read_back_with_their_types() {
        let none = Page { topics: Some(Vec::new()), ..Page::default() };
        let reader = written(&[page(7), none, Page::default()]);
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        let field = |row: usize, name: &str| {
            rows[row].get_column_iter().find(|(column, _)| *column == name).unwrap().1.clone()
        };
        assert_eq!(field(0, "url"), Field::Str("https://a.test/7".into()));
        assert_eq!(field(0, "status"), Field::UShort(200));
        assert_eq!(field(0, "depth"), Field::UInt(7));
        assert_eq!(field(0, "title"), Field::Str("Größe, \"quoted\"".into()));
        assert_eq!(field(0, "bytes"), Field::ULong(u64::MAX));
        assert_eq!(field(0, "content_hash"), Field::Str("ab".repeat(32)));
        assert_eq!(field(0, "simhash"), Field::Str("00000000000000ff".into()));
        assert_eq!(field(0, "crawled_at"), Field::TimestampMillis(1_767_323_045_678));
        let Field::ListInternal(topics) = field(0, "topics") else { panic!("no list") };
        assert_eq!(topics.elements(), [Field::Str("one".into()), Field::Str("two words".into())]);
        let Field::ListInternal(topics) = field(1, "topics") else { panic!("no list") };
        assert!(topics.elements().is_empty());
        for name in ["final_url", "status", "bytes", "topics", "crawled_at", "archive"] {
            assert_eq!(field(2, name), Field::Null, "{name}");
        }
    }

    #[test]
    fn groups_of_rows_are_bounded_and_what_is_written_is_not_held() {
        let pages: Vec<Page> = (0..MOST_ROWS as u32 + 10).map(page).collect();
        let reader = written(&pages);
        let groups: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(groups, [MOST_ROWS as i64, 10]);
        let large = Page { description: Some("x".repeat(1 << 20)), ..page(1) };
        let mut bytes = Vec::new();
        let mut file = PageParquet::new(&mut bytes).unwrap();
        for _ in 0..40 {
            file.write(&large).unwrap();
            assert!(file.bytes < MOST_BYTES && file.written.0.lock().unwrap().len() < MOST_BYTES);
        }
        file.finish().unwrap();
    }

    #[test]
    fn a_writer_that_fails_says_why() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut file = PageParquet::new(Full).unwrap();
        file.write(&page(1)).unwrap();
        assert_eq!(file.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
