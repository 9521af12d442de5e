//! The error of this crate. Writers return the `io::Error` of their output.

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("more than {} nodes", u32::MAX)]
    TooManyNodes,
}
