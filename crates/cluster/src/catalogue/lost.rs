//! Marks pages in the catalogue whose content was lost with a worker's disk, or came back with it. A worker does it in
//! the background, because there may be many pages to search.

use super::file_locations::{FileCheck, FileLocations};
use argiope_store::error::{Result, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than the lease of a member that was killed. A member that still has one then is alive, and has the files.
const NAMESAKE_PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Pages that are searched at once, by number.
const NUMBERS: i64 = 100_000;

/// Dropping it ends the work; the next start continues.
pub struct LostMarks {
    stop: Arc<AtomicBool>,
    /// How often a worker of the same name was found alive.
    postponed: Arc<AtomicU32>,
    thread: Option<JoinHandle<()>>,
}

impl LostMarks {
    /// For the member `owner`: files that are missing on its disk may be on that of another worker of the same name.
    pub fn start(mut kept: FileLocations, checked: FileCheck, owner: &str) -> Result<LostMarks> {
        let owner = owner.to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let postponed = Arc::new(AtomicU32::new(0));
        let counts = Arc::clone(&postponed);
        let work = move || {
            let mut work = || {
                if checked.lost.is_empty() || is_alone(&mut kept, &owner, &stopped, &counts)? {
                    mark_all(&mut kept, &checked, &stopped)?;
                }
                Ok::<_, StoreError>(())
            };
            if let Err(error) = work() {
                tracing::warn!(%error, "cannot mark the pages of lost files; the next start tries again");
            }
        };
        let spawned = std::thread::Builder::new().name(String::from("lost-marks")).spawn(work);
        let thread = spawned.map_err(|error| StoreError::io("a thread", error))?;
        Ok(LostMarks { stop, postponed, thread: Some(thread) })
    }

    /// How often the work was postponed because a worker of the same name is alive.
    pub fn postponed(&self) -> u32 {
        self.postponed.load(Ordering::Acquire)
    }
}

impl Drop for LostMarks {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits until no other member has the worker's name. False if there still is one after a while, or it is to stop.
fn is_alone(kept: &mut FileLocations, owner: &str, stop: &AtomicBool, postponed: &AtomicU32) -> Result<bool> {
    let latest = Instant::now() + NAMESAKE_PATIENCE;
    while kept.has_namesake(owner)? {
        if stop.load(Ordering::Acquire) {
            return Ok(false);
        }
        if Instant::now() >= latest {
            tracing::error!("another running worker has the same name; give each worker its own --name");
            return Ok(false);
        }
        postponed.fetch_add(1, Ordering::AcqRel);
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

/// Marks until it is stopped. Returns how many pages were lost.
pub fn mark_all(kept: &mut FileLocations, checked: &FileCheck, stop: &AtomicBool) -> Result<u64> {
    mark(kept, &checked.found, false, stop)?;
    mark(kept, &checked.lost, true, stop)
}

/// Marks the pages first, so that a marked file has no unmarked page.
fn mark(kept: &mut FileLocations, files: &[String], lost: bool, stop: &AtomicBool) -> Result<u64> {
    let Some(first) = files.first() else { return Ok(0) };
    let (mut after, mut pages) = (0, 0);
    let end = kept.next_page()?;
    while after < end {
        if stop.load(Ordering::Acquire) {
            return Ok(pages);
        }
        pages += kept.mark_pages(files, lost, after, NUMBERS)?;
        after += NUMBERS;
    }
    kept.mark("archive", files, lost)?;
    let count = files.len();
    if lost {
        tracing::warn!(files = count, %first, pages, "archive files are lost, with the content of their pages");
    } else {
        tracing::info!(files = count, %first, pages, "lost archive files are available again");
    }
    Ok(pages)
}
