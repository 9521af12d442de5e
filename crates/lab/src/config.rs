//! The settings of a lab web, and presets for its usual purposes.

use crate::error::LabError;
use crate::kinds::SiteKind;
use crate::tls::TlsFiles;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageSize {
    /// About 30 KB, 12 KB gzipped, about 60 links: typical pages of the web.
    #[default]
    Standard,
    /// About 2 KB, 1 KB gzipped, and a dozen links, for crawls of a million pages.
    Small,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabConfig {
    /// The address of the first site and the port of all. Port 0 takes a free one. The next sites follow on the
    /// next addresses, leaving out those that end in 0 and 255.
    pub listen: SocketAddrV4,
    pub hosts: u32,
    /// Ordinary pages per host, including the front page; the kinds of sites add their own.
    pub pages: u32,
    pub seed: u64,
    /// The kinds of the sites, in turn. Empty: all are [`SiteKind::Ordinary`].
    pub kinds: Vec<SiteKind>,
    pub page_size: PageSize,
    /// Links from each page to other sites; without it, as many as pages of the size have.
    pub outward: Option<u32>,
    /// Delay before each response.
    pub latency_ms: u64,
    /// Pages refer to other sites as `siteN.ZONE` instead of by address. Requests are taken by either.
    pub zone: Option<String>,
    /// Sites are served over TLS, and all URLs are https.
    pub tls: Option<TlsFiles>,
    /// Some links to front pages have tracking parameters. If front pages are not seeds, it is unknown which spelling
    /// is found, and so requested, first.
    pub tracking: bool,
    /// A connection is closed after this many responses; default: it is kept.
    pub requests_per_connection: Option<u32>,
    /// Compressed pages kept in memory, in total; others are compressed each time.
    pub cache_bytes: usize,
    /// Requests kept in memory, the oldest are dropped first; 0 keeps none.
    pub log_capacity: usize,
    /// Every request as a line of JSON.
    pub log_file: Option<PathBuf>,
}

impl Default for LabConfig {
    fn default() -> LabConfig {
        LabConfig::plain()
    }
}

impl LabConfig {
    /// All sites behave: the web of the benchmark. Nothing is logged.
    pub fn plain() -> LabConfig {
        LabConfig {
            listen: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0),
            hosts: 200,
            pages: 250,
            seed: 1,
            kinds: Vec::new(),
            page_size: PageSize::Standard,
            outward: None,
            latency_ms: 0,
            zone: None,
            tls: None,
            tracking: true,
            requests_per_connection: None,
            cache_bytes: 1 << 30,
            log_capacity: 0,
            log_file: None,
        }
    }

    /// One site of every kind, logged: the web of the tests.
    pub fn mixed() -> LabConfig {
        LabConfig {
            hosts: u32::try_from(SiteKind::ALL.len()).unwrap_or(u32::MAX),
            pages: 20,
            kinds: SiteKind::ALL.to_vec(),
            log_capacity: 200_000,
            ..LabConfig::plain()
        }
    }

    /// Sites of the kinds that a polite crawl finishes in about half a minute: none that only takes time.
    pub fn demo() -> LabConfig {
        LabConfig {
            hosts: u32::try_from(SiteKind::DEMO.len()).unwrap_or(u32::MAX),
            pages: 24,
            kinds: SiteKind::DEMO.to_vec(),
            ..LabConfig::mixed()
        }
    }

    pub(crate) fn check(&self) -> Result<(), LabError> {
        let refuse = |text: String| Err(LabError::Config(text));
        if !self.listen.ip().is_loopback() {
            return refuse(format!(
                "the lab listens on loopback addresses only, not on {}",
                self.listen.ip()
            ));
        }
        if self.hosts == 0 || self.pages == 0 {
            return refuse(String::from("the lab needs at least one host and one page"));
        }
        if address_of(*self.listen.ip(), self.hosts - 1).is_none() {
            return refuse(format!(
                "there are not {} loopback addresses from {}",
                self.hosts,
                self.listen.ip()
            ));
        }
        Ok(())
    }
}

/// Addresses per third octet: all but 0 and 255.
const PER_NET: u32 = 254;

/// The address of a site, `None` beyond 127.255.255.254.
pub(crate) fn address_of(base: Ipv4Addr, site: u32) -> Option<Ipv4Addr> {
    let place = place_of(base).checked_add(site)?;
    let net = place / PER_NET;
    if net > 0xffff {
        return None;
    }
    let last = place % PER_NET + 1;
    Some(Ipv4Addr::from((127 << 24) | (net << 8) | last))
}

/// The reverse of [`address_of`].
pub(crate) fn site_at(base: Ipv4Addr, address: Ipv4Addr, hosts: u32) -> Option<u32> {
    let last = u32::from(address) & 0xff;
    if !address.is_loopback() || last == 0 || last == 255 {
        return None;
    }
    place_of(address).checked_sub(place_of(base)).filter(|site| *site < hosts)
}

fn place_of(address: Ipv4Addr) -> u32 {
    let bits = u32::from(address);
    ((bits >> 8) & 0xffff) * PER_NET + (bits & 0xff).clamp(1, PER_NET) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_and_addresses_are_read_back_from_each_other() {
        let base = Ipv4Addr::new(127, 3, 0, 200);
        for site in [0, 1, 54, 55, 56, 300, 99_999] {
            let address = address_of(base, site).unwrap();
            assert!(!matches!(address.octets()[3], 0 | 255), "{address}");
            assert_eq!(site_at(base, address, 100_000), Some(site));
        }
        assert_eq!(address_of(base, 55), Some(Ipv4Addr::new(127, 3, 1, 1)));
        assert_eq!(site_at(base, Ipv4Addr::new(127, 3, 0, 199), 10), None);
        assert_eq!(site_at(base, Ipv4Addr::new(127, 3, 0, 210), 10), None);
        assert_eq!(address_of(Ipv4Addr::new(127, 255, 255, 254), 1), None);
    }

    #[test]
    fn a_lab_off_loopback_is_refused() {
        let mut config = LabConfig::plain();
        config.listen = "192.168.1.1:80".parse().unwrap();
        assert!(config.check().is_err());
        config = LabConfig { hosts: 17_000_000, ..LabConfig::plain() };
        assert!(config.check().is_err());
        assert!(LabConfig::mixed().check().is_ok());
    }
}
