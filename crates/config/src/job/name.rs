//! Which names a job may have.

const MAX_NAME: usize = 200;

/// Why a text cannot be the name of a job. Jobs are addressed by name or number, and names are shown in one line.
pub fn name_problem(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("it is empty")
    } else if name.chars().any(char::is_control) {
        Some("it contains control characters")
    } else if name.chars().count() > MAX_NAME {
        Some("it is longer than 200 characters")
    } else if name.chars().all(|c| c.is_ascii_digit()) {
        Some("digits alone would be read as a job's number")
    } else {
        None
    }
}
