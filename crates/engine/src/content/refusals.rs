//! Rows for what the crawl does not take from a page: links over the limit, URLs that are too long, the rest of a body
//! that was cut.

use super::ContentReader;
use argiope_model::{LongUrl, RequestKind, Skip, SkipReason, Truncation, Url, Visit, plural};
use argiope_store::catalogue::{SkippedRow, url_key};

/// The prefix of the error of a page whose body was cut.
pub(crate) const TRUNCATED: &str = "truncated: ";

impl ContentReader<'_> {
    pub(super) fn skipped_row(&self, url: &Url, skip: Skip) -> SkippedRow {
        skipped_row(self.visit, url, skip)
    }

    /// A page with more links than the limit, and a sample of those beyond it.
    pub(super) fn over_link_limit<'u>(
        &self,
        links: u64,
        beyond: impl Iterator<Item = &'u Url>,
    ) -> Vec<SkippedRow> {
        let page = self.visit.scheduled_url();
        let limit = self.job.spec.max_links_per_page;
        let count = plural(links, "link", "links");
        let detail = format!("{count} over the limit of {limit} (--max-links, max_links_per_page)");
        let about = self.skipped_row(page, Skip::new(SkipReason::TooManyLinks, detail));
        let detail = format!("over the link limit of {page}: {limit} (--max-links, max_links_per_page)");
        let each = |url| self.skipped_row(url, Skip::new(SkipReason::OverLinkLimit, detail.clone()));
        [SkippedRow { amount: links, ..about }].into_iter().chain(beyond.map(each)).collect()
    }

    /// `more` URLs of the page are too long as well and not listed.
    pub(super) fn too_long(&self, long: LongUrl, more: u64) -> SkippedRow {
        let limit = self.job.spec.max_url_length;
        let mut detail = format!("{} characters, over max_url_length {limit}", long.length);
        if more > 0 {
            detail.push_str(&format!("; {} of this page are not listed", plural(more, "other", "others")));
        }
        SkippedRow {
            job: self.visit.job,
            url_key: url_key(&long.shortened),
            url: long.shortened,
            reason: SkipReason::UrlTooLong,
            detail,
            source: Some(self.visit.scheduled_url().as_str().to_owned()),
            amount: more,
        }
    }
}

/// An incomplete body: the links in the rest are not known. `announced` is the length that the server announced.
pub(crate) fn truncated(visit: &Visit, error: &str, received: u64, announced: Option<u64>) -> SkippedRow {
    let cut = announced.map_or(0, |announced| announced.saturating_sub(received));
    let what = error.strip_prefix(TRUNCATED).unwrap_or(error);
    let missing = match cut {
        0 => String::from("how much is missing is not known"),
        cut => format!("{} missing", plural(cut, "byte is", "bytes are")),
    };
    let advice = match Truncation::of_detail(what) {
        Truncation::Length if visit.kind == RequestKind::Sitemap => "(a longer sitemap is always cut)",
        Truncation::Length => " (--max-body SIZE, max_body)",
        Truncation::Time => " (--timeout DURATION, timeout)",
        Truncation::Disconnect => "; run 'argiope retry' to fetch it again",
    };
    let detail = format!("{what}; {missing}; links beyond the cut are not followed{advice}");
    let row = skipped_row(visit, visit.scheduled_url(), Skip::new(SkipReason::BodyTruncated, detail));
    SkippedRow { amount: cut, ..row }
}

fn skipped_row(visit: &Visit, url: &Url, skip: Skip) -> SkippedRow {
    SkippedRow::new(visit.job, url, skip, Some(visit.scheduled_url()))
}
