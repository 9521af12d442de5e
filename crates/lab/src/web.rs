//! The web as a function: its sites, the names of their pages and the content of each path. No I/O, no clock;
//! [`crate::server`] delivers the result.

use crate::answer::{Answer, Body, PagePlan};
use crate::config::{LabConfig, PageSize, address_of, site_at};
use crate::error::LabError;
use crate::kinds::{self, SiteKind};
use crate::library::Library;
use crate::random::{mix, mix_text};
use crate::words::{Vocabulary, capitalized};
use std::net::Ipv4Addr;

pub(crate) const SECTIONS: [&str; 8] =
    ["news", "articles", "reports", "guides", "people", "science", "culture", "places"];

/// One site of the web.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) index: u32,
    pub(crate) kind: SiteKind,
    /// Everything about the site follows from this.
    pub(crate) key: u64,
    /// `127.0.0.1:8080` or `site0.lab.test:8080`.
    pub(crate) authority: String,
}

/// The synthetic web of a configuration and the port it is served on.
pub struct Web {
    pub(crate) config: LabConfig,
    port: u16,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) library: Library,
}

impl Web {
    /// `config.listen` must hold the port that is served: URLs contain it.
    pub fn new(config: LabConfig) -> Result<Web, LabError> {
        config.check()?;
        let vocabulary = Vocabulary::new(config.seed);
        let library = Library::new(config.seed, &vocabulary);
        Ok(Web { port: config.listen.port(), vocabulary, library, config })
    }

    pub fn config(&self) -> &LabConfig {
        &self.config
    }

    /// The address of a site.
    pub fn address(&self, site: u32) -> Option<Ipv4Addr> {
        address_of(*self.config.listen.ip(), site).filter(|_| site < self.config.hosts)
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.config.tls.is_some() { "https" } else { "http" }
    }

    /// The URL of an ordinary page; page 0 is the front page.
    pub fn page_url(&self, site: u32, page: u32) -> String {
        let site = self.site(site);
        format!("{}://{}{}", self.scheme(), site.authority, self.page_path(&site, page))
    }

    /// The kind of a site.
    pub fn kind(&self, site: u32) -> SiteKind {
        let kinds = &self.config.kinds;
        let turn = usize::try_from(site).unwrap_or(0).checked_rem(kinds.len());
        turn.and_then(|turn| kinds.get(turn)).copied().unwrap_or(SiteKind::Ordinary)
    }

    pub(crate) fn site(&self, index: u32) -> Site {
        let name = match &self.config.zone {
            Some(zone) => format!("site{index}.{zone}"),
            None => self.address(index).unwrap_or(Ipv4Addr::LOCALHOST).to_string(),
        };
        let usual_port = if self.config.tls.is_some() { 443 } else { 80 };
        let authority = if self.port == usual_port { name } else { format!("{name}:{}", self.port) };
        Site { index, kind: self.kind(index), key: mix(self.config.seed, u64::from(index)), authority }
    }

    /// The site that a connection to an address, or a request for a name, is meant for.
    pub(crate) fn site_index(&self, address: Ipv4Addr, host: Option<&str>) -> Option<u32> {
        let named = host.and_then(|host| {
            let name = host.split(':').next()?;
            let zone = self.config.zone.as_deref().unwrap_or("lab.test");
            let label = name.strip_suffix(zone)?.strip_suffix('.')?;
            let number: u32 =
                label.strip_prefix("www.").unwrap_or(label).strip_prefix("site")?.parse().ok()?;
            Some(number).filter(|number| *number < self.config.hosts)
        });
        named.or_else(|| site_at(*self.config.listen.ip(), address, self.config.hosts))
    }

    fn slug(&self, site: &Site, page: u32) -> (&'static str, &str, &str) {
        let chance = mix(site.key, u64::from(page));
        let section = SECTIONS.get(usize::try_from(chance % 8).unwrap_or(0)).copied().unwrap_or("news");
        (section, self.vocabulary.name(chance >> 8), self.vocabulary.name(chance >> 32))
    }

