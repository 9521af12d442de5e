//! Takes finished files of a spool to the store, on a thread of its own: upload, make sure, report, delete. Each step may
//! be repeated, so a crash or an outage between any two does no harm.

use super::reader::file_key;
use super::{Facts, Layout, Objects, OnStored, Spools, Stored, UploadOptions, UploadStatus, pages};
use argiope_model::Millis;
use argiope_store::archive::{ArchiveSpool, Position};
use argiope_store::clock::now;
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::spool::Spool;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A file that cannot be uploaded for a reason of its own is looked at again after this.
const SET_ASIDE: Duration = Duration::from_secs(600);
/// A store that is not used is asked this often whether it is there.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// Pages reported at once.
const REPORTED_AT_ONCE: usize = 500;
const SHA256: &str = "sha256";

pub struct Uploader {
    shared: Arc<Shared>,
    sources: Vec<Source>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Files of a kind.
#[derive(Clone)]
struct Source {
    spool: Arc<dyn Spool>,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Archive(Arc<dyn ArchiveSpool>),
    /// Of this worker.
    Links(String),
}

impl Spools {
    fn sources(self) -> Vec<Source> {
        let archive = Source { spool: self.archive.clone(), kind: Kind::Archive(self.archive) };
        let links = self.links.map(|links| Source { spool: links.segments, kind: Kind::Links(links.worker) });
        std::iter::once(archive).chain(links).collect()
    }
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Ends what is under way between two pages.
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Something may have finished.
    nudged: bool,
    /// Upload all there is, until this time, and end.
    drain_until: Option<Instant>,
    ended: bool,
    status: UploadStatus,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until the time, a nudge or the end.
    fn wait(&self, until: Option<Instant>) {
        let mut state = self.lock();
        while !state.nudged && !state.ended && state.drain_until.is_none() {
            let Some(left) = until.map(|until| until.saturating_duration_since(Instant::now())) else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.nudged = false;
    }

    /// Sleeps for a pause after a failure; only the end cuts it short, and the beginning of a drain, which has its own.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.lock();
        let was_draining = state.drain_until.is_some();
        while !state.ended && state.drain_until.is_some() == was_draining {
            let until = state.drain_until.map_or(until, |latest| latest.min(until));
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Uploader {
    /// May be started before the files are cut to what is catalogued: they are finished after that only.
    pub fn start(
        spools: impl Into<Spools>,
        objects: Arc<dyn Objects>,
        options: UploadOptions,
        on_stored: OnStored,
    ) -> io::Result<Uploader> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        let sources = spools.into().sources();
        let work = Work {
            shared: shared.clone(),
            sources: sources.clone(),
            objects,
            options,
            on_stored,
            set_aside: HashMap::new(),
            pause: FIRST_PAUSE,
            answered: Instant::now(),
        };
        let builder = std::thread::Builder::new().name(String::from("objects-upload"));
        let thread = builder.spawn(move || work.run())?;
        Ok(Uploader { shared, sources, thread: Mutex::new(Some(thread)) })
    }

    /// Something may have finished: called after each commit.
    pub fn nudge(&self) {
        self.shared.lock().nudged = true;
        self.shared.changed.notify_all();
    }

    pub fn status(&self) -> UploadStatus {
        let waiting = self.sources.iter().filter_map(|source| source.spool.finished().ok()).flatten();
        let (files, bytes) = waiting.fold((0, 0), |(files, bytes), file| (files + 1, bytes + file.length));
        let mut status = self.shared.lock().status.clone();
        status.waiting_files = files;
        status.waiting_bytes = bytes;
        status
    }

    /// Ends all files and uploads them, but begins nothing after `limit`; for a worker that leaves, when its appenders
    /// are gone and everything is committed. What is left stays on the disk for the next start.
    pub fn begin_drain(&self, limit: Duration) {
        self.shared.lock().drain_until = Some(Instant::now() + limit);
        self.shared.changed.notify_all();
    }

    /// It uploads nothing more.
    pub fn has_ended(&self) -> bool {
        self.thread().as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// The same, and waits for it.
    pub fn drain(&self, limit: Duration) -> UploadStatus {
        self.begin_drain(limit);
        self.join();
        self.status()
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self) {
        let thread = self.thread().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Uploader {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.stop.store(true, Ordering::Release);
        self.shared.changed.notify_all();
        self.join();
    }
}

struct Work {
    shared: Arc<Shared>,
    sources: Vec<Source>,
    objects: Arc<dyn Objects>,
    options: UploadOptions,
    on_stored: OnStored,
    /// Files that cannot be uploaded, and when they are looked at again.
    set_aside: HashMap<Arc<str>, Instant>,
    pause: Duration,
    /// When the store was last there.
    answered: Instant,
}

impl Work {
    fn run(mut self) {
        let mut is_draining = false;
        loop {
            let (drain_until, ended) = {
                let state = self.shared.lock();
                (state.drain_until, state.ended)
            };
            if ended {
                return;
            }
            if drain_until.is_some() && !is_draining {
                is_draining = true;
                self.pause = FIRST_PAUSE;
            }
            let next_look = self.end_old_files(is_draining);
            let answered = self.answered;
            let outcome = self.upload_finished(drain_until).and_then(|()| self.check_store(is_draining));
            let is_late = drain_until.is_some_and(|until| Instant::now() >= until);
            match outcome {
                Ok(()) if is_draining => return,
                Ok(()) => {
                    let next_check = self.answered + CHECK_EVERY;
                    self.shared.wait(Some(next_look.map_or(next_check, |look| look.min(next_check))));
                }
                Err(error) => {
                    // A store that has just taken something is there: then that could not be reported.
                    self.note_trouble(&error, self.answered == answered);
                    if is_late {
                        return;
                    }
                    self.shared.pause(self.pause);
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Gives when the next one will be old enough.
    fn end_old_files(&self, all: bool) -> Option<Instant> {
        let age = if all { Duration::ZERO } else { self.options.rotate_after };
        let now = now();
        // One millisecond more, for a file that was begun in this very one.
        let begun_before = now.0.saturating_sub(millis(age)) + u64::from(all);
        let looks = self.sources.iter().map(|source| match source.spool.end_files(Millis(begun_before)) {
            Ok(oldest) => oldest.map(|begun| {
                let left = (begun.0 + millis(self.options.rotate_after) + 1).saturating_sub(now.0);
                Instant::now() + Duration::from_millis(left)
            }),
            Err(error) => {
                tracing::error!(%error, "a file could not be ended");
                Some(Instant::now() + LONGEST_PAUSE)
            }
        });
        looks.flatten().min()
    }

    fn upload_finished(&mut self, drain_until: Option<Instant>) -> Result<()> {
        let mut files = Vec::new();
        for source in &self.sources {
            files.extend(source.spool.finished()?.into_iter().map(|file| (source.clone(), file)));
        }
        if files.is_empty() {
            self.shared.lock().status.trouble = None;
        }
        self.set_aside.retain(|_, until| *until > Instant::now());
        for (source, file) in &files {
            let is_late = drain_until.is_some_and(|until| Instant::now() >= until);
            if self.shared.lock().ended || is_late {
                return Ok(());
            }
            if self.set_aside.contains_key(&file.file) {
                continue;
            }
            match self.upload(source, file) {
                Ok(()) => self.note_uploaded(file),
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    tracing::error!(file = &*file.file, %error, "file not uploaded; it stays on this disk");
                    let status = &mut self.shared.lock().status;
                    (status.trouble, status.store_fails) = (Some(error.to_string()), true);
                    self.set_aside.insert(file.file.clone(), Instant::now() + SET_ASIDE);
                }
            }
        }
        Ok(())
    }

    /// Whether it is away is to be known before something waits for it.
    fn check_store(&mut self, is_draining: bool) -> Result<()> {
        if !is_draining && self.answered.elapsed() >= CHECK_EVERY {
            self.objects.check()?;
            self.note_answer();
        }
        Ok(())
    }

    fn upload(&mut self, source: &Source, position: &Position) -> Result<()> {
        let path = source.spool.path(&position.file);
        let stored = match (&source.kind, self.options.layout) {
            (Kind::Archive(_), Layout::Warc) => vec![self.upload_file(position, &path)?],
            (Kind::Archive(archive), Layout::Objects) => self.upload_pages(&**archive, position, &path)?,
            (Kind::Links(worker), _) => vec![self.upload_links(worker, position, &path)?],
        };
        self.answered = Instant::now();
        for some in stored.chunks(REPORTED_AT_ONCE) {
            (self.on_stored)(some)?;
        }
        source.spool.remove(&position.file)
    }

    fn upload_file(&self, position: &Position, path: &Path) -> Result<Stored> {
        let key = file_key(&position.file);
        let hash = hash_of(position, path)?;
        if !self.is_there(&key, position, &hash)? {
            self.upload_index(position, path)?;
            self.put(&key, path, hash)?;
        }
        let Position { file, length } = position.clone();
        Ok(Stored::File { file, length, key })
    }

    fn upload_links(&self, worker: &str, position: &Position, path: &Path) -> Result<Stored> {
        let hash = hash_of(position, path)?;
        // A catalogue that was restored has forgotten segments that are there, and their numbers are given again.
        let key = format!("links/{worker}-{:0>8}-{}.zst", position.file, hash.get(..16).unwrap_or(&hash));
        if !self.is_there(&key, position, &hash)? {
            self.put(&key, path, hash)?;
        }
        Ok(Stored::Links { segment: position.file.clone(), key })
    }

    fn put(&self, key: &str, path: &Path, hash: String) -> Result<()> {
        self.objects.put_file(key, path, &vec![(SHA256.to_owned(), hash)])
    }

    /// Uploaded before, and not reported.
    fn is_there(&self, key: &str, position: &Position, hash: &str) -> Result<bool> {
        match self.objects.head(key)? {
            None => Ok(false),
            Some(head) if head.length == position.length && head.fact(SHA256) == Some(hash) => Ok(true),
            Some(_) => {
                let message = format!(
                    "another file of this name is in {}: two workers have the same name, or one of them lost its disk; \
                     start each worker with a --name of its own",
                    self.objects.place()
                );
                Err(StoreError::new(ErrorKind::Usage, key, message))
            }
        }
    }

    /// Beside the file, where it has one.
    fn upload_index(&self, position: &Position, path: &Path) -> Result<()> {
        let Some(name) = position.file.strip_suffix(".warc.gz") else { return Ok(()) };
        let name = format!("{name}.cdxj");
        let index = path.with_file_name(&name);
        if index.exists() { self.objects.put_file(&file_key(&name), &index, &Facts::new()) } else { Ok(()) }
    }

    fn upload_pages(
        &self,
        archive: &dyn ArchiveSpool,
        position: &Position,
        path: &Path,
    ) -> Result<Vec<Stored>> {
        let pages = pages::store_all(&*self.objects, archive, &position.file, path, &self.shared.stop)?;
        let pages = pages.into_iter().map(|page| Stored::Page { at: page.at, key: page.key });
        let Position { file, length } = position.clone();
        Ok(pages.chain([Stored::AllPages { file, length }]).collect())
    }

    /// What is set aside is in trouble all the same.
    fn note_answer(&mut self) {
        self.answered = Instant::now();
        self.pause = FIRST_PAUSE;
        if self.set_aside.is_empty() && self.shared.lock().status.trouble.take().is_some() {
            tracing::info!(place = self.objects.place(), "the object store answers again");
        }
    }

    fn note_uploaded(&mut self, file: &Position) {
        self.note_answer();
        let status = &mut self.shared.lock().status;
        status.uploaded_files += 1;
        status.uploaded_bytes += file.length;
    }

    /// An outage is logged once.
    fn note_trouble(&self, error: &StoreError, is_of_store: bool) {
        let status = &mut self.shared.lock().status;
        status.store_fails = is_of_store;
        if status.trouble.replace(error.to_string()).is_none() {
            tracing::warn!(%error, "files stay on this disk and are tried again");
        }
    }
}

/// Of a file that is as long as it should be.
fn hash_of(position: &Position, path: &Path) -> Result<String> {
    let failed = |error| StoreError::io(path.display().to_string(), error);
    let length = std::fs::metadata(path).map_err(failed)?.len();
    if length != position.length {
        let message = format!(
            "has {length} bytes, and what is complete ends at {}: the disk failed in the middle of a write; the next \
             start cuts it off",
            position.length
        );
        return Err(StoreError::new(ErrorKind::Corrupt, path.display().to_string(), message));
    }
    sha256(path).map_err(failed)
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hash.update(piece.get(..read).unwrap_or_default());
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
