//! The politeness of a host, once there is any: most hosts of a large frontier have never been asked, and a word is all
//! that they take here.

use argiope_model::Millis;
use argiope_politeness::HostState;
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;
use std::time::Duration;

/// Of a host that nothing is known of.
static UNASKED: LazyLock<HostState> = LazyLock::new(HostState::default);

#[derive(Debug, Default)]
pub(crate) struct Manners(Option<Box<Known>>);

#[derive(Debug, Default)]
struct Known {
    state: HostState,
    /// What `Retry-After` asked for: a wait that ends no later is no delay.
    asked_until: Millis,
    /// What a former process left it waiting for, and only that process knew why.
    found_waiting_until: Millis,
}

impl Manners {
    /// Whether a wait until then is one that the host asked for.
    pub(crate) fn is_asked_for(&self, until: Millis) -> bool {
        self.0.as_ref().is_some_and(|known| until <= known.asked_until)
    }

    pub(crate) fn note_retry_after(&mut self, until: Millis) {
        let known = self.0.get_or_insert_default();
        known.asked_until = known.asked_until.max(until);
    }

    /// Whether anything is known of the host.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// A delay that is shorter by new settings shortens the wait for it, and no other wait.
    pub(crate) fn change_delay(&mut self, delay: Duration) {
        if let Some(known) = &mut self.0 {
            known.state.change_delay(delay, known.asked_until.max(known.found_waiting_until));
        }
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
        let found_waiting_until = state.next_allowed();
        Manners(Some(Box::new(Known { state, asked_until: Millis(0), found_waiting_until })))
    }
}
