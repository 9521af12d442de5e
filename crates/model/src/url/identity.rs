//! What all spellings of a URL have in common, in 32 bytes.

use sha2::{Digest, Sha256};
use std::fmt;

/// SHA-256 of a URL's normal form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub [u8; 32]);

impl Identity {
    pub(super) fn of(normal: &str) -> Identity {
        Identity(Sha256::digest(normal.as_bytes()).into())
    }

    pub fn hex(&self) -> String {
        self.0.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The short key: 16 hex digits.
    pub fn key(&self) -> String {
        self.0.iter().take(8).map(|b| format!("{b:02x}")).collect()
    }

    /// The short key as a number.
    pub fn key_u64(&self) -> u64 {
        self.0.iter().take(8).fold(0, |n, b| (n << 8) | u64::from(*b))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key())
    }
}
