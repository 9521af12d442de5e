//! The politeness of a host, once there is any: most hosts of a large frontier have never been asked, and a word is all
//! that they take here.

use argiope_politeness::HostState;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// Of a host that nothing is known of.
static UNASKED: LazyLock<HostState> = LazyLock::new(HostState::default);

#[derive(Debug, Default)]
pub(crate) struct Manners(Option<Box<HostState>>);

impl Manners {
    /// Whether anything is known of the host.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_some()
    }
}

impl Deref for Manners {
    type Target = HostState;

    fn deref(&self) -> &HostState {
        self.0.as_deref().unwrap_or(&UNASKED)
    }
}

impl DerefMut for Manners {
    fn deref_mut(&mut self) -> &mut HostState {
        self.0.get_or_insert_default()
    }
}

impl From<HostState> for Manners {
    fn from(state: HostState) -> Manners {
        Manners(Some(Box::new(state)))
    }
}
