//! What can be exported: records with named fields in a fixed order, as a JSON object or a row of CSV.

use super::row::CsvRow;
use crate::broken::BrokenUrl;
use crate::catalogue::{HostFigures, HostRow, PageRow, ResourceRow, SkippedRow, limits};
use crate::links::{Link, PageLinks};
use argiope_model::{Millis, Page, RedirectEnd};
use serde::Serialize;
use std::io::Write;

/// serde writes its JSON; this writes its row of CSV. Unknown values are null there and empty here.
pub trait Record: Serialize {
    const FIELDS: &'static [&'static str];

    /// Writes every field but does not end the row.
    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()>;
}

impl Record for Page {
    const FIELDS: &'static [&'static str] = &Page::FIELDS;

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.url)?;
        row.optional(&self.final_url)?;
        row.number(self.status)?;
        row.number(Some(self.depth))?;
        row.optional(&self.title)?;
        row.optional(&self.description)?;
        row.optional(&self.keywords)?;
        row.optional(&self.author)?;
        row.optional(&self.language)?;
        row.optional(&self.canonical)?;
        row.optional(&self.content_type)?;
        row.number(self.bytes)?;
        row.shown(self.content_hash)?;
        row.shown(self.simhash)?;
        row.optional(&self.duplicate_of)?;
        row.number(self.word_count)?;
        row.text(&self.topics.as_ref().map(|topics| topics.join(";")).unwrap_or_default())?;
        row.number(self.links)?;
        row.time(self.crawled_at)?;
        row.number(self.fetch_ms)?;
        row.optional(&self.error)?;
        row.optional(&self.archive)
    }
}

/// A page with its content, if that is text and available.
#[derive(Clone, Debug, Serialize)]
pub struct PageWithHtml {
    #[serde(flatten)]
    pub page: Page,
    pub html: Option<String>,
}

impl Record for PageWithHtml {
    const FIELDS: &'static [&'static str] = &with_html();

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        self.page.write_fields(row)?;
        row.optional(&self.html)
    }
}

/// The fields of a page, and the one more.
const fn with_html() -> [&'static str; Page::FIELDS.len() + 1] {
    let mut fields = ["html"; Page::FIELDS.len() + 1];
    let (before, _) = fields.split_at_mut(Page::FIELDS.len());
    before.copy_from_slice(&Page::FIELDS);
    fields
}

/// A skipped URL as users see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedRecord {
    pub url: String,
    pub reason: &'static str,
    pub detail: String,
    pub source: Option<String>,
}

impl From<SkippedRow> for SkippedRecord {
    fn from(row: SkippedRow) -> SkippedRecord {
        SkippedRecord { url: row.url, reason: row.reason.as_str(), detail: row.detail, source: row.source }
    }
}

impl Record for SkippedRecord {
    const FIELDS: &'static [&'static str] = &["url", "reason", "detail", "source"];

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.url)?;
        row.text(self.reason)?;
        row.text(&self.detail)?;
        row.optional(&self.source)
    }
}

/// A resource of pages as users see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceRecord {
    pub url: String,
    pub final_url: Option<String>,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub content_type: Option<String>,
    pub bytes: Option<u64>,
    pub source: Option<String>,
    pub fetched_at: String,
    pub fetch_ms: u32,
    pub archive: Option<String>,
}

impl From<ResourceRow> for ResourceRecord {
    fn from(row: ResourceRow) -> ResourceRecord {
        ResourceRecord {
            url: row.url,
            final_url: row.final_url,
            status: row.status,
            error: row.error,
            content_type: row.content_type,
            bytes: row.bytes,
            source: row.source,
            fetched_at: row.fetched_at.rfc3339(),
            fetch_ms: row.fetch_ms,
            archive: row.archive,
        }
    }
}

impl Record for ResourceRecord {
    const FIELDS: &'static [&'static str] = &[
        "url",
        "final_url",
        "status",
        "error",
        "content_type",
        "bytes",
        "source",
        "fetched_at",
        "fetch_ms",
        "archive",
    ];

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.url)?;
        row.optional(&self.final_url)?;
        row.number(self.status)?;
        row.optional(&self.error)?;
        row.optional(&self.content_type)?;
        row.number(self.bytes)?;
        row.optional(&self.source)?;
        row.text(&self.fetched_at)?;
        row.number(Some(self.fetch_ms))?;
        row.optional(&self.archive)
    }
}

/// A URL that ended without a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedRecord {
    pub url: String,
    pub error: Option<String>,
    /// The requests for it, including the last one.
    pub attempts: u32,
    pub depth: u32,
    pub source: Option<String>,
    #[serde(with = "argiope_model::time::optional_rfc3339")]
    pub failed_at: Option<Millis>,
}

