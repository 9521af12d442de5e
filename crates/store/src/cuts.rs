//! What limits and trap rules have skipped in a job, collected for its summary and its report: nothing is cut silently.

use crate::catalogue::{CatalogueReader, JobCounts, SkippedRow};
use crate::error::Result;
use crate::table::{bytes, grouped};
use argiope_model::{JobId, SkipReason, TrapSkip, Truncation};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// At most this many places are listed individually; the rest is counted by kind.
const MOST_PLACES: usize = 10_000;

/// The command that fetches a body again that was cut by a timeout or by the server.
const TIMEOUT: &str = "--timeout DURATION";
const RETRY: &str = "argiope retry";

/// One page, pattern or host with skipped links or a cut body.
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
    /// One of the skipped URLs.
    pub example: Option<String>,
    /// The option or command that fetches it; `-` if there is none.
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
            (SkipReason::BodyTruncated, _) => String::from(match self.option {
                RETRY => "body broken off",
                TIMEOUT => "body cut by the timeout",
                _ => "body cut",
            }),
            (reason, _) => reason.to_string(),
        }
    }

    /// `169 links`, `2.3 MB` ... None where it is not known.
    pub fn amount(&self) -> Option<String> {
        let counted =
            |one, many| format!("{} {}", grouped(self.count), if self.count == 1 { one } else { many });
        match self.reason {
            SkipReason::TooManyLinks | SkipReason::BodyTruncated if self.count == 0 => None,
            SkipReason::TooManyLinks => Some(counted("link", "links")),
            SkipReason::BodyTruncated => Some(bytes(self.count)),
            _ => Some(counted("URL", "URLs")),
        }
    }

    /// `fetch with --max-links N`. None where nothing helps.
    pub fn advice(&self) -> Option<String> {
        match self.option {
            "-" => None,
            RETRY => Some(format!("'{RETRY}' fetches it again")),
            option => Some(format!("fetch with {option}")),
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
        SkipReason::BodyTruncated => match Truncation::of_detail(&row.detail) {
            // No setting takes more of a sitemap, for example.
            Truncation::Length if !row.detail.contains("--max-body") => "-",
            Truncation::Length => "--max-body SIZE",
            Truncation::Time => TIMEOUT,
            Truncation::Disconnect => RETRY,
        },
        // No setting goes beyond the longest possible URL.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn body_cut(detail: &str, amount: u64) -> Cut {
        cut_of(SkippedRow {
            job: JobId(1),
            url_key: 1,
            url: String::from("https://a.test/"),
            reason: SkipReason::BodyTruncated,
            detail: detail.to_owned(),
            source: None,
            amount,
        })
    }

    #[test]
    fn what_completes_a_body_follows_from_what_cut_it() {
        let by_size = body_cut("body over 50000 bytes; ... (--max-body SIZE, max_body)", 2_000_000);
        assert_eq!((by_size.what().as_str(), by_size.option), ("body cut", "--max-body SIZE"));
        assert_eq!(by_size.amount().as_deref(), Some("2.0 MB"));
        let decoded = body_cut("more than 50000 bytes after decoding; ... (--max-body SIZE, max_body)", 0);
        assert_eq!((decoded.option, decoded.amount()), ("--max-body SIZE", None));
        let sitemap = body_cut("body over 52428800 bytes; ... (a longer sitemap is always cut)", 0);
        assert_eq!((sitemap.option, sitemap.advice()), ("-", None));
        // As older versions have stored it.
        let by_time = body_cut("body not complete after 30 s; ... (--max-body, max_body, --timeout)", 0);
        assert_eq!(by_time.what(), "body cut by the timeout");
        assert_eq!(by_time.advice().as_deref(), Some("fetch with --timeout DURATION"));
        for broken in [
            "short body: 5 of 9 bytes; 4 bytes are missing",
            "connection reset after 5 bytes",
            "malformed after 5 bytes",
            "gzip body is broken: unexpected end",
        ] {
            let cut = body_cut(broken, 0);
            assert_eq!((cut.what().as_str(), cut.amount()), ("body broken off", None));
            assert_eq!(cut.advice().as_deref(), Some("'argiope retry' fetches it again"));
        }
    }
}
