//! Fetches over HTTP/1.1 and HTTP/2: the implementation of the [`Fetch`] port that every crawl uses. One per thread, with
//! its own connections.

use crate::body::{BodyLimits, read_body};
use crate::clock::Stopwatch;
use crate::connect::{Connector, Progress, Stream, tunnel};
use crate::descriptors::{Descriptors, Share};
use crate::error::{Failure, FetchError, FetchFailure, Stage};
use crate::guard::AddressPolicy;
use crate::http1::{HeadLimits, Http1, SendFailure};
use crate::http2::{self, Http2};
use crate::keep_alive::idle_for;
use crate::message::{detach, http1_request, http2_request, without_proxy_credentials};
use crate::pool::{ActiveStream, Pool};
use crate::port::{Fetch, FetchRequest};
use crate::proxy::{Proxies, Proxy};
use crate::resolver::Resolver;
use crate::response::Fetched;
use crate::tls::Tls;
use argiope_model::Scheme;
use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

#[derive(Clone, Debug)]
pub struct FetcherOptions {
    pub addresses: AddressPolicy,
    /// For requests whose profile names no proxy.
    pub proxies: Arc<Proxies>,
    /// Limits of the response headers, in bytes and in fields.
    pub max_head_bytes: usize,
    pub max_header_fields: usize,
    /// How long an idle connection is kept open, unless its host announces a shorter time.
    pub idle_timeout: Duration,
    /// Bounds the idle connections of this fetcher and of all others that share the budget.
    pub descriptors: Descriptors,
    /// How long to wait for an address of a host before the next one is tried in parallel.
    pub connect_stagger: Duration,
}

impl Default for FetcherOptions {
    fn default() -> FetcherOptions {
        FetcherOptions {
            addresses: AddressPolicy::public_only(),
            proxies: Arc::default(),
            max_head_bytes: 64 * 1024,
            max_header_fields: 256,
            idle_timeout: Duration::from_secs(30),
            descriptors: Descriptors::with_most_idle(512),
            connect_stagger: Duration::from_millis(300),
        }
    }
}

/// Lives on one thread, inside a `LocalSet`, with its own connections.
pub struct HttpFetcher {
    shared: Rc<Shared>,
}

struct Shared {
    connector: Connector,
    resolver: Resolver,
    options: FetcherOptions,
    pool: Rc<RefCell<Pool>>,
    share: Rc<Share>,
    /// Whether the task that closes idle connections is running.
    sweeping: Cell<bool>,
}

/// A connection that serves a request.
pub(crate) enum Link {
    Http1(Box<Http1>),
    Http2(ActiveStream),
}

struct Answer {
    response: Response<Incoming>,
    link: Link,
    /// Where the connection does not have it (HTTP/2).
    request_head: Option<Bytes>,
    reused: bool,
}

impl HttpFetcher {
    /// `resolver` looks up proxies only; the addresses of hosts come with the requests.
    pub fn new(options: FetcherOptions, tls: Tls, resolver: Resolver) -> HttpFetcher {
        let connector = Connector {
            policy: options.addresses.clone(),
            tls,
            stagger: options.connect_stagger,
            descriptors: options.descriptors.clone(),
        };
        let pool = Rc::default();
        let share = Rc::new(options.descriptors.join());
        let sweeping = Cell::new(false);
        HttpFetcher { shared: Rc::new(Shared { connector, resolver, options, pool, share, sweeping }) }
    }

    /// The number of idle connections.
    pub fn idle_connections(&self) -> usize {
        self.shared.pool.borrow().idle_count()
    }
}

