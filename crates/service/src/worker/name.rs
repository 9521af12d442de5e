//! What a worker is called.

use argiope_config::Failure;

/// Names go into file names and are shown in tables.
pub(super) fn checked_name(name: &str) -> Result<String, Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 100 || !name.chars().all(fits) {
        return Err(Failure::usage(format!("'{}' cannot be the name of a worker", name.escape_debug()))
            .hint("letters, digits, '-', '_' and '.', up to 100"));
    }
    Ok(name.to_owned())
}

/// For a worker that was given no name: its host and process.
pub(super) fn own_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String =
        host.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(60).collect();
    let host = if host.is_empty() { String::from("worker") } else { host };
    format!("{host}-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_into_file_names_and_tables() {
        for name in ["a", "worker-1", "host_2.zone", &"w".repeat(100)] {
            assert_eq!(checked_name(name).unwrap(), name);
        }
        for name in ["", "a b", "a/b", "w\u{f6}rker", &"w".repeat(101)] {
            assert!(checked_name(name).is_err(), "{name}");
        }
        assert!(checked_name(&own_name()).is_ok());
    }
}