impl From<PageRow> for FailedRecord {
    fn from(row: PageRow) -> FailedRecord {
        FailedRecord {
            attempts: u32::from(row.retry_count) + 1,
            url: row.page.url,
            error: row.page.error,
            depth: row.page.depth,
            source: row.source,
            failed_at: row.page.crawled_at,
        }
    }
}

impl Record for FailedRecord {
    const FIELDS: &'static [&'static str] = &["url", "error", "attempts", "depth", "source", "failed_at"];

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.url)?;
        row.optional(&self.error)?;
        row.number(Some(self.attempts))?;
        row.number(Some(self.depth))?;
        row.optional(&self.source)?;
        row.time(self.failed_at)
    }
}

/// One redirect of a URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RedirectRecord {
    /// As scheduled.
    pub url: String,
    /// 1 for the first.
    pub hop: u32,
    pub from: String,
    pub status: u16,
    pub to: Option<String>,
    pub final_url: Option<String>,
    pub final_status: Option<u16>,
}

impl RedirectRecord {
    /// Of the redirects that led to a page, in order. The last one may be a redirect that was not followed; its target
    /// is null if unknown.
    pub fn of(row: &PageRow) -> impl Iterator<Item = RedirectRecord> + '_ {
        let page = &row.page;
        let last = page.final_url.as_deref().unwrap_or(&page.url);
        let unfollowed = unfollowed(page).map(|(status, to)| (last, status, to));
        let ends = row.redirects.iter().skip(1).map(|hop| hop.url.as_str());
        let ends = ends.map(Some).chain(std::iter::once(page.final_url.as_deref()));
        let followed = row.redirects.iter().zip(ends).map(|(hop, to)| (hop.url.as_str(), hop.status, to));
        let final_url = page.final_url.as_ref().filter(|_| unfollowed.is_none());
        followed.chain(unfollowed).zip(1..).map(move |((from, status, to), hop)| RedirectRecord {
            url: page.url.clone(),
            hop,
            from: from.to_owned(),
            status,
            to: to.map(str::to_owned),
            final_url: final_url.cloned(),
            final_status: page.status,
        })
    }
}

/// The status of a redirect that was not followed, and its target.
fn unfollowed(page: &Page) -> Option<(u16, Option<&str>)> {
    let status = page.status.filter(|status| matches!(status, 301 | 302 | 303 | 307 | 308))?;
    let error = page.error.as_deref().filter(|error| RedirectEnd::is_told_by(error))?;
    // Without a Location it is not a redirect.
    (!error.ends_with(" without a Location")).then(|| (status, RedirectEnd::target_of(error, limits::ERROR)))
}

impl Record for RedirectRecord {
    const FIELDS: &'static [&'static str] =
        &["url", "hop", "from", "status", "to", "final_url", "final_status"];

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.url)?;
        row.number(Some(self.hop))?;
        row.text(&self.from)?;
        row.number(Some(self.status))?;
        row.optional(&self.to)?;
        row.optional(&self.final_url)?;
        row.number(self.final_status)
    }
}

/// A host of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostRecord {
    pub host: String,
    pub pages: u64,
    pub failed: u64,
    pub bytes: u64,
    pub mean_fetch_ms: u64,
    pub max_fetch_ms: u64,
    /// The status of its robots.txt.
    pub robots_status: Option<u16>,
    /// The delay in its robots.txt.
    pub crawl_delay_ms: Option<u64>,
    /// The delay that was used.
    pub delay_ms: Option<u64>,
}

impl HostRecord {
    /// `known` is the state of the host over all jobs. `delay_ms` is the longest delay that was used.
    pub fn new(figures: HostFigures, known: Option<HostRow>, delay_ms: Option<u64>) -> HostRecord {
        HostRecord {
            host: figures.host,
            pages: figures.pages,
            failed: figures.failed,
            bytes: figures.bytes,
            mean_fetch_ms: figures.mean_fetch_ms,
            max_fetch_ms: figures.max_fetch_ms,
            robots_status: known.as_ref().and_then(|known| known.robots_status),
            crawl_delay_ms: known.as_ref().and_then(|known| known.crawl_delay_ms),
            delay_ms,
        }
    }
}

