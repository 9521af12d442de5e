//! Stored cookies: bounded in number and bytes, indexed by the root domain of the host.

use super::{Cookie, parse};
use argiope_model::{Millis, PublicSuffixes, Url};
use std::collections::HashMap;

/// The limits of a jar. Beyond them, the cookies that were set longest ago are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JarLimits {
    /// Cookies of one root domain.
    pub per_domain: usize,
    /// For all cookies, in memory, approximately.
    pub bytes: usize,
}

impl JarLimits {
    /// Of a job.
    pub const JOB: JarLimits = JarLimits { per_domain: 100, bytes: 16 << 20 };
    /// Of a chain of redirects.
    pub const CHAIN: JarLimits = JarLimits { per_domain: 50, bytes: 64 << 10 };
}

/// The maximum for the `Cookie` header of one request.
const MAX_HEADER_BYTES: usize = 16 * 1024;

#[derive(Clone, Debug)]
pub struct Jar {
    limits: JarLimits,
    /// By root domain, the cookies in the order they were first set.
    domains: HashMap<Box<str>, Domain>,
    bytes: usize,
    /// Counts changes.
    clock: u64,
}

#[derive(Clone, Debug, Default)]
struct Domain {
    cookies: Vec<Cookie>,
    last_set: u64,
}

