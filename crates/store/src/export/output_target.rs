//! The target of `-o`: a file, a pipe, a device or standard output.

use super::Format;
use super::output::STDOUT;
use crate::error::{ErrorKind, Result, StoreError};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

pub(super) struct OutputTarget {
    /// Absolute, so that a resume from another directory finds its own file.
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) is_regular: bool,
}

/// A target that can be written to.
pub(super) struct OpenTarget {
    pub(super) to: Box<dyn Write + Send>,
    /// None if the target is not a regular file and cannot be cut.
    pub(super) file: Option<File>,
    /// Where it was cut. None if the file was shorter than that, and is empty now.
    pub(super) length: Option<u64>,
}

impl OutputTarget {
    pub(super) fn of(path: &Path) -> Result<OutputTarget> {
        if path == Path::new(STDOUT) {
            return Ok(OutputTarget { name: STDOUT.to_owned(), format: Format::Jsonl, is_regular: false });
        }
        let subject = path.display().to_string();
        let usage = |message: &str| StoreError::new(ErrorKind::Usage, subject.clone(), message);
        let is_regular = match fs::metadata(path) {
            Ok(known) if known.is_dir() => return Err(usage("is a directory; name a file")),
            Ok(known) => known.is_file(),
            Err(_) => true,
        };
        let format = match Format::of_path(path) {
            Some(format @ (Format::Jsonl | Format::Csv)) => format,
            // A device or a pipe has no extension.
            None if !is_regular => Format::Jsonl,
            _ => {
                return Err(usage(
                    "pages are streamed as .jsonl or .csv (or - for standard output); for other formats use export",
                ));
            }
        };
        let absolute = std::path::absolute(path).map_err(|e| StoreError::io(&subject, e))?;
        // The directory is resolved, so that two spellings of a path are one file.
        let resolved = match (absolute.parent().map(fs::canonicalize), absolute.file_name()) {
            (Some(Ok(directory)), Some(name)) => directory.join(name),
            (Some(Err(error)), _) => return Err(StoreError::io(subject, error)),
            _ => absolute,
        };
        Ok(OutputTarget { name: resolved.display().to_string(), format, is_regular })
    }

    /// Opens it, and cuts a file to `length`.
    pub(super) fn open(&self, path: &Path, length: u64) -> Result<OpenTarget> {
        let about = |error| StoreError::io(path.display().to_string(), error);
        if !self.is_regular {
            let to: Box<dyn Write + Send> = if self.name == STDOUT {
                Box::new(io::stdout())
            } else {
                Box::new(OpenOptions::new().write(true).open(path).map_err(about)?)
            };
            return Ok(OpenTarget { to, file: None, length: Some(0) });
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(about)?;
        // Shorter than stored: the machine lost data. The catalogue has everything, so the file is rewritten.
        let is_whole = file.metadata().map_err(about)?.len() >= length;
        let kept = if is_whole { length } else { 0 };
        file.set_len(kept).map_err(about)?;
        file.seek(SeekFrom::Start(kept)).map_err(about)?;
        let handle = file.try_clone().map_err(about)?;
        Ok(OpenTarget { to: Box::new(file), file: Some(handle), length: is_whole.then_some(length) })
    }
}
