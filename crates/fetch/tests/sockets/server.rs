//! What all tests share: a thread's runtime, a fetcher, and a server whose behaviour is a closure per connection.

use argiope_fetch::{
    AddressPolicy, Fetch, FetchError, FetchRequest, Fetched, FetcherOptions, HttpFetcher, ProfileOptions,
    RequestProfile, Resolver, ResolverOptions, SendPermit, Start, Tls, TlsOptions,
};
use argiope_model::Url;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

/// Runs a test as the engine runs its workers: one thread, one `LocalSet`.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// For what is expected to time out.
pub(crate) const SHORT: Duration = Duration::from_millis(500);
pub(crate) const BODY_LIMIT: usize = 1 << 20;

pub(crate) fn resolver() -> Resolver {
    let options =
        ResolverOptions { resolvers: vec!["127.0.0.1:1".parse().unwrap()], ..ResolverOptions::default() };
    Resolver::new(options, Handle::current()).unwrap()
}

pub(crate) fn fetcher_with(options: FetcherOptions) -> HttpFetcher {
    HttpFetcher::new(options, Tls::load(&TlsOptions::default()).unwrap(), resolver())
}

pub(crate) fn private() -> FetcherOptions {
    FetcherOptions { addresses: AddressPolicy::allowing_private(), ..FetcherOptions::default() }
}

pub(crate) fn fetcher() -> HttpFetcher {
    fetcher_with(private())
}

pub(crate) fn profile() -> RequestProfile {
    RequestProfile::new(&ProfileOptions::default()).unwrap()
}

pub(crate) fn url(text: &str) -> Url {
    Url::from_stored(text).unwrap()
}

/// A request with everything at its default.
pub(crate) struct Get {
    pub(crate) url: Url,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) profile: RequestProfile,
    pub(crate) timeout: Duration,
    pub(crate) max_body_bytes: usize,
    pub(crate) head_only: bool,
}

impl Get {
    pub(crate) fn new(text: &str) -> Get {
        Get {
            url: url(text),
            addresses: vec!["127.0.0.1".parse().unwrap()],
            profile: profile(),
            timeout: PATIENCE,
            max_body_bytes: BODY_LIMIT,
            head_only: false,
        }
    }

    pub(crate) fn within(self, timeout: Duration) -> Get {
        Get { timeout, ..self }
    }

    pub(crate) fn head_only(self) -> Get {
        Get { head_only: true, ..self }
    }

    pub(crate) async fn from(&self, fetcher: &HttpFetcher) -> Result<Fetched, Box<FetchError>> {
        let request = FetchRequest {
            url: &self.url,
            start: Start::now(),
            addresses: &self.addresses,
            dns_us: 0,
            profile: &self.profile,
            validators: None,
            cookie: None,
            form: None,
            head_only: self.head_only,
            timeout: self.timeout,
            max_body_bytes: self.max_body_bytes,
            permit: SendPermit::default(),
        };
        fetcher.fetch(request).await
    }
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Rc<Cell<usize>>,
    pub(crate) requests: Rc<RefCell<Vec<String>>>,
}

/// One connection as the server sees it.
pub(crate) struct Peer<S = TcpStream> {
    pub(crate) stream: S,
    pub(crate) number: usize,
    pub(crate) requests: Rc<RefCell<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start<H, F>(behaviour: H) -> Server
    where
        H: Fn(Peer) -> F + 'static,
        F: Future<Output = ()> + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server {
            address: listener.local_addr().unwrap(),
            connections: Rc::new(Cell::new(0)),
            requests: Rc::default(),
        };
        let (connections, requests) = (server.connections.clone(), server.requests.clone());
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = connections.get();
                connections.set(number + 1);
                tokio::task::spawn_local(behaviour(Peer { stream, number, requests: requests.clone() }));
            }
        });
        server
    }

    /// Answers every request on every connection with the same bytes and keeps the connection.
    pub(crate) async fn always(answer: impl Into<Vec<u8>>) -> Server {
        let answer: Rc<Vec<u8>> = Rc::new(answer.into());
        Server::start(move |mut peer| {
            let answer = answer.clone();
            async move {
                while peer.request().await.is_some() {
                    peer.send(&answer).await;
                }
            }
        })
        .await
    }

    /// Answers with the bytes and closes.
    pub(crate) async fn once(answer: impl Into<Vec<u8>>) -> Server {
        let answer: Rc<Vec<u8>> = Rc::new(answer.into());
        Server::start(move |mut peer| {
            let answer = answer.clone();
            async move {
                peer.request().await;
                peer.send(&answer).await;
            }
        })
        .await
    }

    pub(crate) fn get(&self, path: &str) -> Get {
        Get::new(&format!("http://{}{path}", self.address))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    /// The head of the next request, or `None` at the end of the connection.
    pub(crate) async fn request(&mut self) -> Option<String> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).unwrap();
        self.requests.borrow_mut().push(head.clone());
        Some(head)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        // The client may have gone, which is what some tests are about.
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    /// Keeps the connection open and says nothing, until the client goes.
    pub(crate) async fn hang(mut self) {
        let mut sink = [0; 1024];
        while self.stream.read(&mut sink).await.is_ok_and(|count| count > 0) {}
    }
}

/// A plain answer with its length.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}
