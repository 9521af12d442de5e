//! Errors in a job's rules. The user must correct them; retries never help.

use argiope_model::UrlError;

/// An invalid rule, with the list that contains it.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    #[error("{list}: '{pattern}' is not a valid regular expression: {source}")]
    Pattern { list: &'static str, pattern: String, source: Box<regex::Error> },
    #[error("{list}: the patterns are too large together: {source}")]
    Patterns { list: &'static str, source: Box<regex::Error> },
    #[error("{list}: '{entry}' is not a host or domain: {source}")]
    Domain { list: &'static str, entry: String, source: UrlError },
    #[error("{list}: '{entry}' is not a host or domain; write for example example.com or example.com:8080")]
    NotADomain { list: &'static str, entry: String },
    #[error("skip_extensions: '{entry}' is not a file extension; write for example jpg")]
    Extension { entry: String },
    #[error("{limit} is {given}, but at most {most} is possible")]
    Limit { limit: &'static str, given: u64, most: u64 },
}
