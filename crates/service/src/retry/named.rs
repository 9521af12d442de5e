//! The job and the pages that a request for a retry names.

use crate::typed_url::spellings;
use crate::{directory, selection};
use argiope_config::Failure;
use argiope_model::{JobSpec, SkipReason};
use argiope_store::catalogue::{CatalogueReader, Job, StoredPage};

/// The first word may be the name of a job.
pub(super) fn job_and_urls<'w>(
    reader: &dyn CatalogueReader,
    words: &'w [String],
) -> Result<(Job, &'w [String]), Failure> {
    let Some((first, rest)) = words.split_first() else { return Ok((selection::job(reader, None)?, words)) };
    let is_number = first.parse::<u32>().is_ok();
    let is_name =
        || reader.find_job(first).map(|found| found.is_some()).map_err(|e| directory::store_failure(&e));
    if is_number || is_name()? {
        return Ok((selection::job(reader, Some(first))?, rest));
    }
    if !first.contains(['.', '/', ':']) {
        // It looks like the name of a job and not like a URL.
        return Err(selection::job(reader, Some(first))
            .err()
            .unwrap_or_else(|| Failure::failed("no such job")));
    }
    Ok((selection::job(reader, None)?, words))
}

/// The pages of the given URLs. Nothing is done if one of them cannot be retried.
pub(super) fn pages(
    reader: &dyn CatalogueReader,
    job: &Job,
    spec: &JobSpec,
    urls: &[String],
) -> Result<Vec<StoredPage>, Failure> {
    let mut pages: Vec<StoredPage> = Vec::new();
    let mut problems = Vec::new();
    for typed in urls {
        match named_page(reader, job, spec, typed)? {
            Ok(page) if pages.iter().any(|known| known.seq == page.seq) => {}
            Ok(page) => pages.push(page),
            Err(problem) => problems.push(format!("{typed} {problem}")),
        }
    }
    if problems.is_empty() {
        return Ok(pages);
    }
    let mut failure =
        Failure::failed("").hint("nothing was queued again; 'argiope why URL' explains the state of a URL");
    failure.messages = problems;
    Err(failure)
}

fn named_page(
    reader: &dyn CatalogueReader,
    job: &Job,
    spec: &JobSpec,
    typed: &str,
) -> Result<Result<StoredPage, String>, Failure> {
    let spellings = match spellings(typed, spec) {
        Ok(spellings) => spellings,
        Err(problem) => return Ok(Err(format!("is not a URL: {problem}"))),
    };
    for url in &spellings {
        if let Some(page) =
            reader.page(Some(job.id), url.normal()).map_err(|e| directory::store_failure(&e))?
        {
            let status = page.row.page.status;
            return Ok(match page.row.has_failed() || status.is_some_and(|status| status >= 400) {
                true => Ok(page),
                false => Err(format!("was fetched ({}): there is nothing to retry", status.unwrap_or(0))),
            });
        }
    }
    for url in &spellings {
        let refused =
            reader.skipped_url(Some(job.id), url.normal()).map_err(|e| directory::store_failure(&e))?;
        if let Some(row) = refused {
            return Ok(Err(match row.reason {
                SkipReason::RobotsUnreachable => {
                    String::from("is queued and waits for its robots.txt: use --blocked")
                }
                reason => format!("was skipped ({reason}: {})", row.detail),
            }));
        }
    }
    Ok(Err(format!("is not a page of job {}: it was never requested, or is still queued", job.id)))
}
