//! Root domains by the Public Suffix List, private section included, and the shard a host belongs to.

use publicsuffix::{List, Psl};

/// A parsed Public Suffix List. The copy a data directory was created with is stored beside the data, so that a
/// newer list moves no host to another shard.
pub struct PublicSuffixes {
    list: List,
}

impl PublicSuffixes {
    /// The list compiled into this build.
    pub const BUNDLED: &'static str = include_str!("../data/public_suffix_list.dat");

    pub fn bundled() -> PublicSuffixes {
        PublicSuffixes { list: Self::BUNDLED.parse().unwrap_or_default() }
    }

    pub fn parse(text: &str) -> Result<PublicSuffixes, String> {
        text.parse().map(|list| PublicSuffixes { list }).map_err(|e| format!("public suffix list: {e}"))
    }

    /// Whether anybody can register a domain under this name, or it is a single label or an address. No cookie is
    /// accepted for all of it.
    pub fn is_suffix(&self, name: &str) -> bool {
        name.starts_with('[')
            || name.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            || self.list.domain(name.as_bytes()).is_none()
    }

    /// `blog.example.co.uk` -> `example.co.uk`. An address, a bare suffix or a single label is its own root.
    /// `host` may carry a `:port`, which is no part of the answer.
    pub fn root_domain<'h>(&self, host: &'h str) -> &'h str {
        let name = host_name(host);
        if name.starts_with('[') || name.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return name;
        }
        match self.list.domain(name.as_bytes()) {
            Some(domain) => {
                let start = name.len().saturating_sub(domain.as_bytes().len());
                name.get(start..).unwrap_or(name)
            }
            None => name,
        }
    }
}

fn host_name(host: &str) -> &str {
    match host.rfind(':') {
        Some(at) if !host.ends_with(']') => host.get(..at).unwrap_or(host),
        _ => host,
    }
}

/// The shard that owns all hosts under `root_domain`. Fixed when a data directory or cluster is created.
pub fn shard_of(root_domain: &str, shards: u16) -> u16 {
    let hash = xxhash_rust::xxh3::xxh3_64(root_domain.as_bytes());
    u16::try_from(hash % u64::from(shards.max(1))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_single_labels_and_addresses_are_shared_domains() {
        let list = PublicSuffixes::bundled();
        for name in ["com", "co.uk", "github.io", "localhost", "127.0.0.1", "[::1]"] {
            assert!(list.is_suffix(name), "{name}");
        }
        for name in ["example.com", "example.co.uk", "a.b.example.com", "someone.github.io", "site.test"] {
            assert!(!list.is_suffix(name), "{name}");
        }
    }

    #[test]
    fn root_domains_follow_the_list() {
        let list = PublicSuffixes::bundled();
        assert_eq!(list.root_domain("blog.example.co.uk"), "example.co.uk");
        assert_eq!(list.root_domain("www.example.com:8080"), "example.com");
        assert_eq!(list.root_domain("a.b.github.io"), "b.github.io");
        assert_eq!(list.root_domain("127.0.0.1:80"), "127.0.0.1");
        assert_eq!(list.root_domain("[::1]:80"), "[::1]");
        assert_eq!(list.root_domain("[::1]"), "[::1]");
        assert_eq!(list.root_domain("localhost"), "localhost");
        assert_eq!(list.root_domain("co.uk"), "co.uk");
    }

    #[test]
    fn a_shard_number_never_changes() {
        assert_eq!(shard_of("example.com", 64), shard_of("example.com", 64));
        assert!((0..1000).all(|n| shard_of(&format!("h{n}.test"), 64) < 64));
        assert_eq!(shard_of("x", 1), 0);
    }
}
