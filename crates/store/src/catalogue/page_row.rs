//! The row of one page: the record that users see, and what the catalogue stores with it.

use argiope_model::{FetchTimings, Hop, JobId, Millis, Page};

/// Open Graph properties, as the page gave them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenGraph {
    pub title: Option<String>,
    pub description: Option<String>,
    pub image: Option<String>,
    pub kind: Option<String>,
}

/// The final result of one URL in one round. (job, url_key, round) names it.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRow {
    pub job: JobId,
    /// [`argiope_model::Identity::key_u64`] of the URL as scheduled.
    pub url_key: u64,
    pub round: u32,
    /// The number of attempts before the recorded one.
    pub retry_count: u8,
    pub host: String,
    pub page: Page,
    /// The redirects that were followed, oldest first.
    pub redirects: Vec<Hop>,
    pub timings: FetchTimings,
    pub open_graph: OpenGraph,
    pub headings: Vec<String>,
    /// The page says `noindex`, and that is respected: it is left out of exports and search.
    pub noindex: bool,
    pub nofollow: bool,
    pub priority: u8,
    /// The page this URL was first found on.
    pub source: Option<String>,
    pub scheduled_at: Millis,
    pub next_crawl_at: Option<Millis>,
    /// Rounds so far, this one included.
    pub crawl_count: u32,
    /// Failures in a row, this one included.
    pub error_count: u32,
    pub worker_id: Option<String>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
}

/// The longest texts that are stored, in bytes. Pages may be malicious: a title of a megabyte is no title.
pub mod limits {
    pub const TITLE: usize = 1024;
    pub const DESCRIPTION: usize = 4096;
    pub const KEYWORDS: usize = 2048;
    pub const AUTHOR: usize = 512;
    pub const LANGUAGE: usize = 64;
    pub const CONTENT_TYPE: usize = 256;
    pub const URL: usize = 2048;
    pub const ERROR: usize = 1024;
    pub const HEADER: usize = 512;
    pub const HEADING: usize = 512;
    pub const HEADINGS: usize = 64;
    pub const TOPIC: usize = 128;
    pub const TOPICS: usize = 64;
    /// Detail of a skipped URL, text of a robots rule.
    pub const DETAIL: usize = 1024;
}

impl PageRow {
    pub fn new(job: JobId, url_key: u64, host: impl Into<String>, page: Page) -> PageRow {
        PageRow {
            job,
            url_key,
            round: 0,
            retry_count: 0,
            host: host.into(),
            page,
            redirects: Vec::new(),
            timings: FetchTimings::default(),
            open_graph: OpenGraph::default(),
            headings: Vec::new(),
            noindex: false,
            nofollow: false,
            priority: 0,
            source: None,
            scheduled_at: Millis::default(),
            next_crawl_at: None,
            crawl_count: 1,
            error_count: 0,
            worker_id: None,
            etag: None,
            last_modified: None,
        }
    }

    pub fn key(&self) -> super::PageKey {
        super::PageKey {
            job: self.job,
            url_key: self.url_key,
            round: self.round,
            started: self.timings.started,
        }
    }

    /// Whether a retry may help: there was no response, the server failed (429, 5xx), or the response is incomplete.
    pub fn has_failed(&self) -> bool {
        match self.page.status {
            None | Some(429 | 500..) => true,
            // A missing or forbidden page will stay so.
            Some(400..=499) => false,
            Some(_) => self.page.error.is_some(),
        }
    }

    /// Cuts every text from outside to its limit. Called last when a row is built, so that the row written to `-o` and the one
    /// read back are the same.
    pub fn capped(mut self) -> PageRow {
        let page = &mut self.page;
        for (text, limit) in [
            (&mut page.final_url, limits::URL),
            (&mut page.title, limits::TITLE),
            (&mut page.description, limits::DESCRIPTION),
            (&mut page.keywords, limits::KEYWORDS),
            (&mut page.author, limits::AUTHOR),
            (&mut page.language, limits::LANGUAGE),
            (&mut page.canonical, limits::URL),
            (&mut page.content_type, limits::CONTENT_TYPE),
            (&mut page.error, limits::ERROR),
            (&mut self.open_graph.title, limits::TITLE),
            (&mut self.open_graph.description, limits::DESCRIPTION),
            (&mut self.open_graph.image, limits::URL),
            (&mut self.open_graph.kind, limits::LANGUAGE),
            (&mut self.etag, limits::HEADER),
            (&mut self.last_modified, limits::HEADER),
        ] {
            if let Some(text) = text {
                cap(text, limit);
            }
        }
        if let Some(topics) = &mut page.topics {
            topics.truncate(limits::TOPICS);
            topics.iter_mut().for_each(|topic| cap(topic, limits::TOPIC));
        }
        self.headings.truncate(limits::HEADINGS);
        self.headings.iter_mut().for_each(|heading| cap(heading, limits::HEADING));
        self
    }

    /// The class of the error: the text before its first colon, or `other` if that is not a plain word.
    pub fn error_kind(&self) -> Option<&str> {
        self.page.error.as_deref().map(error_kind)
    }
}

/// See [`PageRow::error_kind`]. Bounded in length, so that counters by kind stay few.
pub fn error_kind(error: &str) -> &str {
    let word = error.split(':').next().unwrap_or(error).trim();
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b' ');
    if !word.is_empty() && word.len() <= 32 && word.bytes().all(plain) { word } else { "other" }
}

/// Cuts at the last whole character within `limit` bytes.
pub fn cap(text: &mut String, limit: usize) {
    if text.len() > limit {
        let mut end = limit;
        while end > 0 && !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_whole_characters() {
        let mut text = String::from("añb");
        cap(&mut text, 2);
        assert_eq!(text, "a");
        let page = Page { title: Some("ü".repeat(600)), url: "https://a.test/".into(), ..Page::default() };
        let row = PageRow::new(JobId(1), 7, "a.test", page).capped();
        assert_eq!(row.page.title.map(|title| title.len()), Some(1024));
    }

    #[test]
    fn an_error_is_classed_by_its_first_word() {
        assert_eq!(error_kind("timeout: no byte within 30 s"), "timeout");
        assert_eq!(error_kind("dns"), "dns");
        assert_eq!(error_kind("<script>alert(1)</script>: x"), "other");
        assert_eq!(error_kind(""), "other");
    }
}
