//! The web that is crawled, and its check of the delays of its hosts.

use argiope_frontier::Found;
use argiope_model::{FailureKind, FingerprintKey, RequestKind, Url};

/// Redirects lead to a page with this number, which has no other links.
const TARGET: u32 = 900;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Web {
    pub(crate) seed: u64,
    pub(crate) hosts: u32,
    pub(crate) pages: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Says {
    Page,
    Redirect(Url),
    Failure(FailureKind),
    Robots(String),
}

pub(crate) fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Web {
    fn chance(&self, host: u32, page: u32, salt: u64) -> u64 {
        mix(self.seed ^ salt << 48 ^ u64::from(host) << 20 ^ u64::from(page))
    }

    pub(crate) fn url(host: u32, page: u32) -> Url {
        Url::from_stored(&format!("http://h{host}.test/p{page}")).unwrap()
    }

    /// `http://h12.test/p3` is (12, 3).
    pub(crate) fn place(url: &Url) -> (u32, u32) {
        let number = |text: &str| {
            let digits: String =
                text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
            digits.parse().unwrap_or(0)
        };
        (number(url.host()), number(url.path()))
    }

    pub(crate) fn found(&self, key: &FingerprintKey, host: u32, page: u32) -> Found {
        let url = Web::url(host, page);
        let priority = (self.chance(host, page, 1) % 90) as u8;
        Found { fingerprint: key.of(url.as_str(), 0), url, priority, kind: RequestKind::Page, previous: None }
    }

    /// Pages of a host are a tree, and so are the first pages of all hosts: each is needed to reach those behind it. The
    /// other links lead anywhere.
    pub(crate) fn links(&self, key: &FingerprintKey, host: u32, page: u32) -> Vec<Found> {
        let mut to: Vec<(u32, u32)> = [2 * page + 1, 2 * page + 2].map(|page| (host, page)).into();
        if page == 0 {
            to.extend([2 * host + 1, 2 * host + 2].map(|host| (host, 0)));
        }
        for salt in 10..13 {
            let anywhere = self.chance(host, page, salt);
            to.push(((anywhere % u64::from(self.hosts)) as u32, (anywhere >> 32) as u32 % self.pages));
        }
        let there = to.into_iter().filter(|(host, page)| *host < self.hosts && *page < self.pages);
        there.map(|(host, page)| self.found(key, host, page)).collect()
    }

    /// Milliseconds. Some are longer than a shard takes to find a new owner.
    pub(crate) fn crawl_delay(&self, host: u32) -> u64 {
        let chance = self.chance(host, 0, 2);
        1000 * if chance.is_multiple_of(3) { 15 + chance / 3 % 20 } else { chance % 5 }
    }

    /// Some have their robots.txt on another host.
    fn robots_at(&self, host: u32) -> Option<Url> {
        let other = (self.chance(host, 0, 4) % u64::from(self.hosts)) as u32;
        let moved = self.chance(host, 0, 3).is_multiple_of(4) && other != host;
        moved.then(|| Url::from_stored(&format!("http://h{other}.test/robots-of-{host}")).unwrap())
    }

    pub(crate) fn robots_says(&self, url: &Url) -> Says {
        let (asked, of) = Web::place(url);
        let own = url.path() == "/robots.txt";
        match self.robots_at(asked).filter(|_| own) {
            Some(elsewhere) => Says::Redirect(elsewhere),
            None => {
                let seconds = self.crawl_delay(if own { asked } else { of }) / 1000;
                Says::Robots(format!("User-agent: *\nDisallow: /p3\nCrawl-delay: {seconds}\n"))
            }
        }
    }

    pub(crate) fn says(&self, url: &Url, attempt: u8, is_hop: bool) -> Says {
        let (host, page) = Web::place(url);
        match self.chance(host, page, 5) % 100 {
            0..8 if !is_hop => {
                let other = (self.chance(host, page, 6) % u64::from(self.hosts)) as u32;
                Says::Redirect(Web::url(other, TARGET))
            }
            8..11 if attempt == 0 => Says::Failure(FailureKind::Timeout),
            11..13 if attempt < 2 => Says::Failure(FailureKind::Status(503)),
            13..15 => Says::Failure(FailureKind::Status(404)),
            _ => Says::Page,
        }
    }
}

/// What a host has seen of all workers together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    pub(crate) asked_by: Option<String>,
    pub(crate) last_end: u64,
}
