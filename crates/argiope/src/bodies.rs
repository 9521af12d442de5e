//! The content of stored pages, read from wherever the archive is: a data directory, or the cluster's object store.

use crate::bucket;
use crate::cli::GlobalOptions;
use crate::exit::Failure;
use crate::settings::load_config;
use crate::stores::Stores;
use argiope_cluster::objects::ObjectReader;
use argiope_extract::text_of;
use argiope_fetch::{DecodeScratch, decode};
use argiope_model::Page;
use argiope_store::archive::reading::{self, Source};
use argiope_store::archive::{ArchiveRef, StoredExchange};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::warc::http_head;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// More than any job takes.
const LONGEST: usize = 1 << 30;

pub(crate) enum Bodies {
    /// The directory with the files.
    OnDisk(PathBuf),
    InStore(ObjectReader),
}

/// What there is of a page's content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text(String),
    /// Nothing was received, nothing was kept, or it is no text.
    None,
    /// The catalogue knows where it was, and it is not there.
    Missing,
}

impl Bodies {
    pub(crate) fn of(global: &GlobalOptions, stores: &Stores) -> std::result::Result<Bodies, Failure> {
        match stores {
            Stores::Directory(path) => Ok(Bodies::OnDisk(path.join("archive"))),
            Stores::Cluster(_) => {
                let objects = bucket::open(&load_config(global)?.file)?.ok_or_else(|| {
                    Failure::failed("the archive is on the workers' disks: storage.html_bucket is not set")
                })?;
                objects.check().map_err(|e| bucket::failure(&e))?;
                Ok(Bodies::InStore(ObjectReader::new(objects)))
            }
        }
    }

    pub(crate) fn content(&self, page: &Page, scratch: &mut DecodeScratch) -> Result<Content> {
        let Some(at) = &page.archive else { return Ok(Content::None) };
        let at: ArchiveRef = at.parse()?;
        let read = match self {
            Bodies::OnDisk(folder) => reading::exchange(&|at| open(folder, at), &at),
            Bodies::InStore(reader) => reader.read(&at),
        };
        match read {
            Ok(exchange) => Ok(text(exchange, scratch).map_or(Content::None, Content::Text)),
            Err(error) if error.kind == ErrorKind::NotFound => Ok(Content::Missing),
            Err(error) => Err(error),
        }
    }
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
