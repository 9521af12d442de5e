//! The rows of a job, page by page: a request names the job, a filter, where to continue and how many rows are wanted.
//! Each request reads a bounded number of rows, whatever the filter leaves of them.

use crate::control::ControlError;
use crate::control::stored;
use argiope_model::{JobId, Page, SkipReason};
use argiope_store::catalogue::{CatalogueReader, HostOrder, PageQuery, PageRow, StoredPage};
use argiope_store::error::{Result as Stored, StoreError};
use argiope_store::export::{FailedRecord, HostRecord, SkippedRecord};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Rows of an answer, at most.
pub const MOST_ROWS: usize = 1000;
/// Rows that are read for an answer, at most.
const MOST_READ: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRequest<F> {
    pub job: JobId,
    #[serde(default)]
    pub filter: F,
    /// From an earlier answer: [`Listing::next`]. 0 begins.
    #[serde(default)]
    pub after: u64,
    /// 1000 at most.
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing<T> {
    /// There may be fewer than wanted, or none, where the filter leaves out many: `next` says whether there are more.
    pub rows: Vec<T>,
    /// Where the next request continues; None at the end.
    pub next: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageFilter {
    pub status: Option<u16>,
    /// As in the URL, with its port.
    pub host: Option<String>,
    /// With pages that say noindex.
    pub noindex: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkippedFilter {
    pub reason: Option<SkipReason>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FailureFilter {
    pub host: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostFilter {
    pub order: HostOrder,
}

/// Attempted URLs: fetched or failed, in the order they were stored.
pub fn pages(
    reader: &dyn CatalogueReader,
    request: &ListRequest<PageFilter>,
) -> Result<Listing<Page>, ControlError> {
    let filter = &request.filter;
    let is_wanted = |row: &PageRow| {
        filter.status.is_none_or(|status| row.page.status == Some(status)) && is_on(row, &filter.host)
    };
    page_rows(reader, request, filter.noindex, is_wanted, |row| row.page)
}

/// URLs that got no response.
pub fn failures(
    reader: &dyn CatalogueReader,
    request: &ListRequest<FailureFilter>,
) -> Result<Listing<FailedRecord>, ControlError> {
    let is_wanted = |row: &PageRow| row.page.status.is_none() && is_on(row, &request.filter.host);
    page_rows(reader, request, true, is_wanted, FailedRecord::from)
}

/// URLs that were not requested, with the reason.
pub fn skipped(
    reader: &dyn CatalogueReader,
    request: &ListRequest<SkippedFilter>,
) -> Result<Listing<SkippedRecord>, ControlError> {
    stored::job(reader, request.job)?;
    let mut rows = Collector::new(request.limit);
    let read = reader.skipped_after(Some(request.job), request.after, &mut |(number, row)| {
        let is_wanted = request.filter.reason.is_none_or(|reason| row.reason == reason);
        Ok(rows.take(number, is_wanted.then(|| SkippedRecord::from(row))))
    });
    rows.finish(read)
}

/// Hosts with their statistics. Here `after` is how many were listed already; hosts may change their places while the
/// job runs.
pub fn hosts(
    reader: &dyn CatalogueReader,
    request: &ListRequest<HostFilter>,
) -> Result<Listing<HostRecord>, ControlError> {
    stored::job(reader, request.job)?;
    let skip = usize::try_from(request.after).unwrap_or(usize::MAX);
    let limit = within_bounds(request.limit);
    let mut rows = Vec::new();
    let add = &mut |record| {
        rows.push(record);
        Ok(())
    };
    host_records(reader, request.job, request.filter.order, (skip, limit), add)
        .map_err(|error| stored::of_store(&error))?;
    let next = (rows.len() == limit).then(|| request.after.saturating_add(limit as u64));
    Ok(Listing { rows, next })
}

/// The hosts of a job after the first `skip`, `limit` at most.
pub(crate) fn host_records(
    reader: &dyn CatalogueReader,
    job: JobId,
    order: HostOrder,
    (skip, limit): (usize, usize),
    each: &mut dyn FnMut(HostRecord) -> Stored<()>,
) -> Stored<()> {
    let figures = reader.host_figures(job, order, skip.saturating_add(limit))?;
    if figures.len() <= skip {
        return Ok(());
    }
    let delays: HashMap<String, u64> = reader.host_delays(job)?.into_iter().collect();
    for figures in figures.into_iter().skip(skip) {
        let known = reader.host(&figures.host)?;
        let delay = delays.get(&figures.host).copied();
        each(HostRecord::new(figures, known, delay))?;
    }
    Ok(())
}

fn page_rows<F, T>(
    reader: &dyn CatalogueReader,
    request: &ListRequest<F>,
    noindex: bool,
    is_wanted: impl Fn(&PageRow) -> bool,
    record: impl Fn(PageRow) -> T,
) -> Result<Listing<T>, ControlError> {
    stored::job(reader, request.job)?;
    let query = PageQuery { job: Some(request.job), after_seq: request.after, include_noindex: noindex };
    let mut rows = Collector::new(request.limit);
    let read = reader.pages(&query, &mut |StoredPage { seq, row }| {
        let wanted = is_wanted(&row).then(|| record(row));
        Ok(rows.take(seq, wanted))
    });
    rows.finish(read)
}

fn is_on(row: &PageRow, host: &Option<String>) -> bool {
    host.as_ref().is_none_or(|host| row.host == *host)
}

fn within_bounds(limit: usize) -> usize {
    limit.clamp(1, MOST_ROWS)
}

/// The rows of an answer.
struct Collector<T> {
    rows: Vec<T>,
    limit: usize,
    read: usize,
    /// The last row that was read, if there may be more.
    next: Option<u64>,
}

impl<T> Collector<T> {
    fn new(limit: usize) -> Collector<T> {
        Collector { rows: Vec::new(), limit: within_bounds(limit), read: 0, next: None }
    }

    fn take(&mut self, number: u64, row: Option<T>) -> ControlFlow<()> {
        self.read += 1;
        self.rows.extend(row);
        if self.rows.len() < self.limit && self.read < MOST_READ {
            return ControlFlow::Continue(());
        }
        self.next = Some(number);
        ControlFlow::Break(())
    }

    fn finish(self, read: Result<(), StoreError>) -> Result<Listing<T>, ControlError> {
        read.map_err(|error| stored::of_store(&error))?;
        Ok(Listing { rows: self.rows, next: self.next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ControlErrorKind;
    use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue};
    use argiope_model::Millis;
    use argiope_store::catalogue::{Batch, Catalogue, NewJob, SkippedRow, url_key};

    const JOB: JobId = JobId(1);

    struct Stock {
        _folder: tempfile::TempDir,
        reader: Box<dyn CatalogueReader>,
    }

    /// Seven pages of two hosts: the even ones of a.test, of which every third failed; and five skipped URLs.
    fn stock() -> Stock {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("catalog.db");
        let mut catalogue = SqliteCatalogue::open(&path, CatalogueSettings::default()).unwrap();
        for name in ["one", "other"] {
            let (name, spec) = (Some(name.to_owned()), String::from("{}"));
            let new = NewJob { name, seeds_hash: String::new(), spec, created_at: Millis(1), user: None };
            catalogue.create_job(&new).unwrap();
        }
        let page = |job, number: u32| {
            let host = if number.is_multiple_of(2) { "a.test" } else { "b.test" };
            let url = format!("http://{host}/{number}");
            let status = (!number.is_multiple_of(3)).then_some(200);
            let page = Page { url: url.clone(), status, ..Page::default() };
            PageRow { noindex: number == 4, ..PageRow::new(job, url_key(&url), host, page) }
        };
        let skip = |number: u32| SkippedRow {
            job: JOB,
            url_key: u64::from(number),
            url: format!("http://x.test/{number}"),
            reason: if number == 3 { SkipReason::Trap } else { SkipReason::OutOfScope },
            detail: String::new(),
            source: None,
            amount: 0,
        };
        let mut pages: Vec<PageRow> = (0..7).map(|number| page(JOB, number)).collect();
        pages.insert(3, page(JobId(2), 1));
        catalogue.commit(&Batch { pages, skipped: (0..5).map(skip).collect(), ..Batch::default() }).unwrap();
        Stock { _folder: folder, reader: catalogue.reader().unwrap() }
    }

    /// All rows, by as many requests as it takes, and how many rows each brought.
    fn all<F: Clone, T>(
        filter: F,
        limit: usize,
        list: impl Fn(&ListRequest<F>) -> Result<Listing<T>, ControlError>,
        url: impl Fn(&T) -> String,
    ) -> (Vec<String>, Vec<usize>) {
        let (mut urls, mut sizes) = (Vec::new(), Vec::new());
        let mut after = 0;
        loop {
            let request = ListRequest { job: JOB, filter: filter.clone(), after, limit };
            let listing = list(&request).unwrap();
            urls.extend(listing.rows.iter().map(&url));
            sizes.push(listing.rows.len());
            match listing.next {
                Some(next) => after = next,
                None => return (urls, sizes),
            }
        }
    }

    #[test]
    fn pages_are_listed_piece_by_piece_in_their_order() {
        let stock = stock();
        let list = |filter, limit| {
            all(filter, limit, |request| pages(stock.reader.as_ref(), request), |page| page.url.clone())
        };
        let (urls, sizes) = list(PageFilter { noindex: true, ..PageFilter::default() }, 3);
        let numbers: Vec<&str> = urls.iter().filter_map(|url| url.rsplit('/').next()).collect();
        assert_eq!((numbers.join(""), sizes), (String::from("0123456"), vec![3, 3, 1]));
        let (urls, _) = list(PageFilter::default(), 3);
        assert!(urls.len() == 6 && !urls.contains(&String::from("http://a.test/4")), "noindex is asked for");
        let filter = PageFilter { status: Some(200), host: Some(String::from("b.test")), noindex: true };
        assert_eq!(
            list(filter, 1),
            (vec!["http://b.test/1".into(), "http://b.test/5".into()], vec![1, 1, 0])
        );
        // No request is without rows for its limit, nor without a limit.
        assert_eq!(list(PageFilter::default(), 0).1.len(), 7);
        assert_eq!(list(PageFilter::default(), usize::MAX).1, [6]);
    }

    #[test]
    fn failures_skipped_urls_and_hosts_are_listed_by_their_filters() {
        let stock = stock();
        let reader = stock.reader.as_ref();
        let failed = |filter| all(filter, 2, |request| failures(reader, request), |row| row.url.clone());
        assert_eq!(
            failed(FailureFilter::default()).0,
            ["http://a.test/0", "http://b.test/3", "http://a.test/6"]
        );
        let on_a = FailureFilter { host: Some(String::from("a.test")) };
        assert_eq!(failed(on_a).0, ["http://a.test/0", "http://a.test/6"]);

        let refused = |filter| all(filter, 2, |request| skipped(reader, request), |row| row.url.clone());
        assert_eq!(refused(SkippedFilter::default()).1, [2, 2, 1]);
        let traps = SkippedFilter { reason: Some(SkipReason::Trap) };
        assert_eq!(refused(traps).0, ["http://x.test/3"]);

        let by = |order| {
            let filter = HostFilter { order };
            all(filter, 1, |request| hosts(reader, request), |row| row.host.clone())
        };
        assert_eq!(by(HostOrder::MostFailures), (vec!["a.test".into(), "b.test".into()], vec![1, 1, 0]));
        assert_eq!(by(HostOrder::MostPages).0, ["a.test", "b.test"]);
    }

    #[test]
    fn a_request_reads_a_bounded_number_of_rows() {
        let mut rows: Collector<u64> = Collector::new(10);
        let last = MOST_READ as u64;
        assert!((1..last).all(|number| rows.take(number, None).is_continue()));
        assert!(rows.take(last, None).is_break());
        let listing = rows.finish(Ok(())).unwrap();
        assert_eq!((listing.rows.len(), listing.next), (0, Some(last)), "and says that there are more");
    }

    #[test]
    fn an_unknown_job_is_not_found_and_requests_are_json() {
        let stock = stock();
        let text = r#"{"job": 9, "filter": {"reason": "trap"}, "limit": 5}"#;
        let request: ListRequest<SkippedFilter> = serde_json::from_str(text).unwrap();
        assert_eq!((request.filter.reason, request.after), (Some(SkipReason::Trap), 0));
        let error = skipped(stock.reader.as_ref(), &request).unwrap_err();
        assert_eq!(error.kind, ControlErrorKind::NotFound);
        let text = r#"{"job": 1, "filter": {"colour": "red"}, "limit": 5}"#;
        assert!(serde_json::from_str::<ListRequest<PageFilter>>(text).is_err());
    }
}
