//! What the threads of a member share.

use super::clock::LeaseClock;
use super::epochs::Epochs;
use super::jobs::KnownJobs;
use super::leases::Figures;
use super::load::ClusterLoad;
use super::reader::Reading;
use crate::redis::ShardNotifier;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Half a second, see [`super::Members::check_lease`].
const OVERDUE_CHECKS: u32 = 5;
const UNREACHABLE: &str = "PostgreSQL is unreachable; no new requests until it responds";

pub(super) struct Shared {
    readings: Mutex<BTreeMap<u16, Reading>>,
    pub(super) jobs: Mutex<KnownJobs>,
    woken: Mutex<bool>,
    wake: Condvar,
    closed: AtomicBool,
    pub(super) dead: AtomicBool,
    /// Others took shards of this member, and it has taken none since.
    pub(super) lost_shards: AtomicBool,
    /// Notifications arrive: inboxes need not be polled.
    pub(super) is_notified: AtomicBool,
    pub(super) notifier: Option<Arc<ShardNotifier>>,
    pub(super) figures: Mutex<Figures>,
    pub(super) load: Mutex<ClusterLoad>,
    unreachable: AtomicBool,
    /// Consecutive checks that found the renewal of the lease overdue.
    overdue: AtomicU32,
    pub(super) lease: Arc<LeaseClock>,
    pub(super) epochs: Arc<Epochs>,
}

impl Shared {
    pub(super) fn new(
        lease: Arc<LeaseClock>,
        epochs: Arc<Epochs>,
        notifier: Option<Arc<ShardNotifier>>,
    ) -> Shared {
        Shared {
            readings: Mutex::default(),
            jobs: Mutex::default(),
            woken: Mutex::default(),
            wake: Condvar::new(),
            closed: AtomicBool::new(false),
            dead: AtomicBool::new(false),
            lost_shards: AtomicBool::new(false),
            is_notified: AtomicBool::new(false),
            notifier,
            figures: Mutex::default(),
            load: Mutex::default(),
            unreachable: AtomicBool::new(false),
            overdue: AtomicU32::new(0),
            lease,
            epochs,
        }
    }

    pub(super) fn readings(&self) -> MutexGuard<'_, BTreeMap<u16, Reading>> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shards of this member.
    pub(super) fn owned(&self) -> Vec<u16> {
        self.readings().keys().copied().collect()
    }

    /// Listens for notifications of exactly the shards that are owned.
    pub(super) fn update_notifier(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.listen_to(self.owned());
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(super) fn wake_reader(&self) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }

    pub(super) fn wait_for_wake(&self, most: Duration) {
        let woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.wake.wait_timeout_while(woken, most, |woken| !*woken);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }

    pub(super) fn is_database_reachable(&self) -> bool {
        !self.unreachable.load(Ordering::Acquire)
    }

    /// Logs an outage once.
    pub(super) fn database_failed(&self, error: &dyn std::fmt::Display) {
        if !self.unreachable.swap(true, Ordering::AcqRel) {
            tracing::warn!(%error, "{UNREACHABLE}");
        }
    }

    /// A renewal that is still overdue keeps the outage open.
    pub(super) fn database_responded(&self) {
        if !self.lease.is_overdue() && self.unreachable.swap(false, Ordering::AcqRel) {
            tracing::warn!("PostgreSQL is reachable again");
        }
    }

    /// See [`super::Members::check_lease`].
    pub(super) fn check_lease(&self) {
        if !self.lease.is_overdue() || self.is_closed() {
            self.overdue.store(0, Ordering::Release);
        // A process that was suspended and resumed is overdue until it has renewed.
        } else if self.overdue.fetch_add(1, Ordering::AcqRel) >= OVERDUE_CHECKS {
            self.database_failed(&"the renewal of the lease is overdue");
        }
    }
}
