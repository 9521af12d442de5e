//! Reads records as a stream, from files that may be damaged or malicious.
//!
//! Memory is bounded: a record's header by [`LONGEST_HEADER`], its block by the caller's limit; the rest is skipped in
//! small pieces. Each record must be its own gzip member.

use super::field;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};

const LONGEST_HEADER: usize = 64 * 1024;
const PIECE: usize = 8 * 1024;

/// Damage or failure, with the offset of the affected record.
#[derive(Debug, thiserror::Error)]
#[error("record at offset {offset}: {fault}")]
pub struct WarcError {
    pub offset: u64,
    #[source]
    pub fault: WarcFault,
}

#[derive(Debug, thiserror::Error)]
pub enum WarcFault {
    /// The file ends within the record.
    #[error("the file ends within the record")]
    Incomplete,
    #[error("{0}")]
    Damaged(String),
    #[error("cannot be read: {0}")]
    Io(io::Error),
}

impl WarcFault {
    fn of(error: io::Error) -> WarcFault {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => WarcFault::Incomplete,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                WarcFault::Damaged(format!("not a valid gzip member ({error})"))
            }
            _ => WarcFault::Io(error),
        }
    }
}

/// The header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// Where the record's gzip member begins.
    pub offset: u64,
    pub block_length: u64,
    fields: Vec<(String, String)>,
}

impl RecordHead {
    /// The value of a field; names match in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    pub fn kind(&self) -> &str {
        self.get(field::TYPE).unwrap_or("")
    }

    fn parse(offset: u64, text: &[u8]) -> std::result::Result<RecordHead, String> {
        let text = String::from_utf8_lossy(text);
        let mut lines = text.split("\r\n");
        let version = lines.next().unwrap_or("");
        if !matches!(version, "WARC/1.0" | "WARC/1.1") {
            let shown: String = version.chars().take(40).collect();
            return Err(format!("begins with {shown:?}, not with WARC/1.1"));
        }
        let mut fields: Vec<(String, String)> = Vec::with_capacity(12);
        for line in lines.filter(|line| !line.is_empty()) {
            match (line.starts_with([' ', '\t']), fields.last_mut()) {
                (true, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(line.trim());
                }
                _ => {
                    let (name, value) = line.split_once(':').ok_or("has a header line without a colon")?;
                    fields.push((name.trim().to_owned(), value.trim().to_owned()));
                }
            }
        }
        let mut head = RecordHead { offset, block_length: 0, fields };
        let length = head.get(field::CONTENT_LENGTH).and_then(|value| value.parse().ok());
        head.block_length = length.ok_or("has no Content-Length")?;
        Ok(head)
    }
}

/// Counts consumed bytes, so that members have offsets.
struct Counted<R> {
    source: BufReader<R>,
    offset: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.offset += amount as u64;
        self.source.consume(amount);
    }
}

enum State<R> {
    Between(Counted<R>),
    Within(Box<GzDecoder<Counted<R>>>),
    /// After an error nothing more is read: the position of the next record is unknown.
    Failed,
}

/// Reads one record after the other.
pub struct WarcReader<R> {
    state: State<R>,
    /// Unpacked but not consumed: `pending[taken..]`.
    pending: Vec<u8>,
    taken: usize,
    block_left: u64,
    record_offset: u64,
    /// Where the last complete record ended.
    end: u64,
}

impl<R: Read> WarcReader<R> {
    /// `offset` is where `source` stands in its file.
    pub fn new(source: R, offset: u64) -> WarcReader<R> {
        let source = BufReader::with_capacity(32 * 1024, source);
        WarcReader {
            state: State::Between(Counted { source, offset }),
            pending: Vec::new(),
            taken: 0,
            block_left: 0,
            record_offset: offset,
            end: offset,
        }
    }

    /// Where the last fully read record ended.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The next record's header. Skips the rest of the previous record and verifies its checksum.
    pub fn next_record(&mut self) -> Result<Option<RecordHead>, WarcError> {
        self.finish_record()?;
        let State::Between(mut input) = std::mem::replace(&mut self.state, State::Failed) else {
            return Ok(None);
        };
        self.record_offset = input.offset;
        if input.fill_buf().map_err(|error| self.fault(WarcFault::Io(error)))?.is_empty() {
            self.state = State::Between(input);
            return Ok(None);
        }
        self.state = State::Within(Box::new(GzDecoder::new(input)));
        self.pending.clear();
        self.taken = 0;
        let header_end = self.fill_header()?;
        let text = self.pending.get(..header_end).unwrap_or_default();
        let head = RecordHead::parse(self.record_offset, text)
            .map_err(|text| self.fault(WarcFault::Damaged(text)))?;
        self.taken = header_end + 4;
        self.block_left = head.block_length;
        Ok(Some(head))
    }

