//! Originals and their duplicates.

use super::page::url_hash;
use super::reader::PostgresReader;
use super::streams::in_pieces;
use crate::database::{Answer, Cells, Parameters};
use argiope_model::JobId;
use argiope_store::catalogue::{DuplicateGroup, Each, StoredOriginal};
use argiope_store::error::Result;
use tokio_postgres::Row;

/// Keys of one question.
const KEYS: usize = 1000;

impl PostgresReader {
    pub(super) fn read_originals(
        &self,
        job: JobId,
        after: u64,
        each: Each<'_, StoredOriginal>,
    ) -> Result<()> {
        let sql = "SELECT id, url_hash, content_hash, simhash, word_count FROM crawl_metadata
             WHERE id > $1 AND job = $3 AND status_code = 200 AND bytes > 0 AND duplicate_of IS NULL
             ORDER BY id LIMIT $2";
        in_pieces(&self.session, sql, after, &[&(job.0 as i32)], original, each)?;
        Ok(())
    }

    pub(super) fn read_page_urls(&self, job: JobId, url_keys: &[u64]) -> Result<Vec<(u64, String)>> {
        let sql = "SELECT DISTINCT ON (url_hash) url_hash, url FROM crawl_metadata
             WHERE url_hash = ANY($1) AND job = $2 ORDER BY url_hash, round DESC";
        let mut found = Vec::with_capacity(url_keys.len());
        for keys in url_keys.chunks(KEYS) {
            let hashes: Vec<String> = keys.iter().map(|key| url_hash(*key)).collect();
            let parameters: Parameters<'_> = &[&hashes, &(job.0 as i32)];
            found.extend(self.rows(sql, parameters, |row| {
                let mut from = Cells::of(row);
                Ok(Some((from.hash()?, from.text()?)))
            })?);
        }
        Ok(found)
    }

    pub(super) fn read_duplicate_groups(
        &self,
        job: JobId,
        limit: usize,
        examples: usize,
    ) -> Result<Vec<DuplicateGroup>> {
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let parameters: Parameters<'_> = &[&(job.0 as i32), &number(limit), &number(examples)];
        let mut groups: Vec<DuplicateGroup> = Vec::new();
        let rows = self.rows(include_str!("sql/duplicate_groups.sql"), parameters, |row| {
            let mut from = Cells::of(row);
            Ok(Some((from.text()?, from.number()?, from.text()?)))
        })?;
        for (original, count, url) in rows {
            match groups.last_mut().filter(|group| group.original == original) {
                Some(group) => group.examples.push(url),
                None => groups.push(DuplicateGroup { original, count, examples: vec![url] }),
            }
        }
        Ok(groups)
    }
}

fn original(row: &Row) -> Answer<Option<(u64, StoredOriginal)>> {
    let mut from = Cells::of(row);
    let seq = from.number()?;
    let found = StoredOriginal {
        seq,
        url_key: from.hash()?,
        content_hash: from.content_hash()?,
        simhash: from.simhash()?,
        word_count: from.optional_small()?,
    };
    Ok(Some((seq, found)))
}
