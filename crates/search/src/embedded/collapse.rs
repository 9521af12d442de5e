//! Of results with the same content the best is shown; of those that are equally good the original, then the latest.

use super::schema::columns;
use std::collections::HashSet;
use tantivy::{DocAddress, Searcher};

pub(super) struct Ranked {
    pub(super) score: f32,
    pub(super) address: DocAddress,
}

/// The results without copies, the best first.
pub(super) fn collapsed(searcher: &Searcher, found: Vec<(f32, DocAddress)>) -> tantivy::Result<Vec<Ranked>> {
    let mut rows = Vec::with_capacity(found.len());
    for (score, address) in found {
        let columns = searcher.segment_reader(address.segment_ord).fast_fields();
        let content = columns.u64(columns::CONTENT)?.first(address.doc_id);
        let is_duplicate = columns.bool(columns::IS_DUPLICATE)?.first(address.doc_id).unwrap_or(false);
        rows.push((score, is_duplicate, content, address));
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.3.cmp(&b.3)));
    let mut seen = HashSet::new();
    rows.retain(|(_, _, content, _)| content.is_none_or(|content| seen.insert(content)));
    Ok(rows.into_iter().map(|(score, _, _, address)| Ranked { score, address }).collect())
}
