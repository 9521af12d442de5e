//! One fetcher per thread: takes a request with the addresses of its host, and gives the answer as it was received.
//! Redirects are answers, not followed; when to ask is decided elsewhere.

use crate::clock::{Start, Stopwatch};
use crate::connect::{Connector, Progress, Stream, tunnel};
use crate::descriptors::{Descriptors, Share};
use crate::error::{Failure, FailureKind, FetchError, Stage};
use crate::guard::AddressPolicy;
use crate::http1::{HeadLimits, Http1, SendFailure};
use crate::http2::{self, Http2};
use crate::keep_alive::idle_for;
use crate::pool::{ActiveStream, Pool};
use crate::profile::{RequestProfile, Validators};
use crate::proxy::{Proxies, Proxy};
use crate::resolver::Resolver;
use crate::response::{Fetched, Truncation};
use crate::tls::Tls;
use argiope_model::{Scheme, Url};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, PROXY_AUTHORIZATION};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

#[derive(Clone, Debug)]
pub struct FetcherOptions {
    pub addresses: AddressPolicy,
    /// For requests whose profile names none.
    pub proxies: Arc<Proxies>,
    /// The most that the head of an answer may have, in bytes and in fields.
    pub max_head_bytes: usize,
    pub max_header_fields: usize,
    /// How long a connection is kept without a request, if its host does not ask for less.
    pub idle_timeout: Duration,
    /// Bounds the connections without a request, of this fetcher and of all that share it.
    pub descriptors: Descriptors,
    /// How long an address of a host may stay silent before the next one is tried beside it.
    pub connect_stagger: Duration,
}

/// Whether a request may leave now. Always, unless it says otherwise.
#[derive(Clone, Copy, Default)]
pub struct SendPermit<'l>(Option<&'l dyn Fn() -> bool>);

impl<'l> SendPermit<'l> {
    pub fn while_held(holds: &'l dyn Fn() -> bool) -> SendPermit<'l> {
        SendPermit(Some(holds))
    }

    fn is_given(self) -> bool {
        self.0.is_none_or(|holds| holds())
    }
}

impl std::fmt::Debug for SendPermit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_none() { "SendPermit(always)" } else { "SendPermit(while it holds)" })
    }
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

/// One request, ready to be sent.
#[derive(Clone, Copy, Debug)]
pub struct FetchRequest<'r> {
    pub url: &'r Url,
    /// When it begins: its record has this time, and its timeout runs from it.
    pub start: Start,
    /// The addresses of the URL's host, in the order to try them.
    pub addresses: &'r [IpAddr],
    /// How long it took to find them, for the timings.
    pub dns_us: u32,
    pub profile: &'r RequestProfile,
    pub validators: Option<&'r Validators>,
    /// Beside those of the profile.
    pub cookie: Option<&'r HeaderValue>,
    /// Fields of a form, encoded: with them it is a POST.
    pub form: Option<&'r Bytes>,
    /// Only the head of the answer is asked for.
    pub head_only: bool,
    /// For the whole fetch, from the start of connecting to the last byte.
    pub timeout: Duration,
    /// A longer body is cut there.
    pub max_body_bytes: usize,
    /// Asked right before it leaves, whatever came between its start and that.
    pub permit: SendPermit<'r>,
}

/// Fetches over connections of its own. It lives on one thread, inside a `LocalSet`.
pub struct Fetcher {
    shared: Rc<Shared>,
}

struct Shared {
    connector: Connector,
    resolver: Resolver,
    options: FetcherOptions,
    pool: Rc<RefCell<Pool>>,
    share: Rc<Share>,
    /// Whether a task is there that closes idle connections.
    sweeping: Cell<bool>,
}

/// A connection with a request on it.
enum Link {
    Http1(Box<Http1>),
    Http2(ActiveStream),
}

struct Answer {
    response: Response<Incoming>,
    link: Link,
    /// As far as it cannot be read off the connection.
    request_head: Option<Bytes>,
    reused: bool,
}

