//! What every implementation of [`Fetch`] must do, checked over loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a suite of tests, built for tests only"
)]

use crate::clock::Start;
use crate::error::{ConnectFailure, FetchError, FetchFailure};
use crate::guard::AddressPolicy;
use crate::port::{Fetch, FetchRequest, SendPermit};
use crate::profile::{ProfileOptions, RequestProfile};
use crate::response::{Fetched, TruncationCause};
use argiope_model::{Url, Validators};
use bytes::Bytes;
use http::HeaderValue;
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PATIENCE: Duration = Duration::from_secs(20);
/// For fetches that are expected to time out.
const SHORT: Duration = Duration::from_millis(300);

/// Runs the whole suite inside a `LocalSet`; `new` makes a fetcher that checks addresses against the policy.
pub async fn run<F: Fetch>(new: impl Fn(AddressPolicy) -> F) {
    let fetcher = new(AddressPolicy::allowing_private());
    the_response_comes_as_it_was_sent(&fetcher).await;
    redirects_are_responses(&fetcher).await;
    a_head_request_gets_no_body(&fetcher).await;
    cookies_and_forms_are_sent_and_nothing_is_remembered(&fetcher).await;
    validators_make_a_request_conditional(&fetcher).await;
    a_long_body_is_cut_at_the_limit(&fetcher).await;
    a_silent_host_times_out(&fetcher).await;
    a_slow_body_is_cut_when_the_time_is_over(&fetcher).await;
    a_host_without_addresses_is_not_connected_to(&fetcher).await;
    nothing_is_sent_without_a_permit(&fetcher).await;
    the_permit_is_checked_after_connecting(&fetcher).await;
    a_dropped_fetch_closes_its_connection(&fetcher).await;
    a_refused_address_is_not_connected_to(&new(AddressPolicy::public_only())).await;
}

