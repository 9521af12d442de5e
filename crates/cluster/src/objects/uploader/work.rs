//! Each step of the uploader: finish old files, upload one finished file, check that the store is reachable.

use super::files::FileUpload;
use super::{Figures, Source};
use crate::objects::{Objects, OnStored, UploadOptions};
use argiope_model::Millis;
use argiope_store::archive::Position;
use argiope_store::clock::now;
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::follower::{Follow, Step, Turn};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After a file that could not be finished.
const RETRY_ENDING: Duration = Duration::from_secs(30);
/// A file that fails for its own reason is retried after this time.
const SET_ASIDE: Duration = Duration::from_secs(600);
/// How often an unused store is checked.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Pages recorded at once.
const REPORTED_AT_ONCE: usize = 500;

pub(super) struct Uploading {
    sources: Arc<[Source]>,
    objects: Arc<dyn Objects>,
    options: UploadOptions,
    on_stored: OnStored,
    figures: Arc<Figures>,
    /// Files that failed, and when they are retried.
    set_aside: HashMap<Arc<str>, Instant>,
    /// When the store last responded.
    answered: Instant,
}

impl Uploading {
    pub(super) fn new(
        sources: Arc<[Source]>,
        objects: Arc<dyn Objects>,
        options: UploadOptions,
        on_stored: OnStored,
        figures: Arc<Figures>,
    ) -> Uploading {
        let (set_aside, answered) = (HashMap::new(), Instant::now());
        Uploading { sources, objects, options, on_stored, figures, set_aside, answered }
    }

    /// Finishes files that have been open for long, or all of them. Returns how long until the next one is old enough.
    fn end_old_files(&self, all: bool) -> Option<Duration> {
        let age = if all { Duration::ZERO } else { self.options.rotate_after };
        let now = now();
        // One millisecond more, for a file that was started in this very one.
        let begun_before = now.0.saturating_sub(millis(age)) + u64::from(all);
        let looks = self.sources.iter().map(|source| match source.spool.end_files(Millis(begun_before)) {
            Ok(oldest) => oldest.map(|begun| {
                let due = begun.0 + millis(self.options.rotate_after) + 1;
                Duration::from_millis(due.saturating_sub(now.0))
            }),
            Err(error) => {
                tracing::error!(%error, "cannot finish a file");
                Some(RETRY_ENDING)
            }
        });
        looks.flatten().min()
    }

    /// The oldest finished file that is not waiting for a retry.
    fn next_file(&mut self) -> Result<Option<(Source, Position)>> {
        self.set_aside.retain(|_, until| *until > Instant::now());
        let mut is_anything_left = false;
        for source in self.sources.iter() {
            for file in source.spool.finished()? {
                is_anything_left = true;
                if !self.set_aside.contains_key(&file.file) {
                    return Ok(Some((source.clone(), file)));
                }
            }
        }
        if !is_anything_left {
            self.figures.lock().trouble = None;
        }
        Ok(None)
    }

    /// Uploads a file, records it and deletes it here.
    fn upload(&mut self, source: &Source, file: &Position, turn: &Turn<'_>) -> Result<()> {
        let upload =
            FileUpload { objects: &*self.objects, layout: self.options.layout, stop: turn.stop_flag() };
        let stored = upload.run(source, file)?;
        self.answered = Instant::now();
        for some in stored.chunks(REPORTED_AT_ONCE) {
            (self.on_stored)(some)?;
        }
        source.spool.remove(&file.file)
    }

    fn try_upload(&mut self, source: &Source, file: &Position, turn: &Turn<'_>) -> Result<()> {
        match self.upload(source, file, turn) {
            Ok(()) => self.note_uploaded(file),
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => {
                tracing::error!(file = &*file.file, %error, "file not uploaded; it stays on this disk");
                let mut figures = self.figures.lock();
                (figures.trouble, figures.store_fails) = (Some(error.to_string()), true);
                self.set_aside.insert(file.file.clone(), Instant::now() + SET_ASIDE);
            }
        }
        Ok(())
    }

    /// Detects an outage before a file waits for the store.
    fn check_store(&mut self) -> Result<()> {
        if self.answered.elapsed() >= CHECK_EVERY {
            self.objects.check()?;
            self.note_answer();
        }
        Ok(())
    }

    /// A file that waits for a retry still counts as a problem.
    fn note_answer(&mut self) {
        self.answered = Instant::now();
        if self.set_aside.is_empty() {
            self.figures.lock().trouble = None;
        }
    }

    fn note_uploaded(&mut self, file: &Position) {
        self.note_answer();
        let mut figures = self.figures.lock();
        figures.uploaded_files += 1;
        figures.uploaded_bytes += file.length;
    }

    fn note_failure(&self, error: &StoreError, is_of_store: bool) {
        let mut figures = self.figures.lock();
        figures.store_fails = is_of_store;
        figures.trouble = Some(error.to_string());
    }

    fn advance(&mut self, turn: &Turn<'_>) -> Result<Step> {
        let next_end = self.end_old_files(turn.is_draining());
        if !turn.is_over()
            && let Some((source, file)) = self.next_file()?
        {
            self.try_upload(&source, &file, turn)?;
            return Ok(Step::More);
        }
        if !turn.is_draining() {
            self.check_store()?;
        }
        let next_check = (self.answered + CHECK_EVERY).saturating_duration_since(Instant::now());
        let look_within = next_end.map_or(next_check, |next_end| next_end.min(next_check));
        Ok(Step::CaughtUp { look_within: Some(look_within) })
    }
}

impl Follow for Uploading {
    fn step(&mut self, turn: &Turn<'_>) -> Result<Step> {
        let answered = self.answered;
        self.advance(turn).map_err(|error| {
            // The store has just accepted an object, so recording it failed.
            self.note_failure(&error, self.answered == answered);
            // Whatever is wrong, files wait until an operator has fixed it.
            StoreError { kind: ErrorKind::Unreachable, ..error }
        })
    }

    fn trouble(&self) -> Option<String> {
        self.figures.lock().trouble.clone()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
