//! The error that is shown to users: what went wrong, where, and what to do next. Every command and every operation of
//! the service returns a [`Failure`]; the program maps its class to an exit code.

use std::error::Error;
use std::fmt;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// It was attempted and did not work.
    Failed,
    /// The request itself is wrong: an option, a file or a value has to change first.
    Usage,
    /// Stopped by the user; the same command resumes.
    Interrupted,
    /// The reader of standard output has closed it. This is no error.
    OutputClosed,
}

/// An end other than success. `messages` says what was wrong and where, one problem each; `hint` says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub class: FailureClass,
    pub messages: Vec<String>,
    pub hint: Option<String>,
    /// The same may work later without any change: a server is unavailable or busy.
    pub may_pass: bool,
}

impl Failure {
    pub fn new(class: FailureClass, message: impl fmt::Display) -> Failure {
        Failure { class, messages: vec![message.to_string()], hint: None, may_pass: false }
    }

    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(FailureClass::Usage, message)
    }

    pub fn failed(message: impl fmt::Display) -> Failure {
        Failure::new(FailureClass::Failed, message)
    }

    /// Several problems found at once.
    pub fn usage_all<M: fmt::Display>(messages: impl IntoIterator<Item = M>) -> Failure {
        let messages = messages.into_iter().map(|m| m.to_string()).collect();
        Failure { messages, ..Failure::without_message(FailureClass::Usage) }
    }

    /// Stopped by a signal; everything has been reported already.
    pub fn silent_interrupt() -> Failure {
        Failure::without_message(FailureClass::Interrupted)
    }

    /// A failure that has been reported on standard output already.
    pub fn silent() -> Failure {
        Failure::without_message(FailureClass::Failed)
    }

    fn without_message(class: FailureClass) -> Failure {
        Failure { class, messages: Vec::new(), hint: None, may_pass: false }
    }

    /// Sets [`Failure::may_pass`].
    pub fn passing(mut self, may_pass: bool) -> Failure {
        self.may_pass = may_pass;
        self
    }

    pub fn hint(mut self, hint: impl fmt::Display) -> Failure {
        self.hint = Some(hint.to_string());
        self
    }

    /// Standard output could not be written.
    pub fn output(error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::without_message(FailureClass::OutputClosed);
        }
        Failure::failed(format!("cannot write the output: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages.join("; "))
    }
}

impl Error for Failure {}

/// An error and its causes in one line, each cause once.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        // An outer layer often repeats the inner text behind its own prefix: compare the last part.
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

    /// An error with additional text before that of its cause.
    #[derive(Debug)]
    struct Layer(&'static str, io::Error);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.1)
        }
    }

    #[test]
    fn a_closed_output_is_no_error() {
        let failure = Failure::output(&io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((failure.class, failure.messages), (FailureClass::OutputClosed, Vec::new()));
        assert_eq!(Failure::output(&io::Error::other("disk full")).class, FailureClass::Failed);
    }

    #[test]
    fn causes_are_joined_and_not_repeated() {
        let error = Layer("requesting http://a.test/", io::Error::other("connection refused"));
        assert_eq!(chain(&error), "requesting http://a.test/: connection refused");
        let inner = io::Error::other("db error: FATAL: the database system is shutting down");
        let error = Layer("not available now: the database system is shutting down", inner);
        assert_eq!(chain(&error), "not available now: the database system is shutting down");
    }
}
