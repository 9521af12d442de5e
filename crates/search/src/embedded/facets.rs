//! Figures over all results, from columns: per segment a counter for each value, then added up by name.

use super::schema::columns;
use crate::hits::Facets;
use std::collections::HashMap;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::StrColumn;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

const COLUMNS: [&str; 3] = [columns::DOMAIN, columns::LANGUAGE, columns::TOPICS];
/// Values of one segment that are added up with those of the others: far more than are shown, for what is frequent in one
/// segment and in the next a little less.
const KEPT_PER_SEGMENT: usize = 300;

pub(super) struct FacetCollector;

pub(super) struct SegmentFacets {
    columns: [Option<(StrColumn, Vec<u32>)>; 3],
}

impl Collector for FacetCollector {
    type Fruit = Facets;
    type Child = SegmentFacets;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<SegmentFacets> {
        let column = |name: &str| -> tantivy::Result<Option<(StrColumn, Vec<u32>)>> {
            let column = segment.fast_fields().str(name)?;
            Ok(column.map(|column| {
                let counts = vec![0; column.num_terms()];
                (column, counts)
            }))
        };
        let [domains, languages, topics] = COLUMNS;
        Ok(SegmentFacets { columns: [column(domains)?, column(languages)?, column(topics)?] })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, segments: Vec<[HashMap<String, u64>; 3]>) -> tantivy::Result<Facets> {
        let mut sums: [HashMap<String, u64>; 3] = Default::default();
        for segment in segments {
            for (sum, counts) in sums.iter_mut().zip(segment) {
                for (name, pages) in counts {
                    *sum.entry(name).or_default() += pages;
                }
            }
        }
        let [domains, languages, topics] = sums.map(Facets::top);
        Ok(Facets { domains, languages, topics })
    }
}

impl SegmentCollector for SegmentFacets {
    type Fruit = [HashMap<String, u64>; 3];

    fn collect(&mut self, document: DocId, _: Score) {
        for (column, counts) in self.columns.iter_mut().flatten() {
            for value in column.term_ords(document) {
                if let Some(count) = usize::try_from(value).ok().and_then(|value| counts.get_mut(value)) {
                    *count += 1;
                }
            }
        }
    }

    fn harvest(self) -> [HashMap<String, u64>; 3] {
        self.columns.map(|column| column.map(|(column, counts)| named(&column, &counts)).unwrap_or_default())
    }
}

/// The most frequent values, by name.
fn named(column: &StrColumn, counts: &[u32]) -> HashMap<String, u64> {
    let mut values: Vec<(u32, u64)> = counts
        .iter()
        .zip(0u64..)
        .filter(|(count, _)| **count > 0)
        .map(|(count, value)| (*count, value))
        .collect();
    if values.len() > KEPT_PER_SEGMENT {
        values.select_nth_unstable_by(KEPT_PER_SEGMENT, |a, b| b.cmp(a));
        values.truncate(KEPT_PER_SEGMENT);
    }
    // In their order: the dictionary is read once, from the front.
    values.sort_unstable_by_key(|(_, value)| *value);
    let ordinals: Vec<u64> = values.iter().map(|(_, value)| *value).collect();
    let mut named = HashMap::with_capacity(values.len());
    let mut counts = values.into_iter().map(|(count, _)| u64::from(count));
    let read = column.dictionary().sorted_ords_to_term_cb(&ordinals, |name| {
        if let Some(count) = counts.next() {
            named.insert(String::from_utf8_lossy(name).into_owned(), count);
        }
    });
    // Reading documents reports the damage, too; figures are not worth a failure.
    if let Err(error) = read {
        tracing::warn!(%error, "cannot read values of the search index");
    }
    named
}
