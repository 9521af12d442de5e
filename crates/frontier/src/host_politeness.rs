//! The politeness state of a host, once it has any. Most hosts of a large frontier have never been requested and take
//! one machine word here.

use argiope_politeness::HostState;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// The state of a host that has never been requested.
static UNREQUESTED: LazyLock<HostState> = LazyLock::new(HostState::default);

#[derive(Debug, Default)]
pub(crate) struct HostPoliteness(Option<Box<HostState>>);

impl HostPoliteness {
    /// Whether the host has any state.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_some()
    }
}

impl Deref for HostPoliteness {
    type Target = HostState;

    fn deref(&self) -> &HostState {
        self.0.as_deref().unwrap_or(&UNREQUESTED)
    }
}

impl DerefMut for HostPoliteness {
    fn deref_mut(&mut self) -> &mut HostState {
        self.0.get_or_insert_default()
    }
}

impl From<HostState> for HostPoliteness {
    fn from(state: HostState) -> HostPoliteness {
        HostPoliteness(Some(Box::new(state)))
    }
}
