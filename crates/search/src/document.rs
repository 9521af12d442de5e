//! A page as the index knows it.

use argiope_model::{JobId, Millis};

/// The longest article text that is indexed, in bytes; what is beyond it is left out.
pub const LONGEST_TEXT: usize = 256 * 1024;
/// Different texts of links to one page that are kept.
pub const MOST_ANCHORS: usize = 16;
/// The longest text of a link, in bytes.
pub const LONGEST_ANCHOR: usize = 120;

/// What is searched and shown of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub id: DocumentId,
    /// As scheduled.
    pub url: String,
    pub host: String,
    pub root_domain: String,
    pub title: String,
    pub description: String,
    pub headings: Vec<String>,
    /// Texts of links to it.
    pub anchors: Vec<String>,
    /// Its main text, without navigation, banners and footers.
    pub text: String,
    /// A language tag.
    pub language: Option<String>,
    pub topics: Vec<String>,
    pub status: u16,
    pub crawled_at: Millis,
    /// Pages of the same content have the same number: a search shows one of them.
    pub content: u64,
    /// Another page has the content, too, and had it first.
    pub is_duplicate: bool,
}

/// Job and URL: a later round of the same URL replaces the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId {
    pub job: JobId,
    /// [`argiope_model::Identity::key_u64`] of the URL as scheduled.
    pub url_key: u64,
}

impl Default for DocumentId {
    fn default() -> DocumentId {
        DocumentId { job: JobId(0), url_key: 0 }
    }
}

impl std::fmt::Display for DocumentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:016x}", self.job.0, self.url_key)
    }
}

impl Document {
    /// `2026-05`, for figures by month.
    pub fn year_month(&self) -> String {
        self.crawled_at.rfc3339().chars().take(7).collect()
    }

    /// The host without its port, and every domain it belongs to but the suffix alone: `site:` finds it by each.
    pub fn sites(&self) -> Vec<&str> {
        sites(&self.host)
    }

    /// The language and what it is a kind of: `pt-br` and `pt`.
    pub fn languages(&self) -> Vec<String> {
        let Some(language) = &self.language else { return Vec::new() };
        let language = language.trim().to_lowercase().replace('_', "-");
        let mut languages: Vec<String> =
            language.match_indices('-').map(|(at, _)| language.chars().take(at).collect()).collect();
        languages.push(language);
        languages.retain(|language: &String| !language.is_empty());
        languages
    }

    /// The primary language, for figures.
    pub fn primary_language(&self) -> Option<String> {
        self.languages().into_iter().next()
    }
}

fn sites(host: &str) -> Vec<&str> {
    let name = match host.rsplit_once(':') {
        // An address of version 6 has colons of its own.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    };
    let is_address = name.starts_with('[') || name.split('.').all(|part| part.parse::<u8>().is_ok());
    let mut sites = vec![host];
    if name != host {
        sites.push(name);
    }
    if !is_address {
        let labels = name.match_indices('.').filter_map(|(at, _)| name.get(at + 1..));
        sites.extend(labels.filter(|site| !site.is_empty()));
    }
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_each_of_its_domains() {
        assert_eq!(sites("blog.example.co.uk"), ["blog.example.co.uk", "example.co.uk", "co.uk", "uk"]);
        assert_eq!(sites("a.test:8080"), ["a.test:8080", "a.test", "test"]);
        assert_eq!(sites("127.0.0.1:80"), ["127.0.0.1:80", "127.0.0.1"]);
        assert_eq!(sites("[::1]"), ["[::1]"]);
    }

    #[test]
    fn a_language_is_found_by_what_it_is_a_kind_of() {
        let document = |language: &str| Document { language: Some(language.into()), ..Document::default() };
        assert_eq!(document("pt_BR").languages(), ["pt", "pt-br"]);
        assert_eq!(document("zh-Hans-CN").primary_language().as_deref(), Some("zh"));
        assert_eq!(document(" ").primary_language(), None);
    }

    #[test]
    fn an_id_is_job_and_url() {
        let id = DocumentId { job: JobId(3), url_key: 255 };
        assert_eq!(id.to_string(), "3-00000000000000ff");
        let document = Document { crawled_at: Millis(86_400_000), ..Document::default() };
        assert_eq!(document.year_month(), "1970-01");
    }
}
