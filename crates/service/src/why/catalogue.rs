//! What the catalogue knows about a URL: it was attempted, or skipped before a request.

use super::Asked;
use crate::directory;
use argiope_config::{Failure, politeness_of};
use argiope_engine::WhyStep;
use argiope_model::display::{bytes, count, counted};
use argiope_model::{Decision, JobId, RequestKind, SkipReason, TrapSkip, Url};
use argiope_politeness::PolitenessRules;
use argiope_store::catalogue::{CatalogueReader, FetchOutcome, FetchRow, PageRow, ResourceRow};
use argiope_store::error::StoreError;

/// Requests that are listed individually.
const REQUESTS: usize = 20;
/// Requests for one robots.txt that are searched for the last one.
const ROBOTS_REQUESTS: usize = 1000;

/// The URL as recorded, and what is known about it.
type Known = Option<(String, Decision, Vec<WhyStep>)>;

/// The two forms of a URL as steps; one if they are equal.
pub(super) fn forms(request: &str, normal: &str) -> Vec<WhyStep> {
    let mut steps = vec![WhyStep::new("normal_form", true, normal)];
    if request != normal {
        steps.push(WhyStep::new("request", true, format!("as it was found: {request}")));
    }
    steps
}

/// `url` is a normal form, or an invalid URL as typed.
pub(super) fn of(asked: &Asked<'_>, url: &str) -> Result<Known, Failure> {
    let (reader, job) = (asked.reader, asked.job.id);
    let store = |e: StoreError| directory::store_failure(&e);
    if let Some(page) = reader.page(Some(job), url).map_err(store)? {
        let requests = reader.fetches_of(Some(job), url, REQUESTS).map_err(store)?;
        let mut steps = forms(&page.row.page.url, url);
        steps.extend(attempted(&page.row, &requests, ignored_by(asked, &page.row.host)?));
        steps.extend(notes(reader, job, url)?);
        host_step(reader, &page.row.host, &mut steps)?;
        return Ok(Some((page.row.page.url.clone(), decision(&page.row), steps)));
    }
    if let Some(row) = reader.resource(Some(job), url).map_err(store)? {
        return resource(reader, &row, url);
    }
    let Some(skipped) = reader.skipped_url(Some(job), url).map_err(store)? else {
        let mut known = sitemap_or_robots(reader, job, url)?;
        if let Some((_, _, steps)) = &mut known {
            steps.extend(notes(reader, job, url)?);
        }
        return Ok(known);
    };
    let mut steps = forms(&skipped.url, url);
    steps.push(found(skipped.source.as_deref(), None));
    steps.push(WhyStep::new(skipped.reason.as_str(), false, skipped.detail.clone()));
    steps
        .extend(TrapSkip::parse(&skipped.detail).filter(|_| skipped.reason == SkipReason::Trap).map(setting));
    if let Ok(url) = Url::from_stored(url) {
        if skipped.reason == SkipReason::RobotsUnreachable {
            steps.extend(robots_request(reader, &url)?);
        }
        host_step(reader, url.host(), &mut steps)?;
    }
    Ok(Some((skipped.url, Decision::from(skipped.reason), steps)))
}

/// What limits have cut off a page or sitemap.
fn notes(reader: &dyn CatalogueReader, job: JobId, url: &str) -> Result<Vec<WhyStep>, Failure> {
    let notes = reader.notes(job, url).map_err(|e| directory::store_failure(&e))?;
    Ok(notes.into_iter().map(|note| WhyStep::new(note.reason.as_str(), false, note.detail)).collect())
}

/// How to fetch what a trap rule skips.
fn setting(told: TrapSkip<'_>) -> WhyStep {
    let option = match told.rule.option() {
        "--no-traps" => {
            "--no-traps fetches it, or traps.enabled: false, also for a domain under traps.domains; "
        }
        _ => "",
    };
    let detail = format!("rule {}: {option}see {}", told.rule, told.rule.setting());
    WhyStep::new("setting", true, detail)
}

