//! From addresses to a connected stream: TCP under the address guard, the tunnel of a proxy, TLS.

use crate::capture::Capture;
use crate::certificate::explain;
use crate::clock::Stopwatch;
use crate::descriptors::{Descriptors, ran_out};
use crate::error::{ConnectFailure, Failure, FetchFailure, Stage};
use crate::guard::AddressPolicy;
use crate::proxy::Proxy;
use crate::tls::Tls;
use argiope_model::Url;
use rustls::pki_types::ServerName;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How far a fetch has come, for the error if it times out.
pub(crate) struct Progress {
    pub(crate) stage: Cell<Stage>,
    pub(crate) address: Cell<Option<SocketAddr>>,
    pub(crate) stopwatch: RefCell<Stopwatch>,
    /// The fetch waits for a file descriptor.
    pub(crate) lacks_descriptor: Cell<bool>,
    /// The exchange whose response is awaited.
    waiting_on: RefCell<Option<Rc<RefCell<Capture>>>>,
}

impl Progress {
    pub(crate) fn new(stopwatch: Stopwatch) -> Progress {
        Progress {
            stage: Cell::new(Stage::Connect),
            address: Cell::new(None),
            stopwatch: RefCell::new(stopwatch),
            lacks_descriptor: Cell::new(false),
            waiting_on: RefCell::new(None),
        }
    }

    pub(crate) fn watch(&self, exchange: Rc<RefCell<Capture>>) {
        *self.waiting_on.borrow_mut() = Some(exchange);
    }

    /// The failure when the time is over.
    pub(crate) fn time_over(&self, after: Duration) -> FetchFailure {
        if self.lacks_descriptor.get() {
            return FetchFailure::Connect { reason: ConnectFailure::NoDescriptor, detail: String::new() };
        }
        FetchFailure::Timeout { stage: self.stage(), after }
    }

    /// What the fetch is waiting for.
    pub(crate) fn stage(&self) -> Stage {
        let waiting_on = self.waiting_on.borrow();
        match (self.stage.get(), waiting_on.as_ref()) {
            (Stage::FirstByte, Some(exchange)) if exchange.borrow().answer_began() => Stage::Head,
            (stage, _) => stage,
        }
    }
}

/// A connection as HTTP sees it.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Whether both sides agreed on HTTP/2.
    pub(crate) fn is_http2(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }
}

pub(crate) struct Connector {
    pub(crate) policy: AddressPolicy,
    pub(crate) tls: Tls,
    /// How long to wait for an address before the next one is tried in parallel.
    pub(crate) stagger: Duration,
    /// Bounds the parallel connection attempts.
    pub(crate) descriptors: Descriptors,
}

/// At most this many addresses of a host are tried.
const MAX_ADDRESSES: usize = 6;

/// The limit of a proxy's response to CONNECT.
const MAX_TUNNEL_HEAD: usize = 8 * 1024;

impl Connector {
    /// Connects to the host itself. The guard checks each address right before the connection.
    pub(crate) async fn direct(
        &self,
        addresses: &[IpAddr],
        port: u16,
        progress: &Progress,
    ) -> Result<(TcpStream, SocketAddr), Failure> {
        let mut refused = None;
        let mut candidates = Vec::with_capacity(1);
        for address in addresses {
            match self.policy.check(*address) {
                Ok(()) => candidates.push(SocketAddr::new(*address, port)),
                Err(refusal) => refused = Some(refusal),
            }
        }
        if let (true, Some(refusal)) = (candidates.is_empty(), refused) {
            progress.address.set(Some(SocketAddr::new(refusal.address, port)));
            return Err(FetchFailure::PrivateAddress(refusal).into());
        }
        self.first_of(&candidates, Stage::Connect, progress).await
    }