impl Fetcher {
    /// `resolver` is asked for proxies only.
    pub fn new(options: FetcherOptions, tls: Tls, resolver: Resolver) -> Fetcher {
        let connector = Connector {
            policy: options.addresses.clone(),
            tls,
            stagger: options.connect_stagger,
            descriptors: options.descriptors.clone(),
        };
        let pool = Rc::default();
        let share = Rc::new(options.descriptors.join());
        let sweeping = Cell::new(false);
        Fetcher { shared: Rc::new(Shared { connector, resolver, options, pool, share, sweeping }) }
    }

    /// How many connections are open without a request.
    pub fn idle_connections(&self) -> usize {
        self.shared.pool.borrow().idle_count()
    }

    /// Sends the request and reads the answer. Dropping the future gives the request up.
    ///
    /// A kept connection that turns out to be closed before any byte of the request has left is replaced by a new one. Where
    /// bytes had left, the host may have seen the request: that is a failure, [`FailureKind::Stale`], and asking again is
    /// for those to decide who know when the host may be asked.
    pub async fn fetch(&self, request: FetchRequest<'_>) -> Result<Fetched, Box<FetchError>> {
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
        // Whoever held the lock before may have found HTTP/1: then nobody need wait for anybody.
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

    /// Connects. Without a descriptor for that, idle connections are closed and it is tried again, until the time of the
    /// request is over.
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
        // What is closed here is free at once; what others close is not yet.
        if !self.shed(1) || tries > 1 {
            self.share.wait().await;
        }
    }

    async fn proxy_addresses(&self, proxy: &Proxy) -> Result<std::sync::Arc<[IpAddr]>, Failure> {
        match self.resolver.resolve(&proxy.host).await {
            Ok(resolved) => Ok(resolved.addresses),
            Err(error) => {
                let kind = FailureKind::Proxy(format!("no address of {}: {error}", proxy.host));
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
        if !request.permit.is_given() {
            return Err(unsent(FailureKind::NoPermit.into()));
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
                    // Only a request that never got to the connection is given back; else assume the worse.
                    request_left: !error.is_canceled(),
                    failure: error.into(),
                })?;
                (response, Link::Http2(stream), Some(head))
            }
        };
        progress.stopwatch.borrow_mut().answered();
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let kind = FailureKind::Protocol(String::from("the server switched protocols unasked"));
            return Err(unsent(kind.into()));
        }
        // Of a site behind a proxy nobody but the proxy asks for this. In a tunnel the proxy has no say any more.
        if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && request.url.scheme() == Scheme::Http
            && let Some(proxy) = self.proxy_for(request)
        {
            return Err(unsent(FailureKind::Proxy(proxy.refusal()).into()));
        }
        Ok((response, link, request_head))
    }

    /// Reads the body, and keeps the connection if it can serve again.
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
        // A shared connection is given back by being dropped. An unfinished answer is still on the wire of an
        // HTTP/1 connection: nothing else can be.
        if let (Link::Http1(mut connection), Some(idle)) = (link, idle)
            && connection.is_usable().await
        {
            self.pool.borrow_mut().put_http1(key, *connection, Instant::now() + idle);
        }
    }

    /// Closes idle connections that have had their time or are too many. Returns when the next one has.
    fn trim(&self) -> Option<Instant> {
        let mut pool = self.pool.borrow_mut();
        let next = pool.trim(Instant::now(), self.share.most_idle());
        self.share.tell(pool.idle_count());
        next
    }

    /// Closes so many idle connections, or as many as are too many. Says whether there were any.
    fn shed(&self, number: usize) -> bool {
        let idle = self.pool.borrow().idle_count();
        self.trim();
        let mut pool = self.pool.borrow_mut();
        pool.trim(Instant::now(), idle.saturating_sub(number));
        self.share.tell(pool.idle_count());
        pool.idle_count() < idle
    }

    /// Leaves no more behind than is worth keeping.
    fn tidy(self: &Rc<Self>, key: &str) {
        let next = self.trim();
        self.pool.borrow_mut().forget_host(key);
        if let Some(next) = next
            && !self.sweeping.replace(true)
        {
            tokio::task::spawn_local(sweep(Rc::downgrade(self), self.share.clone(), next));
        }
    }

    /// When to look again after idle connections of which the first has had its time at `next`: not for each of them.
    fn next_sweep(&self, next: Instant) -> Instant {
        next.max(Instant::now() + SWEEP_INTERVAL.min(self.options.idle_timeout))
    }
}

