//! The yardstick of the benchmark: GETs URLs over keep-alive connections and does nothing else with what comes.
//! One thread, plain sockets, as many requests at a time as connections.
//!
//! `bare_fetcher --base 127.0.0.1:PORT --hosts N --pages N [--seed N] [--connections C]` asks for every page of a
//! plain lab web; `bare_fetcher --list FILE [--connections C]` for the URLs of a file. With `--authority FILE` it speaks
//! TLS, trusts that certificate, and resumes sessions. Prints one line of JSON.

use argiope_lab::{LabConfig, Web};
use std::collections::VecDeque;
use std::error::Error;
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, client::Resumption, crypto};

type Failure = Box<dyn Error + Send + Sync>;

/// One host and its paths: a connection works through them and takes the next host. A connection per host and
/// `hosts` = 1 is spread over several connections by splitting its paths.
struct Work {
    address: SocketAddrV4,
    requests: Vec<String>,
}

fn main() -> Result<(), Failure> {
    let mut config = LabConfig::plain();
    let mut list = None;
    let mut connections: usize = 200;
    let mut tls = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--base" => config.listen = value.parse()?,
            "--hosts" => config.hosts = value.parse()?,
            "--pages" => config.pages = value.parse()?,
            "--seed" => config.seed = value.parse()?,
            "--connections" => connections = value.parse()?,
            "--authority" => tls = Some(connector(&value)?),
            "--list" => list = Some(std::fs::read_to_string(value)?),
            other => return Err(format!("there is no option '{other}'").into()),
        }
    }
    let urls: Vec<String> = match list {
        Some(text) => text.lines().map(str::to_owned).collect(),
        None => {
            let (hosts, pages) = (config.hosts, config.pages);
            let web = Web::new(config)?;
            (0..hosts)
                .flat_map(|host| (0..pages).map(move |page| (host, page)))
                .map(|(h, p)| web.page_url(h, p))
                .collect()
        }
    };
    let work = divide(&urls, connections)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // What it took to write the list down is not the fetcher's work.
    let cpu_before = cpu_ms()?;
    let started = Instant::now();
    let (pages, bytes) = runtime.block_on(fetch_all(work, connections, tls))?;
    let seconds = started.elapsed().as_secs_f64();
    let cpu = cpu_ms()? - cpu_before;
    let count = pages as f64;
    println!(
        "{{\"pages\": {pages}, \"bytes\": {bytes}, \"seconds\": {seconds:.3}, \"pages_per_second\": {:.0}, \
         \"cpu_ms_per_page\": {:.4}}}",
        count / seconds,
        cpu / count
    );
    Ok(())
}

/// Groups the URLs by host; a host with more than its share of the connections' work is split.
fn divide(urls: &[String], connections: usize) -> Result<VecDeque<Work>, Failure> {
    let share = urls.len().div_ceil(connections.max(1));
    let mut work: VecDeque<Work> = VecDeque::new();
    for url in urls {
        let (_, rest) = url.split_once("://").ok_or_else(|| format!("not a URL: {url}"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let address: SocketAddrV4 =
            authority.parse().map_err(|_| format!("not an address and port: {authority}"))?;
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: bare-fetcher\r\nAccept: */*\r\n\
             Accept-Encoding: gzip\r\n\r\n"
        );
        match work.back_mut() {
            Some(last) if last.address == address && last.requests.len() < share => {
                last.requests.push(request)
            }
            _ => work.push_back(Work { address, requests: vec![request] }),
        }
    }
    Ok(work)
}

fn connector(authority: &str) -> Result<TlsConnector, Failure> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority)? {
        roots.add(certificate?)?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(4096);
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn fetch_all(
    work: VecDeque<Work>,
    connections: usize,
    tls: Option<TlsConnector>,
) -> Result<(u64, u64), Failure> {
    let queue = Arc::new(Mutex::new(work));
    let tasks: Vec<_> =
        (0..connections).map(|_| tokio::spawn(run(Arc::clone(&queue), tls.clone()))).collect();
    let mut total = (0, 0);
    for task in tasks {
        let (pages, bytes) = task.await??;
        total = (total.0 + pages, total.1 + bytes);
    }
    Ok(total)
}

async fn run(queue: Arc<Mutex<VecDeque<Work>>>, tls: Option<TlsConnector>) -> Result<(u64, u64), Failure> {
    let (mut pages, mut bytes) = (0, 0);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(work) = next else { return Ok((pages, bytes)) };
        let mut requests = work.requests.as_slice();
        while !requests.is_empty() {
            let stream = TcpStream::connect(work.address).await?;
            stream.set_nodelay(true)?;
            let (answered, read) = match &tls {
                None => ask(stream, requests, &mut buffer).await?,
                Some(tls) => {
                    let name = ServerName::IpAddress((*work.address.ip()).into());
                    ask(tls.connect(name, stream).await?, requests, &mut buffer).await?
                }
            };
            requests = requests.get(answered..).unwrap_or_default();
            pages += answered as u64;
            bytes += read;
        }
    }
}

/// Asks until there is nothing more to ask for or the server closes. Returns the number of answers and of bytes.
async fn ask<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    requests: &[String],
    buffer: &mut [u8],
) -> Result<(usize, u64), Failure> {
    let (mut answered, mut bytes) = (0, 0);
    for request in requests {
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        let (length, closes) = read_answer(&mut stream, buffer).await?;
        answered += 1;
        bytes += length;
        if closes {
            break;
        }
    }
    Ok((answered, bytes))
}

/// Reads one answer with a Content-Length to its end and forgets it. Also says whether the connection ends with it.
async fn read_answer<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut [u8],
) -> Result<(u64, bool), Failure> {
    let mut filled = 0;
    loop {
        let free = buffer.get_mut(filled..).unwrap_or(&mut []);
        let count = stream.read(free).await?;
        if count == 0 {
            return Err("the connection ended within an answer".into());
        }
        filled += count;
        let read = buffer.get(..filled).unwrap_or(&[]);
        let Some(head) = read.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let text = read.get(..head).unwrap_or(&[]);
        let closes = text.windows(19).any(|line| line == b"\r\nConnection: close");
        let length = content_length(text)?;
        let whole = head as u64 + 4 + length;
        let mut rest = whole.saturating_sub(filled as u64);
        while rest > 0 {
            let count = stream.read(buffer).await? as u64;
            if count == 0 {
                return Err("the connection ended within a body".into());
            }
            rest = rest.saturating_sub(count);
        }
        return Ok((whole, closes));
    }
}

fn content_length(head: &[u8]) -> Result<u64, Failure> {
    let head = std::str::from_utf8(head)?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(format!("not a page: {}", head.lines().next().unwrap_or("")).into());
    }
    let line = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    Ok(line.ok_or("an answer without Content-Length")?.parse()?)
}

/// User and system time of this process so far, from the kernel's accounting in ticks of 10 ms.
fn cpu_ms() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(')').next().unwrap_or("");
    let ticks: Vec<f64> =
        after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse().ok()).collect();
    Ok(ticks.iter().sum::<f64>() * 10.0)
}
