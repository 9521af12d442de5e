//! Exit codes: the four that scripts rely on, and how a [`Failure`] is printed.

use argiope_config::{Failure, FailureClass};
use std::io::{self, Write};

pub(crate) fn code(failure: &Failure) -> u8 {
    match failure.class {
        FailureClass::OutputClosed => 0,
        FailureClass::Failed => 1,
        FailureClass::Usage => 2,
        FailureClass::Interrupted => 130,
    }
}

/// Writes the messages, then the hint. An interruption is not labelled as an error.
pub(crate) fn print(failure: &Failure, to: &mut dyn Write) -> io::Result<()> {
    let label = if failure.class == FailureClass::Interrupted { "argiope: " } else { "argiope: error: " };
    for message in &failure.messages {
        writeln!(to, "{label}{message}")?;
    }
    if let Some(hint) = &failure.hint {
        writeln!(to, "hint: {hint}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(failure: &Failure) -> String {
        let mut out = Vec::new();
        print(failure, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_error_is_printed_with_its_next_step() {
        let failure = Failure::usage("no seed was given").hint("argiope crawl https://example.com");
        assert_eq!(
            printed(&failure),
            "argiope: error: no seed was given\nhint: argiope crawl https://example.com\n"
        );
        assert_eq!(code(&failure), 2);
    }

    #[test]
    fn an_interruption_is_not_called_an_error() {
        let failure = Failure::new(FailureClass::Interrupted, "stopped; 12 pages are stored")
            .hint("run the same command to resume");
        assert_eq!(
            printed(&failure),
            "argiope: stopped; 12 pages are stored\nhint: run the same command to resume\n"
        );
        assert_eq!(code(&failure), 130);
    }

    #[test]
    fn a_closed_output_is_silent_success() {
        let failure = Failure::output(&io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((printed(&failure).as_str(), code(&failure)), ("", 0));
        assert_eq!(code(&Failure::output(&io::Error::other("disk full"))), 1);
    }
}
