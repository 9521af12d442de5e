//! Errors of this crate: an invalid setting, or a stored host record that cannot be read.

/// Names the subject and the problem. Retrying does not help with any of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolitenessError {
    /// `subject` is the path of the key, as in `politeness.domain_overrides.example.com.windows`.
    #[error("{subject}: {problem}")]
    Setting { subject: String, problem: String },
    #[error("stored host record, byte {at}: {problem}")]
    Record { at: usize, problem: &'static str },
}

impl PolitenessError {
    pub(crate) fn setting(subject: impl Into<String>, problem: impl Into<String>) -> PolitenessError {
        PolitenessError::Setting { subject: subject.into(), problem: problem.into() }
    }

    pub fn is_retryable(&self) -> bool {
        match self {
            PolitenessError::Setting { .. } | PolitenessError::Record { .. } => false,
        }
    }
}
