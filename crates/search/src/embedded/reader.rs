//! Searching an index, beside its writer or without one.

use super::collapse::{Ranked, collapsed};
use super::compiled_query::compile;
use super::facets::FacetCollector;
use super::failure::{corrupt, failure, guarded};
use super::{Found, Opened, find, spelling, stored_position};
use crate::hits::{FEW_RESULTS, Hit, Hits, MOST_HITS, Request};
use crate::index::IndexReader;
use crate::query::Term;
use crate::snippet;
use argiope_model::{JobId, Millis};
use argiope_store::error::{ErrorKind, Result, StoreError};
use argiope_store::follower::Position;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tantivy::collector::{Count, TopDocs};
use tantivy::schema::Field;
use tantivy::schema::Value;
use tantivy::{ReloadPolicy, Searcher, TantivyDocument};

pub struct EmbeddedReader {
    opened: Opened,
    reader: tantivy::IndexReader,
    /// The commit that the reader has seen.
    seen: Mutex<u64>,
}

impl EmbeddedReader {
    /// None where there is no index yet.
    pub fn open(directory: &Path) -> Result<Option<EmbeddedReader>> {
        match find(directory)? {
            Found::Nothing => Ok(None),
            Found::Bad(why) => Err(corrupt(directory, &why)),
            Found::Good(opened) => guarded(directory, || EmbeddedReader::of(opened)).map(Some),
        }
    }

    /// How far the index in a directory is filled; the beginning where there is none.
    pub fn position(directory: &Path) -> Result<Position> {
        match find(directory)? {
            Found::Good(opened) => stored_position(&opened),
            Found::Nothing | Found::Bad(_) => Ok(Position::default()),
        }
    }

    fn of(opened: Opened) -> Result<EmbeddedReader> {
        let failed = |error| failure(&opened.directory, error);
        let seen = opened.index.load_metas().map_err(failed)?.opstamp;
        let reader = opened.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        Ok(EmbeddedReader { reader: reader.map_err(failed)?, opened, seen: Mutex::new(seen) })
    }

    /// Opening segments takes time, so it is done only after a commit.
    fn searcher(&self) -> tantivy::Result<Searcher> {
        let last = self.opened.index.load_metas()?.opstamp;
        let mut seen: MutexGuard<'_, u64> = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen != last {
            self.reader.reload()?;
            *seen = last;
        }
        Ok(self.reader.searcher())
    }

    fn find(&self, request: &Request) -> Result<Hits> {
        let failed = |error| failure(&self.opened.directory, error);
        let wanted = request.offset.saturating_add(request.limit);
        if wanted > MOST_HITS {
            let message = format!("the first {MOST_HITS} results can be listed; narrow the query");
            return Err(StoreError::new(ErrorKind::Usage, "search", message));
        }
        let query = compile(&request.query, &self.opened.fields)?;
        let searcher = self.searcher().map_err(failed)?;
        // A few more, in the place of copies; if that is not enough, as many as there may be.
        let mut fetched = wanted * 2 + 10;
        let facets = request.facets.then_some(FacetCollector);
        let collectors = (TopDocs::with_limit(fetched).order_by_score(), Count, facets);
        let (mut found, total, facets) = searcher.search(&query, &collectors).map_err(failed)?;
        let mut ranked;
        loop {
            let is_all = found.len() < fetched;
            ranked = collapsed(&searcher, found).map_err(failed)?;
            if is_all || ranked.len() >= wanted || fetched >= MOST_HITS {
                break;
            }
            fetched = (fetched * 4).min(MOST_HITS);
            found =
                searcher.search(&query, &TopDocs::with_limit(fetched).order_by_score()).map_err(failed)?;
        }
        let total = total as u64;
        let terms = request.query.terms();
        let hits = ranked.iter().skip(request.offset).take(request.limit);
        let hits =
            hits.map(|ranked| self.hit(&searcher, ranked, &terms)).collect::<tantivy::Result<Vec<Hit>>>();
        let suggestion = if total < FEW_RESULTS {
            spelling::suggestion(&searcher, &self.opened.fields, &request.query).map_err(failed)?
        } else {
            None
        };
        Ok(Hits {
            total,
            hits: hits.map_err(failed)?,
            facets,
            suggestion: suggestion.map(|query| query.to_string()),
        })
    }

    fn hit(&self, searcher: &Searcher, ranked: &Ranked, terms: &[Term]) -> tantivy::Result<Hit> {
        let document: TantivyDocument = searcher.doc(ranked.address)?;
        let fields = &self.opened.fields;
        let text =
            |field: Field| document.get_first(field).and_then(|value| value.as_str()).unwrap_or_default();
        let number =
            |field: Field| document.get_first(field).and_then(|value| value.as_u64()).unwrap_or_default();
        let language = text(fields.primary_language);
        Ok(Hit {
            score: ranked.score,
            url: text(fields.url).to_owned(),
            title: text(fields.shown_title).to_owned(),
            host: text(fields.host).to_owned(),
            job: JobId(number(fields.job).try_into().unwrap_or(u32::MAX)),
            status: number(fields.status).try_into().unwrap_or(u16::MAX),
            language: (!language.is_empty()).then(|| language.to_owned()),
            crawled_at: Millis(number(fields.crawled_at)),
            snippet: snippet::snippet(text(fields.text), text(fields.description), terms),
        })
    }
}

impl IndexReader for EmbeddedReader {
    fn search(&self, request: &Request) -> Result<Hits> {
        guarded(&self.opened.directory, || self.find(request))
    }

    fn documents(&self) -> Result<u64> {
        guarded(&self.opened.directory, || {
            let searcher = self.searcher().map_err(|error| failure(&self.opened.directory, error))?;
            Ok(searcher.num_docs())
        })
    }
}
