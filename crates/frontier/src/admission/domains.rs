//! Tables of hosts and domains as users write them, looked up for a host and its parent domains.

use super::AdmissionError;
use argiope_model::{NormalRules, Url};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A value per host or domain. An entry with a port applies to that host alone; one without, to the name on any port
/// and its subdomains. The most specific entry wins.
#[derive(Clone, Debug)]
pub(super) struct DomainTable<V> {
    entries: HashMap<Box<str>, V, BuildHasherDefault<NameHasher>>,
}

impl<V> Default for DomainTable<V> {
    fn default() -> DomainTable<V> {
        DomainTable { entries: HashMap::default() }
    }
}

/// Names that are looked up for every link.
pub(super) type NameSet = HashSet<Box<str>, BuildHasherDefault<NameHasher>>;

/// A fast hash without a key: these tables hold only what the user wrote, so nobody outside can cause collisions.
#[derive(Default)]
pub(super) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// The terminator of a text is not needed if the text is the whole key.
    fn write_u8(&mut self, _mark: u8) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

impl<V> DomainTable<V> {
    /// `list` names the setting in errors.
    pub(super) fn compile<'e>(
        list: &'static str,
        entries: impl IntoIterator<Item = (&'e str, V)>,
    ) -> Result<DomainTable<V>, AdmissionError> {
        let mut table = HashMap::default();
        for (entry, value) in entries {
            table.insert(normal_host(list, entry)?, value);
        }
        Ok(DomainTable { entries: table })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entry for this URL's host, with the name of the entry.
    pub(super) fn find<'t>(&'t self, url: &Url) -> Option<(&'t str, &'t V)> {
        if self.entries.is_empty() {
            return None;
        }
        let get = |name: &str| self.entries.get_key_value(name).map(|(name, value)| (&**name, value));
        get(url.host()).or_else(|| suffixes(url.host_name()).find_map(get))
    }
}

/// `a.b.c`, `b.c`, `c`.
pub(super) fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, parent)| parent))
}

/// `*.Example.com`, `.example.com` and `example.com.` are `example.com`.
fn normal_host(list: &'static str, entry: &str) -> Result<Box<str>, AdmissionError> {
    let name = entry.trim();
    let name = name.strip_prefix("*.").or_else(|| name.strip_prefix('.')).unwrap_or(name);
    if name.is_empty() || name.contains(['/', '?', '#', '@', '\\', '*']) {
        return Err(AdmissionError::NotADomain { list, entry: entry.to_owned() });
    }
    Url::parse(&format!("http://{name}/"), &NormalRules::default())
        .map(|url| url.host().into())
        .map_err(|source| AdmissionError::Domain { list, entry: entry.to_owned(), source })
}

/// Whether an entry of the blacklist, or of another list of hosts and domains, is valid.
pub fn is_domain_entry(entry: &str) -> bool {
    normal_host("", entry).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text, &NormalRules::default()).unwrap()
    }

    #[test]
    fn an_entry_is_for_its_name_and_everything_below() {
        let table = DomainTable::compile("t", [("*.Example.com", 1), ("b.example.com", 2), ("h.test:81", 3)])
            .unwrap();
        let find = |text: &str| table.find(&url(text)).map(|(_, value)| *value);
        assert_eq!(find("https://example.com/"), Some(1));
        assert_eq!(find("https://a.example.com:8080/"), Some(1));
        assert_eq!(find("https://a.b.example.com/"), Some(2));
        assert_eq!(find("https://notexample.com/"), None);
        assert_eq!(find("http://h.test:81/"), Some(3));
        assert_eq!(find("http://h.test/"), None);
        assert_eq!(find("http://[::1]/"), None);
    }

    #[test]
    fn what_is_no_domain_is_named() {
        for entry in ["", "https://example.com/", "a b", "exa*mple.com", "u@h"] {
            let error = DomainTable::compile("blacklist", [(entry, ())]).unwrap_err().to_string();
            assert!(error.starts_with("blacklist: ") && error.contains(entry), "{error}");
        }
    }
}
