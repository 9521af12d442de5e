//! Events of the cluster on their way to the engine and to the members.

use argiope_cluster::members::Members;
use argiope_cluster::redis::NotifierEvent;
use argiope_engine::EngineHandle;
use argiope_frontier::member::MemberEvent;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Forwards events to the engine and to the members. Events that arrive before these exist are kept for them.
#[derive(Default)]
pub(super) struct EventRelay {
    events: Mutex<(Option<EngineHandle>, Vec<MemberEvent>)>,
    members: Mutex<(Weak<Members>, bool)>,
}

impl EventRelay {
    pub(super) fn forward(&self, events: Vec<MemberEvent>) {
        let mut waiting = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        match &waiting.0 {
            Some(engine) => engine.send_member_events(events),
            None => waiting.1.extend(events),
        }
    }

    pub(super) fn follow(&self, members: &Arc<Members>) {
        let mut following = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        following.0 = Arc::downgrade(members);
        // The notifier may have connected before the members existed.
        if following.1 {
            members.on_notifier_event(&NotifierEvent::Connected);
        }
    }

    pub(super) fn on_notifier_event(&self, event: &NotifierEvent) {
        let mut following = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        following.1 = !matches!(event, NotifierEvent::Disconnected);
        if let Some(members) = following.0.upgrade() {
            members.on_notifier_event(event);
        }
    }

    pub(super) fn connect(&self, engine: &EngineHandle) {
        let mut waiting = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        engine.send_member_events(std::mem::take(&mut waiting.1));
        waiting.0 = Some(engine.clone());
    }
}