async fn the_response_comes_as_it_was_sent<F: Fetch>(fetcher: &F) {
    let server =
        Server::start("HTTP/1.1 404 Gone Fishing\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 3\r\n\r\nabc").await;
    let fetched = server.get("/a?b=c").from(fetcher).await.unwrap();
    assert_eq!((fetched.status.as_u16(), &*fetched.body, fetched.truncated), (404, &b"abc"[..], None));
    assert_eq!(fetched.headers.get_all("x-a").iter().count(), 2);
    assert!(fetched.head.starts_with(b"HTTP/1.1 404") && fetched.head.ends_with(b"\r\n\r\n"));
    assert_eq!(fetched.address, server.address);
    let sent = server.requests.borrow()[0].clone();
    assert!(sent.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{sent}");
    assert_eq!(String::from_utf8_lossy(&fetched.request_head), sent);
    assert_timings(&fetched.timings, Duration::ZERO);
}

async fn redirects_are_responses<F: Fetch>(fetcher: &F) {
    let server = Server::start("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n").await;
    let fetched = server.get("/").from(fetcher).await.unwrap();
    assert_eq!(fetched.redirect().as_deref(), Some("/next"));
    assert_eq!(server.requests.borrow().len(), 1, "the redirect was followed");
}

async fn a_head_request_gets_no_body<F: Fetch>(fetcher: &F) {
    let server = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n").await;
    let get = Get { head_only: true, ..server.get("/") };
    let fetched = get.from(fetcher).await.unwrap();
    assert_eq!((fetched.body.len(), fetched.truncated), (0, None));
    assert!(server.requests.borrow()[0].starts_with("HEAD / HTTP/1.1\r\n"));
}

async fn cookies_and_forms_are_sent_and_nothing_is_remembered<F: Fetch>(fetcher: &F) {
    let server = Server::start("HTTP/1.1 200 OK\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n").await;
    let get = Get { cookie: Some(HeaderValue::from_static("a=1")), ..server.get("/") };
    get.from(fetcher).await.unwrap();
    let post = Get { form: Some(Bytes::from_static(b"q=1")), ..server.get("/") };
    post.from(fetcher).await.unwrap();
    let sent = server.requests.borrow();
    assert!(sent[0].to_ascii_lowercase().contains("\r\ncookie: a=1\r\n"), "{}", sent[0]);
    assert!(sent[1].starts_with("POST / HTTP/1.1\r\n"), "{}", sent[1]);
    assert!(!sent[1].to_ascii_lowercase().contains("\r\ncookie:"), "{}", sent[1]);
}

async fn validators_make_a_request_conditional<F: Fetch>(fetcher: &F) {
    let server = Server::start("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n").await;
    let validators = Validators {
        etag: Some(String::from("\"x\"")),
        last_modified: Some(String::from("Tue, 15 Nov 1994 12:45:26 GMT")),
    };
    let get = Get { validators: Some(validators), ..server.get("/") };
    let fetched = get.from(fetcher).await.unwrap();
    assert_eq!((fetched.status.as_u16(), fetched.body.len(), fetched.truncated), (304, 0, None));
    server.get("/").from(fetcher).await.unwrap();
    let sent: Vec<String> = server.requests.borrow().iter().map(|head| head.to_ascii_lowercase()).collect();
    assert!(sent[0].contains("\r\nif-none-match: \"x\"\r\n"), "{}", sent[0]);
    assert!(sent[0].contains("\r\nif-modified-since: tue, 15 nov 1994 12:45:26 gmt\r\n"), "{}", sent[0]);
    assert!(!sent[1].contains("\r\nif-"), "{}", sent[1]);
}

async fn a_long_body_is_cut_at_the_limit<F: Fetch>(fetcher: &F) {
    let body = "x".repeat(100);
    let server = Server::start(&format!("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{body}")).await;
    let get = Get { max_body_bytes: 10, ..server.get("/") };
    let fetched = get.from(fetcher).await.unwrap();
    assert_eq!((fetched.body.len(), fetched.truncated), (10, Some(TruncationCause::TooLarge { limit: 10 })));
    let get = Get { max_body_bytes: 100, ..server.get("/") };
    let fetched = get.from(fetcher).await.unwrap();
    assert_eq!((fetched.body.len(), fetched.truncated), (100, None));
}

async fn a_silent_host_times_out<F: Fetch>(fetcher: &F) {
    let server = Server::start("").await;
    let get = Get { timeout: SHORT, ..server.get("/") };
    let error = get.from(fetcher).await.unwrap_err();
    assert!(matches!(error.kind, FetchFailure::Timeout { after: SHORT, .. }), "{:?}", error.kind);
    assert_eq!(error.address, Some(server.address));
    assert_timings(&error.timings, SHORT);
}

async fn a_slow_body_is_cut_when_the_time_is_over<F: Fetch>(fetcher: &F) {
    let server = Server::start("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc").await;
    let get = Get { timeout: SHORT, ..server.get("/") };
    let fetched = get.from(fetcher).await.unwrap();
    assert_eq!(fetched.truncated, Some(TruncationCause::Timeout { after: SHORT }));
    assert_eq!(&*fetched.body, b"abc");
    assert_timings(&fetched.timings, SHORT);
}

async fn a_host_without_addresses_is_not_connected_to<F: Fetch>(fetcher: &F) {
    let server = Server::start(OK).await;
    let get = Get { addresses: Vec::new(), ..server.get("/") };
    let error = get.from(fetcher).await.unwrap_err();
    let no_address = FetchFailure::Connect { reason: ConnectFailure::NoAddress, detail: String::new() };
    assert_eq!(error.kind.to_string(), no_address.to_string());
    assert_eq!(server.connections.get(), 0);
}

async fn a_refused_address_is_not_connected_to<F: Fetch>(fetcher: &F) {
    let server = Server::start(OK).await;
    let error = server.get("/").from(fetcher).await.unwrap_err();
    assert!(matches!(error.kind, FetchFailure::PrivateAddress(_)), "{:?}", error.kind);
    assert_eq!(server.connections.get(), 0);
}

async fn nothing_is_sent_without_a_permit<F: Fetch>(fetcher: &F) {
    let server = Server::start(OK).await;
    // The second fetch could reuse the connection of the first.
    for (held, requests) in [(true, 1), (false, 1), (true, 2)] {
        let is_held = || held;
        let fetched = server.get("/").with_permit(fetcher, SendPermit::while_held(&is_held)).await;
        assert_eq!(fetched.is_ok(), held);
        if let Err(error) = fetched {
            assert!(matches!(error.kind, FetchFailure::NoPermit), "{:?}", error.kind);
        }
        assert_eq!(server.requests.borrow().len(), requests);
    }
}

async fn the_permit_is_checked_after_connecting<F: Fetch>(fetcher: &F) {
    let server = Server::start(OK).await;
    let checks = Cell::new(0);
    // The connection may be open before the server has accepted it, but not before the client connects: a permit that
    // is checked once, before connecting, would be out of date by then.
    let is_held = || {
        checks.set(checks.get() + 1);
        false
    };
    let error = server.get("/").with_permit(fetcher, SendPermit::while_held(&is_held)).await.unwrap_err();
    assert!(matches!(error.kind, FetchFailure::NoPermit), "{:?}", error.kind);
    assert!(checks.get() > 0);
    assert_eq!(error.address, Some(server.address), "the permit was checked before connecting");
    assert_eq!(server.requests.borrow().len(), 0);
}

async fn a_dropped_fetch_closes_its_connection<F: Fetch>(fetcher: &F) {
    let server = Server::start("").await;
    let get = server.get("/");
    tokio::select! {
        biased;
        _ = get.from(fetcher) => panic!("a silent server has answered"),
        () = server.received.notified() => {}
    }
    server.closed.notified().await;
}

/// `started` and `ended` enclose all stages, and at least `least`.
fn assert_timings(timings: &argiope_model::FetchTimings, least: Duration) {
    assert!(timings.ended.since(timings.started) >= least, "{timings:?}");
    // Times are whole milliseconds, the stages microseconds.
    let enclosed = timings.ended.since(timings.started) + Duration::from_millis(1);
    assert!(Duration::from_micros(timings.total_us()) <= enclosed, "{timings:?}");
    assert!(timings.started.0 > 0);
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Sends the same bytes in response to every request, and keeps connections open.
struct Server {
    address: SocketAddr,
    connections: Rc<Cell<usize>>,
    requests: Rc<RefCell<Vec<String>>>,
    /// A request has arrived.
    received: Rc<Notify>,
    /// The client has closed a connection.
    closed: Rc<Notify>,
}

impl Server {
    async fn start(response: &str) -> Server {
        let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
        let server = Server {
            address: listener.local_addr().unwrap(),
            connections: Rc::default(),
            requests: Rc::default(),
            received: Rc::default(),
            closed: Rc::default(),
        };
        let (connections, requests) = (server.connections.clone(), server.requests.clone());
        let (received, closed) = (server.received.clone(), server.closed.clone());
        let response: Rc<[u8]> = response.as_bytes().into();
        tokio::task::spawn_local(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                connections.set(connections.get() + 1);
                let (requests, response) = (requests.clone(), response.clone());
                let (received, closed) = (received.clone(), closed.clone());
                tokio::task::spawn_local(async move {
                    while let Some(head) = read_head(&mut stream).await {
                        requests.borrow_mut().push(head);
                        received.notify_one();
                        if stream.write_all(&response).await.is_err() {
                            break;
                        }
                    }
                    closed.notify_one();
                });
            }
        });
        server
    }

    fn get(&self, path: &str) -> Get {
        Get {
            url: Url::from_stored(&format!("http://{}{path}", self.address)).unwrap(),
            addresses: vec![LOOPBACK],
            validators: None,
            cookie: None,
            form: None,
            head_only: false,
            timeout: PATIENCE,
            max_body_bytes: 1 << 20,
        }
    }
}

