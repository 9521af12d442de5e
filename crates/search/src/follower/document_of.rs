//! From a page of the catalogue to a document of the index, or to none.

use super::PageText;
use crate::document::{Document, DocumentId, LONGEST_TEXT};
use argiope_model::{Millis, PublicSuffixes, Url};
use argiope_store::catalogue::{PageRow, cap, url_key};

pub(super) fn id_of(row: &PageRow) -> DocumentId {
    DocumentId { job: row.job, url_key: row.url_key }
}

/// Whether the page's text is worth looking for. What has no response, says `noindex` or ends in a redirect that was not
/// followed is not searched.
pub(super) fn is_searchable(row: &PageRow) -> bool {
    let has_answer = row.page.status.is_some_and(|status| !(300..400).contains(&status) && status >= 200);
    has_answer && !row.noindex
}

pub(super) fn document_of(
    row: &PageRow,
    text: PageText,
    anchors: Vec<String>,
    suffixes: &PublicSuffixes,
) -> Document {
    let page = &row.page;
    let content = content_of(row, suffixes);
    let mut body = text.text;
    cap(&mut body, LONGEST_TEXT);
    let title = page.title.clone().filter(|title| !title.trim().is_empty()).or(text.title);
    Document {
        id: id_of(row),
        url: page.url.clone(),
        host: row.host.clone(),
        root_domain: suffixes.root_domain(&row.host).to_owned(),
        title: title.unwrap_or_default(),
        description: page.description.clone().unwrap_or_default(),
        headings: row.headings.clone(),
        anchors,
        text: body,
        language: page.language.clone(),
        topics: page.topics.clone().unwrap_or_default(),
        status: page.status.unwrap_or_default(),
        crawled_at: page.crawled_at.unwrap_or(Millis(0)),
        content,
        is_duplicate: content != row.url_key,
    }
}

/// The key of the URL that stands for this content: the page it is a duplicate of, its canonical URL, or where redirects
/// ended. A page cannot hide behind, or speak for, another site.
fn content_of(row: &PageRow, suffixes: &PublicSuffixes) -> u64 {
    let page = &row.page;
    if let Some(original) = &page.duplicate_of {
        return key_of(original);
    }
    let own_domain = suffixes.root_domain(&row.host);
    let canonical = page.canonical.as_deref().and_then(|canonical| Url::from_stored(canonical).ok());
    if let Some(canonical) = canonical
        && suffixes.root_domain(canonical.host_name()) == own_domain
    {
        return canonical.identity().key_u64();
    }
    page.final_url.as_deref().map_or(row.url_key, key_of)
}

fn key_of(url: &str) -> u64 {
    Url::from_stored(url).map_or_else(|_| url_key(url), |url| url.identity().key_u64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::{JobId, Page};

    fn row(url: &str) -> PageRow {
        let page = Page { url: url.into(), status: Some(200), ..Page::default() };
        PageRow::new(JobId(1), key_of(url), "www.a.test", page)
    }

    #[test]
    fn only_answers_that_may_be_indexed_are_searched() {
        let with = |status: Option<u16>, noindex: bool| {
            let mut row = row("https://www.a.test/");
            row.page.status = status;
            row.noindex = noindex;
            is_searchable(&row)
        };
        assert!(with(Some(200), false) && with(Some(404), false));
        assert!(!with(Some(200), true) && !with(None, false) && !with(Some(301), false));
    }

    #[test]
    fn copies_stand_behind_their_original() {
        let suffixes = PublicSuffixes::bundled();
        let of = |change: &dyn Fn(&mut Page)| {
            let mut row = row("https://www.a.test/copy");
            change(&mut row.page);
            let document = document_of(&row, PageText::default(), Vec::new(), &suffixes);
            (document.content, document.is_duplicate)
        };
        let own = (key_of("https://www.a.test/copy"), false);
        let original = (key_of("https://www.a.test/"), true);
        assert_eq!(of(&|_| ()), own);
        assert_eq!(of(&|page| page.duplicate_of = Some("https://www.a.test/".into())), original);
        assert_eq!(of(&|page| page.canonical = Some("https://www.a.test/".into())), original);
        assert_eq!(
            of(&|page| page.canonical = Some("https://other.test/".into())),
            own,
            "not for another site"
        );
        assert_eq!(of(&|page| page.final_url = Some("https://www.a.test/".into())), original);
        assert_eq!(of(&|page| page.final_url = Some("https://www.a.test/copy".into())), own);
    }
}
