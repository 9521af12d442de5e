//! What an operator is told.

use argiope_model::Millis;
use argiope_politeness::{Alert, Parked};

/// Something an operator wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Alert {
        host: Box<str>,
        alert: Alert,
    },
    Parked {
        host: Box<str>,
        parked: Parked,
    },
    RobotsUnreachable {
        host: Box<str>,
        until: Millis,
    },
    /// A message in the log of a shard cannot be read, and was passed over.
    DamagedMessage {
        shard: u16,
        offset: u64,
        why: Box<str>,
    },
}
