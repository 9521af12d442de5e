//! Pages whose content went with the disk of a worker, or came back with it, are marked in the catalogue. A worker does it
//! in the background, for there may be many to look through.

use super::file_locations::{FileCheck, FileLocations};
use argiope_store::error::{Result, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than the lease of a member that was killed. Whoever is still here then is alive, and has the files.
const NAMESAKE_PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Numbers of pages that are looked through at once.
const NUMBERS: i64 = 100_000;

/// Ends with this; what it has not done is done after the next start.
pub struct LostMarks {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LostMarks {
    /// For the member `owner`: what is missing on its disk may be on that of another worker of the same name.
    pub fn start(mut kept: FileLocations, checked: FileCheck, owner: &str) -> Result<LostMarks> {
        let owner = owner.to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut work = || {
                if checked.lost.is_empty() || is_alone(&mut kept, &owner, &stopped)? {
                    mark_all(&mut kept, &checked, &stopped)?;
                }
                Ok::<_, StoreError>(())
            };
            if let Err(error) = work() {
                tracing::warn!(%error, "pages of lost files are not marked; the next start tries again");
            }
        };
        let spawned = std::thread::Builder::new().name(String::from("lost-marks")).spawn(work);
        let thread = spawned.map_err(|error| StoreError::io("a thread", error))?;
        Ok(LostMarks { stop, thread: Some(thread) })
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

fn is_alone(kept: &mut FileLocations, owner: &str, stop: &AtomicBool) -> Result<bool> {
    let latest = Instant::now() + NAMESAKE_PATIENCE;
    while kept.has_namesake(owner)? {
        if stop.load(Ordering::Acquire) {
            return Ok(false);
        }
        if Instant::now() >= latest {
            tracing::error!("another worker has this one's name, and files: give each a --name of its own");
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

/// Until it is told to stop. Gives how many pages were lost.
pub fn mark_all(kept: &mut FileLocations, checked: &FileCheck, stop: &AtomicBool) -> Result<u64> {
    mark(kept, &checked.found, false, stop)?;
    mark(kept, &checked.lost, true, stop)
}

/// The files last: a file that is marked has no page that is not.
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
        tracing::warn!(files = count, %first, pages, "archive files are gone: the content of their pages is lost");
    } else {
        tracing::info!(files = count, %first, pages, "archive files that were lost are back");
    }
    Ok(pages)
}
