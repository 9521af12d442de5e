//! Converts a page row to and from the columns of `crawl_metadata`.

use crate::database::{Answer, Cells, Rows, month_of};
use argiope_model::{FetchTimings, Hop, JobId, Millis, Page};
use argiope_store::catalogue::{OpenGraph, PageRow, StoredPage};
use tokio_postgres::Row;

/// The columns of a page's row, in the order of [`encode`] and [`stored_page`]. The writer adds `id`, `batch` and
/// `repeated`.
pub(super) const COLUMNS: &str = "\
    job, round, year_month, url_hash, url, domain, final_url, status_code, crawled_at, crawled_text, title, \
    description, keywords, author, language, canonical_url, og_title, og_description, og_image, og_type, topics, \
    word_count, raw_html_path, error_message, error_kind, retry_count, depth, content_type, bytes, content_hash, \
    simhash, duplicate_of, links, fetch_ms, redirects, headings, noindex, nofollow, priority, source, scheduled_at, \
    next_crawl_at, crawl_count, error_count, started, duration_ms, dns_us, connect_us, tls_us, first_byte_us, \
    download_us, etag, last_modified, worker_id";

const COUNT: usize = 54;

/// [`COLUMNS`] for reading. A lost page has no archive place and no validators: the next visit fetches it completely.
pub(super) fn shown_columns() -> String {
    let shown = |column: &str| match column.trim() {
        column @ ("raw_html_path" | "etag" | "last_modified") => {
            format!("CASE WHEN archive_lost THEN NULL ELSE {column} END")
        }
        column => column.to_owned(),
    };
    COLUMNS.split(',').map(shown).collect::<Vec<_>>().join(", ")
}

/// The hash of a URL as shown to people.
pub(super) fn url_hash(key: u64) -> String {
    format!("{key:016x}")
}

/// `place` is the row's position in its batch; it is the first column.
pub(super) fn encode(to: &mut Rows, place: u32, row: &PageRow) {
    let page = &row.page;
    to.row(COUNT + 1);
    to.small(place);
    to.small(row.job.0);
    to.small(row.round);
    to.text(&month_of(row.scheduled_at));
    to.text(&url_hash(row.url_key));
    to.text(&page.url);
    to.text(&row.host);
    to.optional_text(page.final_url.as_deref());
    to.optional(page.status, Rows::short);
    to.optional(page.crawled_at, Rows::time);
    // `crawled_text`: earlier versions kept times of an unusual form there.
    to.null();
    for text in [
        &page.title,
        &page.description,
        &page.keywords,
        &page.author,
        &page.language,
        &page.canonical,
        &row.open_graph.title,
        &row.open_graph.description,
        &row.open_graph.image,
        &row.open_graph.kind,
    ] {
        to.optional_text(text.as_deref());
    }
    to.optional(page.topics.as_deref(), Rows::texts);
    to.optional(page.word_count, Rows::small);
    to.optional_text(page.archive.as_deref());
    to.optional_text(page.error.as_deref());
    to.optional_text(row.error_kind());
    to.short(row.retry_count.into());
    to.small(page.depth);
    to.optional_text(page.content_type.as_deref());
    to.optional(page.bytes, Rows::number);
    to.optional(page.content_hash, Rows::shown);
    to.optional(page.simhash, Rows::shown);
    to.optional_text(page.duplicate_of.as_deref());
    to.optional(page.links, Rows::small);
    to.optional(page.fetch_ms, Rows::small);
    to.optional(redirects_text(&row.redirects).as_deref(), Rows::json);
    to.optional(Some(row.headings.as_slice()).filter(|list| !list.is_empty()), Rows::texts);
    to.boolean(row.noindex);
    to.boolean(row.nofollow);
    to.short(row.priority.into());
    to.optional_text(row.source.as_deref());
    to.time(row.scheduled_at);
    to.optional(row.next_crawl_at, Rows::time);
    to.small(row.crawl_count);
    to.small(row.error_count);
    encode_timings(to, &row.timings);
    to.optional_text(row.etag.as_deref());
    to.optional_text(row.last_modified.as_deref());
    to.optional_text(row.worker_id.as_deref());
}

/// None if it is empty. A list of normal forms and numbers always has a text.
fn redirects_text(redirects: &[Hop]) -> Option<String> {
    if redirects.is_empty() { None } else { serde_json::to_string(redirects).ok() }
}

pub(super) fn encode_timings(to: &mut Rows, timings: &FetchTimings) {
    to.time(timings.started);
    to.number(timings.ended.0.wrapping_sub(timings.started.0));
    for part in
        [timings.dns_us, timings.connect_us, timings.tls_us, timings.first_byte_us, timings.download_us]
    {
        to.small(part);
    }
}

pub(super) fn timings(from: &mut Cells<'_>) -> Answer<FetchTimings> {
    let started = from.time()?;
    Ok(FetchTimings {
        started,
        ended: Millis(started.0.wrapping_add(from.number()?)),
        dns_us: from.small()?,
        connect_us: from.small()?,
        tls_us: from.small()?,
        first_byte_us: from.small()?,
        download_us: from.small()?,
    })
}

/// From a row of `id` and [`shown_columns`].
pub(super) fn stored_page(row: &Row) -> Answer<StoredPage> {
    let mut from = Cells::of(row);
    let mut page = Page::default();
    let seq = from.number()?;
    let job = JobId(from.small()?);
    let round = from.small()?;
    from.skip();
    let url_key = from.hash()?;
    page.url = from.text()?;
    let host = from.text()?;
    page.final_url = from.optional_text()?;
    page.status = from.optional_short()?;
    page.crawled_at = from.optional_time()?;
    let crawled_text = from.optional_text()?;
    page.crawled_at = page.crawled_at.or_else(|| Millis::parse_rfc3339(&crawled_text?));
    page.title = from.optional_text()?;
    page.description = from.optional_text()?;
    page.keywords = from.optional_text()?;
    page.author = from.optional_text()?;
    page.language = from.optional_text()?;
    page.canonical = from.optional_text()?;
    let open_graph = OpenGraph {
        title: from.optional_text()?,
        description: from.optional_text()?,
        image: from.optional_text()?,
        kind: from.optional_text()?,
    };
    page.topics = from.optional_texts()?;
    page.word_count = from.optional_small()?;
    page.archive = from.optional_text()?;
    page.error = from.optional_text()?;
    from.skip();
    let retry_count = from.byte()?;
    page.depth = from.small()?;
    page.content_type = from.optional_text()?;
    page.bytes = from.optional_number()?;
    page.content_hash = from.content_hash()?;
    page.simhash = from.simhash()?;
    page.duplicate_of = from.optional_text()?;
    page.links = from.optional_small()?;
    page.fetch_ms = from.optional_small()?;
    let row = PageRow {
        job,
        url_key,
        round,
        retry_count,
        host,
        page,
        open_graph,
        redirects: from.json::<Vec<Hop>>()?.unwrap_or_default(),
        headings: from.optional_texts()?.unwrap_or_default(),
        noindex: from.take()?,
        nofollow: from.take()?,
        priority: from.byte()?,
        source: from.optional_text()?,
        scheduled_at: from.time()?,
        next_crawl_at: from.optional_time()?,
        crawl_count: from.small()?,
        error_count: from.small()?,
        timings: timings(&mut from)?,
        etag: from.optional_text()?,
        last_modified: from.optional_text()?,
        worker_id: from.optional_text()?,
    };
    Ok(StoredPage { seq, row })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_counted() {
        assert_eq!(COLUMNS.split(',').count(), COUNT);
    }
}