    /// Takes up to `limit` bytes of the block; true if that was all of it.
    pub fn read_block(&mut self, limit: usize, into: &mut Vec<u8>) -> Result<bool, WarcError> {
        let wanted = self.block_left.min(limit as u64);
        let target = into.len() as u64 + wanted;
        while (into.len() as u64) < target {
            let left = usize::try_from(target - into.len() as u64).unwrap_or(usize::MAX);
            let piece = self.pending_piece()?;
            let piece = piece.get(..left.min(piece.len())).unwrap_or_default();
            into.extend_from_slice(piece);
            let length = piece.len();
            self.taken += length;
            self.block_left -= length as u64;
        }
        Ok(self.block_left == 0)
    }

    /// Reads the current record to its end and verifies its checksum; returns where it ended.
    pub fn finish_record(&mut self) -> Result<u64, WarcError> {
        if !matches!(self.state, State::Within(_)) {
            return Ok(self.end);
        }
        while self.block_left > 0 {
            let length = self.pending_piece()?.len() as u64;
            let skipped = length.min(self.block_left);
            self.taken += skipped as usize;
            self.block_left -= skipped;
        }
        let mut tail = [0u8; 5];
        let mut length = 0;
        while length < tail.len() {
            let rest = self.pending.get(self.taken..).unwrap_or_default();
            if let (Some(byte), Some(slot)) = (rest.first(), tail.get_mut(length)) {
                *slot = *byte;
                self.taken += 1;
                length += 1;
            } else if self.unpack()? == 0 {
                break;
            }
        }
        if tail.get(..length) != Some(b"\r\n\r\n".as_slice()) {
            return Err(self.damaged("does not end after the length it states"));
        }
        if let State::Within(decoder) = std::mem::replace(&mut self.state, State::Failed) {
            let input = decoder.into_inner();
            self.end = input.offset;
            self.state = State::Between(input);
        }
        Ok(self.end)
    }

    /// Unpacks until the empty line after the header; returns where it begins.
    fn fill_header(&mut self) -> Result<usize, WarcError> {
        let mut searched = 0usize;
        loop {
            let from = searched.saturating_sub(3);
            let unsearched = self.pending.get(from..).unwrap_or_default();
            if let Some(at) = memchr::memmem::find(unsearched, b"\r\n\r\n") {
                return Ok(from + at);
            }
            searched = self.pending.len();
            if searched > LONGEST_HEADER {
                return Err(self.damaged("has a header longer than 64 KB"));
            }
            if self.unpack()? == 0 {
                return Err(self.damaged("has no complete header"));
            }
        }
    }

    /// Unpacked bytes that are not consumed, never empty within a block.
    fn pending_piece(&mut self) -> Result<&[u8], WarcError> {
        if self.taken >= self.pending.len() {
            self.pending.clear();
            self.taken = 0;
            if self.unpack()? == 0 {
                return Err(self.damaged("ends before the length it states"));
            }
        }
        Ok(self.pending.get(self.taken..).unwrap_or_default())
    }

