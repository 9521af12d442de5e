//! `demo`: a synthetic web on this machine, crawled the way any other is, and what can be done with the results.

use super::crawl::crawl;
use super::output::print;
use super::why;
use crate::progress::{Display, Style, style_for_stdout};
use argiope_config::{
    CrawlOptions, CrawlSettings, Failure, GlobalOptions, LoadedConfig, NO_PROXY, NetworkOptions,
};
use argiope_lab::{HostRule, Lab, LabConfig, SiteKind, check};
use argiope_model::display::{counted, fit, printable};
use argiope_model::{JobId, SkipReason};
use argiope_service::why::explain_in;
use argiope_service::{Access, audit, directory};
use argiope_store::catalogue::{CatalogueReader, PageQuery, PageRow};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// Between two requests to a site: with it the demo takes about half a minute.
const DELAY: Duration = Duration::from_millis(500);
/// What `robots.txt` of [`SiteKind::RobotsCrawlDelay`] asks for.
const CRAWL_DELAY: Duration = Duration::from_secs(1);
/// The crawler's clock counts whole milliseconds.
const TICK: Duration = Duration::from_millis(1);
const LISTED: usize = 8;
const WIDTH: usize = 96;

pub(crate) fn run(global: &GlobalOptions, display: &Display) -> Result<(), Failure> {
    let lab = Lab::start_on_thread(LabConfig::demo())
        .map_err(|e| Failure::failed(format!("cannot start the synthetic web: {e}")))?;
    let place = Place::new(global)?;
    let global = GlobalOptions { data: place.data.clone(), config: None, ..global.clone() };
    display.message(&format!(
        "a synthetic web of {} sites runs on this machine; each gets at most one request per {:.1} s, no network \
         is needed",
        lab.seeds().len(),
        DELAY.as_secs_f64()
    ));
    let jobs = crawl(vec![settings(&global, &lab, &place)?], global.quiet, display)?;
    let Some(job) = jobs.first().copied() else { return Ok(()) };
    let reader = directory::reader(&global.data)?;
    let shown = show(&global, &reader, job)?;
    let proof = proof(&lab, &reader, job)?;
    if !global.quiet {
        print(&format!("{shown}{proof}{}", place.farewell()))?;
    }
    Ok(())
}

/// Where the data goes: a directory that vanishes with the demo, unless one was named.
struct Place {
    data: PathBuf,
    scratch: Option<TempDir>,
}

impl Place {
    fn new(global: &GlobalOptions) -> Result<Place, Failure> {
        if global.data_given {
            return Ok(Place { data: global.data.clone(), scratch: None });
        }
        let scratch = tempfile::Builder::new()
            .prefix("argiope-demo-")
            .tempdir()
            .map_err(|e| Failure::failed(format!("cannot create a temporary directory: {e}")))?;
        Ok(Place { data: scratch.path().to_owned(), scratch: Some(scratch) })
    }

    fn farewell(&self) -> String {
        let style = style_for_stdout();
        let text = if self.scratch.is_some() {
            format!(
                "The data in {} has been removed; 'argiope demo --data DIR' keeps it in DIR.\nTo crawl a site: \
                 argiope crawl https://example.com",
                self.data.display()
            )
        } else {
            format!(
                "The data is in {}.\nTo crawl a site: argiope crawl https://example.com",
                self.data.display()
            )
        };
        format!("\n{}\n", style.dim(&text))
    }
}

/// As `crawl` would have it with these options.
fn settings(global: &GlobalOptions, lab: &Lab, place: &Place) -> Result<CrawlSettings, Failure> {
    let args = CrawlOptions {
        seeds: lab.seeds(),
        delay: Some(DELAY),
        allow_private: true,
        name: Some(String::from("demo")),
        fresh: true,
        // It is on this machine, whatever the environment says.
        network: NetworkOptions { proxy: Some(String::from(NO_PROXY)), ..NetworkOptions::default() },
        ..CrawlOptions::default()
    };
    let mut settings = CrawlSettings::without_files(global, &args)?;
    settings.data_is_kept = place.scratch.is_none();
    // The web it crawls is gone with it.
    settings.can_go_on = false;
    Ok(settings)
}

