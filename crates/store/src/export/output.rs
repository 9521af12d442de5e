//! The file of `crawl -o`: a projection of the catalogue in commit order.
//!
//! Pages are written right after the batch that committed them, and the position reached, (sequence, byte length), is
//! stored with the next batch. So the file is never behind by more than it can catch up from the catalogue, and
//! whatever it has beyond the stored position is cut off at a resume: it holds every page once. Standard output, pipes
//! and devices cannot be cut: there a resume begins at the stored sequence, and a page may come twice.

use super::{Format, RecordWriter};
use crate::catalogue::{Batch, Catalogue, CatalogueReader, Committed, OutputPosition, PageQuery, PageRow};
use crate::error::{ErrorKind, Result, StoreError};
use argiope_model::{JobId, Millis, Page};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::Path;

/// The path that means standard output.
pub const STDOUT: &str = "-";

const BUFFER: usize = 1 << 18;

/// Knows how many bytes have gone through it.
struct Counted {
    to: BufWriter<Box<dyn Write + Send>>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

pub struct Output {
    job: JobId,
    path: String,
    include_noindex: bool,
    seq: u64,
    writer: RecordWriter<Page, Counted>,
    /// None where the target is no regular file.
    file: Option<File>,
    format: Format,
    /// It has records that are no longer true: a page was asked for again. It is written anew at its end, and until then
    /// by whoever opens it.
    stale: bool,
}

impl Output {
    /// Opens the output of `job`, cut to what the catalogue knows of it, and brings it up to date. The job's claim to
    /// a new file is committed before the file is made, so that a crash in between leaves no file without an owner.
    pub fn open(
        catalogue: &mut dyn Catalogue,
        job: JobId,
        path: &Path,
        include_noindex: bool,
        now: Millis,
    ) -> Result<Output> {
        let target = Target::of(path)?;
        let reader = catalogue.reader()?;
        let stored = reader.output_position(job, &target.name)?;
        if stored.is_none() {
            if target.regular && path.exists() {
                return Err(StoreError::new(
                    ErrorKind::Usage,
                    path.display().to_string(),
                    "exists and was not written by this job; remove it or name another file",
                ));
            }
            let claim = OutputPosition { job, path: target.name.clone(), seq: 0, length: 0 };
            catalogue.commit(&Batch { at: now, outputs: vec![claim], ..Batch::default() })?;
        }
        let (seq, length) = stored.map_or((0, 0), |position| (position.seq, position.length));
        let mut output = target.open(path, job, seq, length, include_noindex)?;
        output.catch_up(reader.as_ref())?;
        Ok(output)
    }

    /// Writes what the catalogue has beyond the position of this output.
    pub fn catch_up(&mut self, reader: &dyn CatalogueReader) -> Result<()> {
        let query = PageQuery { job: Some(self.job), after_seq: self.seq, include_noindex: true };
        reader.pages(&query, &mut |stored| {
            self.write_page(stored.seq, &stored.row)?;
            Ok(ControlFlow::Continue(()))
        })?;
        self.flush()
    }

    /// Writes the rows of a batch that has just been committed.
    pub fn write(&mut self, rows: &[PageRow], committed: &Committed) -> Result<()> {
        for (row, placed) in rows.iter().zip(&committed.pages) {
            if row.job != self.job {
                continue;
            }
            if placed.repeated {
                self.out_of_date();
            } else if placed.seq > self.seq {
                self.write_page(placed.seq, row)?;
            }
        }
        self.flush()
    }

    fn write_page(&mut self, seq: u64, row: &PageRow) -> Result<()> {
        if self.include_noindex || !row.noindex {
            self.writer.write(&row.page).map_err(|e| StoreError::io(&self.path, e))?;
        }
        self.seq = seq;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|e| StoreError::io(&self.path, e))
    }

    pub fn job(&self) -> JobId {
        self.job
    }

    /// A page that it lists has changed, or has gone. Nothing can be taken back from a pipe.
    pub fn out_of_date(&mut self) {
        self.stale = self.file.is_some();
    }

