//! Commands as a user would type them, for hints.

use std::path::Path;

/// With the data directory, unless it is the default.
pub fn command(data: &Path, rest: &str) -> String {
    if data == Path::new("./argiope-data") {
        format!("argiope {rest}")
    } else {
        format!("argiope --data {} {rest}", shell_word(&data.display().to_string()))
    }
}

/// Quoted for a shell if needed.
pub fn shell_word(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
