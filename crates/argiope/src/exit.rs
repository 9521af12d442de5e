//! How the program ends: the four exit codes scripts rely on, and the error that carries one of them together with
//! what was wrong and what to do next. Every command returns a [`Failure`] or nothing; `main` prints it.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It was tried and did not work.
    Failed,
    /// It was asked for in a way that cannot be tried.
    Usage,
    /// Stopped by the user; the same command goes on.
    Interrupted,
    /// The reader of our output went away: nothing is wrong and nothing is left to say.
    OutputClosed,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Exit::OutputClosed => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Interrupted => 130,
        }
    }
}

/// An end that is not success. `messages` says what was wrong and where, one problem each; `hint` what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) messages: Vec<String>,
    pub(crate) hint: Option<String>,
    /// The same may work in a while, without anyone's help: a server is away or busy.
    pub(crate) may_pass: bool,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Failure {
        Failure { exit, messages: vec![message.to_string()], hint: None, may_pass: false }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    pub(crate) fn failed(message: impl fmt::Display) -> Failure {
        Failure::new(Exit::Failed, message)
    }

    /// Several problems found in one go.
    pub(crate) fn usage_all<M: fmt::Display>(messages: impl IntoIterator<Item = M>) -> Failure {
        let messages = messages.into_iter().map(|m| m.to_string()).collect();
        Failure { exit: Exit::Usage, messages, hint: None, may_pass: false }
    }

    /// A stop by signal, where everything has been said already.
    pub(crate) fn silent_interrupt() -> Failure {
        Failure { exit: Exit::Interrupted, messages: Vec::new(), hint: None, may_pass: false }
    }

    /// A failure that has been said on stdout already.
    pub(crate) fn silent() -> Failure {
        Failure { exit: Exit::Failed, messages: Vec::new(), hint: None, may_pass: false }
    }

    /// See [`Failure::may_pass`].
    pub(crate) fn passing(mut self, may_pass: bool) -> Failure {
        self.may_pass = may_pass;
        self
    }

    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Failure {
        self.hint = Some(hint.to_string());
        self
    }

    /// What could not be written to standard output.
    pub(crate) fn output(error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure { exit: Exit::OutputClosed, messages: Vec::new(), hint: None, may_pass: false };
        }
        Failure::failed(format!("cannot write the output: {error}"))
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit.code())
    }

    /// Writes the messages, then the hint. An interruption is no error and is not called one.
    pub(crate) fn print(&self, to: &mut dyn Write) -> io::Result<()> {
        let label = if self.exit == Exit::Interrupted { "argiope: " } else { "argiope: error: " };
        for message in &self.messages {
            writeln!(to, "{label}{message}")?;
        }
        if let Some(hint) = &self.hint {
            writeln!(to, "hint: {hint}")?;
        }
        Ok(())
    }
}

impl From<anyhow::Error> for Failure {
    /// An error from a room of the crawler: its chain of causes is one line.
    fn from(error: anyhow::Error) -> Failure {
        Failure::failed(chain(error.as_ref()))
    }
}

/// An error and its causes, each said once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        // Layers put words of their own before those of the one below: what comes last tells them apart.
        let last = inner_text.rsplit(": ").next().unwrap_or(&inner_text);
        if !text.contains(last) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(failure: &Failure) -> String {
        let mut out = Vec::new();
        failure.print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_error_is_printed_with_its_next_step() {
        let failure = Failure::usage("no seed was given").hint("argiope crawl https://example.com");
        assert_eq!(
            printed(&failure),
            "argiope: error: no seed was given\nhint: argiope crawl https://example.com\n"
        );
        assert_eq!(failure.exit.code(), 2);
    }

    #[test]
    fn an_interruption_is_not_called_an_error() {
        let failure = Failure::new(Exit::Interrupted, "stopped; 12 pages are stored")
            .hint("run the same command to go on");
        assert_eq!(
            printed(&failure),
            "argiope: stopped; 12 pages are stored\nhint: run the same command to go on\n"
        );
        assert_eq!(failure.exit.code(), 130);
    }

    #[test]
    fn a_closed_output_is_silent_success() {
        let failure = Failure::output(&io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((printed(&failure).as_str(), failure.exit.code()), ("", 0));
        assert_eq!(Failure::output(&io::Error::other("disk full")).exit.code(), 1);
    }

    #[test]
    fn causes_are_joined_and_not_repeated() {
        let inner = io::Error::other("connection refused");
        let error = anyhow::Error::new(inner).context("asking http://a.test/");
        assert_eq!(Failure::from(error).messages, ["asking http://a.test/: connection refused"]);
        let inner = io::Error::other("db error: FATAL: the database system is shutting down");
        let error =
            anyhow::Error::new(inner).context("not available now: the database system is shutting down");
        assert_eq!(
            Failure::from(error).messages,
            ["not available now: the database system is shutting down"]
        );
    }
}