impl Record for HostRecord {
    const FIELDS: &'static [&'static str] = &[
        "host",
        "pages",
        "failed",
        "bytes",
        "mean_fetch_ms",
        "max_fetch_ms",
        "robots_status",
        "crawl_delay_ms",
        "delay_ms",
    ];

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.host)?;
        for number in [self.pages, self.failed, self.bytes, self.mean_fetch_ms, self.max_fetch_ms] {
            row.number(Some(number))?;
        }
        row.number(self.robots_status)?;
        row.number(self.crawl_delay_ms)?;
        row.number(self.delay_ms)
    }
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkRecord {
    pub source: String,
    pub target: String,
    pub anchor: String,
    /// The relevant `rel` values, with blanks between them.
    pub rel: String,
    pub kind: &'static str,
}

impl LinkRecord {
    pub fn new(page: &PageLinks<'_>, link: &Link<'_>) -> LinkRecord {
        LinkRecord {
            source: page.source.to_owned(),
            target: link.target.to_owned(),
            anchor: link.anchor.to_owned(),
            rel: link.rel.words().collect::<Vec<_>>().join(" "),
            kind: link.kind.as_str(),
        }
    }
}

impl Record for LinkRecord {
    const FIELDS: &'static [&'static str] = &["source", "target", "anchor", "rel", "kind"];

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.source)?;
        row.text(&self.target)?;
        row.text(&self.anchor)?;
        row.text(&self.rel)?;
        row.text(self.kind)
    }
}

/// A broken link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenRecord {
    pub url: String,
    pub status: Option<u16>,
    pub error: Option<String>,
    /// The page with the link. If no link is known, the page on which the URL was first found; none for a seed.
    pub source: Option<String>,
    pub anchor: Option<String>,
}

impl BrokenRecord {
    pub fn linked(url: &str, broken: &BrokenUrl, source: &str, link: &Link<'_>) -> BrokenRecord {
        BrokenRecord {
            url: url.to_owned(),
            status: broken.status,
            error: broken.error.clone(),
            source: Some(source.to_owned()),
            anchor: Some(link.anchor.to_owned()),
        }
    }

    pub fn unlinked(broken: &BrokenUrl) -> BrokenRecord {
        BrokenRecord {
            url: broken.url.clone(),
            status: broken.status,
            error: broken.error.clone(),
            source: broken.first_source.clone(),
            anchor: None,
        }
    }
}

impl Record for BrokenRecord {
    const FIELDS: &'static [&'static str] = &["url", "status", "error", "source", "anchor"];

    fn write_fields<W: Write>(&self, row: &mut CsvRow<W>) -> csv::Result<()> {
        row.text(&self.url)?;
        row.number(self.status)?;
        row.optional(&self.error)?;
        row.optional(&self.source)?;
        row.optional(&self.anchor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{Hop, JobId, Url};

    fn row(url: &str, status: u16, error: Option<&str>, hops: &[&str]) -> PageRow {
        let page = Page {
            url: hops.first().copied().unwrap_or(url).to_owned(),
            final_url: Some(url.to_owned()),
            status: Some(status),
            error: error.map(str::to_owned),
            ..Page::default()
        };
        let hop = |url: &&str| Hop { url: Url::from_stored(url).unwrap(), status: 301 };
        PageRow { redirects: hops.iter().map(hop).collect(), ..PageRow::new(JobId(1), 0, "a.test", page) }
    }

    fn ways(row: &PageRow) -> Vec<(u32, String, Option<String>, Option<String>)> {
        RedirectRecord::of(row).map(|record| (record.hop, record.from, record.to, record.final_url)).collect()
    }

    #[test]
    fn a_redirect_that_is_not_followed_is_the_last_one_of_its_way() {
        let text = |text: &str| Some(text.to_owned());
        let (one, two) = ("http://a.test/1", "http://a.test/2");
        let looping = row(two, 302, Some("redirect: a loop at http://a.test/1"), &[one]);
        let expected = [(1, one.to_owned(), text(two), None), (2, two.to_owned(), text(one), None)];
        assert_eq!(ways(&looping), expected);
        let out = "redirect: to http://b.test/, out_of_scope: another host";
        assert_eq!(ways(&row(one, 301, Some(out), &[])), [(1, one.to_owned(), text("http://b.test/"), None)]);
        let many = row(one, 301, Some("redirect: more than 5 redirects"), &[]);
        assert_eq!(ways(&many), [(1, one.to_owned(), None, None)], "as older versions told it");
        assert_eq!(ways(&row(one, 301, Some("redirect: 301 without a Location"), &[])), []);
        assert_eq!(ways(&row(one, 200, None, &[])), []);
        assert_eq!(ways(&row(two, 200, None, &[one])), [(1, one.to_owned(), text(two), text(two))]);
    }
}