    /// Connects to a proxy. The operator chose it, so the guard does not check its address. It does check the addresses of
    /// the host behind it, as far as they are known: those that were resolved, and a literal address in the URL.
    pub(crate) async fn proxy(
        &self,
        proxy_addresses: &[IpAddr],
        proxy: &Proxy,
        host_name: &str,
        host_addresses: &[IpAddr],
        progress: &Progress,
    ) -> Result<(TcpStream, SocketAddr), Failure> {
        let literal = host_name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        for address in host_addresses.iter().chain(&literal) {
            self.policy.check(*address).map_err(FetchFailure::PrivateAddress)?;
        }
        let candidates: Vec<SocketAddr> =
            proxy_addresses.iter().map(|address| SocketAddr::new(*address, proxy.port)).collect();
        self.first_of(&candidates, Stage::ProxyConnect, progress).await
    }

    /// Connects to the first address that accepts. The next one is tried when the one before has failed or takes long.
    async fn first_of(
        &self,
        candidates: &[SocketAddr],
        stage: Stage,
        progress: &Progress,
    ) -> Result<(TcpStream, SocketAddr), Failure> {
        progress.stage.set(stage);
        progress.address.set(candidates.first().copied());
        progress.stopwatch.borrow_mut().restart();
        let outcome = match candidates {
            [] => return Err(connect_failure(ConnectFailure::NoAddress, String::new())),
            [only] => TcpStream::connect(*only).await.map(|stream| (stream, *only)),
            several => race(several, self.stagger, &self.descriptors).await,
        };
        let (stream, address) = outcome.map_err(|error| {
            let kind = FetchFailure::Connect {
                reason: ConnectFailure::of(&error),
                detail: match ConnectFailure::of(&error) {
                    ConnectFailure::Other => error.to_string(),
                    _ => String::new(),
                },
            };
            Failure::caused(kind, error)
        })?;
        progress.address.set(Some(address));
        // Requests are single small writes; waiting to fill a packet only delays them. A failure has no other effect.
        let _ = stream.set_nodelay(true);
        progress.stopwatch.borrow_mut().connected();
        Ok((stream, address))
    }

    pub(crate) async fn tls(
        &self,
        stream: TcpStream,
        url: &Url,
        verified: bool,
        progress: &Progress,
    ) -> Result<Stream, Failure> {
        progress.stage.set(Stage::Tls);
        let host_name = url.host_name();
        let bare = host_name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host_name);
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|error| FetchFailure::Tls(format!("'{bare}' is not a valid server name: {error}")))?;
        let config = if verified { &self.tls.config } else { &self.tls.unverified };
        let connector = TlsConnector::from(Arc::clone(config));
        let failure = |error| tls_failure(error, url);
        let stream = connector.connect(name, stream).await.map_err(failure)?;
        progress.stopwatch.borrow_mut().secured();
        Ok(Stream::Tls(Box::new(stream)))
    }
}

fn connect_failure(reason: ConnectFailure, detail: String) -> Failure {
    FetchFailure::Connect { reason, detail }.into()
}

fn tls_failure(error: io::Error, url: &Url) -> Failure {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            FetchFailure::Tls(String::from("connection reset in the handshake"))
        }
        io::ErrorKind::UnexpectedEof => FetchFailure::Tls(String::from("closed in the handshake")),
        _ => FetchFailure::Tls(handshake_error(&error, url)),
    };
    Failure::caused(kind, error)
}

/// Turns errors that are likely mistakes of the user into advice.
fn handshake_error(error: &io::Error, url: &Url) -> String {
    use rustls::{Error, InvalidMessage};
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        // The server's first bytes are not TLS.
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            // The usual port of https becomes the usual port of http.
            let port = match url.port() {
                80 | 443 => String::new(),
                port => format!(":{port}"),
            };
            // The user did not ask for robots.txt; only the crawler did.
            let path = match url.path_and_query() {
                "/robots.txt" => "/",
                path => path,
            };
            format!("the server does not speak TLS here; try http://{}{port}{path}", url.host_name())
        }
        Some(Error::InvalidCertificate(wrong)) => explain(wrong).unwrap_or_else(|| error.to_string()),
        _ => error.to_string(),
    }
}