/// A resource of a page.
fn resource(reader: &dyn CatalogueReader, row: &ResourceRow, normal: &str) -> Result<Known, Failure> {
    let requests =
        reader.fetches_of(Some(row.job), normal, REQUESTS).map_err(|e| directory::store_failure(&e))?;
    let mut steps = forms(&row.url, normal);
    steps.push(found(row.source.as_deref(), None));
    steps.push(WhyStep::new(
        "kind",
        true,
        "a resource of a page (--resources); links in it are not followed",
    ));
    steps.extend(requests.iter().filter(|request| request.kind == RequestKind::Resource).map(request));
    let mut parts = Vec::new();
    parts.extend(row.status.map(|status| format!("status {status}")));
    parts.extend(row.error.clone());
    parts.extend(row.content_type.clone());
    parts.extend(row.bytes.map(bytes));
    parts.extend(row.final_url.as_ref().filter(|url| **url != row.url).map(|url| format!("finally {url}")));
    steps.push(WhyStep::new("outcome", !row.is_broken(), parts.join(", ")));
    if let Some(last) = requests.last() {
        host_step(reader, &last.host, &mut steps)?;
    }
    let decision = if row.status.is_some() { Decision::Fetched } else { Decision::Failed };
    Ok(Some((row.url.clone(), decision, steps)))
}

/// A sitemap or robots.txt that was fetched: these are not pages.
fn sitemap_or_robots(reader: &dyn CatalogueReader, job: JobId, url: &str) -> Result<Known, Failure> {
    let requests = reader.fetches_of(Some(job), url, REQUESTS).map_err(|e| directory::store_failure(&e))?;
    let Some(last) = requests.last().filter(|row| row.outcome == FetchOutcome::Final) else {
        return Ok(None);
    };
    let what = match last.kind {
        RequestKind::Page | RequestKind::Resource => return Ok(None),
        RequestKind::Sitemap => "a sitemap, read for its URLs",
        RequestKind::Robots => "the host's robots.txt, fetched before anything else",
    };
    let scheduled = last.scheduled_url.as_ref().unwrap_or(&last.url).clone();
    let mut steps = forms(&scheduled, url);
    steps.push(WhyStep::new("kind", true, what));
    steps.extend(requests.iter().map(request));
    let decision = if last.status.is_some() { Decision::Fetched } else { Decision::Failed };
    host_step(reader, &last.host, &mut steps)?;
    Ok(Some((scheduled, decision, steps)))
}

/// A URL that was not scheduled itself, but is a redirect's target.
pub(super) fn as_hop(reader: &dyn CatalogueReader, job: JobId, url: &str) -> Result<Known, Failure> {
    let requests = reader.hops_to(job, url, REQUESTS).map_err(|e| directory::store_failure(&e))?;
    let Some(last) = requests.last() else { return Ok(None) };
    let mut steps = vec![WhyStep::new("normal_form", true, url)];
    for row in &requests {
        let from = row.scheduled_url.as_deref().unwrap_or_default();
        steps.push(WhyStep::new("redirect", true, format!("requested because {from} redirects to it")));
        steps.push(request(row));
    }
    let decision = if last.status.is_some() { Decision::Fetched } else { Decision::Failed };
    host_step(reader, &last.host, &mut steps)?;
    Ok(Some((url.to_owned(), decision, steps)))
}

/// The requests for a URL without a final result.
pub(super) fn requests(reader: &dyn CatalogueReader, job: JobId, url: &Url) -> Result<Vec<WhyStep>, Failure> {
    let rows =
        reader.fetches_of(Some(job), url.normal(), REQUESTS).map_err(|e| directory::store_failure(&e))?;
    Ok(rows.iter().map(request).collect())
}

/// The last request for the robots.txt of a URL: its result tells why it is unreachable.
pub(super) fn robots_request(reader: &dyn CatalogueReader, url: &Url) -> Result<Option<WhyStep>, Failure> {
    let robots = format!("{}/robots.txt", url.origin());
    let rows = reader.fetches_of(None, &robots, ROBOTS_REQUESTS).map_err(|e| directory::store_failure(&e))?;
    Ok(rows.last().map(request))
}

/// A URL with a response was fetched, whatever its status; one that ended without any has failed.
fn decision(row: &PageRow) -> Decision {
    if row.page.status.is_some() { Decision::Fetched } else { Decision::Failed }
}

