//! Computes how many workers a cluster should have. Pure: the caller measures the inputs; the result is shown to
//! whatever starts and stops machines.

/// The time in which the queue should be worked off.
pub const HORIZON_SECONDS: f64 = 3600.0;

/// `workers.pod_count_min` and `workers.pod_count_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub least: u32,
    pub most: u32,
}

/// The work of the cluster, and its throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// URLs that wait, over all shards.
    pub queued: u64,
    /// Over all workers; `None` before anything was measured.
    pub pages_per_second: Option<f64>,
    /// Current members of the cluster.
    pub workers: u32,
    /// A worker without a shard has nothing to do.
    pub shards: u32,
}

/// The number of workers that would work off the queue in an hour at the current throughput per worker. It differs from
/// the present number by at most a fifth of that, plus one. The configured bounds take precedence: workers missing
/// below the minimum are wanted at once.
pub fn workers_desired(load: &Load, bounds: Bounds) -> u32 {
    let most = bounds.most.min(load.shards).max(bounds.least);
    let present = load.workers.clamp(bounds.least, most);
    let step = present / 5 + 1;
    needed(load)
        .unwrap_or(present)
        .clamp(present.saturating_sub(step), present.saturating_add(step))
        .clamp(bounds.least, most)
}

/// Without steps and bounds. `None` if the throughput is zero although there is work.
fn needed(load: &Load) -> Option<u32> {
    if load.queued == 0 {
        return Some(0);
    }
    let pages_per_second = load.pages_per_second.filter(|rate| rate.is_finite() && *rate > 0.0)?;
    let of_one = pages_per_second / f64::from(load.workers.max(1));
    // A float that is too large becomes the largest number.
    Some((load.queued as f64 / HORIZON_SECONDS / of_one).ceil() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const USUAL: Bounds = Bounds { least: 10, most: 200 };

    fn load(queued: u64, pages_per_second: f64, workers: u32) -> Load {
        Load { queued, pages_per_second: Some(pages_per_second), workers, shards: 1024 }
    }

    #[test]
    fn the_queue_is_worked_off_in_an_hour() {
        // 20 workers with 2 pages a second each: 7,200 an hour and worker.
        for (queued, workers) in [(7_200 * 20, 20), (7_200 * 20 + 1, 21), (7_200 * 18, 18), (7_200 * 22, 22)]
        {
            assert_eq!(workers_desired(&load(queued, 40.0, 20), USUAL), workers, "{queued}");
        }
    }

    #[test]
    fn a_step_is_a_fifth_and_one() {
        for (workers, up, down) in [(10, 13, 10), (50, 61, 39), (100, 121, 79), (180, 200, 143)] {
            assert_eq!(workers_desired(&load(u64::MAX, 1.0, workers), USUAL), up);
            assert_eq!(workers_desired(&load(1, 1_000.0, workers), USUAL), down);
        }
    }

    #[test]
    fn an_empty_queue_needs_the_least_whether_or_not_anything_was_measured() {
        for pages_per_second in [None, Some(0.0), Some(f64::NAN), Some(500.0)] {
            let mut load = Load { queued: 0, pages_per_second, workers: 40, shards: 64 };
            let mut steps = 0;
            while load.workers > 10 {
                load.workers = workers_desired(&load, USUAL);
                steps += 1;
                assert!(steps < 20, "{load:?}");
            }
            assert_eq!(workers_desired(&load, USUAL), 10);
        }
    }

    #[test]
    fn without_a_measured_throughput_nothing_changes() {
        for pages_per_second in [None, Some(0.0), Some(-1.0), Some(f64::NAN), Some(f64::INFINITY)] {
            let load = Load { queued: 1_000_000, pages_per_second, workers: 40, shards: 64 };
            assert_eq!(workers_desired(&load, USUAL), 40);
        }
    }

    #[test]
    fn workers_that_died_are_replaced_at_once() {
        assert_eq!(workers_desired(&load(1_000_000, 5.0, 2), USUAL), 13);
        assert_eq!(workers_desired(&load(0, 5.0, 0), USUAL), 10);
    }

    #[test]
    fn there_are_no_more_workers_than_shards_unless_the_least_is_more() {
        let busy = Load { shards: 64, ..load(u64::MAX, 1.0, 63) };
        assert_eq!(workers_desired(&busy, USUAL), 64);
        assert_eq!(workers_desired(&Load { shards: 4, ..busy }, USUAL), 10);
    }

    fn loads() -> impl Strategy<Value = Load> {
        let rate = prop_oneof![Just(None), any::<f64>().prop_map(Some), (0.0..10_000.0).prop_map(Some),];
        let queued = prop_oneof![any::<u64>(), 0u64..10_000_000];
        (queued, rate, prop_oneof![0u32..400, any::<u32>()], 1u32..2_000).prop_map(
            |(queued, pages_per_second, workers, shards)| Load { queued, pages_per_second, workers, shards },
        )
    }

    fn bounds() -> impl Strategy<Value = Bounds> {
        (0u32..300, 0u32..300).prop_map(|(least, more)| Bounds { least, most: least + more })
    }

    proptest! {
        #[test]
        fn the_bounds_hold_whatever_was_measured(load in loads(), bounds in bounds()) {
            let workers = workers_desired(&load, bounds);
            prop_assert!(workers >= bounds.least && workers <= bounds.most);
            prop_assert!(workers <= load.shards.max(bounds.least));
        }

        #[test]
        fn no_step_is_longer_than_a_fifth_and_one(load in loads(), bounds in bounds()) {
            let present = load.workers.clamp(bounds.least, bounds.most.min(load.shards).max(bounds.least));
            let change = workers_desired(&load, bounds).abs_diff(present);
            prop_assert!(change <= present / 5 + 1);
        }

        #[test]
        fn a_longer_queue_never_wants_fewer(load in loads(), more in 0u64..1_000_000_000) {
            let longer = Load { queued: load.queued.saturating_add(more), ..load };
            prop_assume!(load.pages_per_second.is_some_and(|rate| rate.is_finite() && rate > 0.0));
            prop_assert!(workers_desired(&longer, USUAL) >= workers_desired(&load, USUAL));
        }

        /// With equal workers and a constant queue, the number settles where an hour is enough.
        #[test]
        fn steps_lead_to_as_many_as_are_needed(
            queued in 0u64..100_000_000, of_one in 0.1..100.0f64, from in 0u32..400,
        ) {
            let load = |workers: u32| load(queued, of_one * f64::from(workers), workers);
            let mut workers = from.max(1);
            for _ in 0..60 {
                workers = workers_desired(&load(workers), USUAL);
            }
            let enough = (queued as f64 / HORIZON_SECONDS / of_one).ceil().clamp(10.0, 200.0);
            // The division is not exact.
            prop_assert!((f64::from(workers) - enough).abs() <= 1.0, "{} for {}", workers, enough);
        }
    }
}