type Attempt<'a> = Pin<Box<dyn Future<Output = io::Result<(TcpStream, SocketAddr)>> + 'a>>;

async fn race(
    candidates: &[SocketAddr],
    stagger: Duration,
    descriptors: &Descriptors,
) -> io::Result<(TcpStream, SocketAddr)> {
    let mut next = candidates.iter().copied().take(MAX_ADDRESSES);
    let mut running: Vec<Attempt<'_>> = Vec::new();
    let mut last_error = io::Error::from(io::ErrorKind::NotConnected);
    loop {
        // The first attempt uses the request's own descriptor.
        let beside = if running.is_empty() { None } else { descriptors.second_address() };
        if (running.is_empty() || beside.is_some())
            && let Some(address) = next.next()
        {
            running.push(Box::pin(async move {
                let _beside = beside;
                TcpStream::connect(address).await.map(|stream| (stream, address))
            }));
        } else if running.is_empty() {
            return Err(last_error);
        }
        let more = next.len() > 0;
        let patience = tokio::time::sleep(stagger);
        tokio::select! {
            biased;
            outcome = first_finished(&mut running) => match outcome {
                Ok(connected) => return Ok(connected),
                // Other addresses would fail in the same way.
                Err(error) if ran_out(&error) => return Err(error),
                Err(error) => last_error = error,
            },
            () = patience, if more => {}
        }
    }
}

async fn first_finished(running: &mut Vec<Attempt<'_>>) -> io::Result<(TcpStream, SocketAddr)> {
    poll_fn(|cx| {
        for at in 0..running.len() {
            if let Some(attempt) = running.get_mut(at)
                && let Poll::Ready(outcome) = attempt.as_mut().poll(cx)
            {
                drop(running.swap_remove(at));
                return Poll::Ready(outcome);
            }
        }
        Poll::Pending
    })
    .await
}

/// Opens a tunnel to `host:port` through a proxy.
pub(crate) async fn tunnel(
    stream: &mut TcpStream,
    authority: &str,
    proxy: &Proxy,
    progress: &Progress,
) -> Result<(), Failure> {
    progress.stage.set(Stage::Proxy);
    let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").into_bytes();
    if let Some(authorization) = &proxy.authorization {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(authorization.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    let broken = |error: io::Error| {
        let text = match error.kind() {
            io::ErrorKind::UnexpectedEof => String::from("closed before the response to CONNECT"),
            _ => error.to_string(),
        };
        Failure::caused(FetchFailure::Proxy(format!("{}: {text}", proxy.place())), error)
    };
    stream.write_all(&request).await.map_err(broken)?;
    let mut head = Vec::with_capacity(256);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_TUNNEL_HEAD {
            let text = format!("{}: its response to CONNECT does not end", proxy.place());
            return Err(FetchFailure::Proxy(text).into());
        }
        // Byte by byte, since whatever follows the head belongs to the host. Once per connection.
        head.push(stream.read_u8().await.map_err(broken)?);
    }
    let status_line =
        String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next().unwrap_or(&[])).into_owned();
    let status = status_line.split(' ').nth(1).unwrap_or("");
    if status_line.starts_with("HTTP/1.") && status.len() == 3 && status.starts_with('2') {
        return Ok(());
    }
    if status == "407" {
        return Err(FetchFailure::Proxy(proxy.refusal()).into());
    }
    let proxy = proxy.place();
    Err(FetchFailure::Proxy(format!("{proxy} answered CONNECT with '{status_line}'")).into())
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            // Many servers close without a TLS close_notify. The length or the last chunk says whether the response is
            // complete; if it has neither, browsers accept what arrived, and so does this.
            Stream::Tls(stream) => match ready!(Pin::new(stream).poll_read(cx, buf)) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
                outcome => Poll::Ready(outcome),
            },
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
