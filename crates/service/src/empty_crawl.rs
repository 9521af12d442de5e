//! A crawl that stored no page has failed: finds out why, and what to do about it.

use crate::directory;
use crate::shell::{command, shell_word};
use argiope_config::{Failure, FailureClass, address_hint};
use argiope_model::{JobSpec, SkipReason, Url};
use argiope_store::catalogue::{BriefKind, CatalogueReader, Job, JobCounts, SkippedRow};
use std::ops::ControlFlow;
use std::path::Path;

/// The error in the records of URLs whose host has no allowed address.
const PRIVATE_ADDRESS: &str = "private_address";
/// Seeds whose robots.txt is looked up to find the cause.
const SEEDS: usize = 20;
/// Requests for one robots.txt that are searched for the latest one.
const REQUESTS: usize = 1000;

pub struct EmptyCrawl {
    pub reason: String,
    pub advice: String,
    class: FailureClass,
}

impl EmptyCrawl {
    /// `None` if a page was stored, or there was nothing to crawl. `waits`: queued URLs remain that are blocked until later.
    pub fn of(
        reader: &dyn CatalogueReader,
        job: &Job,
        data: Option<&Path>,
        waits: bool,
    ) -> Result<Option<EmptyCrawl>, Failure> {
        let store = |e| directory::store_failure(&e);
        let counts = reader.counts(job.id).map_err(store)?;
        if counts.pages > 0 || (counts.failed == 0 && counts.skipped() == 0 && !waits) {
            return Ok(None);
        }
        let refusal = first_refusal(reader, job)?;
        let (for_good, for_now) = match refusal {
            Some(row) if row.reason == SkipReason::RobotsUnreachable => (None, Some(row)),
            other => (other, None),
        };
        let (url, class, reason, advice) = if counts.failed > 0 {
            let first = reader.briefs(job.id, BriefKind::Broken, 1).map_err(store)?;
            let Some(page) = first.into_iter().next() else { return Ok(None) };
            let error = page.error.unwrap_or_else(|| String::from("no answer"));
            let (class, advice) = match is_private(&counts) {
                true => (FailureClass::Usage, address_hint(error.contains("--allow-private")).to_owned()),
                false => (FailureClass::Failed, advice_on(&error)),
            };
            (Some(page.url), class, error, advice)
        } else if let Some(row) = for_good {
            let advice = match row.reason {
                SkipReason::RobotsDisallowed => {
                    String::from("the site forbids crawling; --ignore-robots is for sites of your own")
                }
                _ => String::from("check the scope and filters of the job"),
            };
            (Some(row.url), FailureClass::Failed, format!("{}: {}", row.reason, row.detail), advice)
        } else if let Some((url, error)) = robots_failure(reader, job)? {
            let advice = advice_on(&error);
            (Some(url), FailureClass::Failed, format!("robots.txt is unreachable ({error})"), advice)
        } else if let Some(row) = for_now {
            let advice = advice_on(&row.detail);
            (Some(row.url), FailureClass::Failed, row.detail, advice)
        } else {
            let asked = "every remaining host asked for a pause (Retry-After)";
            let reason = job.message.clone().unwrap_or_else(|| asked.to_owned());
            (None, FailureClass::Failed, reason, String::from("run the same command later"))
        };
        let reason = url.iter().map(|url| format!("{url}: ")).chain([reason]).collect();
        let why = url.filter(|_| class == FailureClass::Failed).map(|url| match data {
            Some(data) => command(data, &format!("why {}", shell_word(&url))),
            None => format!("argiope why {}", shell_word(&url)),
        });
        let advice = match why {
            Some(why) => format!("{advice}; \"{why}\" shows what was tried"),
            None => advice,
        };
        Ok(Some(EmptyCrawl { reason, advice, class }))
    }

    /// What the catalogue stores with the job.
    pub fn message(&self) -> String {
        format!("no page was stored; {}", self.reason)
    }

    pub fn failure(&self) -> Failure {
        Failure::new(self.class, self.message()).hint(&self.advice)
    }
}

/// All seeds resolve to refused addresses: the command must change.
fn is_private(counts: &JobCounts) -> bool {
    counts.by_error.get(PRIVATE_ADDRESS) == Some(&counts.failed)
}

