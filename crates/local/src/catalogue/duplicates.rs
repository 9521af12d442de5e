//! Originals and their duplicates.

use super::cells::{content_hash, simhash};
use argiope_model::JobId;
use argiope_store::catalogue::{DuplicateGroup, StoredOriginal};
use rusqlite::{Connection, OptionalExtension, Row, params};

pub(super) fn original(row: &Row<'_>) -> rusqlite::Result<StoredOriginal> {
    let hashes = (content_hash(row.get_ref(2)?), simhash(row.get_ref(3)?));
    Ok(StoredOriginal {
        seq: row.get::<_, i64>(0)? as u64,
        url_key: row.get::<_, i64>(1)? as u64,
        content_hash: hashes.0?,
        simhash: hashes.1?,
        word_count: row.get(4)?,
    })
}

pub(super) fn page_urls(
    connection: &Connection,
    job: JobId,
    url_keys: &[u64],
) -> rusqlite::Result<Vec<(u64, String)>> {
    let sql = "SELECT url FROM pages WHERE url_key = ?1 AND job = ?2 ORDER BY round DESC LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = Vec::with_capacity(url_keys.len());
    for key in url_keys {
        let url = statement.query_row(params![*key as i64, job.0], |row| row.get(0)).optional()?;
        found.extend(url.map(|url| (*key, url)));
    }
    Ok(found)
}

pub(super) fn groups(
    connection: &Connection,
    job: JobId,
    (first, last): (i64, i64),
    limit: usize,
    examples: usize,
) -> rusqlite::Result<Vec<DuplicateGroup>> {
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let mut groups: Vec<DuplicateGroup> = Vec::new();
    let mut statement = connection.prepare_cached(include_str!("sql/duplicate_groups.sql"))?;
    let mut rows = statement.query(params![job.0, first, last, number(limit), number(examples)])?;
    while let Some(row) = rows.next()? {
        let (original, count, url): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        match groups.last_mut().filter(|group| group.original == original) {
            Some(group) => group.examples.push(url),
            None => groups.push(DuplicateGroup { original, count: count as u64, examples: vec![url] }),
        }
    }
    Ok(groups)
}
