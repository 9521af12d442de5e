//! What a fetch costs: microseconds of CPU of the fetching thread per request, on loopback with gzip bodies of about
//! 12 KB, beside a bare HTTP client that does nothing else. `measure_fetch [REQUESTS] [CONCURRENCY] [MODE]`, where MODE is
//! `bare`, `fetch` or `decode`; all of them without it.
#![allow(clippy::unwrap_used, reason = "a measurement that cannot be made may stop")]

use argiope_fetch::{
    AddressPolicy, DecodeScratch, Fetch, FetchRequest, FetcherOptions, HttpFetcher, ProfileOptions,
    RequestProfile, Resolver, ResolverOptions, SendPermit, Start, Tls, TlsOptions, decode,
};
use argiope_model::Url;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use std::cell::Cell;
use std::future::Future;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, default: usize| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (requests, concurrency) = (number(0, 50_000), number(1, 64));
    let mode = arguments.get(2).map(String::as_str);
    let page = page();
    let port = serve(&page);
    let wanted = |name: &str| mode.is_none_or(|mode| mode == name);
    if wanted("bare") {
        report("bare HTTP client", requests, on_this_thread(bare(port, requests, concurrency)));
    }
    if wanted("fetch") {
        report("fetch", requests, on_this_thread(fetch(port, requests, concurrency, false)));
    }
    if wanted("decode") {
        report("fetch and decode", requests, on_this_thread(fetch(port, requests, concurrency, true)));
    }
}

fn report(what: &str, requests: usize, cpu: Duration) {
    println!("{what}: {:.2} us per request", cpu.as_secs_f64() * 1e6 / requests as f64);
}

/// The answer of every request: 30 KB of text that gzip makes 12 KB of.
fn page() -> Vec<u8> {
    let mut state = 7_u64;
    let mut text = String::new();
    while text.len() < 30_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("<p class=\"text\">word{} and {:x}</p>\n", state >> 40, state >> 20));
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: measure\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n\
         Content-Encoding: gzip\r\nETag: \"abc\"\r\nCache-Control: max-age=60\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

/// A server on a thread of its own, as cheap as can be.
fn serve(page: &[u8]) -> u16 {
    let (sender, receiver) = std::sync::mpsc::channel();
    let page = page.to_vec();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap().port()).unwrap();
            let page: Rc<[u8]> = page.into();
            while let Ok((mut stream, _)) = listener.accept().await {
                let page = page.clone();
                let _ = stream.set_nodelay(true);
                tokio::task::spawn_local(async move {
                    let mut buffer = [0; 4096];
                    // A request fits one read and ends with it.
                    while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {
                        if stream.write_all(&page).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
    });
    receiver.recv().unwrap()
}

/// CPU time of this thread so far.
fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn on_this_thread(work: impl Future<Output = ()>) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = cpu();
    tokio::task::LocalSet::new().block_on(&runtime, work);
    cpu() - before
}

async fn bare(port: u16, requests: usize, concurrency: usize) {
    let left = Rc::new(Cell::new(requests));
    let tasks: Vec<_> = (0..concurrency)
        .map(|_| {
            let left = left.clone();
            tokio::task::spawn_local(async move {
                let stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await.unwrap();
                let _ = stream.set_nodelay(true);
                let (mut sender, connection) =
                    hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
                tokio::task::spawn_local(connection);
                while take(&left) {
                    let request =
                        http::Request::get("/page").header("host", "localhost").body(Empty::<Bytes>::new());
                    sender.ready().await.unwrap();
                    let response = sender.send_request(request.unwrap()).await.unwrap();
                    let mut body = response.into_body();
                    while let Some(frame) = body.frame().await {
                        std::hint::black_box(frame.unwrap());
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn fetch(port: u16, requests: usize, concurrency: usize, and_decode: bool) {
    let resolver = Resolver::new(ResolverOptions::default(), Handle::current()).unwrap();
    let options =
        FetcherOptions { addresses: AddressPolicy::allowing_private(), ..FetcherOptions::default() };
    let fetcher = Rc::new(HttpFetcher::new(options, Tls::load(&TlsOptions::default()).unwrap(), resolver));
    let profile = Rc::new(RequestProfile::new(&ProfileOptions::default()).unwrap());
    let left = Rc::new(Cell::new(requests));
    let tasks: Vec<_> = (0..concurrency)
        .map(|host| {
            let (fetcher, profile, left) = (fetcher.clone(), profile.clone(), left.clone());
            tokio::task::spawn_local(async move {
                let url = Url::from_stored(&format!("http://host{host}.test:{port}/page/{host}")).unwrap();
                let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
                let mut scratch = DecodeScratch::new();
                while take(&left) {
                    let request = FetchRequest {
                        url: &url,
                        start: Start::now(),
                        addresses: &addresses,
                        dns_us: 0,
                        profile: &profile,
                        validators: None,
                        cookie: None,
                        form: None,
                        head_only: false,
                        timeout: Duration::from_secs(30),
                        max_body_bytes: 10 << 20,
                        permit: SendPermit::default(),
                    };
                    let fetched = fetcher.fetch(request).await.unwrap();
                    if and_decode {
                        std::hint::black_box(decode(&fetched.headers, &fetched.body, 10 << 20, &mut scratch));
                    }
                    std::hint::black_box(fetched);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

fn take(left: &Cell<usize>) -> bool {
    let some = left.get() > 0;
    left.set(left.get().saturating_sub(1));
    some
}
