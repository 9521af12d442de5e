//! The file of `crawl -o`: a follower's sink that writes the pages of one job in commit order.
//!
//! The position, (page number, byte length), is stored by the writer of the catalogue with its next batch
//! ([`OutputProgress::position`]). A resume cuts the file to the stored length and continues from the stored page, so
//! the file has every page once. Standard output, pipes and devices cannot be cut: there a resume continues from the
//! stored page, and a page may come twice.

use super::output_target::{OpenTarget, OutputTarget};
use super::{Format, RecordWriter};
use crate::catalogue::{Batch, Catalogue, OutputPosition, StoredPage};
use crate::error::{ErrorKind, Result, StoreError};
use crate::follower::{CommittedPages, Finished, PageSink, Position};
use argiope_model::{JobId, Millis, Page};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The path that means standard output.
pub const STDOUT: &str = "-";

const BUFFER: usize = 1 << 18;

/// Counts the bytes written through it.
struct Counted {
    to: BufWriter<Box<dyn Write + Send>>,
    bytes: u64,
}

impl Counted {
    fn new(to: Box<dyn Write + Send>, bytes: u64) -> Counted {
        Counted { to: BufWriter::with_capacity(BUFFER, to), bytes }
    }
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
    include_noindex: bool,
    reached: Position,
    writer: RecordWriter<Page, Counted>,
    /// None if the target is not a regular file.
    file: Option<File>,
    format: Format,
    progress: Arc<OutputProgress>,
}

/// The progress of an output, for the thread that stores it while another one writes the output.
pub struct OutputProgress {
    job: JobId,
    path: String,
    can_be_rewritten: bool,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    page: u64,
    length: u64,
    /// The file has outdated records. It is rewritten at its end, or by the next process that opens it.
    stale: bool,
}

impl OutputProgress {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn job(&self) -> JobId {
        self.job
    }

    /// The absolute path of the file, or [`STDOUT`].
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The number of the last page written.
    pub fn page(&self) -> u64 {
        self.state().page
    }

    /// A page in the file has changed, or leaves the catalogue with the next commit. What was written to a pipe cannot
    /// be undone.
    pub fn out_of_date(&self) {
        self.state().stale = self.can_be_rewritten;
    }

    /// To be stored with the next commit.
    pub fn position(&self) -> OutputPosition {
        let State { page, length, stale } = *self.state();
        let (seq, length) = if stale { (0, 0) } else { (page, length) };
        OutputPosition { job: self.job, path: self.path.clone(), seq, length }
    }
}

impl Output {
    /// Opens the output of `job`, cut to the position in the catalogue. The job's claim to a new file is committed
    /// before the file is created, so that a crash in between leaves no file without an owner.
    pub fn open(
        catalogue: &mut dyn Catalogue,
        job: JobId,
        path: &Path,
        include_noindex: bool,
        now: Millis,
    ) -> Result<Output> {
        let target = OutputTarget::of(path)?;
        let reader = catalogue.reader()?;
        let stored = reader.output_position(job, &target.name)?;
        if stored.is_none() {
            if target.is_regular && path.exists() {
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
        let batch = reader.last_batch()?;
        let OpenTarget { to, file, length } = target.open(path, length)?;
        let (seq, length) = length.map_or((0, 0), |length| (seq, length));
        let has_begun = length > 0 || (file.is_none() && seq > 0);
        let OutputTarget { name, format, .. } = target;
        let counted = Counted::new(to, length);
        let writer = if has_begun {
            RecordWriter::resume(format, counted)
        } else {
            RecordWriter::new(format, counted).map_err(|error| StoreError::io(&name, error))?
        };
        let progress = OutputProgress {
            job,
            path: name,
            can_be_rewritten: file.is_some(),
            state: Mutex::new(State { page: seq, length, stale: false }),
        };
        let reached = Position { page: seq, batch };
        Ok(Output { include_noindex, reached, writer, file, format, progress: Arc::new(progress) })
    }

    pub fn progress(&self) -> &Arc<OutputProgress> {
        &self.progress
    }

    fn about(&self, error: io::Error) -> StoreError {
        StoreError::io(&self.progress.path, error)
    }

    fn write(&mut self, stored: &StoredPage) -> Result<()> {
        if stored.row.job == self.progress.job && (self.include_noindex || !stored.row.noindex) {
            self.writer
                .write(&stored.row.page)
                .map_err(|error| StoreError::io(&self.progress.path, error))?;
        }
        Ok(())
    }

    /// Makes what was written visible, and then the position after it.
    fn show(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| self.about(error))?;
        let length = self.writer.get_ref().bytes;
        let mut state = self.progress.state();
        (state.page, state.length) = (self.reached.page, length);
        Ok(())
    }

    /// Empties the file.
    fn start_over(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| self.about(error))?;
        let Some(kept) = &self.file else { return Ok(()) };
        // Both handles share one file position.
        let mut file = kept.try_clone().map_err(|error| self.about(error))?;
        file.set_len(0).map_err(|error| self.about(error))?;
        file.seek(SeekFrom::Start(0)).map_err(|error| self.about(error))?;
        let counted = Counted::new(Box::new(file), 0);
        self.writer = RecordWriter::new(self.format, counted).map_err(|error| self.about(error))?;
        self.reached.page = 0;
        self.progress.state().stale = false;
        self.show()
    }
}

impl PageSink for Output {
    fn position(&mut self) -> Result<Position> {
        Ok(self.reached)
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        for stored in &batch.pages {
            self.write(stored)?;
        }
        if batch.overwritten.iter().any(|stored| stored.row.job == self.progress.job) {
            self.progress.out_of_date();
        }
        self.reached = batch.reached;
        self.show()
    }

    /// Makes the file durable. Its position must be stored once more after that.
    fn finish(&mut self) -> Result<Finished> {
        if self.progress.state().stale {
            self.start_over()?;
            return Ok(Finished::StartsOver);
        }
        self.writer.flush().map_err(|error| self.about(error))?;
        if let Some(file) = &self.file {
            file.sync_all().map_err(|error| self.about(error))?;
        }
        Ok(Finished::Yes)
    }
}
