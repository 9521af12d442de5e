//! The ground truth: what a correct crawl of the lab, in `host` scope from [`crate::Lab::seeds`], does with each URL.

use crate::kinds::{self, Visibility};
use crate::web::Web;
use argiope_model::SkipReason;
use serde::Serialize;

/// The expected result of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Fetched; this is the final status, after redirects and retries.
    Answered { status: u16 },
    /// Fetched in part: too big, cut short or too slow. Either its status with the cut noted, or a failure.
    Cut,
    /// Requested without a usable response.
    Failed,
    /// Never requested.
    Refused(SkipReason),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExpectedUrl {
    pub url: String,
    pub fate: Fate,
    /// The title, if reading it correctly is the purpose of the page.
    pub title: Option<String>,
    /// False for URLs that only other sites link to, or nobody at all: a crawl need not find them.
    pub found: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Expected {
    pub urls: Vec<ExpectedUrl>,
    /// There are endless URLs with this prefix; a correct crawl takes some and stops.
    pub traps: Vec<String>,
}

impl Expected {
    /// The URLs that a crawl must have requested.
    pub fn fetched(&self) -> impl Iterator<Item = &ExpectedUrl> {
        self.urls.iter().filter(|url| url.found && !matches!(url.fate, Fate::Refused(_)))
    }

    /// The URLs that must not appear in the access log.
    pub fn refused(&self) -> impl Iterator<Item = &ExpectedUrl> {
        self.urls.iter().filter(|url| matches!(url.fate, Fate::Refused(_)))
    }

    pub fn is_trap(&self, url: &str) -> bool {
        self.traps.iter().any(|prefix| url.starts_with(prefix.as_str()))
    }
}

impl Web {
    /// The ground truth of one site.
    pub fn expected_of(&self, site: u32) -> Expected {
        let site = self.site(site);
        let url = |path: &str| format!("{}://{}{path}", self.scheme(), site.authority);
        let barred = kinds::barred(site.kind);
        let mut urls: Vec<ExpectedUrl> = (0..self.config.pages)
            .map(|page| {
                let path = self.page_path(&site, page);
                let fate = kinds::page_fate(site.kind).unwrap_or(Fate::Answered { status: 200 });
                ExpectedUrl { url: url(&path), fate, title: None, found: !barred || page == 0 }
            })
            .collect();
        urls.extend(
            kinds::features(self, &site).into_iter().filter(|f| f.visibility != Visibility::Trap).map(
                |feature| ExpectedUrl {
                    url: url(&feature.path),
                    fate: feature.fate,
                    title: feature.title,
                    found: feature.visibility != Visibility::Hidden,
                },
            ),
        );
        Expected { urls, traps: kinds::traps_of(site.kind).iter().map(|path| url(path)).collect() }
    }

    /// The ground truth of all sites.
    pub fn expected(&self) -> Expected {
        let mut all = Expected::default();
        for site in 0..self.config.hosts {
            let Expected { urls, traps } = self.expected_of(site);
            all.urls.extend(urls);
            all.traps.extend(traps);
        }
        all
    }
}
