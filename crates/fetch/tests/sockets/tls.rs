//! TLS with an authority of our own: HTTP/1.1, HTTP/2, tunnels, and certificates that do not hold.

use crate::server::{Get, Peer, SHORT, Server, fetcher, ok, private, resolver, run};
use argiope_fetch::{FetchFailure, HttpFetcher, ProfileOptions, RequestProfile, Stage, Tls, TlsOptions};
use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(issuer.pem().as_bytes()).unwrap();
        Authority { issuer, file }
    }

    fn acceptor(&self, name: &str, protocols: &[&str]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    fn fetcher(&self) -> HttpFetcher {
        let options = TlsOptions { extra_authorities: vec![self.file.path().to_owned()] };
        HttpFetcher::new(private(), Tls::load(&options).unwrap(), resolver())
    }
}

fn secure(server: &Server, name: &str, path: &str) -> Get {
    Get::new(&format!("https://{name}:{}{path}", server.address.port()))
}

/// The handshake from the server's side.
async fn accept(peer: Peer, acceptor: &TlsAcceptor) -> Option<Peer<TlsStream<TcpStream>>> {
    let Peer { stream, number, requests } = peer;
    let stream = acceptor.accept(stream).await.ok()?;
    Some(Peer { stream, number, requests })
}

async fn http1_server(acceptor: TlsAcceptor) -> Server {
    Server::start(move |peer| {
        let acceptor = acceptor.clone();
        async move {
            let Some(mut peer) = accept(peer, &acceptor).await else { return };
            while peer.request().await.is_some() {
                peer.send(&ok("secret")).await;
            }
        }
    })
    .await
}

/// Answers by HTTP/2 with the path that was asked for, and counts the requests.
async fn http2_server(acceptor: TlsAcceptor) -> (Server, Rc<Cell<usize>>) {
    let count = Rc::new(Cell::new(0));
    let counter = count.clone();
    let server = Server::start(move |peer| {
        let (acceptor, counter) = (acceptor.clone(), counter.clone());
        async move {
            let Some(peer) = accept(peer, &acceptor).await else { return };
            let service = service_fn(move |request: Request<Incoming>| {
                counter.set(counter.get() + 1);
                async move {
                    let body = format!("{} {}", request.uri(), request.version() == Version::HTTP_2);
                    let response =
                        Response::builder().header("content-type", "text/plain").header("x-test", "a");
                    Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap())
                }
            });
            let _ = hyper::server::conn::http2::Builder::new(ThisThread)
                .serve_connection(TokioIo::new(peer.stream), service)
                .await;
        }
    })
    .await;
    (server, count)
}

#[derive(Clone, Copy)]
struct ThisThread;

impl<F: Future + 'static> hyper::rt::Executor<F> for ThisThread {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}

#[test]
fn http_1_over_tls_is_kept_alive_and_timed() {
    run(async {
        let authority = Authority::new();
        let server = http1_server(authority.acceptor("site.test", &["http/1.1"])).await;
        let fetcher = authority.fetcher();
        let first = secure(&server, "site.test", "/a").from(&fetcher).await.unwrap();
        assert_eq!((first.body.as_ref(), first.version), (&b"secret"[..], Version::HTTP_11));
        assert!(first.timings.tls_us > 0);
        assert!(first.head.starts_with(b"HTTP/1.1 200 OK\r\n") && first.head.ends_with(b"\r\n\r\n"));
        let second = secure(&server, "site.test", "/b").from(&fetcher).await.unwrap();
        assert!(second.reused);
        assert_eq!(second.timings.tls_us, 0);
        assert_eq!(server.connections.get(), 1);
        assert!(server.requests.borrow()[1].starts_with("GET /b HTTP/1.1\r\nHost: site.test:"));
    });
}

