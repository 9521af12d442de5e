//! Counters of jobs: a batch's pages are summed here as if all of them were new; the server subtracts those that were
//! stored already.

use crate::database::{Answer, Rows};
use argiope_model::JobId;
use argiope_store::catalogue::{JobCounts, PageRow};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tokio_postgres::Row;

#[derive(Default)]
pub(super) struct PageCounts<'p> {
    by_word: BTreeMap<(JobId, &'static str, Cow<'p, str>), u64>,
}

impl<'p> PageCounts<'p> {
    pub(super) fn add(&mut self, row: &'p PageRow) {
        let total = |word: &'static str| ("total", Cow::Borrowed(word));
        let status = row.page.status;
        let counted = [
            (total("pages"), 1),
            (total("bytes"), row.page.bytes.unwrap_or(0)),
            (total("failed"), u64::from(status.is_none())),
            (total("noindex"), u64::from(row.noindex)),
            (total("duplicates"), u64::from(row.page.duplicate_of.is_some())),
            (total("redirected"), u64::from(!row.redirects.is_empty())),
        ];
        let by_status = status.map(|status| (("status", Cow::Owned(status.to_string())), 1));
        let by_error = row.error_kind().map(|kind| (("error", Cow::Borrowed(kind)), 1));
        for ((class, word), count) in counted.into_iter().chain(by_status).chain(by_error) {
            if count > 0 {
                let sum = self.by_word.entry((row.job, class, word)).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }

    pub(super) fn rows(&self) -> Rows {
        let mut rows = Rows::new();
        for ((job, class, word), count) in &self.by_word {
            rows.row(4);
            rows.small(job.0);
            rows.text(class);
            rows.text(word);
            rows.number((*count).min(i64::MAX as u64));
        }
        rows
    }
}

/// From rows of class, word and count.
pub(super) fn job_counts(rows: &[Row]) -> Answer<JobCounts> {
    let mut counts = JobCounts::default();
    for row in rows {
        let (class, word): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let count = row.try_get::<_, i64>(2)? as u64;
        counts.take(class, word, count);
    }
    Ok(counts)
}
