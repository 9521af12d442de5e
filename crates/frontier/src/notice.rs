//! Notices for the operator.

use argiope_model::Millis;
use argiope_politeness::{Alert, Parked};

/// An event that an operator should know about.
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
    /// A message in the log of a shard could not be read and was skipped.
    DamagedMessage {
        shard: u16,
        offset: u64,
        why: Box<str>,
    },
}
