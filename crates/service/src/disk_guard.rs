//! Keeps the disk of a crawl from filling up: pauses requests in time, until there is room again.

use argiope_config::DiskLimits;
use argiope_engine::EngineHandle;
use argiope_model::display::bytes;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_secs(1);

pub struct DiskGuard {
    limits: DiskLimits,
    disk: PathBuf,
    is_on: bool,
    next_look: Instant,
}

impl DiskGuard {
    pub fn new(limits: DiskLimits, disk: &Path) -> DiskGuard {
        DiskGuard { limits, disk: disk.to_owned(), is_on: false, next_look: Instant::now() }
    }

    /// Pauses or resumes the crawl, checked once a second. `waiting` returns how many bytes wait for upload.
    pub fn keep(&mut self, engine: &EngineHandle, waiting: impl FnOnce() -> u64) {
        if Instant::now() >= self.next_look {
            self.next_look = Instant::now() + LOOK_EVERY;
            engine.hold(self.look(waiting()));
        }
    }

    /// Why no new requests may be sent now.
    fn look(&mut self, waiting: u64) -> Option<String> {
        let why = match free(&self.disk) {
            Ok(free) => reason(self.limits, free, waiting, self.is_on),
            Err(error) => {
                Some(format!("cannot determine the free space of {}: {error}", self.disk.display()))
            }
        };
        self.is_on = why.is_some();
        why
    }
}

/// Free bytes on a disk.
fn free(disk: &Path) -> rustix::io::Result<u64> {
    rustix::fs::statvfs(disk).map(|found| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Once it is paused, a quarter of a limit must become free, so that it does not change with every file.
fn reason(limits: DiskLimits, free: u64, waiting: u64, is_on: bool) -> Option<String> {
    let DiskLimits { reserve, backlog } = limits;
    if free < if is_on { reserve.saturating_add(reserve / 4) } else { reserve } {
        let (free, reserve) = (bytes(free), bytes(reserve));
        return Some(format!("{free} free on the disk, less than storage.disk_reserve ({reserve})"));
    }
    let backlog = backlog?;
    let most = if is_on { backlog - backlog / 4 } else { backlog };
    (waiting > most).then(|| {
        let (waiting, backlog) = (bytes(waiting), bytes(backlog));
        format!("{waiting} wait for upload, more than storage.upload_backlog ({backlog})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_on_at_a_limit_and_goes_off_some_way_from_it() {
        let limits = DiskLimits { reserve: 1000, backlog: Some(400) };
        let is_on = |free, waiting, was_on| reason(limits, free, waiting, was_on).is_some();
        for (free, waiting, before, after) in [
            (1000, 400, false, false),
            (999, 0, false, true),
            (1249, 0, true, true),
            (1250, 0, true, false),
            (9000, 401, false, true),
            (9000, 301, true, true),
            (9000, 300, true, false),
        ] {
            assert_eq!(is_on(free, waiting, before), after, "{free} {waiting} {before}");
        }
        let why = reason(limits, 9000, 401, false).unwrap();
        assert!(why.contains("storage.upload_backlog"), "{why}");
        let unlimited = DiskLimits { backlog: None, ..limits };
        assert_eq!(reason(unlimited, 1000, u64::MAX, false), None);
    }

    #[test]
    fn a_disk_that_cannot_be_asked_keeps_it_on() {
        let limits = DiskLimits { reserve: 0, backlog: None };
        let why = DiskGuard::new(limits, Path::new("/no/such/place")).look(0).unwrap();
        assert!(why.contains("/no/such/place"), "{why}");
        assert_eq!(DiskGuard::new(limits, Path::new("/")).look(u64::MAX), None);
    }
}