    /// Appends a piece to `pending`; zero at the end of the member, whose checksum was verified.
    fn unpack(&mut self) -> Result<usize, WarcError> {
        let State::Within(decoder) = &mut self.state else {
            return Ok(0);
        };
        let length = self.pending.len();
        self.pending.resize(length + PIECE, 0);
        let room = self.pending.get_mut(length..).unwrap_or_default();
        let read = loop {
            match decoder.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match read {
            Ok(read) => {
                self.pending.truncate(length + read);
                Ok(read)
            }
            Err(error) => {
                self.pending.truncate(length);
                Err(self.fault(WarcFault::of(error)))
            }
        }
    }

    fn damaged(&mut self, what: &str) -> WarcError {
        self.fault(WarcFault::Damaged(what.to_owned()))
    }

    fn fault(&mut self, fault: WarcFault) -> WarcError {
        self.state = State::Failed;
        WarcError { offset: self.record_offset, fault }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warc::gzip::GzipWriter;
    use proptest::prelude::*;

    fn record(block: &[u8]) -> Vec<u8> {
        let header = format!(
            "WARC/1.1\r\nWARC-Type: resource\r\nX: a\r\n b\r\nContent-Length: {}\r\n\r\n",
            block.len()
        );
        let mut out = Vec::new();
        GzipWriter::new().deflated(&[header.as_bytes(), block, b"\r\n\r\n"], &mut out);
        out
    }

    /// Offset and block.
    type Records = Vec<(u64, Vec<u8>)>;

    /// All records until the end or the first fault.
    fn read_all(bytes: &[u8]) -> (Records, u64, Option<WarcError>) {
        let mut reader = WarcReader::new(bytes, 0);
        let mut records = Vec::new();
        loop {
            match reader.next_record() {
                Ok(Some(head)) => {
                    let mut block = Vec::new();
                    let taken =
                        reader.read_block(usize::MAX, &mut block).and_then(|_| reader.finish_record());
                    match taken {
                        Ok(_) => records.push((head.offset, block)),
                        Err(error) => return (records, reader.end(), Some(error)),
                    }
                }
                Ok(None) => return (records, reader.end(), None),
                Err(error) => return (records, reader.end(), Some(error)),
            }
        }
    }

    #[test]
    fn records_come_with_their_offsets() {
        let (a, b) = (record(b"first"), record(&[7; 100_000]));
        let file = [a.clone(), b].concat();
        let (records, end, fault) = read_all(&file);
        assert!(fault.is_none());
        assert_eq!(end, file.len() as u64);
        assert_eq!(records, [(0, b"first".to_vec()), (a.len() as u64, vec![7; 100_000])]);
    }

    #[test]
    fn a_block_can_be_skipped_or_read_in_part() {
        let file = [record(&[1; 50_000]), record(b"x")].concat();
        let mut reader = WarcReader::new(file.as_slice(), 0);
        let head = reader.next_record().unwrap().unwrap();
        assert_eq!((head.block_length, head.get("x"), head.kind()), (50_000, Some("a b"), "resource"));
        let mut some = Vec::new();
        assert!(!reader.read_block(10, &mut some).unwrap());
        assert_eq!(some, [1; 10]);
        assert_eq!(reader.next_record().unwrap().unwrap().block_length, 1);
        assert!(reader.next_record().unwrap().is_none());
    }

    #[test]
    fn a_cut_record_is_incomplete_wherever_it_is_cut() {
        let whole = record(b"some text that is not very long");
        for length in 1..whole.len() {
            let (records, end, fault) = read_all(&whole[..length]);
            assert!(records.is_empty());
            assert_eq!(end, 0);
            assert!(matches!(fault.unwrap().fault, WarcFault::Incomplete), "{length}");
        }
    }

    #[test]
    fn damage_is_reported_where_it_is() {
        let first = record(b"first");
        let mut file = [first.clone(), record(b"second record")].concat();
        let middle = first.len() + 20;
        file[middle] ^= 0x55;
        let (records, end, fault) = read_all(&file);
        assert_eq!((records.len(), end), (1, first.len() as u64));
        assert_eq!(fault.unwrap().offset, first.len() as u64);
    }

    #[test]
    fn lies_about_lengths_and_headers_are_faults() {
        let member = |text: &[u8]| {
            let mut out = Vec::new();
            GzipWriter::new().deflated(&[text], &mut out);
            out
        };
        for text in [
            &b"WARC/1.1\r\nContent-Length: 5\r\n\r\nabc\r\n\r\n"[..],
            b"WARC/1.1\r\nContent-Length: 2\r\n\r\nabc\r\n\r\n",
            b"WARC/1.1\r\nContent-Length: -1\r\n\r\n\r\n\r\n",
            b"WARC/1.1\r\nWARC-Type: x\r\n\r\n\r\n\r\n",
            b"WARC/1.1\r\nno colon\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
            b"",
            &[b'a'; 100_000],
        ] {
            let (records, _, fault) = read_all(&member(text));
            assert!(records.is_empty());
            assert!(matches!(fault.unwrap().fault, WarcFault::Damaged(_)));
        }
        let endless = b"WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nabc";
        assert!(read_all(&member(endless)).2.is_some());
    }

    #[test]
    fn a_bomb_is_read_no_further_than_it_says() {
        let mut bomb = Vec::new();
        let zeros = vec![0u8; 10 << 20];
        GzipWriter::new().deflated(&[b"WARC/1.1\r\nContent-Length: 3\r\n\r\n", &zeros], &mut bomb);
        let mut reader = WarcReader::new(bomb.as_slice(), 0);
        reader.next_record().unwrap().unwrap();
        assert!(reader.next_record().is_err());
        assert!(reader.pending.capacity() < 1 << 20);
        assert!(reader.next_record().unwrap().is_none(), "after a fault there is nothing more");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), keep in 0usize..80) {
            read_all(&bytes);
            let mut begun = record(b"some block");
            begun.truncate(keep);
            begun.extend_from_slice(&bytes);
            read_all(&begun);
            let mut member = Vec::new();
            GzipWriter::new().stored(&[b"WARC/1.1\r\n", &bytes], &mut member);
            read_all(&member);
        }
    }
}