fn show(global: &GlobalOptions, reader: &dyn CatalogueReader, job: JobId) -> Result<String, Failure> {
    let style = style_for_stdout();
    let mut text = format!("\n{}\n", style.bold("Some of the pages"));
    for row in sample(reader, job)? {
        listing(&mut text, &row, style);
    }
    let stored = reader.job(job).map_err(|e| directory::store_failure(&e))?;
    if let (Some(job), Some(url)) = (stored, blocked(reader, job)?) {
        let access = Access::to_directory(global, LoadedConfig::default());
        let answer = explain_in(&access, reader, &job, &url)?;
        let _ = write!(text, "\n{}\n{}", style.bold(&format!("argiope why {url}")), why::text(&answer));
    }
    Ok(text)
}

/// A page of each of the first sites, none of them the front page.
fn sample(reader: &dyn CatalogueReader, job: JobId) -> Result<Vec<PageRow>, Failure> {
    let mut hosts = BTreeSet::new();
    let mut rows = Vec::new();
    let each = &mut |stored: argiope_store::catalogue::StoredPage| {
        let page = &stored.row.page;
        let is_telling =
            page.status == Some(200) && page.depth > 0 && page.title.is_some() && page.word_count > Some(50);
        if is_telling && hosts.insert(stored.row.host.clone()) {
            rows.push(stored.row);
        }
        Ok(if rows.len() < LISTED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    reader.pages(&PageQuery::of(job), each).map_err(|e| directory::store_failure(&e))?;
    Ok(rows)
}

fn listing(text: &mut String, row: &PageRow, style: Style) {
    let page = &row.page;
    let title = fit(&printable(page.title.as_deref().unwrap_or_default()), WIDTH);
    let words = counted(u64::from(page.word_count.unwrap_or(0)), "word", "words");
    let about = page.description.clone().or_else(|| row.headings.first().cloned()).unwrap_or_default();
    let _ = writeln!(text, "  {}", style.green(&title));
    let _ = writeln!(text, "    {}  {}", page.url, style.dim(&words));
    if !about.is_empty() {
        let _ = writeln!(text, "    {}", fit(&printable(&about), WIDTH));
    }
}

/// A URL that robots.txt forbids, if possible by a rule that is about more than the whole site.
fn blocked(reader: &dyn CatalogueReader, job: JobId) -> Result<Option<String>, Failure> {
    let mut found: Option<String> = None;
    let each = &mut |row: argiope_store::catalogue::SkippedRow| {
        if row.reason != SkipReason::RobotsDisallowed {
            return Ok(ControlFlow::Continue(()));
        }
        let is_telling = !row.detail.ends_with("Disallow: /");
        if is_telling || found.is_none() {
            found = Some(row.url);
        }
        Ok(if is_telling { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    reader.skipped(Some(job), each).map_err(|e| directory::store_failure(&e))?;
    Ok(found)
}

/// The audit of the crawler's own history, and the same from the other side: what the sites saw.
fn proof(lab: &Lab, reader: &dyn CatalogueReader, job: JobId) -> Result<String, Failure> {
    let jobs: Vec<_> = reader.job(job).map_err(|e| directory::store_failure(&e))?.into_iter().collect();
    let report = audit::of_requests(reader, &jobs, Some(job), &LoadedConfig::default())?;
    let requests = lab.access_log();
    let early = check(&requests, |host| HostRule::one_at_a_time(owed(lab, host).saturating_sub(TICK)));
    let Some(first) = early.first() else {
        if report.violation_count > 0 {
            return Err(Failure::failed(format!("the audit found {}", report.verdict())));
        }
        let style = style_for_stdout();
        return Ok(format!(
            "\n{}\n  {}\n  The access log of the sites confirms it: {}, none early, none in parallel on one host.\n",
            style.bold("argiope audit"),
            style.green(&report.verdict()),
            counted(requests.len() as u64, "request", "requests")
        ));
    };
    Err(Failure::failed(format!("the sites saw {} early requests; the first: {first}", early.len())))
}

/// The delay that a site may expect.
fn owed(lab: &Lab, host: &str) -> Duration {
    let site = lab.seeds().iter().position(|seed| seed.split('/').nth(2) == Some(host));
    let kind = site.and_then(|site| lab.web().config().kinds.get(site).copied());
    if kind == Some(SiteKind::RobotsCrawlDelay) { CRAWL_DELAY } else { DELAY }
}
