//! The archive port: every exchange with a server, as sent and received. After a crash nothing is fetched twice, and every
//! page can be read as it was.
//!
//! Neighbours: fetch makes the bytes, the engine's workers append them, the committer syncs and then writes the
//! catalogue; exports, search and recovery read. [`crate::warc`] has the record format.
//!
//! # Contract
//!
//! * Each worker has its own [`Appender`], and what it appends lands in files no other appender writes. An append,
//!   of one visit or several, is complete or absent: after an error the file ends where it ended before.
//! * An appended visit survives the death of the process at once, and the death of the machine after [`Archive::sync`]
//!   has returned a [`Position`] that covers it.
//! * The catalogue stores, in the transaction that holds a batch of visits, for each file the [`Appended::end`] of the
//!   batch's last visit in that file, once `sync` has covered it. It does not store the result of `sync`, which may
//!   cover visits whose results are still on their way to the committer. A worker passes its results on in the order of
//!   its appends.
//! * [`Archive::committed`] is called with these positions after the transaction. Only then may a revisit record refer
//!   to a record, so a revisit never outlives its target. (A small payload is stored again instead, and so is one whose
//!   body was cut.)
//! * [`Archive::recover`] runs at start, before the first appender. It cuts what is incomplete, only beyond the
//!   catalogued position, and returns the complete visits found there. Calling it twice gives the same result.
//! * [`Archive::truncate_to`] replaces it in a cluster, where another worker may fetch again what is not catalogued: such
//!   visits would otherwise be in the archive twice.

pub mod payload;
pub mod reading;
mod spool;

pub use argiope_model::ArchiveRef;
pub use spool::{ArchiveSpool, Elsewhere};

#[cfg(any(test, feature = "contract"))]
pub mod contract;

use crate::error::{ErrorKind, Result, StoreError};
use crate::warc::{Digest, VisitMetadata};
use argiope_model::{Millis, Url};
use std::net::IpAddr;
use std::sync::Arc;

/// How far a file is valid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    pub file: Arc<str>,
    pub length: u64,
}

/// One request and its result, to be archived.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    pub metadata: &'a VisitMetadata,
    /// The address that was connected to.
    pub address: Option<IpAddr>,
    /// Request line and headers as sent; None if no connection was made.
    pub request_head: Option<&'a [u8]>,
    pub response: Option<Response<'a>>,
    /// The previous copy of the URL, which must be catalogued. A `304`, or the same payload, becomes a revisit record that
    /// refers to it.
    pub previous: Option<&'a ArchiveRef>,
}

#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// Status line and headers as received.
    pub head: &'a [u8],
    /// After transfer decoding, still content-encoded.
    pub body: &'a [u8],
    /// The SHA-256 of `body`, if it is known: a body without content encoding is hashed for the page record anyway.
    pub body_sha256: Option<[u8; 32]>,
}

/// The result of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    pub at: ArchiveRef,
    /// Where the visit's last record ends in the file of `at`.
    pub end: u64,
    /// The scheduled URL of the page with the same payload, if the record is a revisit that refers to it.
    pub duplicate_of: Option<Url>,
}

impl Appended {
    pub fn position(&self) -> Position {
        Position { file: self.at.file.clone(), length: self.end }
    }
}

/// An exchange read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredExchange {
    /// The URL that was requested: that of the last hop.
    pub target: Url,
    pub date: Millis,
    /// The response's head as stored: see [`crate::warc::http_head`] for what is renamed in it.
    pub head: Vec<u8>,
    /// Content-encoded as it was received.
    pub body: Vec<u8>,
    pub payload_digest: Option<Digest>,
    /// Where the body is, if the visit itself has only a revisit record.
    pub refers_to: Option<ArchiveRef>,
}

/// A complete visit found beyond the catalogued position.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveredVisit {
    /// Where [`Archive::read`] finds the exchange, if it had a response.
    pub at: ArchiveRef,
    /// The position to catalogue with the visit.
    pub end: u64,
    pub metadata: VisitMetadata,
    pub has_response: bool,
    /// As [`Appended::duplicate_of`].
    pub duplicate_of: Option<Url>,
}

/// A tail that was cut off: its visit was incomplete, or not catalogued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file as it is now; length 0 if nothing was left and the file is gone.
    pub now: Position,
    pub bytes: u64,
    pub reason: String,
}

/// The result of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    pub visits: u64,
    pub cuts: Vec<Cut>,
    /// Files whose index is missing, to be given to [`Archive::build_index`] when there is time.
    pub unindexed: Vec<Arc<str>>,
}

/// Writes the visits of one worker.
pub trait Appender: Send {
    /// Writes the records of these visits in one system call, in this order, and returns their places. With
    /// [`ErrorKind::DiskFull`] the archive is unchanged and the append may be tried again.
    fn append_all(&mut self, exchanges: &[Exchange<'_>]) -> Result<Vec<Appended>>;

    fn append(&mut self, exchange: &Exchange<'_>) -> Result<Appended> {
        let appended = self.append_all(std::slice::from_ref(exchange))?.pop();
        appended.ok_or_else(|| StoreError::new(ErrorKind::Io, "archive", "an append that returned no place"))
    }

    /// Finishes the file durably, with its index. If an appender is dropped instead, its file is in the state of a
    /// crash.
    fn finish(self: Box<Self>) -> Result<Option<Position>>;
}

/// Called for each visit found by a recovery; an error stops the recovery, which can be run again.
pub type OnRecovered<'f> = &'f mut dyn FnMut(RecoveredVisit) -> Result<()>;

pub trait Archive: Send + Sync {
    fn appender(&self) -> Result<Box<dyn Appender>>;

    /// Makes durable what was appended before the call; returns the durable length of each file that grew since the
    /// last sync. A failed sync must end the process: the kernel may have dropped the pages it could not write.
    fn sync(&self) -> Result<Vec<Position>>;

    /// The catalogue holds all visits up to these positions.
    fn committed(&self, positions: &[Position]);

    /// See the module's contract. Visits come in the order of their file; files in no certain order.
    fn recover(&self, catalogued: &[Position], found: OnRecovered<'_>) -> Result<Recovery>;

    /// Cuts each file to its catalogued position; one that the catalogue does not know is deleted. Missing files
    /// are ignored.
    fn truncate_to(&self, catalogued: &[Position]) -> Result<Vec<Cut>>;

    /// The exchange whose first record is at `at`; a revisit is followed to the body it refers to.
    fn read(&self, at: &ArchiveRef) -> Result<StoredExchange>;

    /// The visit that begins at `at`: the contents of its metadata record.
    fn read_metadata(&self, at: &ArchiveRef) -> Result<VisitMetadata>;

    /// Writes the index of a file that is no longer appended to.
    fn build_index(&self, file: &str) -> Result<()>;

    /// Reads all of a file up to its position; the first damage is the error, with its offset.
    fn verify(&self, position: &Position) -> Result<u64>;
}