impl Fetch for HttpFetcher {
    /// A kept connection that turns out to be closed before any byte of the request was sent is replaced by a new one. If
    /// bytes were sent, the host may have seen the request: that is a failure, [`FetchFailure::Stale`].
    async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, Box<FetchError>> {
        let stopwatch = Stopwatch::start(request.start, request.dns_us);
        let mut time_over = pin!(sleep_until(stopwatch.began + request.timeout));
        let progress = Progress::new(stopwatch);
        let key = self.shared.key(&request);
        let outcome = tokio::select! {
            biased;
            answer = self.shared.answer(&request, &key, &progress) => answer,
            () = &mut time_over => {
                Err(progress.time_over(request.timeout).into())
            }
        };
        let outcome = match outcome {
            Ok(answer) => self.shared.receive(answer, &request, &key, &progress, time_over).await,
            Err(failure) => Err(failure),
        };
        self.shared.tidy(&key);
        outcome.map_err(|failure| {
            Box::new(FetchError {
                kind: failure.kind,
                url: request.url.clone(),
                address: progress.address.get(),
                timings: progress.stopwatch.borrow().give_up(),
                source: failure.source,
            })
        })
    }
}

impl Shared {
    fn proxy_for<'p>(&'p self, request: &FetchRequest<'p>) -> Option<&'p Proxy> {
        request.profile.proxy_for(request.url, &self.options.proxies)
    }

    /// Requests with the same key may share a connection.
    fn key(&self, request: &FetchRequest<'_>) -> Rc<str> {
        let proxied;
        let verified = if request.profile.insecure { "unverified " } else { "" };
        let key = match self.proxy_for(request) {
            None if request.profile.insecure => {
                proxied = format!("{verified}{}", request.url.origin());
                proxied.as_str()
            }
            None => request.url.origin(),
            Some(proxy) => {
                proxied = format!("{verified}{} by {}", request.url.origin(), proxy.key);
                proxied.as_str()
            }
        };
        self.pool.borrow().key(key).unwrap_or_else(|| key.into())
    }

    async fn answer(
        &self,
        request: &FetchRequest<'_>,
        key: &Rc<str>,
        progress: &Progress,
    ) -> Result<Answer, Failure> {
        let (link, reused) = self.link(request, key, progress).await?;
        let first = self.send(request, link, progress).await;
        let failed = match first {
            Ok((response, link, request_head)) => {
                return Ok(Answer { response, link, request_head, reused });
            }
            Err(failed) if reused && failed.unanswered => failed,
            Err(failed) => return Err(failed.failure),
        };
        {
            let mut pool = self.pool.borrow_mut();
            pool.forget_idle(key);
            pool.forget_http2(key);
        }
        if failed.request_left {
            return Err(failed.failure.on_kept_connection());
        }
        let link = self.open(request, key, progress).await?;
        let (response, link, request_head) =
            self.send(request, link, progress).await.map_err(|failed| failed.failure)?;
        Ok(Answer { response, link, request_head, reused: false })
    }

    /// A kept connection, or a new one.
    async fn link(
        &self,
        request: &FetchRequest<'_>,
        key: &Rc<str>,
        progress: &Progress,
    ) -> Result<(Link, bool), Failure> {
        loop {
            let kept = self.pool.borrow_mut().take_http1(key, Instant::now());
            match kept {
                Some(mut connection) => {
                    if connection.is_usable().await {
                        return Ok((Link::Http1(Box::new(connection)), true));
                    }
                }
                None => break,
            }
        }
        if request.url.scheme() == Scheme::Http {
            return Ok((self.open(request, key, progress).await?, false));
        }
        if let Some(connection) = self.kept_http2(key) {
            return Ok((connection, true));
        }
        let opening = self.pool.borrow_mut().opening(key);
        let Some(opening) = opening else { return Ok((self.open(request, key, progress).await?, false)) };
        let alone = opening.lock().await;
        if let Some(connection) = self.kept_http2(key) {
            return Ok((connection, true));
        }
        // The previous holder of the lock may have found HTTP/1; then nobody has to wait.
        let _alone = self.pool.borrow_mut().opening(key).map(|_| alone);
        Ok((self.open(request, key, progress).await?, false))
    }