/// The next request up to its empty line, with the body of a form. None when the client has closed the connection.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.to_ascii_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length:").map(|length| length.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(head)
}

struct Get {
    url: Url,
    addresses: Vec<IpAddr>,
    validators: Option<Validators>,
    cookie: Option<HeaderValue>,
    form: Option<Bytes>,
    head_only: bool,
    timeout: Duration,
    max_body_bytes: usize,
}

impl Get {
    async fn from<F: Fetch>(&self, fetcher: &F) -> Result<Fetched, Box<FetchError>> {
        self.with_permit(fetcher, SendPermit::default()).await
    }

    async fn with_permit<F: Fetch>(
        &self,
        fetcher: &F,
        permit: SendPermit<'_>,
    ) -> Result<Fetched, Box<FetchError>> {
        let profile = RequestProfile::new(&ProfileOptions::default()).unwrap();
        let start = Start::now();
        let request = FetchRequest {
            url: &self.url,
            start,
            addresses: &self.addresses,
            dns_us: 0,
            profile: &profile,
            validators: self.validators.as_ref(),
            cookie: self.cookie.as_ref(),
            form: self.form.as_ref(),
            head_only: self.head_only,
            timeout: self.timeout,
            max_body_bytes: self.max_body_bytes,
            permit,
        };
        let outcome = fetcher.fetch(request).await;
        let timings = outcome.as_ref().map_or_else(|error| error.timings, |fetched| fetched.timings);
        assert_eq!(timings.started, start.at(), "the timings begin with the start of the request");
        outcome
    }
}
