//! The one error of this room. Writers give back the `io::Error` of what they write to.

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("more than {} nodes", u32::MAX)]
    TooManyNodes,
}
