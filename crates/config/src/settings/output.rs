//! The file that a crawl streams its pages to.

use crate::failure::Failure;
use std::path::{Path, PathBuf};

/// Where `crawl -o` streams pages to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    Stdout,
    Jsonl(PathBuf),
    Csv(PathBuf),
}

impl Output {
    /// `-` for standard output.
    pub fn path(&self) -> PathBuf {
        match self {
            Output::Stdout => PathBuf::from("-"),
            Output::Jsonl(path) | Output::Csv(path) => path.clone(),
        }
    }
}

pub(super) fn output_of(path: &Path) -> Result<Output, Failure> {
    if path == Path::new("-") {
        return Ok(Output::Stdout);
    }
    check_folder(path)?;
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("jsonl" | "ndjson") => Ok(Output::Jsonl(path.to_owned())),
        Some("csv") => Ok(Output::Csv(path.to_owned())),
        _ => Err(Failure::usage(format!("unknown format of '{}'", path.display()))
            .hint("-o takes a file that ends in .jsonl or .csv, or - for JSONL on stdout; 'argiope export' has more formats")),
    }
}

/// Fails if the directory of an output file does not exist.
pub fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            let (file, folder) = (path.display(), folder.display());
            Err(Failure::usage(format!("cannot write '{file}': there is no directory '{folder}'"))
                .hint("make the directory first, or name another file"))
        }
    }
}
