//! The cookies of a job: those that it started with, those that sites set while it runs, and those of a chain of redirects. All
//! workers share them, with short locks. Everything is bounded, and sites set again what a crash loses.

use argiope_fetch::cookies::{Cookie, Jar, JarLimits, cookie_header};
use argiope_frontier::Completion;
use argiope_model::{CookieJar, Millis, PublicSuffixes, RequestKind, Url, Visit};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Stores the cookies of a job between its runs.
pub trait CookieKeeper: fmt::Debug + Send + Sync {
    fn keep(&self, cookies: &mut dyn Iterator<Item = &Cookie>) -> std::io::Result<()>;
}

/// What a job starts with in addition to its specification.
#[derive(Clone, Debug, Default)]
pub struct Session {
    pub cookies: Vec<Cookie>,
    pub keeper: Option<Arc<dyn CookieKeeper>>,
    pub login: Option<argiope_model::LoginForm>,
}

/// The memory for chains of redirects, in bytes; beyond it the oldest are forgotten.
const CHAIN_BYTES: usize = 8 << 20;

/// Identifies a chain: the URL where it started, as a page or as a robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChainKey {
    url: u64,
    round: u32,
    /// A graph visits the same URL once per depth.
    depth: u32,
    is_robots: bool,
}

impl ChainKey {
    pub(crate) fn of(visit: &Visit) -> ChainKey {
        let (url, is_robots) = match (&visit.kind, &visit.source) {
            (RequestKind::Robots, Some(origin)) => (origin, true),
            _ => (visit.scheduled_url(), false),
        };
        ChainKey { url: url.identity().key_u64(), round: visit.round, depth: visit.depth, is_robots }
    }
}

#[derive(Debug)]
struct Chain {
    jar: Jar,
    /// The URLs that redirected, and what was sent to them.
    asked: Vec<(Url, u64)>,
}

impl Chain {
    fn new() -> Chain {
        Chain { jar: Jar::new(JarLimits::CHAIN), asked: Vec::new() }
    }

    fn bytes(&self) -> usize {
        let urls: usize =
            self.asked.iter().map(|(url, _)| url.as_str().len() + size_of::<(Url, u64)>()).sum();
        size_of::<(ChainKey, Chain)>() + self.jar.bytes() + urls
    }
}

#[derive(Debug, Default)]
struct Chains {
    by_key: HashMap<ChainKey, Chain>,
    order: VecDeque<ChainKey>,
    bytes: usize,
}

impl Chains {
    fn remove(&mut self, key: ChainKey) {
        if let Some(gone) = self.by_key.remove(&key) {
            self.bytes = self.bytes.saturating_sub(gone.bytes());
        }
    }

    /// Changes a chain, which is created if needed.
    fn change(&mut self, key: ChainKey, change: impl FnOnce(&mut Chain)) {
        if !self.by_key.contains_key(&key) {
            self.order.push_back(key);
        }
        let chain = self.by_key.entry(key).or_insert_with(Chain::new);
        let before = if chain.asked.is_empty() && chain.jar.is_empty() { 0 } else { chain.bytes() };
        change(chain);
        self.bytes = (self.bytes + chain.bytes()).saturating_sub(before);
        while self.bytes > CHAIN_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            self.remove(oldest);
        }
        // Chains that have ended are still in `order`.
        if self.order.len() > 64 + 2 * self.by_key.len() {
            let known = &self.by_key;
            self.order.retain(|key| known.contains_key(key));
        }
    }
}

pub(crate) struct JobCookies {
    jar: CookieJar,
    suffixes: Arc<PublicSuffixes>,
    kept: Mutex<Jar>,
    /// Avoids the lock while the jar is empty.
    has_kept: AtomicBool,
    chains: Mutex<Chains>,
    has_changed: AtomicBool,
    keeper: Option<Arc<dyn CookieKeeper>>,
}