#[test]
fn http_2_is_chosen_and_its_connection_shared() {
    run(async {
        let authority = Authority::new();
        let (server, count) = http2_server(authority.acceptor("two.test", &["h2", "http/1.1"])).await;
        let fetcher = authority.fetcher();
        let gets: Vec<Get> = (0..8).map(|n| secure(&server, "two.test", &format!("/{n}?q"))).collect();
        let answers = tokio::join!(gets[0].from(&fetcher), gets[1].from(&fetcher), gets[2].from(&fetcher));
        for (number, answer) in [answers.0, answers.1, answers.2].into_iter().enumerate() {
            let fetched = answer.unwrap();
            let port = server.address.port();
            assert_eq!(fetched.body, format!("https://two.test:{port}/{number}?q true"));
            assert_eq!(fetched.version, Version::HTTP_2);
            let head = String::from_utf8(fetched.head.to_vec()).unwrap();
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("x-test: a\r\n"), "{head}");
            let request = String::from_utf8(fetched.request_head.to_vec()).unwrap();
            assert!(
                request.starts_with(&format!("GET /{number}?q HTTP/1.1\r\nhost: two.test:{port}\r\n")),
                "{request}"
            );
        }
        for get in &gets[3..] {
            assert!(get.from(&fetcher).await.unwrap().reused);
        }
        assert_eq!((server.connections.get(), count.get()), (1, 8));
        assert_eq!(fetcher.idle_connections(), 1);
    });
}

#[test]
fn an_http_2_connection_that_was_closed_is_replaced() {
    run(async {
        let authority = Authority::new();
        let acceptor = authority.acceptor("two.test", &["h2"]);
        // Serves one request per connection and then hangs up.
        let server = Server::start(move |peer| {
            let acceptor = acceptor.clone();
            async move {
                let Some(peer) = accept(peer, &acceptor).await else { return };
                let served = Rc::new(tokio::sync::Notify::new());
                let signal = served.clone();
                let service = service_fn(move |_: Request<Incoming>| {
                    signal.notify_one();
                    async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("x")))) }
                });
                let connection = hyper::server::conn::http2::Builder::new(ThisThread)
                    .serve_connection(TokioIo::new(peer.stream), service);
                let mut connection = std::pin::pin!(connection);
                tokio::select! {
                    _ = &mut connection => return,
                    () = served.notified() => connection.as_mut().graceful_shutdown(),
                }
                let _ = connection.await;
            }
        })
        .await;
        let fetcher = authority.fetcher();
        for _ in 0..3 {
            assert_eq!(secure(&server, "two.test", "/").from(&fetcher).await.unwrap().body, "x");
        }
        assert_eq!(server.connections.get(), 3);
    });
}

#[test]
fn a_request_given_up_frees_its_http_2_connection() {
    run(async {
        let authority = Authority::new();
        let acceptor = authority.acceptor("two.test", &["h2"]);
        let server = Server::start(move |peer| {
            let acceptor = acceptor.clone();
            async move {
                let Some(peer) = accept(peer, &acceptor).await else { return };
                let service = service_fn(|request: Request<Incoming>| async move {
                    if request.uri().path() == "/never" {
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("x"))))
                });
                let _ = hyper::server::conn::http2::Builder::new(ThisThread)
                    .serve_connection(TokioIo::new(peer.stream), service)
                    .await;
            }
        })
        .await;
        let fetcher = authority.fetcher();
        let error = secure(&server, "two.test", "/never").within(SHORT).from(&fetcher).await.unwrap_err();
        assert_eq!(error.kind, FetchFailure::Timeout { stage: Stage::FirstByte, after: SHORT });
        assert_eq!(fetcher.idle_connections(), 1);
        assert!(secure(&server, "two.test", "/").from(&fetcher).await.unwrap().reused);
        assert_eq!(server.connections.get(), 1);
    });
}

