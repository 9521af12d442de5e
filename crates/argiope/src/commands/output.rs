//! Where results go: to stdout, or to a file that is there whole or not at all.

use argiope_config::{Failure, check_folder};
use argiope_service::directory;
use argiope_store::error::{Result as Stored, StoreError};
use argiope_store::export::write_atomically;
use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Results go to stdout, even with `-q`.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::output(&e))
}

pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|e| Failure::failed(e.to_string()))?;
    print(&format!("{text}\n"))
}

pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A regular file is there whole or not at all; a pipe or a device is written as it goes.
pub(crate) fn write_to<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Stored<T>,
) -> Result<T, Failure> {
    let is_special = path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    if is_stdout(path) {
        let mut to = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        return write(&mut to).and_then(|value| flushed(value, &mut to)).map_err(|e| output_failure(&e));
    }
    if is_special {
        let opened = OpenOptions::new().write(true).open(path);
        let mut to = BufWriter::new(
            opened.map_err(|e| Failure::failed(format!("cannot write {}: {e}", path.display())))?,
        );
        return write(&mut to).and_then(|value| flushed(value, &mut to)).map_err(|e| output_failure(&e));
    }
    check_folder(path)?;
    write_atomically(path, write).map_err(|e| directory::store_failure(&e))
}

fn flushed<T>(value: T, to: &mut impl Write) -> Stored<T> {
    to.flush().map_err(|error| StoreError::io("output", error))?;
    Ok(value)
}

/// A reader that has closed its end is ignored.
fn output_failure(error: &StoreError) -> Failure {
    let source = error.source.as_deref().and_then(|source| source.downcast_ref::<std::io::Error>());
    match source {
        Some(io) => Failure::output(io),
        None => directory::store_failure(error),
    }
}
