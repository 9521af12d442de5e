//! Writes the CDXJ index of a WARC file: lines come in the order of the crawl and are written sorted.
//!
//! A file of 1 GB may hold a million captures, and each worker has one open: lines beyond a few megabytes are sorted in
//! runs, written to disk and merged when the file is finished.

use crate::disk::sync_directory;
use argiope_store::error::{ErrorKind, Result, StoreError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const RUN_BYTES: usize = 4 << 20;

pub(crate) const ENDING: &str = "cdxj";
pub(crate) const RUNS_ENDING: &str = "cdxj.runs";
pub(crate) const UNFINISHED_ENDING: &str = "cdxj.unfinished";

/// `a.warc.gz` -> `a.cdxj`
pub(crate) fn beside(warc: &Path, ending: &str) -> PathBuf {
    let name = warc.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    warc.with_file_name(format!("{}.{ending}", name.trim_end_matches(".warc.gz")))
}

pub(crate) struct IndexBuilder {
    warc: PathBuf,
    run_bytes: usize,
    lines: Vec<String>,
    bytes: usize,
    runs: Option<Runs>,
    /// A run could not be written: the index would be incomplete, so none is written.
    incomplete: bool,
}

struct Runs {
    path: PathBuf,
    file: BufWriter<File>,
    /// Where each run ends.
    ends: Vec<u64>,
}

impl Drop for Runs {
    fn drop(&mut self) {
        // If left behind, the next recovery removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl IndexBuilder {
    pub(crate) fn new(warc: &Path) -> IndexBuilder {
        IndexBuilder {
            warc: warc.to_owned(),
            run_bytes: RUN_BYTES,
            lines: Vec::new(),
            bytes: 0,
            runs: None,
            incomplete: false,
        }
    }

    pub(crate) fn push(&mut self, line: String) -> Result<()> {
        if self.incomplete {
            return Ok(());
        }
        self.bytes += line.len();
        self.lines.push(line);
        if self.bytes < self.run_bytes {
            return Ok(());
        }
        self.put_run_aside().inspect_err(|_| {
            self.incomplete = true;
            self.lines = Vec::new();
        })
    }

    fn put_run_aside(&mut self) -> Result<()> {
        let path = beside(&self.warc, RUNS_ENDING);
        let failed = |error| StoreError::io(path.display().to_string(), error);
        let mut runs = match self.runs.take() {
            Some(runs) => runs,
            None => {
                let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
                Runs { path: path.clone(), file: BufWriter::new(file.map_err(failed)?), ends: Vec::new() }
            }
        };
        self.lines.sort_unstable();
        let mut written = 0;
        for line in self.lines.drain(..) {
            writeln!(runs.file, "{line}").map_err(failed)?;
            written += line.len() as u64 + 1;
        }
        self.bytes = 0;
        runs.ends.push(runs.ends.last().copied().unwrap_or(0) + written);
        self.runs = Some(runs);
        Ok(())
    }

    /// Writes the index durably; until then there is none.
    pub(crate) fn finish(mut self) -> Result<()> {
        let path = beside(&self.warc, UNFINISHED_ENDING);
        if self.incomplete {
            let message = "lines of the index were lost; the next recovery creates it from the archive";
            return Err(StoreError::new(ErrorKind::Io, path.display().to_string(), message));
        }
        self.write_to(&path).map_err(|error| StoreError::io(path.display().to_string(), error))
    }

    fn write_to(&mut self, path: &Path) -> io::Result<()> {
        self.lines.sort_unstable();
        let mut out = BufWriter::new(File::create(path)?);
        let lines = std::mem::take(&mut self.lines);
        match self.runs.take() {
            None => {
                for line in lines {
                    writeln!(out, "{line}")?;
                }
            }
            Some(mut runs) => {
                runs.file.flush()?;
                merge(&runs, lines, &mut out)?;
            }
        }
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(path, beside(&self.warc, ENDING))?;
        sync_directory(path.parent().unwrap_or(Path::new(".")))
    }
}

/// Merges the runs on disk with the sorted lines in memory.
fn merge(runs: &Runs, lines: Vec<String>, out: &mut impl Write) -> io::Result<()> {
    let mut sources: Vec<Box<dyn Iterator<Item = io::Result<String>>>> =
        vec![Box::new(lines.into_iter().map(Ok))];
    let mut start = 0;
    for end in &runs.ends {
        let mut file = File::open(&runs.path)?;
        file.seek(SeekFrom::Start(start))?;
        sources.push(Box::new(BufReader::with_capacity(64 * 1024, file.take(end - start)).lines()));
        start = *end;
    }
    let mut heads = BinaryHeap::new();
    for (number, source) in sources.iter_mut().enumerate() {
        if let Some(line) = source.next() {
            heads.push(Reverse((line?, number)));
        }
    }
    while let Some(Reverse((line, number))) = heads.pop() {
        writeln!(out, "{line}")?;
        if let Some(next) = sources.get_mut(number).and_then(Iterator::next) {
            heads.push(Reverse((next?, number)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_leave_sorted_from_memory_and_from_runs() {
        let directory = tempfile::tempdir().unwrap();
        for run_bytes in [RUN_BYTES, 100] {
            let warc = directory.path().join(format!("x{run_bytes}.warc.gz"));
            let mut index = IndexBuilder::new(&warc);
            index.run_bytes = run_bytes;
            let mut expected: Vec<String> =
                (0..500u32).map(|n| format!("line {}", n.wrapping_mul(2_654_435_761))).collect();
            for line in &expected {
                index.push(line.clone()).unwrap();
            }
            index.finish().unwrap();
            expected.sort();
            let text = std::fs::read_to_string(beside(&warc, ENDING)).unwrap();
            assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        }
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            2,
            "nothing but the indexes is left"
        );
    }
    #[test]
    fn an_index_that_lost_lines_is_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let warc = directory.path().join("x.warc.gz");
        std::fs::create_dir(beside(&warc, RUNS_ENDING)).unwrap();
        let mut index = IndexBuilder::new(&warc);
        index.run_bytes = 10;
        assert!(index.push(String::from("a line longer than a run")).is_err());
        index.push(String::from("another")).unwrap();
        assert!(index.finish().is_err());
        assert!(!beside(&warc, ENDING).exists());
    }
}
