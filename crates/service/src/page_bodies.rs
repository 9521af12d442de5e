//! The content of stored pages, read from wherever the archive is: a data directory, or the cluster's object store.
//! Several are read at once ([`ReadAhead`]), because a store takes tens of milliseconds for each request.

use crate::access::Access;
use crate::bucket;
use crate::place::Place;
use argiope_cluster::objects::ObjectReader;
use argiope_config::Failure;
use argiope_extract::text_of;
use argiope_fetch::{DecodeScratch, decode};
use argiope_model::Page;
use argiope_store::archive::reading::{self, Source};
use argiope_store::archive::{ArchiveRef, StoredExchange};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::warc::http_head;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

/// More than any job stores.
const LONGEST: usize = 1 << 30;
/// Pages that are read at once, and those that are read and not yet taken.
const AT_ONCE: usize = 16;
const AHEAD: usize = 2 * AT_ONCE;

pub enum Bodies {
    /// The directory with the files.
    OnDisk(PathBuf),
    InStore(ObjectReader),
}

/// The content of a page, if available.
#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// Nothing was received, nothing was stored, or it is not text.
    None,
    /// The catalogue has its place, but the content is missing.
    Missing,
    /// It is there but cannot be read, with the reason.
    Damaged(String),
}

/// The response of a page, if available.
pub(crate) enum Stored {
    Found(Box<StoredExchange>),
    /// Nothing was received, or nothing was stored.
    None,
    /// As [`Content::Missing`] and [`Content::Damaged`].
    Missing,
    Damaged(String),
}

impl Bodies {
    pub fn of(access: &Access) -> std::result::Result<Bodies, Failure> {
        match &access.place {
            Place::Directory(path) => Ok(Bodies::OnDisk(path.join("archive"))),
            Place::Cluster(_) => {
                let objects = bucket::of(&access.config)?.ok_or_else(|| {
                    Failure::failed("the archive is on the workers' disks: storage.html_bucket is not set")
                })?;
                objects.check().map_err(|e| bucket::failure(&e))?;
                Ok(Bodies::InStore(ObjectReader::new(objects)))
            }
        }
    }

    fn content(&self, page: &Page, scratch: &mut DecodeScratch) -> Result<Content> {
        Ok(match self.exchange(page)? {
            Stored::Found(exchange) => text(*exchange, scratch).map_or(Content::None, Content::Text),
            Stored::None => Content::None,
            Stored::Missing => Content::Missing,
            Stored::Damaged(how) => Content::Damaged(how),
        })
    }

    /// The response of a page, as it was received.
    pub(crate) fn exchange(&self, page: &Page) -> Result<Stored> {
        let (Some(at), Some(_)) = (&page.archive, page.status) else { return Ok(Stored::None) };
        let at: ArchiveRef = at.parse()?;
        let read = match self {
            Bodies::OnDisk(folder) => reading::exchange(&|at| open(folder, at), &at),
            Bodies::InStore(reader) => reader.read(&at),
        };
        match read {
            Ok(exchange) => Ok(Stored::Found(Box::new(exchange))),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(Stored::Missing),
            Err(error) if error.kind == ErrorKind::Corrupt => Ok(Stored::Damaged(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// Pages with their content, in order, while the next ones are being read.
pub struct ReadAhead {
    orders: SyncSender<Order>,
    under_way: VecDeque<Receiver<Answer>>,
}

type Answer = (Page, Result<Content>);
type Order = (Page, SyncSender<Answer>);

impl ReadAhead {
    pub fn start(bodies: Arc<Bodies>) -> Result<ReadAhead> {
        // One more than are in progress at a time, so nobody waits for room.
        let (orders, taken) = mpsc::sync_channel(AHEAD + 1);
        let shared = Arc::new((bodies, Mutex::new(taken)));
        for _ in 0..AT_ONCE {
            let shared = Arc::clone(&shared);
            let spawned = std::thread::Builder::new().name(String::from("content")).spawn(move || {
                let (bodies, orders) = &*shared;
                read_all(bodies, orders);
            });
            spawned.map_err(|error| StoreError::io("a thread that reads content", error))?;
        }
        Ok(ReadAhead { orders, under_way: VecDeque::new() })
    }

    /// Adds the next page. Returns the one that is due, once enough have been added.
    pub fn push(&mut self, page: Page) -> Result<Option<(Page, Content)>> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.orders.send((page, answer)).map_err(|_| ended())?;
        self.under_way.push_back(answered);
        if self.under_way.len() > AHEAD { self.pop() } else { Ok(None) }
    }

    /// The next one of those that were taken.
    pub fn pop(&mut self) -> Result<Option<(Page, Content)>> {
        let Some(next) = self.under_way.pop_front() else { return Ok(None) };
        let (page, content) = next.recv().map_err(|_| ended())?;
        Ok(Some((page, content?)))
    }
}

/// Until the requests end.
fn read_all(bodies: &Bodies, orders: &Mutex<Receiver<Order>>) {
    let mut scratch = DecodeScratch::new();
    loop {
        let next = orders.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((page, answer)) = next else { return };
        let content = bodies.content(&page, &mut scratch);
        // The caller may be gone.
        let _ = answer.send((page, content));
    }
}

fn ended() -> StoreError {
    StoreError::new(ErrorKind::Io, "content", "a thread that reads it has ended")
}

fn open(folder: &Path, at: &ArchiveRef) -> Result<Source> {
    let opened = File::open(folder.join(&*at.file)).and_then(|mut file| {
        file.seek(SeekFrom::Start(at.offset))?;
        Ok(file)
    });
    Ok(Box::new(opened.map_err(|error| StoreError::io(&*at.file, error))?))
}

fn text(exchange: StoredExchange, scratch: &mut DecodeScratch) -> Option<String> {
    let StoredExchange { target, head, body, .. } = exchange;
    let facts = http_head::facts(&head);
    let mut headers = HeaderMap::new();
    if let Some(value) = facts.content_encoding.and_then(|value| HeaderValue::from_bytes(value).ok()) {
        headers.insert(header::CONTENT_ENCODING, value);
    }
    let decoded = decode(&headers, &Bytes::from(body), LONGEST, scratch);
    let content_type = facts.content_type.and_then(|value| std::str::from_utf8(value).ok());
    text_of(&decoded.bytes, content_type, target.host_name()).map(|text| text.into_owned())
}