    fn stream(&self, connection: Rc<Http2>, key: &Rc<str>) -> ActiveStream {
        ActiveStream::new(connection, key.clone(), self.pool.clone(), self.options.idle_timeout)
    }

    fn kept_http2(&self, key: &Rc<str>) -> Option<Link> {
        let connection = self.pool.borrow_mut().http2(key)?;
        Some(Link::Http2(self.stream(connection, key)))
    }

    async fn open(
        &self,
        request: &FetchRequest<'_>,
        key: &Rc<str>,
        progress: &Progress,
    ) -> Result<Link, Failure> {
        let url = request.url;
        let secure = url.scheme() == Scheme::Https;
        let (stream, address) = match self.proxy_for(request) {
            None => {
                let connect = || self.connector.direct(request.addresses, url.port(), progress);
                self.with_descriptor(progress, connect).await?
            }
            Some(proxy) => {
                let proxy_addresses = self.proxy_addresses(proxy).await?;
                let (host, hosts) = (url.host_name(), request.addresses);
                let connect = || self.connector.proxy(&proxy_addresses, proxy, host, hosts, progress);
                let (mut stream, address) = self
                    .with_descriptor(progress, connect)
                    .await
                    .map_err(|failure| failure.on_the_way_to(proxy))?;
                if secure {
                    let authority = format!("{}:{}", url.host_name(), url.port());
                    tunnel(&mut stream, &authority, proxy, progress).await?;
                }
                (stream, address)
            }
        };
        let stream = if secure {
            let verified = !request.profile.insecure;
            self.connector.tls(stream, url, verified, progress).await?
        } else {
            Stream::Plain(stream)
        };
        if stream.is_http2() {
            let connection = Rc::new(Http2::open(stream, address, self.options.max_head_bytes).await?);
            self.pool.borrow_mut().opened_http2(key, connection.clone());
            return Ok(Link::Http2(self.stream(connection, key)));
        }
        let limits =
            HeadLimits { bytes: self.options.max_head_bytes, fields: self.options.max_header_fields };
        let connection = Http1::open(stream, address, limits).await?;
        self.pool.borrow_mut().opened_http1(key);
        Ok(Link::Http1(Box::new(connection)))
    }

