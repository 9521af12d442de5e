//! Lines in order, however many: what does not fit into memory is sorted in pieces, which wait in temporary files. And the
//! index of a WACZ that they become: lines in compressed blocks, and one line for each block.

use argiope_store::warc::gzip::GzipWriter;
use serde_json::json;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

/// Held in memory.
const MOST_BYTES: usize = 32 << 20;
/// Lines of one compressed block.
const BLOCK: usize = 3000;

pub(crate) struct SortedLines {
    lines: Vec<String>,
    bytes: usize,
    most_bytes: usize,
    pieces: Vec<File>,
}

impl SortedLines {
    pub(crate) fn new() -> SortedLines {
        SortedLines { lines: Vec::new(), bytes: 0, most_bytes: MOST_BYTES, pieces: Vec::new() }
    }

    /// A line without its end.
    pub(crate) fn push(&mut self, line: String) -> io::Result<()> {
        self.bytes += line.len() + size_of::<String>();
        self.lines.push(line);
        if self.bytes >= self.most_bytes { self.set_aside() } else { Ok(()) }
    }

    fn set_aside(&mut self) -> io::Result<()> {
        self.lines.sort_unstable();
        let mut file = BufWriter::new(tempfile::tempfile()?);
        for line in self.lines.drain(..) {
            file.write_all(line.as_bytes())?;
            file.write_all(b"\n")?;
        }
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.pieces.push(file);
        self.bytes = 0;
        Ok(())
    }

    /// Calls `each` with every line, the smallest first.
    pub(crate) fn in_order(mut self, mut each: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        self.lines.sort_unstable();
        let last = std::mem::take(&mut self.lines).into_iter().map(Ok);
        let mut pieces: Vec<Box<dyn Iterator<Item = io::Result<String>>>> = vec![Box::new(last)];
        for file in self.pieces {
            pieces.push(Box::new(BufReader::new(file).lines()));
        }
        let mut next = BinaryHeap::new();
        for (number, piece) in pieces.iter_mut().enumerate() {
            next.extend(piece.next().transpose()?.map(|line| Reverse((line, number))));
        }
        while let Some(Reverse((line, number))) = next.pop() {
            each(&line)?;
            let following = pieces.get_mut(number).and_then(Iterator::next).transpose()?;
            next.extend(following.map(|line| Reverse((line, number))));
        }
        Ok(())
    }
}

/// Writes lines of CDXJ to `to`, in blocks; returns the lines that name the blocks. `file` is the name that they are stored
/// under.
pub(crate) fn write_blocks(lines: SortedLines, file: &str, to: &mut dyn Write) -> io::Result<Vec<u8>> {
    let mut names =
        format!("!meta 0 {}\n", json!({ "format": "cdxj-gzip-1.0", "filename": file })).into_bytes();
    let (mut gzip, mut block, mut compressed) = (GzipWriter::new(), Vec::new(), Vec::new());
    let (mut first, mut count, mut offset) = (String::new(), 0, 0);
    let mut end_block = |first: &str, block: &mut Vec<u8>| -> io::Result<()> {
        compressed.clear();
        gzip.deflated(&[block], &mut compressed);
        block.clear();
        to.write_all(&compressed)?;
        // The key and the time of the first line.
        let key = first.split('{').next().unwrap_or_default().trim_end();
        writeln!(
            names,
            "{key} {}",
            json!({ "offset": offset, "length": compressed.len(), "filename": file })
        )?;
        offset += compressed.len();
        Ok(())
    };
    lines.in_order(|line| {
        if count == 0 {
            line.clone_into(&mut first);
        }
        block.extend_from_slice(line.as_bytes());
        block.push(b'\n');
        count += 1;
        if count == BLOCK {
            count = 0;
            end_block(&first, &mut block)?;
        }
        Ok(())
    })?;
    if count > 0 {
        end_block(&first, &mut block)?;
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_order_from_memory_and_from_files() {
        for most_bytes in [100, 1 << 20] {
            let mut lines = SortedLines { most_bytes, ..SortedLines::new() };
            let mut expected: Vec<String> =
                (0..500u32).map(|n| format!("{:05}", n.wrapping_mul(7919) % 500)).collect();
            for line in &expected {
                lines.push(line.clone()).unwrap();
            }
            assert_eq!(lines.pieces.is_empty(), most_bytes > 100);
            expected.sort();
            let mut found = Vec::new();
            lines
                .in_order(|line| {
                    found.push(line.to_owned());
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn blocks_are_named_by_their_first_line() {
        let mut lines = SortedLines::new();
        for number in 0..BLOCK + 1 {
            lines.push(format!("com,a)/{number:05} 2026 {{\"url\":\"x\"}}")).unwrap();
        }
        let mut blocks = Vec::new();
        let names = String::from_utf8(write_blocks(lines, "index.cdx.gz", &mut blocks).unwrap()).unwrap();
        let names: Vec<&str> = names.lines().collect();
        assert_eq!(names.len(), 3);
        assert!(names[0].starts_with("!meta 0 {") && names[0].contains("cdxj-gzip-1.0"));
        assert!(names[1].starts_with("com,a)/00000 2026 {"), "{}", names[1]);
        assert!(names[2].starts_with(&format!("com,a)/{BLOCK:05} 2026 {{")), "{}", names[2]);
        let second: serde_json::Value =
            serde_json::from_str(&names[2][names[2].find('{').unwrap()..]).unwrap();
        let (offset, length) = (second["offset"].as_u64().unwrap(), second["length"].as_u64().unwrap());
        assert_eq!(offset + length, blocks.len() as u64);
        assert_eq!(blocks[offset as usize..][..2], [0x1f, 0x8b]);
    }
}
