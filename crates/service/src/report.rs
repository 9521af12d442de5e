//! What a crawl found, job by job: status codes, slow and broken pages, redirects, duplicates, hosts.

use crate::access::Access;
use crate::selection::JobSelection;
use crate::{broken_links, directory};
use argiope_config::Failure;
use argiope_store::clock::now;
use argiope_store::error::StoreError;

pub use argiope_store::report::{Report, ReportLimits};

/// A report for each job that is meant. `notice` gets what is missing in them.
pub fn gather(
    access: &Access,
    jobs: &JobSelection,
    limits: ReportLimits,
    notice: &dyn Fn(&str),
) -> Result<Vec<Report>, Failure> {
    let failed = |e: StoreError| directory::store_failure(&e);
    let reader = access.reader()?;
    let jobs = jobs.of(reader.as_ref())?;
    let work = access.work()?;
    let mut reports = Vec::new();
    for job in &jobs {
        let mut urls = broken_links::urls(reader.as_ref(), job).map_err(failed)?;
        if !urls.is_empty()
            && let Some(links) = broken_links::links_if_any(access, reader.as_ref(), notice)?
        {
            links.read(&mut |page| urls.of_page(page, &mut |_, _, _| Ok(()))).map_err(failed)?;
        }
        let broken = urls.most_linked(limits.pages);
        let state = work.state_word(job);
        let report = Report::gather(reader.as_ref(), job, state, limits, now(), broken);
        reports.push(report.map_err(failed)?);
    }
    Ok(reports)
}
