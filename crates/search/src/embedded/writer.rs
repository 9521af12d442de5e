//! The writer. One thread indexes, one merges segments in the background, and memory is bounded: text that waits and text
//! that is indexed are each at most as much as the heap.

use super::failure::{failure, guarded};
use super::schema::number_of;
use super::{Found, Opened, StoredPosition, create, find, lock, remove, stored_position};
use crate::document::Document;
use crate::index::{Deletion, IndexBatch, IndexWriter};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::follower::Position;
use std::fs::File;
use std::path::{Path, PathBuf};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{TantivyDocument, Term};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterOptions {
    /// Memory of the thread that indexes, in bytes. What waits for it takes as much again at most.
    pub heap_bytes: usize,
}

impl WriterOptions {
    /// Less, and tantivy refuses.
    pub const LEAST_HEAP: usize = 16 << 20;
    pub const MOST_HEAP: usize = 2 << 30;
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { heap_bytes: 64 << 20 }
    }
}

pub struct EmbeddedWriter {
    opened: Opened,
    options: WriterOptions,
    /// None after a failure, until the position is asked for.
    writer: Option<tantivy::IndexWriter<TantivyDocument>>,
    /// After what was taken.
    position: Position,
    uncommitted_bytes: usize,
    has_uncommitted: bool,
    rebuilt: Option<String>,
    /// Held open. Dropped last: fields are dropped in their order.
    _lock: File,
}

impl EmbeddedWriter {
    /// Opens the index or makes a new one. One that cannot be used is deleted, and the position is the beginning;
    /// [`EmbeddedWriter::rebuilt`] says why.
    pub fn open(directory: &Path, options: WriterOptions) -> Result<EmbeddedWriter> {
        let lock = lock(directory)?;
        let (opened, rebuilt) = match find(directory)? {
            Found::Good(opened) => (opened, None),
            Found::Nothing => (create(directory)?, None),
            Found::Bad(why) => {
                tracing::warn!(directory = %directory.display(), why, "search index cannot be used; building it again");
                remove(directory)?;
                (create(directory)?, Some(why))
            }
        };
        let heap_bytes = options.heap_bytes.clamp(WriterOptions::LEAST_HEAP, WriterOptions::MOST_HEAP);
        let mut writer = EmbeddedWriter {
            opened,
            options: WriterOptions { heap_bytes },
            writer: None,
            position: Position::default(),
            uncommitted_bytes: 0,
            has_uncommitted: false,
            rebuilt,
            _lock: lock,
        };
        writer.start()?;
        Ok(writer)
    }

    /// Why the index that was there could not be used.
    pub fn rebuilt(&self) -> Option<&str> {
        self.rebuilt.as_deref()
    }

    pub fn directory(&self) -> PathBuf {
        self.opened.directory.clone()
    }

    fn failed(&self, error: tantivy::TantivyError) -> StoreError {
        failure(&self.opened.directory, error)
    }

    /// Goes on from the last commit.
    fn start(&mut self) -> Result<&mut tantivy::IndexWriter<TantivyDocument>> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(self.options.heap_bytes)
            .build();
        let started = self.opened.index.writer_with_options(options).map_err(|error| self.failed(error))?;
        let mut policy = LogMergePolicy::default();
        // Pages that are fetched again leave deleted documents behind.
        policy.set_del_docs_ratio_before_merge(0.3);
        started.set_merge_policy(Box::new(policy));
        self.position = stored_position(&self.opened)?;
        self.uncommitted_bytes = 0;
        self.has_uncommitted = false;
        Ok(self.writer.insert(started))
    }

    fn writing(&mut self) -> Result<&mut tantivy::IndexWriter<TantivyDocument>> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            None => {
                // Whoever goes on without asking for the position would leave a gap.
                let directory = self.opened.directory.display().to_string();
                Err(StoreError::new(
                    ErrorKind::Io,
                    directory,
                    "stopped after an error; ask for the position first",
                ))
            }
        }
    }

    /// What was taken since the last commit is gone after an error.
    fn after<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.writer = None;
        }
        outcome
    }

    fn take(&mut self, batch: IndexBatch) -> Result<()> {
        let fields = self.opened.fields.clone();
        let directory = self.opened.directory.clone();
        let writer = self.writing()?;
        for deletion in &batch.deletions {
            writer.delete_term(match deletion {
                Deletion::Document(id) => Term::from_field_u64(fields.id, number_of(*id)),
                Deletion::Job(job) => Term::from_field_u64(fields.job, u64::from(job.0)),
                Deletion::Url(key) => Term::from_field_u64(fields.url_key, *key),
            });
        }
        let mut bytes = 0;
        for document in &batch.documents {
            writer.delete_term(Term::from_field_u64(fields.id, number_of(document.id)));
            writer.add_document(fields.document(document)).map_err(|error| failure(&directory, error))?;
            bytes += weight(document);
        }
        self.uncommitted_bytes += bytes;
        self.has_uncommitted |= !batch.documents.is_empty() || !batch.deletions.is_empty();
        self.has_uncommitted |= batch.reached != self.position;
        self.position = batch.reached;
        if self.uncommitted_bytes >= self.options.heap_bytes { self.commit_taken() } else { Ok(()) }
    }

    fn commit_taken(&mut self) -> Result<()> {
        if !self.has_uncommitted {
            return Ok(());
        }
        let Position { page, batch } = self.position;
        let directory = self.opened.directory.clone();
        let payload = serde_json::to_string(&StoredPosition { page, batch }).map_err(|error| {
            StoreError::new(ErrorKind::Io, directory.display().to_string(), error.to_string())
        })?;
        let failed = |error| failure(&directory, error);
        let mut prepared = self.writing()?.prepare_commit().map_err(failed)?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(failed)?;
        self.uncommitted_bytes = 0;
        self.has_uncommitted = false;
        Ok(())
    }

    /// Waits until the segments that are being merged are.
    pub fn finish_merging(mut self) -> Result<()> {
        self.commit_taken()?;
        let directory = self.opened.directory.clone();
        match self.writer.take() {
            Some(writer) => writer.wait_merging_threads().map_err(|error| failure(&directory, error)),
            None => Ok(()),
        }
    }
}

/// What a document takes while it waits, about.
fn weight(document: &Document) -> usize {
    let texts = document.headings.iter().chain(&document.anchors).chain(&document.topics);
    document.text.len()
        + document.title.len()
        + document.description.len()
        + texts.map(String::len).sum::<usize>()
        + 1024
}

impl IndexWriter for EmbeddedWriter {
    fn position(&mut self) -> Result<Position> {
        if self.writer.is_none() {
            self.start()?;
        }
        Ok(self.position)
    }

    fn add(&mut self, batch: IndexBatch) -> Result<()> {
        let directory = self.opened.directory.clone();
        let outcome = guarded(&directory, || self.take(batch));
        self.after(outcome)
    }

    fn commit(&mut self) -> Result<()> {
        let directory = self.opened.directory.clone();
        let outcome = guarded(&directory, || self.commit_taken());
        self.after(outcome)
    }
}
