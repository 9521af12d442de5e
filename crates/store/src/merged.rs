//! URLs that were not fetched because they differ from a fetched one only in ignored parameters: their number by host and
//! parameter, so that a user notices a rule that drops content.

use crate::catalogue::CatalogueReader;
use crate::error::Result;
use argiope_model::{JobId, JobSpec, NormalRules, SkipReason, Url};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Pairs of host and parameter that are counted separately; the rest is counted together.
const MOST_PAIRS: usize = 10_000;

/// URLs without a parameter for which the fetched page is looked up.
const MOST_BARE: usize = 10_000;

/// The host of the pairs beyond [`MOST_PAIRS`].
const OTHER_HOSTS: &str = "other hosts";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergedUrls {
    pub host: String,
    /// The names of the parameters, with a space between them where a URL has several.
    pub parameter: String,
    pub urls: u64,
    /// One of them.
    pub example: String,
}

fn add(pairs: &mut BTreeMap<(String, String), (u64, String)>, mut pair: (String, String), url: String) {
    if pairs.len() >= MOST_PAIRS && !pairs.contains_key(&pair) {
        pair.0 = String::from(OTHER_HOSTS);
    }
    pairs.entry(pair).or_insert_with(|| (0, url)).0 += 1;
}

/// The most frequent first.
pub fn gather(reader: &dyn CatalogueReader, job: JobId) -> Result<Vec<MergedUrls>> {
    if reader.counts(job)?.by_skip.get(&SkipReason::Merged).is_none_or(|count| *count == 0) {
        return Ok(Vec::new());
    }
    let spec = reader.job(job)?.and_then(|job| serde_json::from_str::<JobSpec>(&job.spec).ok());
    let normal = spec.map_or_else(NormalRules::default, |spec| spec.normal_form.compile());
    let mut pairs: BTreeMap<(String, String), (u64, String)> = BTreeMap::new();
    let mut bare: Vec<String> = Vec::new();
    reader.skipped(Some(job), &mut |row| {
        if row.reason == SkipReason::Merged && row.detail.is_empty() && bare.len() < MOST_BARE {
            bare.push(row.url);
        } else if row.reason == SkipReason::Merged {
            let host = Url::from_stored(&row.url).map_or_else(|_| String::new(), |url| url.host().to_owned());
            add(&mut pairs, (host, row.detail), row.url);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // These have no parameter: the page that was fetched in their place has it.
    for url in bare {
        let page = reader.page(Some(job), &url)?;
        let fetched = page.and_then(|page| Url::parse(&page.row.page.url, &normal).ok());
        let Some(fetched) = fetched else { continue };
        let parameters = normal.dropped_parameters(&fetched).join(" ");
        add(&mut pairs, (fetched.host().to_owned(), parameters), url);
    }
    let of = |((host, parameter), (urls, example))| MergedUrls { host, parameter, urls, example };
    let mut merged: Vec<MergedUrls> = pairs.into_iter().map(of).collect();
    merged.sort_by_key(|merged| std::cmp::Reverse(merged.urls));
    Ok(merged)
}
