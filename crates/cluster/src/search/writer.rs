//! Documents for the server, by bulk requests. The position moves when everything before it is acknowledged and visible.

use super::client::{Call, SearchServer, reason_of};
use super::positions::Positions;
use argiope_search::document::Document;
use argiope_search::index::{Deletion, IndexBatch, IndexWriter};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::follower::Position;
use bytes::Bytes;
use hyper::Method;
use serde_json::{Value, json};

/// Of one bulk request, about: what servers advise.
const BULK_BYTES: usize = 8 << 20;
/// Documents that are deleted at a time.
const DELETED_AT_ONCE: usize = 1000;

pub struct ServerWriter<P> {
    server: SearchServer,
    positions: P,
    /// After what was taken; None before the first look and after an error.
    position: Option<Position>,
    has_uncommitted: bool,
    /// Documents that the server refused for good.
    refused: u64,
}

impl<P: Positions> ServerWriter<P> {
    /// Makes the index where it is missing.
    pub fn open(server: SearchServer, positions: P) -> Result<ServerWriter<P>> {
        server.prepare()?;
        Ok(ServerWriter { server, positions, position: None, has_uncommitted: false, refused: 0 })
    }

    /// Documents that the server would not take, however often they came. Each is in the log.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn take(&mut self, batch: &IndexBatch) -> Result<()> {
        let mut bulk = Bulk::default();
        for deletion in &batch.deletions {
            match deletion {
                Deletion::Document(id) => bulk.delete(&id.to_string()),
                Deletion::Job(job) => self.delete_all(&json!({"term": {"job": job.0}}))?,
                Deletion::Url(key) => {
                    self.delete_all(&json!({"term": {"url_key": format!("{key:016x}")}}))?
                }
            }
        }
        for document in &batch.documents {
            bulk.index(document)?;
            if bulk.lines.len() >= BULK_BYTES {
                self.send(std::mem::take(&mut bulk))?;
            }
        }
        self.send(bulk)
    }

    /// Deletes what a query finds. Servers can do that by themselves, but not all of them have the module for it.
    fn delete_all(&mut self, query: &Value) -> Result<()> {
        loop {
            self.server.refresh()?;
            let request =
                json!({"query": query, "size": DELETED_AT_ONCE, "_source": false, "sort": ["_doc"]});
            let answer = self.server.post("_search", &request)?;
            let ids: Vec<&str> = answer
                .pointer("/hits/hits")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(|hit| hit.get("_id").and_then(Value::as_str))
                .collect();
            if ids.is_empty() {
                return Ok(());
            }
            let mut bulk = Bulk::default();
            ids.into_iter().for_each(|id| bulk.delete(id));
            self.send(bulk)?;
        }
    }

    fn send(&mut self, bulk: Bulk) -> Result<()> {
        if bulk.lines.is_empty() {
            return Ok(());
        }
        let answer = self.server.exchange(Call {
            method: Method::POST,
            path: "_bulk",
            body: Bytes::from(bulk.lines),
            content_type: "application/x-ndjson",
        })?;
        let answer = self.server.done(answer)?;
        if answer.get("errors").and_then(Value::as_bool) == Some(false) {
            return Ok(());
        }
        for item in answer.get("items").and_then(Value::as_array).into_iter().flatten() {
            let Some(outcome) = item.as_object().and_then(|item| item.values().next()) else { continue };
            let status = outcome.get("status").and_then(Value::as_u64).unwrap_or(500);
            let id = outcome.get("_id").and_then(Value::as_str).unwrap_or_default();
            let reason = outcome.get("error").map(reason_of).unwrap_or_default();
            match status {
                // A later version is there, or nothing to delete.
                200..300 | 404 | 409 => {}
                400 | 413 => {
                    self.refused += 1;
                    tracing::error!(
                        document = id,
                        reason,
                        "search server refuses a document; it cannot be found"
                    );
                }
                _ => {
                    let message = format!("{} answers {status} {reason}", self.server.place());
                    return Err(StoreError::new(ErrorKind::Unreachable, "search.url", message));
                }
            }
        }
        Ok(())
    }

    fn commit_taken(&mut self) -> Result<()> {
        let Some(position) = self.position.filter(|_| self.has_uncommitted) else { return Ok(()) };
        self.server.refresh()?;
        self.positions.store(position)?;
        self.has_uncommitted = false;
        Ok(())
    }

    fn after<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if outcome.is_err() {
            self.position = None;
            self.has_uncommitted = false;
        }
        outcome
    }
}

impl<P: Positions> IndexWriter for ServerWriter<P> {
    fn position(&mut self) -> Result<Position> {
        match self.position {
            Some(position) => Ok(position),
            None => {
                let position = self.positions.read()?;
                self.position = Some(position);
                Ok(position)
            }
        }
    }

    fn add(&mut self, batch: IndexBatch) -> Result<()> {
        // Whoever goes on without asking for the position would leave a gap.
        if self.position.is_none() {
            let message = "stopped after an error; ask for the position first";
            return Err(StoreError::new(ErrorKind::Io, self.server.place(), message));
        }
        let outcome = self.take(&batch);
        self.after(outcome)?;
        self.position = Some(batch.reached);
        self.has_uncommitted = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let outcome = self.commit_taken();
        self.after(outcome)
    }
}

/// The body of a bulk request: a line that says what to do, and one with the document.
#[derive(Default)]
struct Bulk {
    lines: Vec<u8>,
}

impl Bulk {
    fn delete(&mut self, id: &str) {
        self.line(&json!({"delete": {"_id": id}}));
    }

    fn index(&mut self, document: &Document) -> Result<()> {
        let id = document.id.to_string();
        // What was fetched earlier does not replace what was fetched later.
        let version = document.crawled_at.0.max(1);
        self.line(&json!({"index": {"_id": id, "version": version, "version_type": "external_gte"}}));
        self.line(&source(document));
        Ok(())
    }

    fn line(&mut self, value: &Value) {
        self.lines.extend_from_slice(value.to_string().as_bytes());
        self.lines.push(b'\n');
    }
}

/// The document as the mapping has it.
fn source(document: &Document) -> Value {
    json!({
        "job": document.id.job.0,
        "url_key": format!("{:016x}", document.id.url_key),
        "url": document.url,
        "host": document.host,
        "root_domain": document.root_domain,
        "site": document.sites(),
        "title": document.title,
        "anchors": document.anchors,
        "headings": document.headings,
        "description": document.description,
        "text": document.text,
        "language": document.languages(),
        "primary_language": document.primary_language(),
        "topics": document.topics,
        "status": document.status,
        "crawled_at": document.crawled_at.0,
        "year_month": document.year_month(),
        "content": format!("{:016x}", document.content),
        "is_duplicate": document.is_duplicate,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_has_every_field_of_a_document_and_no_other() {
        let mapping: Value = serde_json::from_str(super::super::MAPPING).unwrap();
        let mapped = mapping["mappings"]["properties"].as_object().unwrap();
        let document = source(&Document::default());
        let sent = document.as_object().unwrap();
        let mut known: Vec<&str> = mapped.keys().map(String::as_str).filter(|name| *name != "body").collect();
        let mut fields: Vec<&str> = sent.keys().map(String::as_str).collect();
        known.sort_unstable();
        fields.sort_unstable();
        assert_eq!(known, fields);
    }
}