impl Jar {
    pub fn new(limits: JarLimits) -> Jar {
        Jar { limits, domains: HashMap::new(), bytes: 0, clock: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    pub fn len(&self) -> usize {
        self.domains.values().map(|domain| domain.cookies.len()).sum()
    }

    /// In memory, approximately.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn cookies(&self) -> impl Iterator<Item = &Cookie> {
        self.domains.values().flat_map(|domain| &domain.cookies)
    }

    /// Applies a `Set-Cookie` header. True if later requests will differ.
    pub fn take(&mut self, header: &[u8], url: &Url, suffixes: &PublicSuffixes, now: Millis) -> bool {
        match parse(header, url, suffixes, now) {
            Ok(set) => self.store(set.cookie, suffixes, now),
            Err(refused) => {
                tracing::debug!(%url, %refused, "cookie refused");
                false
            }
        }
    }

    /// A cookie replaces the one with the same name, domain and path; an expired one deletes it. True if that changes
    /// anything.
    pub fn store(&mut self, cookie: Cookie, suffixes: &PublicSuffixes, now: Millis) -> bool {
        let root: Box<str> = suffixes.root_domain(&cookie.domain).into();
        self.clock += 1;
        let is_over = cookie.is_expired(now);
        if !is_over && !self.domains.contains_key(&root) {
            self.domains.insert(root.clone(), Domain::default());
        }
        let Some(domain) = self.domains.get_mut(&root) else { return false };
        domain.last_set = self.clock;
        let known = domain.cookies.iter().position(|other| other.is_same(&cookie));
        let changed = if is_over {
            let gone = known.map(|at| domain.cookies.remove(at));
            self.bytes = self.bytes.saturating_sub(gone.as_ref().map_or(0, Cookie::bytes));
            gone.is_some()
        } else if let Some(old) = known.and_then(|at| domain.cookies.get_mut(at)) {
            let changed = old.value != cookie.value || old.secure != cookie.secure || old.is_expired(now);
            self.bytes = (self.bytes + cookie.bytes()).saturating_sub(old.bytes());
            *old = cookie;
            changed
        } else {
            self.bytes += cookie.bytes();
            domain.cookies.push(cookie);
            true
        };
        if domain.cookies.len() > self.limits.per_domain {
            let before: usize = domain.cookies.iter().map(Cookie::bytes).sum();
            domain.cookies.retain(|cookie| !cookie.is_expired(now));
            let excess = domain.cookies.len().saturating_sub(self.limits.per_domain);
            domain.cookies.drain(..excess);
            let after: usize = domain.cookies.iter().map(Cookie::bytes).sum();
            self.bytes = self.bytes.saturating_sub(before - after);
        }
        if domain.cookies.is_empty() {
            self.domains.remove(&root);
        }
        if self.bytes > self.limits.bytes {
            self.make_room();
        }
        changed
    }

    /// Drops whole domains, those first where nothing was set for longest, until a tenth is free.
    fn make_room(&mut self) {
        let mut ages: Vec<(u64, Box<str>)> =
            self.domains.iter().map(|(root, domain)| (domain.last_set, root.clone())).collect();
        ages.sort_unstable();
        for (_, root) in ages {
            if self.bytes <= self.limits.bytes / 10 * 9 {
                return;
            }
            let gone = self.domains.remove(&root).unwrap_or_default();
            let bytes: usize = gone.cookies.iter().map(Cookie::bytes).sum();
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    fn matching<'j>(&'j self, url: &'j Url, root: &str, now: Millis) -> impl Iterator<Item = &'j Cookie> {
        let cookies = self.domains.get(root).map_or(&[][..], |domain| domain.cookies.as_slice());
        cookies.iter().filter(move |cookie| cookie.is_for(url, now))
    }
}

/// The cookies that a request sends from these jars: of two with the same identity the later jar's; longer paths first,
/// then by age (RFC 6265, 5.4).
pub fn cookie_header(jars: &[&Jar], url: &Url, suffixes: &PublicSuffixes, now: Millis) -> Option<Vec<u8>> {
    if jars.iter().all(|jar| jar.is_empty()) {
        return None;
    }
    let root = suffixes.root_domain(url.host_name());
    let mut found: Vec<&Cookie> = Vec::new();
    for cookie in jars.iter().flat_map(|jar| jar.matching(url, root, now)) {
        match found.iter_mut().find(|other| other.is_same(cookie)) {
            Some(other) => *other = cookie,
            None => found.push(cookie),
        }
    }
    found.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
    let mut header = Vec::new();
    for cookie in found {
        if header.len() + cookie.name.len() + cookie.value.len() + 3 > MAX_HEADER_BYTES {
            break;
        }
        if !header.is_empty() {
            header.extend_from_slice(b"; ");
        }
        header.extend_from_slice(cookie.name.as_bytes());
        header.push(b'=');
        header.extend_from_slice(&cookie.value);
    }
    (!header.is_empty()).then_some(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const NOW: Millis = Millis(1_000_000_000_000);

    struct Kept {
        jar: Jar,
        suffixes: PublicSuffixes,
    }

    impl Kept {
        fn new(limits: JarLimits) -> Kept {
            Kept { jar: Jar::new(limits), suffixes: PublicSuffixes::bundled() }
        }

        fn set(&mut self, header: &str, url: &str) -> bool {
            self.jar.take(header.as_bytes(), &Url::from_stored(url).unwrap(), &self.suffixes, NOW)
        }

        fn sent_at(&self, url: &str, now: Millis) -> String {
            let header = cookie_header(&[&self.jar], &Url::from_stored(url).unwrap(), &self.suffixes, now);
            String::from_utf8(header.unwrap_or_default()).unwrap()
        }

        fn sent(&self, url: &str) -> String {
            self.sent_at(url, NOW)
        }
    }

    #[test]
    fn a_cookie_goes_to_its_host_path_and_scheme_only() {
        let mut kept = Kept::new(JarLimits::JOB);
        kept.set("host=1", "http://www.example.com/");
        kept.set("domain=2; Domain=example.com", "http://www.example.com/");
        kept.set("deep=3; Path=/shop", "http://www.example.com/");
        kept.set("safe=4; Secure", "https://www.example.com/");
        assert_eq!(kept.sent("http://www.example.com/"), "host=1; domain=2");
        assert_eq!(kept.sent("http://www.example.com/shop/x"), "deep=3; host=1; domain=2");
        assert_eq!(kept.sent("http://www.example.com/shopping"), "host=1; domain=2");
        assert_eq!(kept.sent("https://www.example.com/"), "host=1; domain=2; safe=4");
        assert_eq!(kept.sent("http://example.com/"), "domain=2");
        assert_eq!(kept.sent("http://a.www.example.com/"), "domain=2");
        assert_eq!(kept.sent("http://www.example.com:8080/"), "host=1; domain=2", "ports do not count");
        assert_eq!(kept.sent("http://other.test/"), "");
    }

    #[test]
    fn a_cookie_is_replaced_deleted_and_over_in_time() {
        let mut kept = Kept::new(JarLimits::JOB);
        assert!(kept.set("a=1; Max-Age=60", "http://a.test/"));
        assert!(!kept.set("a=1; Max-Age=90", "http://a.test/"), "nothing else is sent");
        assert!(kept.set("a=2; Max-Age=60", "http://a.test/"));
        assert_eq!(kept.sent("http://a.test/"), "a=2");
        assert_eq!(kept.sent_at("http://a.test/", NOW + Duration::from_secs(60)), "");
        assert!(kept.set("a=; Max-Age=0", "http://a.test/"));
        assert!(!kept.set("a=; Max-Age=0", "http://a.test/"));
        assert!(kept.jar.is_empty() && kept.jar.bytes() == 0);
    }

    #[test]
    fn a_jar_holds_no_more_than_its_limits() {
        let mut kept = Kept::new(JarLimits { per_domain: 3, bytes: 100_000 });
        for number in 0..10 {
            kept.set(&format!("c{number}=x"), "http://a.test/");
        }
        assert_eq!(kept.sent("http://a.test/"), "c7=x; c8=x; c9=x");
        for number in 0..5000 {
            kept.set("a=0123456789", &format!("http://host{number}.test/"));
            assert!(kept.jar.bytes() <= 100_000);
        }
        assert_eq!(kept.sent("http://host4999.test/"), "a=0123456789");
        assert_eq!(kept.sent("http://a.test/"), "", "what was set longest ago went first");
        let counted: usize = kept.jar.cookies().map(Cookie::bytes).sum();
        assert_eq!(kept.jar.bytes(), counted);
    }

    #[test]
    fn the_later_jar_wins() {
        let suffixes = PublicSuffixes::bundled();
        let url = Url::from_stored("http://a.test/").unwrap();
        let (mut job, mut chain) = (Jar::new(JarLimits::JOB), Jar::new(JarLimits::CHAIN));
        job.take(b"a=job", &url, &suffixes, NOW);
        job.take(b"b=job", &url, &suffixes, NOW);
        chain.take(b"a=chain", &url, &suffixes, NOW);
        assert_eq!(cookie_header(&[&job, &chain], &url, &suffixes, NOW).unwrap(), b"a=chain; b=job");
    }
}
