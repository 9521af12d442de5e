//! Searching on a server.

use super::client::{Call, SearchServer};
use super::compiled_query::compile;
use argiope_model::{JobId, Millis};
use argiope_search::hits::{Count, FACET_ENTRIES, FEW_RESULTS, Facets, Hit, Hits, MOST_HITS, Request};
use argiope_search::index::IndexReader;
use argiope_search::query::{Query, Term};
use argiope_search::snippet::snippet;
use argiope_search::words;
use argiope_store::error::{ErrorKind, Result, StoreError};
use serde_json::{Map, Value, json};

/// Shorter words are near to everything.
const SHORTEST_MISSPELT: usize = 4;

pub struct ServerReader {
    server: SearchServer,
}

impl ServerReader {
    pub fn new(server: SearchServer) -> ServerReader {
        ServerReader { server }
    }

    /// A better spelling of words that few pages have.
    fn suggestion(&self, query: &Query) -> Result<Option<String>> {
        let misspelt: Vec<String> = query
            .terms()
            .into_iter()
            .filter_map(|term| <[String; 1]>::try_from(term.words).ok().map(|[word]| word))
            .filter(|word| word.chars().count() >= SHORTEST_MISSPELT)
            .collect();
        if misspelt.is_empty() {
            return Ok(None);
        }
        let mut suggest = Map::new();
        for (at, word) in misspelt.iter().enumerate() {
            let term = json!({"field": "body", "suggest_mode": "popular", "prefix_length": 0, "size": 1});
            suggest.insert(at.to_string(), json!({"text": word, "term": term}));
        }
        let answer = self.server.post("_search", &json!({"size": 0, "suggest": suggest}))?;
        let better = |word: &str| {
            let at = misspelt.iter().position(|misspelt| misspelt == word)?;
            let option = answer.pointer(&format!("/suggest/{at}/0/options/0/text"))?;
            option.as_str().map(str::to_owned)
        };
        let corrected = query.with_words(&mut |text| match words::asked(&text.text).as_slice() {
            [word] => better(word),
            _ => None,
        });
        Ok(corrected.map(|query| query.to_string()))
    }
}

impl IndexReader for ServerReader {
    fn search(&self, request: &Request) -> Result<Hits> {
        if request.offset.saturating_add(request.limit) > MOST_HITS {
            let message = format!("the first {MOST_HITS} results can be listed; narrow the query");
            return Err(StoreError::new(ErrorKind::Usage, "search", message));
        }
        let mut body = json!({
            "query": compile(&request.query)?,
            "from": request.offset,
            "size": request.limit,
            "track_total_hits": true,
            "sort": [{"_score": "desc"}, {"is_duplicate": "asc"}, {"crawled_at": "desc"}],
            "track_scores": true,
            "collapse": {"field": "content"},
            "_source": ["url", "title", "host", "job", "status", "primary_language", "crawled_at", "text", "description"],
        });
        if request.facets
            && let Some(body) = body.as_object_mut()
        {
            let top = |field: &str| json!({"terms": {"field": field, "size": FACET_ENTRIES}});
            let facets = json!({"domains": top("root_domain"), "languages": top("primary_language"), "topics": top("topics")});
            body.insert(String::from("aggs"), facets);
        }
        // With the frequencies of all shards: copies of a page get the same score wherever they are.
        let answer = self.server.post("_search?search_type=dfs_query_then_fetch", &body)?;
        let total = answer.pointer("/hits/total/value").and_then(Value::as_u64).unwrap_or(0);
        let terms = request.query.terms();
        let hits = answer.pointer("/hits/hits").and_then(Value::as_array).into_iter().flatten();
        Ok(Hits {
            total,
            hits: hits.map(|hit| hit_of(hit, &terms)).collect(),
            facets: request.facets.then(|| facets_of(&answer)),
            suggestion: if total < FEW_RESULTS { self.suggestion(&request.query)? } else { None },
        })
    }

    fn documents(&self) -> Result<u64> {
        let answer = self.server.done(self.server.exchange(Call::get("_count"))?)?;
        Ok(answer.get("count").and_then(Value::as_u64).unwrap_or(0))
    }
}

fn hit_of(hit: &Value, terms: &[Term]) -> Hit {
    let source = hit.get("_source").unwrap_or(&Value::Null);
    let text = |name: &str| source.get(name).and_then(Value::as_str).unwrap_or_default();
    let number = |name: &str| source.get(name).and_then(Value::as_u64).unwrap_or_default();
    Hit {
        score: hit.get("_score").and_then(Value::as_f64).unwrap_or_default() as f32,
        url: text("url").to_owned(),
        title: text("title").to_owned(),
        host: text("host").to_owned(),
        job: JobId(number("job").try_into().unwrap_or(u32::MAX)),
        status: number("status").try_into().unwrap_or(u16::MAX),
        language: source.get("primary_language").and_then(Value::as_str).map(str::to_owned),
        crawled_at: Millis(number("crawled_at")),
        snippet: snippet(text("text"), text("description"), terms),
    }
}

fn facets_of(answer: &Value) -> Facets {
    let counts = |name: &str| -> Vec<Count> {
        let buckets = answer.pointer(&format!("/aggregations/{name}/buckets")).and_then(Value::as_array);
        let count = |bucket: &Value| {
            let name = bucket.get("key")?.as_str()?.to_owned();
            Some((name, bucket.get("doc_count")?.as_u64()?))
        };
        Facets::top(buckets.into_iter().flatten().filter_map(count))
    };
    Facets { domains: counts("domains"), languages: counts("languages"), topics: counts("topics") }
}
