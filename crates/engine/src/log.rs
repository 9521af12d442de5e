//! The lines of the log: `info` for the result of each request and changes of hosts, `debug` for internals. Nothing is formatted
//! unless the level is enabled.

use crate::classify::{Decision, error_text};
use argiope_fetch::{FetchError, Fetched};
use argiope_frontier::{Completion, Notice, Unresolved};
use argiope_model::{FetchTimings, Millis, Skip, Url, Visit};
use argiope_politeness::AlertKind;
use argiope_store::archive::Cut;
use argiope_store::catalogue::Batch;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, info};

fn ms(timings: &FetchTimings) -> u64 {
    timings.total_us() / 1000
}

/// Rounded to a tenth.
fn seconds(from: Millis, until: Millis) -> f64 {
    (until.since(from).as_secs_f64() * 10.0).round() / 10.0
}

pub(crate) fn answered(visit: &Visit, fetched: &Fetched, decision: &Decision) {
    let (status, ms, url) = (fetched.status.as_u16(), ms(&fetched.timings), &visit.url);
    match &decision.completion {
        Completion::Redirect { to, .. } => info!(status, ms, %url, %to, "redirected"),
        Completion::Done { .. } | Completion::Retry { .. } => {
            let error = decision.error.as_deref();
            info!(status, ms, bytes = fetched.body.len(), %url, error, "fetched");
        }
    }
    tried_again(visit, decision, fetched.timings.ended);
}

pub(crate) fn failed(visit: &Visit, error: &FetchError, decision: &Decision) {
    info!(error = error_text(error), ms = ms(&error.timings), url = %visit.url, "request failed");
    tried_again(visit, decision, error.timings.ended);
}

fn tried_again(visit: &Visit, decision: &Decision, ended: Millis) {
    if let Completion::Retry { due } = decision.completion {
        let attempt = u32::from(visit.attempt) + 2;
        info!(attempt, in_seconds = seconds(ended, due), url = %visit.url, "retry scheduled");
    }
}

pub(crate) fn robots_answered(url: &Url, fetched: &Fetched, to: Option<&Url>) {
    let (status, ms) = (fetched.status.as_u16(), ms(&fetched.timings));
    match to {
        Some(to) => info!(status, ms, %url, %to, "robots.txt redirected"),
        None => info!(status, ms, %url, "robots.txt read"),
    }
}

pub(crate) fn robots_failed(url: &Url, error: &FetchError) {
    info!(error = error_text(error), ms = ms(&error.timings), %url, "robots.txt request failed");
}

pub(crate) fn resolved(name: &str, result: &Result<(Arc<[IpAddr]>, Millis), Unresolved>) {
    match result {
        Ok((addresses, _)) => debug!(%name, ?addresses, "resolved"),
        Err(Unresolved::NoSuchHost { why, .. } | Unresolved::NoAnswer { why }) => {
            info!(error = %why, %name, "host not resolved");
        }
    }
}

pub(crate) fn refused(url: &Url, skip: &Skip) {
    info!(reason = %skip.reason, detail = skip.detail, %url, "refused");
}

/// A visit that ends without a request.
pub(crate) fn given_up(visit: &Visit, error: &str) {
    info!(error, url = %visit.url, "not requested");
}

pub(crate) fn notice(notice: &Notice) {
    match notice {
        Notice::Alert { host, alert } => {
            let (errors, requests) = (alert.errors, alert.requests);
            info!(%host, errors, requests, until = %alert.until.rfc3339(), "{}", alert_words(alert.kind));
        }
        Notice::Parked { host, parked } => {
            info!(%host, until = %parked.until.rfc3339(), "{PARKED}");
        }
        Notice::RobotsUnreachable { host, until } => {
            info!(%host, until = %until.rfc3339(), "{ROBOTS_UNREACHABLE}");
        }
        Notice::DamagedMessage { shard, offset, why } => {
            tracing::warn!(shard, offset, %why, "{DAMAGED_MESSAGE}");
        }
    }
}

const PARKED: &str = "host paused: it asked for it with Retry-After";
const ROBOTS_UNREACHABLE: &str = "host paused: its robots.txt is unreachable";
const DAMAGED_MESSAGE: &str = "unreadable message to a shard skipped";

fn alert_words(kind: AlertKind) -> &'static str {
    match kind {
        AlertKind::Opened => "host paused after consecutive failures",
        AlertKind::Suspended => "host paused after too many errors",
    }
}

/// The same in one line, for the status.
pub(crate) fn notice_words(notice: &Notice) -> String {
    match notice {
        Notice::Alert { host, alert } => {
            format!("{host}: {} until {}", alert_words(alert.kind), alert.until.rfc3339())
        }
        Notice::Parked { host, parked } => format!("{host}: {PARKED} until {}", parked.until.rfc3339()),
        Notice::RobotsUnreachable { host, until } => {
            format!("{host}: {ROBOTS_UNREACHABLE} until {}", until.rfc3339())
        }
        Notice::DamagedMessage { shard, offset, why } => {
            format!("shard {shard}, offset {offset}: {DAMAGED_MESSAGE}: {why}")
        }
    }
}

pub(crate) fn network(is_down: bool) {
    if is_down {
        info!("network down, crawl paused");
    } else {
        info!("network up, crawl resumed");
    }
}

pub(crate) fn held(why: Option<&str>) {
    match why {
        Some(why) => tracing::warn!(why, "no new requests are sent"),
        None => info!("crawl resumed"),
    }
}

/// From the archive of a worker of a cluster that restarts.
pub(crate) fn cut_off(cut: &Cut) {
    let (file, bytes, reason) = (&cut.now.file, cut.bytes, &cut.reason);
    info!(%file, bytes, %reason, "uncommitted visits cut off the archive; they will be fetched again");
}

pub(crate) fn stored(batch: &Batch, number: u64, took: Duration) {
    let (pages, requests, skipped) = (batch.pages.len(), batch.fetches.len(), batch.skipped.len());
    debug!(number, pages, requests, skipped, ms = took.as_millis(), "batch stored");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_told_to_a_tenth() {
        assert_eq!(seconds(Millis(1_000), Millis(16_649)).to_string(), "15.6");
        assert_eq!(seconds(Millis(1_000), Millis(31_000)).to_string(), "30");
    }
}