    /// Begins the file again, and writes all pages as they are now.
    fn write_anew(&mut self, reader: &dyn CatalogueReader) -> Result<()> {
        self.flush()?;
        let about = |error| StoreError::io(&self.path, error);
        let Some(kept) = &self.file else { return Ok(()) };
        // Both handles have one place to write at.
        let mut file = kept.try_clone().map_err(about)?;
        file.set_len(0).map_err(about)?;
        file.seek(SeekFrom::Start(0)).map_err(about)?;
        let counted = Counted { to: BufWriter::with_capacity(BUFFER, Box::new(file)), bytes: 0 };
        self.writer = RecordWriter::new(self.format, counted).map_err(about)?;
        self.seq = 0;
        self.stale = false;
        self.catch_up(reader)
    }

    /// To be committed with the next batch.
    pub fn position(&self) -> OutputPosition {
        if self.stale {
            return OutputPosition { job: self.job, path: self.path.clone(), seq: 0, length: 0 };
        }
        OutputPosition {
            job: self.job,
            path: self.path.clone(),
            seq: self.seq,
            length: self.writer.get_ref().bytes,
        }
    }

    /// Makes the file durable. The caller commits the position once more after it.
    pub fn finish(mut self, reader: &dyn CatalogueReader) -> Result<OutputPosition> {
        if self.stale {
            self.write_anew(reader)?;
        }
        self.flush()?;
        if let Some(file) = &self.file {
            file.sync_all().map_err(|e| StoreError::io(&self.path, e))?;
        }
        Ok(self.position())
    }
}

/// What `-o` names.
struct Target {
    /// Absolute, so that a resume from another directory finds its own file.
    name: String,
    format: Format,
    regular: bool,
}

impl Target {
    fn of(path: &Path) -> Result<Target> {
        if path == Path::new(STDOUT) {
            return Ok(Target { name: STDOUT.to_owned(), format: Format::Jsonl, regular: false });
        }
        let subject = path.display().to_string();
        let usage = |message: &str| StoreError::new(ErrorKind::Usage, subject.clone(), message);
        let regular = match fs::metadata(path) {
            Ok(known) if known.is_dir() => return Err(usage("is a directory; name a file")),
            Ok(known) => known.is_file(),
            Err(_) => true,
        };
        let format = match Format::of_path(path) {
            Some(format @ (Format::Jsonl | Format::Csv)) => format,
            // A device or a pipe has no extension to go by.
            None if !regular => Format::Jsonl,
            _ => {
                return Err(usage(
                    "pages are streamed as .jsonl or .csv (or - for standard output); for other formats use export",
                ));
            }
        };
        let absolute = std::path::absolute(path).map_err(|e| StoreError::io(&subject, e))?;
        // The directory is resolved, so that two ways to write it are one file.
        let resolved = match (absolute.parent().map(fs::canonicalize), absolute.file_name()) {
            (Some(Ok(directory)), Some(name)) => directory.join(name),
            (Some(Err(error)), _) => return Err(StoreError::io(subject, error)),
            _ => absolute,
        };
        Ok(Target { name: resolved.display().to_string(), format, regular })
    }

    fn open(self, path: &Path, job: JobId, seq: u64, length: u64, include_noindex: bool) -> Result<Output> {
        let about = |error| StoreError::io(path.display().to_string(), error);
        if !self.regular {
            let to: Box<dyn Write + Send> = if self.name == STDOUT {
                Box::new(io::stdout())
            } else {
                Box::new(OpenOptions::new().write(true).open(path).map_err(about)?)
            };
            return self.output(to, None, job, seq, 0, include_noindex).map_err(about);
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(about)?;
        // Shorter than what was stored: the machine lost it. The catalogue has it all, so the file is made anew.
        let whole = file.metadata().map_err(about)?.len() >= length;
        let (seq, length) = if whole { (seq, length) } else { (0, 0) };
        file.set_len(length).map_err(about)?;
        file.seek(SeekFrom::Start(length)).map_err(about)?;
        let kept = file.try_clone().map_err(about)?;
        self.output(Box::new(file), Some(kept), job, seq, length, include_noindex).map_err(about)
    }

    fn output(
        self,
        to: Box<dyn Write + Send>,
        file: Option<File>,
        job: JobId,
        seq: u64,
        length: u64,
        include_noindex: bool,
    ) -> io::Result<Output> {
        let format = self.format;
        let counted = Counted { to: BufWriter::with_capacity(BUFFER, to), bytes: length };
        let begun = length > 0 || (file.is_none() && seq > 0);
        let writer = if begun {
            RecordWriter::resume(self.format, counted)
        } else {
            RecordWriter::new(self.format, counted)?
        };
        Ok(Output { job, path: self.name, include_noindex, seq, writer, file, format, stale: false })
    }
}