impl JobCookies {
    pub(crate) fn new(
        jar: CookieJar,
        begin: &[Cookie],
        keeper: Option<Arc<dyn CookieKeeper>>,
        suffixes: &Arc<PublicSuffixes>,
        now: Millis,
    ) -> JobCookies {
        let mut kept = Jar::new(JarLimits::JOB);
        for cookie in begin {
            kept.store(cookie.clone(), suffixes, now);
        }
        JobCookies {
            jar,
            suffixes: Arc::clone(suffixes),
            has_kept: AtomicBool::new(!kept.is_empty()),
            kept: Mutex::new(kept),
            chains: Mutex::default(),
            has_changed: AtomicBool::new(false),
            keeper: keeper.filter(|_| jar == CookieJar::On),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Jar> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The `Cookie` header of a request for `url`. `chain` is None unless a redirect led to it.
    pub(crate) fn header(&self, chain: Option<ChainKey>, url: &Url, now: Millis) -> Option<HeaderValue> {
        if chain.is_none() && !self.has_kept.load(Ordering::Relaxed) {
            return None;
        }
        let chains = chain.map(|_| self.chains());
        let of_chain = chain.and_then(|key| chains.as_ref()?.by_key.get(&key)).map(|chain| &chain.jar);
        let kept = self.kept();
        let header = match of_chain {
            Some(of_chain) => cookie_header(&[&*kept, of_chain], url, &self.suffixes, now),
            None => cookie_header(&[&*kept], url, &self.suffixes, now),
        };
        let mut header = HeaderValue::from_bytes(&header?).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    /// Stores the cookies that a response sets; `sent` is the header of the request.
    pub(crate) fn answered(
        &self,
        visit: &Visit,
        sent: Option<&HeaderValue>,
        headers: &HeaderMap,
        redirects: bool,
        now: Millis,
    ) {
        let url = &visit.url;
        if matches!(self.jar, CookieJar::Session | CookieJar::On) && headers.contains_key(SET_COOKIE) {
            self.take(url, headers, now);
        }
        if !redirects || self.jar == CookieJar::Off {
            return;
        }
        self.chains().change(ChainKey::of(visit), |chain| {
            if self.jar == CookieJar::Redirects {
                for header in headers.get_all(SET_COOKIE) {
                    chain.jar.take(header.as_bytes(), url, &self.suffixes, now);
                }
            }
            chain.asked.push((url.clone(), hash(sent)));
        });
    }

    /// Stores cookies with the job, whatever its setting for cookies.
    pub(crate) fn take(&self, url: &Url, headers: &HeaderMap, now: Millis) {
        let mut kept = self.kept();
        let mut changed = false;
        for header in headers.get_all(SET_COOKIE) {
            changed |= kept.take(header.as_bytes(), url, &self.suffixes, now);
        }
        if changed {
            self.has_kept.store(!kept.is_empty(), Ordering::Relaxed);
            self.has_changed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the job would send a cookie of this name to `url`.
    pub(crate) fn has(&self, name: &str, url: &Url, now: Millis) -> bool {
        let header = self.header(None, url, now);
        let text = header.as_ref().map(|header| header.as_bytes()).unwrap_or_default();
        text.split(|byte| *byte == b';')
            .any(|pair| pair.trim_ascii().split(|byte| *byte == b'=').next() == Some(name.as_bytes()))
    }

    /// Whether a redirect to an earlier URL of the chain would repeat the same request: with other cookies it would not.
    pub(crate) fn would_repeat(&self, visit: &Visit, to: &Url, now: Millis) -> bool {
        let key = ChainKey::of(visit);
        let next = hash(self.header(Some(key), to, now).as_ref());
        let chains = self.chains();
        let mut before = chains
            .by_key
            .get(&key)
            .into_iter()
            .flat_map(|chain| &chain.asked)
            .filter(|(url, _)| url.same_request(to))
            .peekable();
        if before.peek().is_none() {
            // An earlier process sent it, and the cookies of its chain are lost.
            return next == hash(None);
        }
        before.any(|(_, sent)| *sent == next)
    }

    /// Forgets the cookies of a chain of redirects when it ends.
    pub(crate) fn settled(&self, visit: &Visit, completion: &Completion) {
        if !visit.hops.is_empty() && matches!(completion, Completion::Done { .. }) {
            self.ended(ChainKey::of(visit));
        }
    }

    /// Ends a chain.
    pub(crate) fn ended(&self, chain: ChainKey) {
        self.chains().remove(chain);
    }

    /// Stores the cookies if they have changed and the job keeps them between runs.
    pub(crate) fn keep(&self) {
        let Some(keeper) = &self.keeper else { return };
        if !self.has_changed.swap(false, Ordering::Relaxed) {
            return;
        }
        let kept = self.kept().clone();
        if let Err(error) = keeper.keep(&mut kept.cookies()) {
            self.has_changed.store(true, Ordering::Relaxed);
            tracing::warn!(%error, "cannot store the cookies of the job");
        }
    }
}

fn hash(sent: Option<&HeaderValue>) -> u64 {
    let mut hasher = DefaultHasher::new();
    sent.map(HeaderValue::as_bytes).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, hop};

    const NOW: Millis = Millis(1_000_000_000_000);

    fn visit(path: &str) -> Visit {
        sample::visit(&format!("http://a.test{path}"))
    }

    fn cookies(jar: CookieJar) -> JobCookies {
        JobCookies::new(jar, &[], None, &Arc::new(PublicSuffixes::bundled()), NOW)
    }

    fn sets(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(SET_COOKIE, cookie.parse().unwrap());
        headers
    }

    fn sent(cookies: &JobCookies, visit: &Visit) -> String {
        let chain = (!visit.hops.is_empty()).then(|| ChainKey::of(visit));
        cookies.header(chain, &visit.url, NOW).map(|h| h.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_cookie_lives_as_long_as_its_chain_of_redirects() {
        let cookies = cookies(CookieJar::Redirects);
        let first = visit("/x");
        cookies.answered(&first, None, &sets("c=1"), true, NOW);
        assert!(!cookies.would_repeat(&first, &first.url, NOW), "it is asked with a cookie now");
        let second = hop(first.clone(), "http://a.test/x");
        assert_eq!(sent(&cookies, &second), "c=1");
        assert_eq!(sent(&cookies, &visit("/other")), "", "of another chain");
        cookies.answered(
            &second,
            cookies.header(Some(ChainKey::of(&second)), &second.url, NOW).as_ref(),
            &sets("c=1"),
            true,
            NOW,
        );
        assert!(cookies.would_repeat(&second, &second.url, NOW), "nothing has changed since");
        cookies.ended(ChainKey::of(&second));
        assert_eq!(sent(&cookies, &second), "");
        assert_eq!(cookies.chains().bytes, 0);
    }

    #[test]
    fn without_cookies_a_loop_is_one() {
        for jar in CookieJar::ALL {
            let cookies = cookies(jar);
            let first = visit("/x");
            cookies.answered(&first, None, &HeaderMap::new(), true, NOW);
            assert!(cookies.would_repeat(&first, &first.url, NOW), "{jar}");
        }
        let off = cookies(CookieJar::Off);
        off.answered(&visit("/x"), None, &sets("c=1"), true, NOW);
        assert!(off.would_repeat(&visit("/x"), &visit("/x").url, NOW));
        assert_eq!(sent(&off, &hop(visit("/x"), "http://a.test/x")), "");
    }

    #[test]
    fn a_session_is_for_all_visits_of_the_job() {
        let cookies = cookies(CookieJar::Session);
        let first = visit("/x");
        cookies.answered(&first, None, &sets("c=1; Path=/"), true, NOW);
        assert_eq!(sent(&cookies, &visit("/other")), "c=1");
        assert!(!cookies.would_repeat(&first, &first.url, NOW));
        assert!(cookies.has("c", &first.url, NOW) && !cookies.has("d", &first.url, NOW));
    }

    #[test]
    fn chains_that_never_end_are_forgotten_in_time() {
        let cookies = cookies(CookieJar::Redirects);
        for number in 0..60_000 {
            cookies.answered(&visit(&format!("/{number}")), None, &sets("c=0123456789"), true, NOW);
        }
        let chains = cookies.chains();
        assert!(chains.bytes <= CHAIN_BYTES && chains.by_key.len() > 1000);
        let counted: usize = chains.by_key.values().map(Chain::bytes).sum();
        assert_eq!(chains.bytes, counted);
    }

    #[test]
    fn an_earlier_process_left_nothing_behind_and_nothing_is_called_a_loop_for_that() {
        let cookies = cookies(CookieJar::Redirects);
        let again = hop(visit("/x"), "http://a.test/x");
        assert_eq!(sent(&cookies, &again), "");
        cookies.answered(&again, None, &sets("c=1"), true, NOW);
        assert!(!cookies.would_repeat(&again, &again.url, NOW));
    }
}