const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Closes idle connections while there are any: when their time is over, or when descriptors have run out.
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

fn http1_request(request: &FetchRequest<'_>, proxy: Option<&Proxy>) -> Result<Request<Full<Bytes>>, Failure> {
    let url = request.url;
    let proxy = proxy.filter(|_| url.scheme() == Scheme::Http);
    let target = if proxy.is_some() { url.as_str() } else { url.path_and_query() };
    let mut headers = request.profile.http1.clone();
    headers.insert(HOST, host_value(url)?);
    if let Some(authorization) = proxy.and_then(|proxy| proxy.authorization.clone()) {
        headers.insert(PROXY_AUTHORIZATION, authorization);
    }
    message(request, target, headers)
}

fn http2_request(request: &FetchRequest<'_>) -> Result<Request<Full<Bytes>>, Failure> {
    message(request, request.url.as_str(), request.profile.http2.clone())
}

fn message(
    request: &FetchRequest<'_>,
    target: &str,
    mut headers: HeaderMap,
) -> Result<Request<Full<Bytes>>, Failure> {
    if let Some(validators) = request.validators {
        validators.add_to(&mut headers);
    }
    if let Some(cookie) = request.cookie {
        // Those of the profile are sent with every request, and first.
        let both = match headers.get(COOKIE) {
            Some(own) => HeaderValue::from_bytes(&[own.as_bytes(), b"; ", cookie.as_bytes()].concat()),
            None => Ok(cookie.clone()),
        };
        let mut both = both.map_err(unsendable)?;
        both.set_sensitive(true);
        headers.insert(COOKIE, both);
    }
    let mut message = Request::new(Full::new(request.form.cloned().unwrap_or_default()));
    if request.form.is_some() {
        *message.method_mut() = Method::POST;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    }
    if request.head_only {
        *message.method_mut() = Method::HEAD;
    }
    *message.uri_mut() = Uri::try_from(target).map_err(unsendable)?;
    *message.headers_mut() = headers;
    Ok(message)
}

fn host_value(url: &Url) -> Result<HeaderValue, Failure> {
    HeaderValue::from_str(url.host()).map_err(unsendable)
}

fn unsendable(error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::caused(FailureKind::Unsendable(error.to_string()), error)
}

fn without_proxy_credentials(head: &Bytes) -> Bytes {
    let mut kept = BytesMut::with_capacity(head.len());
    let name = PROXY_AUTHORIZATION.as_str().as_bytes();
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if !line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            kept.extend_from_slice(line);
        }
    }
    kept.freeze()
}

/// Header values as they come are slices of the connection's read buffer, and one of them keeps all of it alive. With
/// a copy of their own the buffer is used again for the next answer, and a stored answer holds what it needs only.
fn detach(headers: &mut HeaderMap) {
    let length = headers.values().map(HeaderValue::len).sum();
    let mut values = BytesMut::with_capacity(length);
    for value in headers.values() {
        values.extend_from_slice(value.as_bytes());
    }
    let mut values = values.freeze();
    for value in headers.values_mut() {
        let copy = values.split_to(value.len());
        // It was a value before, so it is one.
        if let Ok(copy) = HeaderValue::from_maybe_shared(copy) {
            *value = copy;
        }
    }
}