/// Whether the job, or the current configuration, says to ignore robots.txt.
fn ignored_by(asked: &Asked<'_>, host: &str) -> Result<Option<&'static str>, Failure> {
    if !asked.spec.respect_robots {
        return Ok(Some("the job ignores robots.txt (--ignore-robots)"));
    }
    let config = asked.access.rules()?;
    let rules = PolitenessRules::compile(&politeness_of(&config.file)).map_err(Failure::usage_all)?;
    let ignored = !rules.for_host(host).respect_robots();
    Ok(ignored.then_some("the configuration has respect_robots: false for this host"))
}

fn attempted(row: &PageRow, requests: &[FetchRow], ignored_by: Option<&str>) -> Vec<WhyStep> {
    let page = &row.page;
    let mut steps = vec![found(row.source.as_deref(), Some(page.depth))];
    if let Some(last) = requests.last() {
        let detail = match (&last.rule, ignored_by) {
            (Some(rule), _) => format!("line {}: {}", rule.line, rule.text),
            (None, Some(by)) => format!("not checked: {by}"),
            (None, None) => String::from("no rule forbids it"),
        };
        steps.push(WhyStep::new("robots", true, detail));
    }
    steps.extend(requests.iter().map(request));
    for hop in &row.redirects {
        steps.push(WhyStep::new("redirect", true, format!("{} returned {}", hop.url, hop.status)));
    }
    steps.push(outcome(row));
    if let Some(other) = &page.duplicate_of {
        steps.push(WhyStep::new("content", true, format!("a duplicate of {other}")));
    }
    if row.noindex {
        steps.push(WhyStep::new(
            "index",
            true,
            "noindex: fetched, but not shown unless the job sets index_noindex",
        ));
    }
    steps
}

fn found(source: Option<&str>, depth: Option<u32>) -> WhyStep {
    let detail = match (source, depth) {
        (Some(source), Some(depth)) => format!("on {source}, at depth {depth}"),
        (Some(source), None) => format!("on {source}"),
        (None, Some(depth)) if depth > 0 => format!("at depth {depth}"),
        (None, _) => String::from("a seed"),
    };
    WhyStep::new("found", true, detail)
}

fn request(row: &FetchRow) -> WhyStep {
    let answer = match (row.status, &row.error) {
        (Some(status), _) => format!("answered {status}"),
        (None, Some(error)) => error.clone(),
        (None, None) => String::from("no answer"),
    };
    let took = row.timings.ended.since(row.timings.started).as_millis();
    let detail = format!(
        "{} {}: {answer} in {took} ms, after a delay of at least {} ms, attempt {}",
        row.timings.started.rfc3339(),
        row.url,
        row.required_delay_ms,
        u32::from(row.attempt) + 1
    );
    WhyStep::new("request", row.status.is_some(), detail)
}

fn outcome(row: &PageRow) -> WhyStep {
    let page = &row.page;
    let mut parts = Vec::new();
    parts.extend(page.status.map(|status| format!("status {status}")));
    parts.extend(page.error.clone());
    parts.extend(page.crawled_at.map(|at| format!("at {}", at.rfc3339())));
    parts.extend(page.content_type.clone());
    parts.extend(page.bytes.map(bytes));
    parts.extend(page.final_url.as_ref().filter(|url| **url != page.url).map(|url| format!("finally {url}")));
    parts.extend(page.archive.as_ref().map(|place| format!("archive {place}")));
    let decision = decision(row);
    WhyStep::new(decision.as_str(), decision == Decision::Fetched, parts.join(", "))
}

/// The state of the host, over all jobs.
pub(super) fn host_step(
    reader: &dyn CatalogueReader,
    host: &str,
    steps: &mut Vec<WhyStep>,
) -> Result<(), Failure> {
    let Some(row) = reader.host(host).map_err(|e| directory::store_failure(&e))? else { return Ok(()) };
    let mut parts = vec![row.host.clone()];
    match row.robots_status {
        Some(status) => parts.push(format!("robots.txt returned {status}")),
        None if row.robots_fetched_at.is_some() => parts.push(String::from("robots.txt was unreachable")),
        None => {}
    }
    parts.extend(row.crawl_delay_ms.map(|ms| format!("Crawl-delay {} ms", count(ms))));
    if row.page_count > 0 {
        parts.push(counted(row.page_count, "page", "pages"));
    }
    parts.extend(row.last_request_at.map(|at| format!("last requested at {}", at.rfc3339())));
    steps.push(WhyStep::new("host", true, parts.join(", ")));
    Ok(())
}
