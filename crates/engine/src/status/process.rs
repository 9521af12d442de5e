//! CPU time and memory of this process.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessFigures {
    /// Of one core, over the last second or so.
    pub cpu_percent: f64,
    /// Resident. 0 where the system does not report it.
    pub memory_bytes: u64,
}

/// How often the system is queried.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct ProcessMeter {
    measured_at: Instant,
    used: Duration,
    figures: ProcessFigures,
}

impl Default for ProcessMeter {
    fn default() -> ProcessMeter {
        let figures = ProcessFigures { cpu_percent: 0.0, memory_bytes: resident_bytes() };
        ProcessMeter { measured_at: Instant::now(), used: cpu_time(), figures }
    }
}

impl ProcessMeter {
    pub(crate) fn figures(&mut self) -> ProcessFigures {
        let elapsed = self.measured_at.elapsed();
        if elapsed >= EVERY {
            let used = cpu_time();
            self.figures = ProcessFigures {
                cpu_percent: 100.0 * used.saturating_sub(self.used).as_secs_f64() / elapsed.as_secs_f64(),
                memory_bytes: resident_bytes(),
            };
            self.measured_at += elapsed;
            self.used = used;
        }
        self.figures
    }
}

fn cpu_time() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(used.tv_sec).unwrap_or(0), u32::try_from(used.tv_nsec).unwrap_or(0))
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: Option<u64> = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_time_and_memory() {
        assert!(cpu_time() > Duration::ZERO);
        assert!(!cfg!(target_os = "linux") || resident_bytes() > 100_000);
    }
}
