//! Work and throughput of all members together.

use crate::database::{Cells, Result, Session};
use std::time::Instant;

/// All members together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterLoad {
    pub queued: u64,
    pub workers: u32,
    /// None before it was measured.
    pub pages_per_second: Option<f64>,
}

/// Measures the rate between two calls.
#[derive(Debug, Default)]
pub(super) struct LoadMeter {
    /// When, and how many pages all members together had stored.
    last: Option<(Instant, u64)>,
}

impl LoadMeter {
    pub(super) fn measure(&mut self, session: &mut Session) -> Result<ClusterLoad> {
        let row = session.query_one(
            "SELECT coalesce(sum(queued), 0)::bigint, coalesce(sum(pages), 0)::bigint, count(*)
             FROM members WHERE lease_until > clock_timestamp()",
            &[],
        )?;
        let mut cells = Cells::of(&row);
        let mut number = || cells.number().map_err(|error| session.error(error));
        let (queued, pages, workers) = (number()?, number()?, number()?);
        let pages_per_second = self.rate(Instant::now(), pages);
        Ok(ClusterLoad { queued, workers: u32::try_from(workers).unwrap_or(u32::MAX), pages_per_second })
    }

    /// None for the first measurement, and when a member left with its pages.
    fn rate(&mut self, at: Instant, pages: u64) -> Option<f64> {
        let last = self.last.replace((at, pages))?;
        let (then, before) = (last.0, last.1);
        let more = pages.checked_sub(before)?;
        Some(more as f64 / at.duration_since(then).as_secs_f64().max(0.001))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_rate_is_known_from_the_second_measurement_on_and_not_when_pages_leave_with_a_member() {
        let mut meter = LoadMeter::default();
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(meter.rate(start, 100), None);
        assert_eq!(meter.rate(after(5), 150), Some(10.0));
        assert_eq!(meter.rate(after(10), 60), None);
        assert_eq!(meter.rate(after(12), 80), Some(10.0));
    }
}
