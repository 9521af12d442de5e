//! What can be wrong with a job's rules. All of it is the user's to correct, so no retry ever makes sense.

use argiope_model::UrlError;

/// A rule that cannot be used, with the list it stands in.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    #[error("{list}: '{pattern}' is not a regular expression that can be used: {source}")]
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
