//! The lengths of the workers' files in the catalogue: archive files, segments of links, outputs.

use super::reader::PostgresReader;
use crate::database::Cells;
use argiope_model::JobId;
use argiope_store::catalogue::{FilePosition, OutputPosition};
use argiope_store::error::Result;
use argiope_store::links::LinksPosition;

/// A segment of links as the catalogue knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSegment {
    pub worker: String,
    pub number: u32,
    pub length: u64,
    /// Where it was uploaded to when it left the worker's disk.
    pub kept_at: Option<String>,
    pub is_lost: bool,
}

impl PostgresReader {
    /// The segments of links that all workers have written.
    pub fn link_segments(&self) -> Result<Vec<LinkSegment>> {
        let sql = "SELECT worker, file::integer, length, kept_at, lost_at IS NOT NULL FROM positions
                   WHERE store = 'links' AND ($1::text IS NULL OR worker = $1)
                   ORDER BY 2, 1";
        self.rows(sql, &[&self.worker], |row| {
            let mut from = Cells::of(row);
            Ok(Some(LinkSegment {
                worker: from.text()?,
                number: from.small()?,
                length: from.number()?,
                kept_at: from.optional_text()?,
                is_lost: from.take()?,
            }))
        })
    }

    pub(super) fn archive_ends(&self) -> Result<Vec<FilePosition>> {
        let sql = "SELECT file, length FROM positions
                   WHERE store = 'archive' AND ($1::text IS NULL OR worker = $1)
                   ORDER BY file COLLATE \"C\"";
        self.rows(sql, &[&self.worker], |row| {
            let mut from = Cells::of(row);
            Ok(Some(FilePosition { file: from.text()?, length: from.number()? }))
        })
    }

    pub(super) fn links_end(&self) -> Result<Option<LinksPosition>> {
        // Links end in the last segment; if it has left the disk, they continue in the next one.
        let last = self.link_segments()?.pop();
        Ok(last.map(|last| match last.kept_at.is_none() && !last.is_lost {
            true => LinksPosition { segment: last.number, length: last.length },
            false => LinksPosition { segment: last.number.saturating_add(1), length: 0 },
        }))
    }

    pub(super) fn output_end(&self, job: JobId, path: &str) -> Result<Option<OutputPosition>> {
        let sql = "SELECT seq, length FROM outputs
                   WHERE job = $1 AND path = $2 AND ($3::text IS NULL OR worker = $3)";
        let found = self.one(sql, &[&(job.0 as i32), &path, &self.worker], |row| {
            let mut from = Cells::of(row);
            Ok(Some((from.number()?, from.number()?)))
        })?;
        Ok(found.map(|(seq, length)| OutputPosition { job, path: path.to_owned(), seq, length }))
    }
}