#[derive(Clone, Copy)]
struct BodyLimits {
    bytes: usize,
    timeout: Duration,
}

/// Memory is taken for what was announced, up to this; beyond it, as it comes.
const TRUSTED_LENGTH: usize = 256 * 1024;
const FIRST_BUFFER: usize = 16 * 1024;

/// The body up to its end, its limit, its failure, or the end of its time.
async fn read_body(
    link: &mut Link,
    incoming: &mut Incoming,
    headers: &HeaderMap,
    limits: BodyLimits,
    mut time_over: Pin<&mut Sleep>,
) -> (Bytes, Option<Truncation>) {
    if incoming.is_end_stream() {
        return (Bytes::new(), None);
    }
    let announced = incoming.size_hint().exact();
    let expected = announced.map_or(FIRST_BUFFER, |length| usize::try_from(length).unwrap_or(usize::MAX));
    let mut body = BytesMut::with_capacity(expected.min(TRUSTED_LENGTH).min(limits.bytes));
    let truncated = loop {
        let next = poll_fn(|cx| {
            let frame = match link {
                Link::Http1(connection) => connection.poll_frame(incoming, cx),
                Link::Http2(_) => Pin::new(&mut *incoming).poll_frame(cx),
            };
            match frame {
                Poll::Ready(frame) => Poll::Ready(Some(frame)),
                Poll::Pending => time_over.as_mut().poll(cx).map(|()| None),
            }
        });
        match next.await {
            None => break Some(Truncation::Timeout { after: limits.timeout }),
            Some(None) => break None,
            Some(Some(Ok(frame))) => {
                // Trailers say nothing that is needed.
                let Ok(data) = frame.into_data() else { continue };
                let room = limits.bytes - body.len();
                if let Some(fitting) = data.get(..room).filter(|_| data.len() > room) {
                    body.extend_from_slice(fitting);
                    break Some(Truncation::TooLarge { limit: limits.bytes as u64 });
                }
                body.extend_from_slice(&data);
            }
            Some(Some(Err(error))) => break Some(interruption(&error, body.len() as u64, headers)),
        }
    };
    (body.freeze(), truncated)
}

fn interruption(error: &hyper::Error, received: u64, headers: &HeaderMap) -> Truncation {
    if error.is_incomplete_message() || crate::error::is_unexpected_end(error) {
        let announced =
            headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        return Truncation::ShortBody { received, announced };
    }
    match crate::error::cause::<std::io::Error>(error).map(std::io::Error::kind) {
        Some(std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::ConnectionAborted) => {
            Truncation::Reset { received }
        }
        _ => Truncation::Malformed { received },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::ProfileOptions;
    use crate::resolver::ResolverOptions;
    use crate::tls::TlsOptions;
    use tokio::runtime::Handle;

    #[test]
    fn hosts_that_failed_leave_nothing_behind() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let nobody = "127.0.0.1:1".parse().unwrap();
            let options = ResolverOptions { resolvers: vec![nobody], ..ResolverOptions::default() };
            let resolver = Resolver::new(options, Handle::current()).unwrap();
            let fetcher =
                Fetcher::new(FetcherOptions::default(), Tls::load(&TlsOptions::default()).unwrap(), resolver);
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

    #[test]
    fn detached_headers_are_the_same_headers() {
        let mut headers = HeaderMap::new();
        let buffer = Bytes::from_static(b"text/html\xffgzipa=1b=2");
        for (name, range) in [
            ("content-type", 0..10),
            ("content-encoding", 10..14),
            ("set-cookie", 14..17),
            ("set-cookie", 17..20),
        ] {
            let name = http::HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_maybe_shared(buffer.slice(range)).unwrap());
        }
        headers.append("x-empty", HeaderValue::from_static(""));
        let before = headers.clone();
        detach(&mut headers);
        assert_eq!(headers, before);
        assert_eq!(headers.get_all("set-cookie").iter().count(), 2);
    }
}
