//! Fetches over HTTP/1.1 and HTTP/2: the implementation of the [`Fetch`] port that every crawl uses. One per thread, with
//! its own connections.

mod idle;
mod opening;
mod options;

pub use options::FetcherOptions;

use crate::body::{BodyLimits, read_body};
use crate::clock::Stopwatch;
use crate::connect::{Connector, Progress};
use crate::descriptors::Share;
use crate::error::{Failure, FetchError, FetchFailure, Stage};
use crate::http1::{Http1, SendFailure};
use crate::http2;
use crate::keep_alive::idle_for;
use crate::message::{detach, http1_request, http2_request, without_proxy_credentials};
use crate::pool::{ActiveStream, Pool};
use crate::port::{Fetch, FetchRequest};
use crate::proxy::Proxy;
use crate::resolver::Resolver;
use crate::response::Fetched;
use crate::tls::Tls;
use argiope_model::Scheme;
use bytes::Bytes;
use http::{Response, StatusCode};
use hyper::body::Incoming;
use std::cell::{Cell, RefCell};
use std::pin::{Pin, pin};
use std::rc::Rc;
use tokio::time::{Sleep, sleep_until};

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
    use std::time::Duration;
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
