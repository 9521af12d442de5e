//! The port: an index that is written by one follower and searched by many.
//!
//! # Contract
//!
//! * A document replaces the one of the same id.
//! * [`IndexWriter::add`] takes documents and deletions in their order: first the deletions, then the documents. What it
//!   took need not be durable, or found, before [`IndexWriter::commit`].
//! * The position becomes durable with the documents before it or after them, never before: after a crash
//!   [`IndexWriter::position`] is not beyond what survived. Taking documents a second time does no harm.
//! * [`IndexReader::search`] sees everything that was committed before the call, in this process or another one.
//! * The index is never the source of truth: whatever is in it can be built again from catalogue and archive.

use crate::document::{Document, DocumentId};
use crate::hits::{Hits, Request};
use argiope_model::JobId;
use argiope_store::error::Result;
use argiope_store::follower::Position;

/// What is taken out of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    Document(DocumentId),
    /// All documents of a job.
    Job(JobId),
    /// A URL in all jobs, by its key.
    Url(u64),
}

/// Writes. There is one at a time.
pub trait IndexWriter: Send {
    /// Where to continue: after what was taken, or after what survived a crash or an error.
    fn position(&mut self) -> Result<Position>;

    /// Takes a batch and the position after it.
    fn add(&mut self, batch: IndexBatch) -> Result<()>;

    /// Makes everything that was taken durable, and found.
    fn commit(&mut self) -> Result<()>;
}

impl IndexWriter for Box<dyn IndexWriter> {
    fn position(&mut self) -> Result<Position> {
        (**self).position()
    }

    fn add(&mut self, batch: IndexBatch) -> Result<()> {
        (**self).add(batch)
    }

    fn commit(&mut self) -> Result<()> {
        (**self).commit()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexBatch {
    pub deletions: Vec<Deletion>,
    pub documents: Vec<Document>,
    pub reached: Position,
}

/// Searches beside the writer, from any thread.
pub trait IndexReader: Send + Sync {
    /// A query with a name of a job in it is an error of kind `Usage`: names are resolved before.
    fn search(&self, request: &Request) -> Result<Hits>;

    /// Documents in the index.
    fn documents(&self) -> Result<u64>;
}