    /// Connects. When no file descriptor is free, closes idle connections and tries again until the request times out.
    async fn with_descriptor<C>(
        &self,
        progress: &Progress,
        connect: impl Fn() -> C,
    ) -> Result<(TcpStream, SocketAddr), Failure>
    where
        C: Future<Output = Result<(TcpStream, SocketAddr), Failure>>,
    {
        let mut tries = 0;
        loop {
            match connect().await {
                Err(failure) if failure.kind.is_out_of_descriptors() => {
                    progress.lacks_descriptor.set(true);
                    self.make_room(tries).await;
                    progress.lacks_descriptor.set(false);
                    tries += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn make_room(&self, tries: usize) {
        self.share.shrink();
        // Descriptors closed here are free at once; those of other threads take a moment.
        if !self.shed(1) || tries > 1 {
            self.share.wait().await;
        }
    }

    async fn proxy_addresses(&self, proxy: &Proxy) -> Result<std::sync::Arc<[IpAddr]>, Failure> {
        match self.resolver.resolve(&proxy.host).await {
            Ok(resolved) => Ok(resolved.addresses),
            Err(error) => {
                let kind = FetchFailure::Proxy(format!("cannot resolve {}: {error}", proxy.host));
                Err(Failure::caused(kind, error))
            }
        }
    }

    async fn send(
        &self,
        request: &FetchRequest<'_>,
        link: Link,
        progress: &Progress,
    ) -> Result<(Response<Incoming>, Link, Option<Bytes>), SendFailure> {
        let unsent = |failure: Failure| SendFailure { failure, unanswered: false, request_left: false };
        if !request.permit.is_held() {
            return Err(unsent(FetchFailure::NoPermit.into()));
        }
        progress.stopwatch.borrow_mut().restart();
        progress.stage.set(Stage::FirstByte);
        let (response, link, request_head) = match link {
            Link::Http1(mut connection) => {
                progress.address.set(Some(connection.address));
                progress.watch(connection.capture());
                let message = http1_request(request, self.proxy_for(request)).map_err(unsent)?;
                let response = connection.send(message).await?;
                (response, Link::Http1(connection), None)
            }
            Link::Http2(stream) => {
                progress.address.set(Some(stream.connection.address));
                let message = http2_request(request).map_err(unsent)?;
                let head = http2::request_head(&message, request.url.host());
                let mut sender = stream.connection.sender.clone();
                let response = sender.send_request(message).await.map_err(|error| SendFailure {
                    unanswered: !error.is_parse() && !error.is_user(),
                    // Only a request that never reached the connection is certainly unsent.
                    request_left: !error.is_canceled(),
                    failure: error.into(),
                })?;
                (response, Link::Http2(stream), Some(head))
            }
        };
        progress.stopwatch.borrow_mut().answered();
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let kind = FetchFailure::Protocol(String::from(
                "the server switched protocols without a request to do so",
            ));
            return Err(unsent(kind.into()));
        }
        // Only a proxy sends this status for a plain request. Inside a tunnel the response comes from the host.
        if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && request.url.scheme() == Scheme::Http
            && let Some(proxy) = self.proxy_for(request)
        {
            return Err(unsent(FetchFailure::Proxy(proxy.refusal()).into()));
        }
        Ok((response, link, request_head))
    }

    /// Reads the body, and keeps the connection if it can be reused.
    async fn receive(
        &self,
        answer: Answer,
        request: &FetchRequest<'_>,
        key: &Rc<str>,
        progress: &Progress,
        time_over: Pin<&mut Sleep>,
    ) -> Result<Fetched, Failure> {
        progress.stage.set(Stage::Body);
        let Answer { response, mut link, request_head, reused } = answer;
        let (mut parts, mut incoming) = response.into_parts();
        let (request_head, head, address) = match &link {
            Link::Http1(connection) => {
                let (sent, received) = connection.heads();
                detach(&mut parts.headers);
                let proxied = self.proxy_for(request).is_some_and(|proxy| proxy.authorization.is_some());
                (if proxied { without_proxy_credentials(&sent) } else { sent }, received, connection.address)
            }
            Link::Http2(stream) => {
                let head = http2::response_head(parts.status, &parts.headers);
                (request_head.unwrap_or_default(), head, stream.connection.address)
            }
        };
        let limits = BodyLimits { bytes: request.max_body_bytes, timeout: request.timeout };
        let (body, truncated) = read_body(&mut link, &mut incoming, &parts.headers, limits, time_over).await;
        progress.stopwatch.borrow_mut().downloaded();
        drop(incoming);
        let idle = idle_for(&parts.headers, self.options.idle_timeout).filter(|_| truncated.is_none());
        self.release(link, key, idle).await;
        Ok(Fetched {
            status: parts.status,
            version: parts.version,
            head,
            request_head,
            headers: parts.headers,
            body,
            truncated,
            address,
            timings: progress.stopwatch.borrow().finish(),
            reused,
        })
    }

    /// Keeps the connection for as long as it may be idle.
    async fn release(&self, link: Link, key: &Rc<str>, idle: Option<Duration>) {
        // Dropping an HTTP/2 stream gives its connection back. The rest of an unfinished response is still on the
        // wire of an HTTP/1 connection, so that one cannot be reused.
        if let (Link::Http1(mut connection), Some(idle)) = (link, idle)
            && connection.is_usable().await
        {
            self.pool.borrow_mut().put_http1(key, *connection, Instant::now() + idle);
        }
    }

    /// Closes idle connections that have expired or exceed the limit. Returns when the next one expires.
    fn trim(&self) -> Option<Instant> {
        let mut pool = self.pool.borrow_mut();
        let next = pool.trim(Instant::now(), self.share.most_idle());
        self.share.tell(pool.idle_count());
        next
    }

    /// Closes `number` idle connections, or more if they exceed the limit. Returns whether any was closed.
    fn shed(&self, number: usize) -> bool {
        let idle = self.pool.borrow().idle_count();
        self.trim();
        let mut pool = self.pool.borrow_mut();
        pool.trim(Instant::now(), idle.saturating_sub(number));
        self.share.tell(pool.idle_count());
        pool.idle_count() < idle
    }

    /// Cleans up after a fetch: expired connections, and the pool entry of a host without connections.
    fn tidy(self: &Rc<Self>, key: &str) {
        let next = self.trim();
        self.pool.borrow_mut().forget_host(key);
        if let Some(next) = next
            && !self.sweeping.replace(true)
        {
            tokio::task::spawn_local(sweep(Rc::downgrade(self), self.share.clone(), next));
        }
    }

    /// When to sweep again, if the next idle connection expires at `next`: not once for each of them.
    fn next_sweep(&self, next: Instant) -> Instant {
        next.max(Instant::now() + SWEEP_INTERVAL.min(self.options.idle_timeout))
    }
}

const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Closes idle connections when they expire, or when file descriptors run out. Ends when none is left.
async fn sweep(shared: Weak<Shared>, share: Rc<Share>, mut next: Instant) {
    loop {
        let short = tokio::select! {
            () = sleep_until(next) => false,
            () = share.shortage() => true,
        };
        let Some(shared) = shared.upgrade() else { return };
        if short {
            let idle = shared.pool.borrow().idle_count();
            shared.shed(idle.div_ceil(4));
        }
        let Some(earliest) = shared.trim() else {
            shared.sweeping.set(false);
            return;
        };
        next = shared.next_sweep(earliest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Start;
    use crate::port::SendPermit;
    use crate::profile::{ProfileOptions, RequestProfile};
    use crate::resolver::ResolverOptions;
    use crate::tls::TlsOptions;
    use argiope_model::Url;
    use tokio::runtime::Handle;

    fn resolver() -> Resolver {
        let nobody = "127.0.0.1:1".parse().unwrap();
        let options = ResolverOptions { resolvers: vec![nobody], ..ResolverOptions::default() };
        Resolver::new(options, Handle::current()).unwrap()
    }

    #[test]
    fn http_keeps_the_contract_of_the_port() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let tls = Tls::load(&TlsOptions::default()).unwrap();
        let new = |addresses| {
            let options = FetcherOptions { addresses, ..FetcherOptions::default() };
            HttpFetcher::new(options, tls.clone(), resolver())
        };
        tokio::task::LocalSet::new().block_on(&runtime, crate::contract::run(new));
    }

    #[test]
    fn hosts_that_failed_leave_nothing_behind() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let tls = Tls::load(&TlsOptions::default()).unwrap();
            let fetcher = HttpFetcher::new(FetcherOptions::default(), tls, resolver());
            let profile = RequestProfile::new(&ProfileOptions::default()).unwrap();
            for number in 0..100 {
                let url = Url::from_stored(&format!("https://host{number}.test/")).unwrap();
                let request = FetchRequest {
                    url: &url,
                    start: Start::now(),
                    addresses: &["127.0.0.1".parse().unwrap()],
                    dns_us: 0,
                    profile: &profile,
                    validators: None,
                    cookie: None,
                    form: None,
                    head_only: false,
                    timeout: Duration::from_secs(5),
                    max_body_bytes: 1,
                    permit: SendPermit::default(),
                };
                assert_eq!(fetcher.fetch(request).await.unwrap_err().kind.word(), "private_address");
            }
            assert_eq!(fetcher.shared.pool.borrow().host_count(), 0);
        });
    }
}
