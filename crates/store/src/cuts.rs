//! What limits and trap rules have held back of a job, gathered for its summary and its report: nothing is cut silently.

use crate::catalogue::{CatalogueReader, JobCounts, SkippedRow};
use crate::error::Result;
use crate::table::{bytes, grouped};
use argiope_model::{JobId, SkipReason, TrapSkip};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// So many places are told apart while rows are read; what comes after them is counted with its kind.
const MOST_PLACES: usize = 10_000;

/// One page, pattern or host of which something was held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cut {
    #[serde(serialize_with = "word")]
    pub reason: SkipReason,
    /// Of a trap: the rule.
    pub rule: Option<&'static str>,
    /// The page, the pattern of URLs, or the host.
    pub place: String,
    /// Links, URLs, or bytes of a body; 0 where that is not known.
    pub count: u64,
    /// One of the URLs that were held back.
    pub example: Option<String>,
    /// The option that fetches it; `-` where none does.
    pub option: &'static str,
}

fn word<S: serde::Serializer>(reason: &SkipReason, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(reason.as_str())
}

impl Cut {
    /// `trap calendar`, `link limit` ...
    pub fn what(&self) -> String {
        match (self.reason, self.rule) {
            (SkipReason::Trap, Some(rule)) => format!("trap: {rule}"),
            (SkipReason::TooManyLinks, _) => String::from("link limit"),
            (SkipReason::UrlTooLong, _) => String::from("URL too long"),
            (SkipReason::BodyTruncated, _) => String::from("body cut"),
            (reason, _) => reason.to_string(),
        }
    }

    /// `169 links`, `2.3 MB` ...
    pub fn amount(&self) -> String {
        let counted =
            |one, many| format!("{} {}", grouped(self.count), if self.count == 1 { one } else { many });
        match self.reason {
            SkipReason::TooManyLinks if self.count > 0 => counted("link", "links"),
            SkipReason::BodyTruncated if self.count > 0 => bytes(self.count),
            SkipReason::TooManyLinks | SkipReason::BodyTruncated => String::from("?"),
            _ => counted("URL", "URLs"),
        }
    }
}

/// The largest of each kind first, kinds in the order of their reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cuts {
    pub cuts: Vec<Cut>,
    /// Places in all.
    pub places: u64,
}

type Key = (SkipReason, Option<&'static str>, String);

/// The first `limit` places of each kind.
pub fn gather(reader: &dyn CatalogueReader, job: JobId, counts: &JobCounts, limit: usize) -> Result<Cuts> {
    if !SkipReason::CUTS.iter().any(|reason| counts.by_skip.contains_key(reason)) {
        return Ok(Cuts::default());
    }
    let mut places: BTreeMap<Key, Cut> = BTreeMap::new();
    let mut others = 0;
    reader.cuts(job, &mut |row| {
        let cut = cut_of(row);
        let key = (cut.reason, cut.rule, cut.place.clone());
        if let Some(known) = places.get_mut(&key) {
            known.count += cut.count;
        } else if places.len() < MOST_PLACES {
            places.insert(key, cut);
        } else {
            others += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut found = Cuts { places: places.len() as u64 + others, cuts: Vec::new() };
    for reason in SkipReason::CUTS {
        let mut of_kind: Vec<Cut> = places.values().filter(|cut| cut.reason == reason).cloned().collect();
        of_kind.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.place.cmp(&b.place)));
        of_kind.truncate(limit);
        found.cuts.append(&mut of_kind);
    }
    Ok(found)
}

fn cut_of(row: SkippedRow) -> Cut {
    let count = if row.reason == SkipReason::BodyTruncated { row.amount } else { row.counted() };
    let option = match row.reason {
        SkipReason::TooManyLinks => "--max-links N",
        SkipReason::BodyTruncated => "--max-body SIZE",
        // No setting goes beyond what a URL can have.
        SkipReason::UrlTooLong => "-",
        _ => "--no-traps",
    };
    let cut = Cut { reason: row.reason, rule: None, place: String::new(), count, example: None, option };
    match row.reason {
        SkipReason::Trap => match TrapSkip::parse(&row.detail) {
            Some(told) => Cut {
                rule: Some(told.rule.as_str()),
                place: told.pattern.to_owned(),
                option: told.rule.option(),
                example: Some(row.url),
                ..cut
            },
            None => Cut { place: host_of(&row.url), example: Some(row.url), ..cut },
        },
        SkipReason::UrlTooLong => Cut { place: host_of(&row.url), example: Some(row.url), ..cut },
        SkipReason::TooManyLinks if row.amount == 0 => Cut { place: row.url, count: 0, option: "-", ..cut },
        _ => Cut { place: row.url, ..cut },
    }
}

fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned()
}
