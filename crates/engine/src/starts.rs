//! Requests to one host that may overlap: their starts are a delay apart, whatever the workers' threads do meanwhile. The
//! frontier counts from when it hands a request out; a worker that was busy begins it later, and the next one would
//! follow too soon.

use argiope_frontier::HostIndex;
use argiope_model::Millis;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Above this many hosts, those whose delay is over are forgotten.
const KEPT: usize = 4096;

/// Shared by all workers; asked for hosts with a delay and more than one request at a time only.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    /// Before which time the next request to a host must not start.
    next: Mutex<HashMap<HostIndex, Millis>>,
}

impl Starts {
    /// Takes the start for a request that begins right now, or says when to ask again.
    pub(crate) fn begin(&self, host: HostIndex, delay: Duration, now: Millis) -> Result<(), Millis> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        match next.get(&host) {
            Some(due) if *due > now => return Err(*due),
            _ => {}
        }
        if next.len() >= KEPT {
            next.retain(|_, due| *due > now);
        }
        next.insert(host, now + delay);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_a_delay_apart_however_late_the_first_one_was() {
        let starts = Starts::default();
        let delay = Duration::from_millis(10);
        assert_eq!(starts.begin(1, delay, Millis(107)), Ok(()));
        assert_eq!(starts.begin(1, delay, Millis(110)), Err(Millis(117)));
        assert_eq!(starts.begin(2, delay, Millis(110)), Ok(()));
        assert_eq!(starts.begin(1, delay, Millis(117)), Ok(()));
    }

    #[test]
    fn hosts_whose_delay_is_over_are_forgotten() {
        let starts = Starts::default();
        for host in 0..10_000 {
            assert_eq!(starts.begin(host, Duration::from_millis(1), Millis(u64::from(host) * 10)), Ok(()));
        }
        assert!(starts.next.lock().unwrap().len() <= KEPT);
    }
}
