//! HTTP to one server: requests of a few megabytes, responses of bounded length. Its own thread drives the sockets, so
//! that callers on any thread share the connections.

mod pulse;

use crate::tls::{self, Proof};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Method};
use hyper_util::rt::TokioIo;
use pulse::Pulse;
use rustls::pki_types::ServerName;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use url::Url;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// An exchange may take long as long as bytes move: a server that is silent for this time counts as down.
const SILENCE_LIMIT: Duration = Duration::from_secs(20);
/// Idle connections that are kept.
const MOST_IDLE: usize = 32;

pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) longest_answer: usize,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

pub(crate) struct Http {
    server: Arc<Server>,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The target of all requests.
struct Server {
    host: String,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    idle: Mutex<Vec<Connection>>,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    pulse: Arc<Pulse>,
}

impl Http {
    /// `url` is any URL on the server. `authorities` is a file with those to trust instead of the system's. Does not
    /// connect.
    pub(crate) fn start(url: &Url, authorities: Option<&Path>) -> io::Result<Http> {
        let invalid = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        let host = url.host_str().ok_or_else(|| invalid("address without a host"))?;
        // URLs write brackets.
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = url.port_or_known_default().ok_or_else(|| invalid("address without a port"))?;
        let tls = match url.scheme() {
            "https" => {
                let name = ServerName::try_from(host.clone())
                    .map_err(|_| invalid("invalid server name for a certificate"))?;
                Some((TlsConnector::from(Arc::new(tls::config(Proof::Name, authorities)?)), name))
            }
            _ => None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(String::from("http-client")).spawn(move || {
            // Ends when the other half is dropped, too.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        })?;
        let server = Arc::new(Server { host, port, tls, idle: Mutex::default() });
        Ok(Http { server, runtime: handle, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn exchange(&self, request: Request) -> io::Result<Answer> {
        let (answered, answer) = mpsc::sync_channel(1);
        let server = self.server.clone();
        self.runtime.spawn(async move {
            // The caller may be gone.
            let _ = answered.send(server.exchange(&request).await);
        });
        answer.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that drives the sockets ended")))
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Server {
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn exchange(&self, request: &Request) -> io::Result<Answer> {
        // A kept connection may have closed meanwhile. All requests may be repeated, so the next connection is tried.
        loop {
            let kept = self.idle().pop();
            let Some(mut connection) = kept else { break };
            if connection.sender.ready().await.is_err() {
                continue;
            }
            match self.exchange_on(connection, request).await {
                Err(error) if error.kind() != io::ErrorKind::TimedOut => {}
                outcome => return outcome,
            }
        }
        self.exchange_on(self.connect().await?, request).await
    }

    async fn exchange_on(&self, mut connection: Connection, request: &Request) -> io::Result<Answer> {
        let pulse = connection.pulse.clone();
        let exchange = async {
            let response =
                connection.sender.send_request(message(request)?).await.map_err(io::Error::other)?;
            let (head, body) = response.into_parts();
            let body =
                Limited::new(body, request.longest_answer).collect().await.map_err(io::Error::other)?;
            io::Result::Ok(Answer {
                status: head.status.as_u16(),
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        let answer = tokio::select! {
            answer = exchange => answer?,
            () = pulse.silent_for(SILENCE_LIMIT) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server does not respond"));
            }
        };
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE && !connection.sender.is_closed() {
            idle.push(connection);
        }
        Ok(answer)
    }

    async fn connect(&self) -> io::Result<Connection> {
        let connecting = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            stream.set_nodelay(true)?;
            let (stream, pulse) = Pulse::of(stream);
            let sender = match &self.tls {
                None => handshake(stream).await?,
                Some((connector, name)) => handshake(connector.connect(name.clone(), stream).await?).await?,
            };
            Ok(Connection { sender, pulse })
        };
        tokio::time::timeout(CONNECT_LIMIT, connecting)
            .await
            .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "timeout while connecting")))
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> io::Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // Ends with its sender, or with the server; users of the sender get an error.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

fn message(request: &Request) -> io::Result<hyper::Request<Full<Bytes>>> {
    let url = &request.url;
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let host = match (url.host_str().unwrap_or_default(), url.port()) {
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let mut message =
        hyper::Request::builder().method(request.method.clone()).uri(target).header("host", host);
    for (name, value) in &request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(io::Error::other)?;
        message = message.header(name, HeaderValue::from_str(value).map_err(io::Error::other)?);
    }
    message.body(Full::new(request.body.clone())).map_err(io::Error::other)
}
