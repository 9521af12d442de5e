//! What must not be there. tantivy asks the documents that are excluded for one that lies before where they are; phrases do
//! not expect that and take the question for a mistake of the caller. This stands in front of them and seeks forward only,
//! as a set of documents does that has no `seek_danger` of its own.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader};

#[derive(Debug)]
pub(super) struct Exclusion(pub(super) Box<dyn Query>);

impl Clone for Exclusion {
    fn clone(&self) -> Exclusion {
        Exclusion(self.0.box_clone())
    }
}

impl Query for Exclusion {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(ExclusionWeight(self.0.weight(scoring)?)))
    }
}

struct ExclusionWeight(Box<dyn Weight>);

impl Weight for ExclusionWeight {
    fn scorer(&self, segment: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(Excluded(self.0.scorer(segment, boost)?)))
    }

    fn explain(&self, segment: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(segment, document)
    }
}

struct Excluded(Box<dyn Scorer>);

impl DocSet for Excluded {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }
}

impl Scorer for Excluded {
    fn score(&mut self) -> Score {
        0.0
    }
}