#[test]
fn an_unknown_authority_and_a_wrong_name_are_tls_failures() {
    run(async {
        let authority = Authority::new();
        let server = http1_server(authority.acceptor("site.test", &[])).await;
        let error = secure(&server, "site.test", "/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "tls", "{error}");
        let named = "tls: the certificate is issued by 'rcgen self signed cert', which is not trusted; \
                     trust its authority with --ca-file FILE";
        assert_eq!(error.to_string(), named);
        let error = secure(&server, "other.test", "/").from(&authority.fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "tls", "{error}");
        let named = "tls: the certificate is for site.test, not for other.test";
        assert_eq!(error.to_string(), named);
        assert!(server.requests.borrow().is_empty());
    });
}

#[test]
fn a_server_that_speaks_no_tls_is_a_tls_failure() {
    run(async {
        let server = Server::start(|mut peer| async move {
            peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            peer.hang().await;
        })
        .await;
        for (path, tried) in [("/", "/"), ("/a/b?c=d", "/a/b?c=d"), ("/robots.txt", "/")] {
            let error = secure(&server, "site.test", path).from(&fetcher()).await.unwrap_err();
            let port = server.address.port();
            let hint = format!("tls: the server does not speak TLS here; try http://site.test:{port}{tried}");
            assert_eq!(error.to_string(), hint);
        }
    });
}

#[test]
fn silence_in_the_handshake_times_out_there() {
    run(async {
        let server = Server::start(|peer| peer.hang()).await;
        let error = secure(&server, "site.test", "/").within(SHORT).from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind, FetchFailure::Timeout { stage: Stage::Tls, after: SHORT });
    });
}

#[test]
fn a_body_without_length_survives_a_missing_goodbye() {
    run(async {
        let authority = Authority::new();
        let acceptor = authority.acceptor("site.test", &[]);
        let server = Server::start(move |peer| {
            let acceptor = acceptor.clone();
            async move {
                let Some(mut peer) = accept(peer, &acceptor).await else { return };
                peer.request().await;
                peer.send(b"HTTP/1.1 200 OK\r\n\r\nall of it").await;
                // Closes the socket below TLS.
                let _ = peer.stream.get_mut().0.shutdown().await;
            }
        })
        .await;
        let fetched = secure(&server, "site.test", "/").from(&authority.fetcher()).await.unwrap();
        assert_eq!((fetched.body.as_ref(), fetched.truncated), (&b"all of it"[..], None));
    });
}

#[test]
fn https_goes_through_a_tunnel() {
    run(async {
        let authority = Authority::new();
        let site = http1_server(authority.acceptor("site.test", &["http/1.1"])).await;
        let target = site.address;
        let proxy = Server::start(move |mut peer| async move {
            peer.request().await;
            peer.send(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").await;
            let mut upstream = TcpStream::connect(target).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut peer.stream, &mut upstream).await;
        })
        .await;
        let options = ProfileOptions {
            proxy: Some(format!("http://me:you@{}", proxy.address)),
            ..ProfileOptions::default()
        };
        let get =
            Get { profile: RequestProfile::new(&options).unwrap(), ..secure(&site, "site.test", "/deep") };
        let fetcher = authority.fetcher();
        for _ in 0..2 {
            assert_eq!(get.from(&fetcher).await.unwrap().body, "secret");
        }
        assert_eq!(proxy.connections.get(), 1);
        let connect = proxy.requests.borrow()[0].clone();
        assert!(
            connect.starts_with(&format!("CONNECT site.test:{} HTTP/1.1\r\n", target.port())),
            "{connect}"
        );
        assert!(connect.contains("Proxy-Authorization: Basic bWU6eW91\r\n"));
        assert!(site.requests.borrow()[0].starts_with("GET /deep HTTP/1.1\r\n"));
        assert!(!site.requests.borrow()[0].contains("Proxy-Authorization"));
    });
}

#[test]
fn a_file_without_authorities_is_said() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = TlsOptions { extra_authorities: vec![file.path().to_owned()] };
    assert!(Tls::load(&options).is_err());
}