    /// Appends the path of a page without its first slash. The front page has the empty path.
    pub(crate) fn write_path(&self, site: &Site, page: u32, out: &mut Vec<u8>) {
        if page == 0 {
            return;
        }
        let (section, first, second) = self.slug(site, page);
        for part in [section, "/", first, "-", second, "-"] {
            out.extend_from_slice(part.as_bytes());
        }
        write_number(page, out);
        if page.is_multiple_of(3) {
            out.extend_from_slice(b".html");
        }
    }

    pub(crate) fn page_path(&self, site: &Site, page: u32) -> String {
        let mut out = vec![b'/'];
        self.write_path(site, page, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Appends the title of a page, which is also what links to it say.
    pub(crate) fn write_title(&self, site: &Site, page: u32, out: &mut Vec<u8>) {
        let (_, first, second) = self.slug(site, page);
        capitalized(first, out);
        out.push(b' ');
        out.extend_from_slice(second.as_bytes());
    }

    /// The number of the page under a path, parameters ignored.
    pub(crate) fn page_number(&self, site: &Site, target: &str) -> Option<u32> {
        let path = path_of(target);
        if path == "/" {
            return Some(0);
        }
        let name = path.strip_suffix(".html").unwrap_or(path);
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number: u32 = name.get(name.len() - digits..)?.parse().ok()?;
        let exists = number > 0 && number < self.config.pages && self.page_path(site, number) == path;
        exists.then_some(number)
    }

    /// The response for `target`, a path with an optional query. `earlier` is how often it was requested before, which
    /// matters for the few responses that change.
    pub(crate) fn answer(&self, site: &Site, target: &str, earlier: u32) -> Answer {
        if let Some(answer) = kinds::answer(self, site, target, earlier) {
            return answer;
        }
        if let Some(page) = self.page_number(site, target) {
            return Answer::page(PagePlan::ordinary(page));
        }
        let path = path_of(target);
        if path == "/robots.txt" {
            return kinds::ordinary_robots();
        }
        if path.starts_with("/img/") {
            return Answer::bytes("image/png", PIXEL.to_vec());
        }
        if path.starts_with("/static/") {
            return Answer::bytes("text/css", b"body { margin: 0 }\n".to_vec());
        }
        Answer::not_found()
    }

    /// The uncompressed body of an answer, for tests and tools.
    pub fn body(&self, site: u32, target: &str) -> Vec<u8> {
        let site = self.site(site);
        self.render(&site, &self.answer(&site, target, 0).body)
    }

    pub(crate) fn render(&self, site: &Site, body: &Body) -> Vec<u8> {
        let mut out = Vec::new();
        match body {
            Body::Page(plan) => crate::page::write(self, site, plan, &mut out),
            Body::Bytes(bytes) | Body::Encoded(bytes) => out.extend_from_slice(bytes),
        }
        out
    }

    pub(crate) fn small(&self) -> bool {
        self.config.page_size == PageSize::Small
    }

    /// A seed for the contents of a page that is no ordinary one.
    pub(crate) fn content_key(&self, site: &Site, path: &str) -> u64 {
        mix_text(site.key, path)
    }
}

/// The path without query and path parameters.
pub(crate) fn path_of(target: &str) -> &str {
    target.split(['?', ';', '#']).next().unwrap_or(target)
}

pub(crate) fn write_number(number: u32, out: &mut Vec<u8>) {
    let mut digits = [0u8; 10];
    let mut rest = number;
    let mut start = digits.len();
    for (at, digit) in digits.iter_mut().enumerate().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        start = at;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(start..).unwrap_or(&[]));
}

/// A PNG of one pixel.
pub(crate) const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0,
    1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63, 0x60, 0,
    0, 0, 2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
