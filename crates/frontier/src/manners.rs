//! The politeness of a host, once there is any: most hosts of a large frontier have never been asked, and a word is all
//! that they take here.

use argiope_model::Millis;
use argiope_politeness::HostState;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

/// Of a host that nothing is known of.
static UNASKED: LazyLock<HostState> = LazyLock::new(HostState::default);

#[derive(Debug, Default)]
pub(crate) struct Manners(Option<Box<Known>>);

#[derive(Debug, Default)]
struct Known {
    state: HostState,
    /// What the last `Retry-After` asked for: a wait that ends no later is no delay.
    asked_until: Millis,
}

impl Manners {
    /// Whether a wait until then is one that the host asked for.
    pub(crate) fn is_asked_for(&self, until: Millis) -> bool {
        self.0.as_ref().is_some_and(|known| until <= known.asked_until)
    }

    pub(crate) fn note_retry_after(&mut self, until: Millis) {
        self.0.get_or_insert_default().asked_until = until;
    }
}

impl Deref for Manners {
    type Target = HostState;

    fn deref(&self) -> &HostState {
        self.0.as_deref().map_or(&UNASKED, |known| &known.state)
    }
}

impl DerefMut for Manners {
    fn deref_mut(&mut self) -> &mut HostState {
        &mut self.0.get_or_insert_default().state
    }
}

impl From<HostState> for Manners {
    fn from(state: HostState) -> Manners {
        Manners(Some(Box::new(Known { state, asked_until: Millis(0) })))
    }
}