fn first_refusal(reader: &dyn CatalogueReader, job: &Job) -> Result<Option<SkippedRow>, Failure> {
    let mut first: Option<SkippedRow> = None;
    let each = &mut |row: SkippedRow| {
        // A URL without a source was given by the user.
        let is_seed = row.source.is_none();
        if is_seed || first.is_none() {
            first = Some(row);
        }
        Ok(if is_seed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    reader.skipped(Some(job.id), each).map_err(|e| directory::store_failure(&e))?;
    Ok(first)
}

/// A seed, and the result of its last request for robots.txt, which is newer than the listed one.
fn robots_failure(reader: &dyn CatalogueReader, job: &Job) -> Result<Option<(String, String)>, Failure> {
    let Ok(spec) = serde_json::from_str::<JobSpec>(&job.spec) else { return Ok(None) };
    for seed in spec.seed_urls().take(SEEDS) {
        let robots = format!("{}/robots.txt", seed.origin());
        let requests =
            reader.fetches_of(None, &robots, REQUESTS).map_err(|e| directory::store_failure(&e))?;
        let Some(last) = requests.into_iter().max_by_key(|request| request.timings.ended) else { continue };
        let status = last.status.filter(|status| *status >= 500).map(|status| format!("answered {status}"));
        if let Some(error) = last.error.or(status) {
            return Ok(Some((seed.as_str().to_owned(), said_of(&seed, error))));
        }
    }
    Ok(None)
}

/// The URL that an error suggests instead of an https one. An error may be quoted in parentheses.
fn plain_url_in(error: &str) -> Option<&str> {
    let at = error.find("try http://")?;
    let url = error.get(at..)?.strip_prefix("try ")?.split_whitespace().next()?;
    let url = url.strip_suffix(';').unwrap_or(url);
    let is_quoted = url.matches(')').count() > url.matches('(').count();
    Some(if is_quoted { url.strip_suffix(')').unwrap_or(url) } else { url })
}

/// Turns the error of a request for robots.txt into the wording for a page.
fn said_of(seed: &Url, error: String) -> String {
    match plain_url_in(&error) {
        Some(root) if root.ends_with('/') => {
            let page = format!("{}{}", root.trim_end_matches('/'), seed.path_and_query());
            error.replace(root, &page)
        }
        _ => error,
    }
}

/// What to do about an error of a request, as stored in its record.
pub fn advice_on(error: &str) -> String {
    if let Some(url) = plain_url_in(error) {
        return format!("try {url}");
    }
    let has = |words: &[&str]| words.iter().any(|word| error.contains(word));
    let advice = if has(&["proxy:", "connect to the proxy", "timeout: proxy"]) {
        "check the proxy: --proxy URL, or http_proxy and https_proxy in the environment; --proxy none disables it"
    } else if has(&["self-signed", "that of an authority itself"]) {
        "if you trust that certificate, name its file with --ca-file FILE"
    } else if has(&["--ca-file"]) {
        "if you trust that authority, name a file with its certificate with --ca-file FILE"
    } else if has(&["the certificate is for"]) {
        "check the name in the URL; for your own server create a certificate with that name in its \
         subjectAltName, or see --insecure"
    } else if has(&["the certificate expired", "the certificate is valid from"]) {
        "the server needs a new certificate, or the clock here is wrong; for your own server see --insecure"
    } else if has(&["TLS handshake"]) {
        "if the server speaks plain HTTP there, try http:// instead of https://"
    } else if has(&["dns:"]) {
        "check the name and the network"
    } else if has(&["connect:"]) {
        "check the name, the port and whether the server is running"
    } else if has(&["answered 5"]) {
        "run the same command again when the server works"
    } else if has(&["timeout:"]) {
        "the server may be slow or overloaded: try again later, or allow more time with --timeout"
    } else {
        "check the name and the network"
    };
    advice.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_fits_the_error() {
        let plain = "tls: the server does not speak TLS here; try http://127.0.0.1:8080/";
        assert_eq!(advice_on(plain), "try http://127.0.0.1:8080/");
        let robots = format!(
            "robots.txt of a.test is unreachable ({plain}); the next crawl command asks for it again at once"
        );
        assert_eq!(advice_on(&robots), "try http://127.0.0.1:8080/");
        let path = "tls: the server does not speak TLS here; try http://127.0.0.1:8080/a_(b)?c=)d";
        assert_eq!(advice_on(path), "try http://127.0.0.1:8080/a_(b)?c=)d");
        let seed = Url::from_stored("https://127.0.0.1:8080/a_(b)?c=)d").unwrap();
        assert_eq!(said_of(&seed, plain.to_owned()), path);
        let own =
            "tls: the certificate is self-signed ('Desk') and not trusted; trust it with --ca-file FILE";
        assert!(advice_on(own).starts_with("if you trust that certificate"));
        assert!(advice_on("tls: the certificate is for a.test, not for b.test").contains("--insecure"));
        assert!(advice_on("tls: the certificate expired on 2020-01-02").contains("new certificate"));
        let untrusted = "tls: the certificate is issued by 'Lab CA', which is not trusted; trust its authority with \
                         --ca-file FILE";
        assert!(advice_on(untrusted).contains("--ca-file FILE"));
        assert!(advice_on("connect: connection refused").contains("whether the server is running"));
        assert!(advice_on("dns: no such name").contains("check the name"));
        for proxied in ["proxy: 127.0.0.7:9: connection refused", "timeout: connect to the proxy after 30 s"]
        {
            assert!(advice_on(proxied).contains("check the proxy: --proxy URL"), "{proxied}");
        }
        assert!(advice_on("timeout: no answer within 30 s").contains("--timeout"));
    }
}
