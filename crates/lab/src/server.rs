//! One connection: reads requests, lets [`Web`] decide, delivers the response as well or badly as configured, logs it.
//! HTTP/1.1 with keep-alive is written by hand, because a page must cost the lab less than the crawler.

use crate::access_log::{AccessEntry, AccessLog};
use crate::answer::{Answer, Body, Delivery, reason_of};
use crate::gzip::gzip;
use crate::kinds;
use crate::page_cache::PageCache;
use crate::random::mix;
use crate::request::{self, MAX_HEAD, Request};
use crate::tls::Stream;
use crate::web::{Site, Web, write_number};
use bytes::{Buf, Bytes};
use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// Bytes handed to the kernel at once.
const PIECE: usize = 64 * 1024;

/// Wall-clock time that never goes back.
pub(crate) struct Clock {
    wall_us: u64,
    started: Instant,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Clock { wall_us: micros(wall), started: Instant::now() }
    }

    fn now_us(&self) -> u64 {
        self.wall_us + micros(self.started.elapsed())
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) web: Web,
    pub(crate) log: AccessLog,
    pub(crate) cache: PageCache,
    pub(crate) clock: Clock,
    pub(crate) tls: Option<TlsAcceptor>,
    /// Requests are not answered any more.
    pub(crate) silent: AtomicBool,
    /// How often changing responses were requested: few paths on few sites.
    pub(crate) counts: Mutex<HashMap<(u32, String), u32>>,
}

impl Shared {
    fn earlier(&self, site: &Site, target: &str) -> u32 {
        let Some(counter) = kinds::counter(&self.web, site, target) else { return 0 };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((site.index, counter)).or_default();
        let earlier = *count;
        *count = count.saturating_add(1);
        earlier
    }

    /// The bytes of a body as they travel, and whether they are gzip.
    fn body(&self, site: &Site, body: &Body, accepts_gzip: bool) -> (Bytes, bool) {
        match body {
            Body::Bytes(bytes) => (bytes.clone(), false),
            Body::Encoded(bytes) => (bytes.clone(), true),
            Body::Page(plan) if accepts_gzip => {
                // Pages that only a kind of site knows are few, some without end: they are made each time.
                let key = plan.is_ordinary().then_some((site.index, plan.number));
                if let Some(kept) = key.and_then(|key| self.cache.get(key)) {
                    return (kept, true);
                }
                let plain = self.web.render(site, body);
                let Some(zipped) = gzip(&plain) else { return (plain.into(), false) };
                // Without the room that compressing needed.
                let zipped = Bytes::from(zipped.into_boxed_slice());
                if let Some(key) = key {
                    self.cache.keep(key, &zipped);
                }
                (zipped, true)
            }
            Body::Page(_) => (self.web.render(site, body).into(), false),
        }
    }
}

pub(crate) struct Connection {
    shared: Arc<Shared>,
    stream: Stream,
    number: u64,
    address: Ipv4Addr,
    input: Vec<u8>,
    output: Vec<u8>,
    /// How many requests it has answered.
    answered: u32,
}

/// A request being answered.
struct Exchange<'a> {
    site: &'a Site,
    request: &'a Request<'a>,
    /// Of a form.
    body: &'a [u8],
    started_us: u64,
}

/// How an answer went.
struct Sent {
    status: u16,
    bytes: u64,
    answered_us: u64,
    ended_us: u64,
    client_left: bool,
}

impl Connection {
    /// Serves until either side ends the connection. Errors of the connection only end it.
    pub(crate) async fn serve(shared: Arc<Shared>, stream: TcpStream, address: Ipv4Addr, number: u64) {
        let Some(stream) = Stream::open(stream, shared.tls.as_ref()).await else { return };
        let (input, output) = (Vec::with_capacity(4096), Vec::with_capacity(1024));
        Connection { shared, stream, number, address, input, output, answered: 0 }.run().await;
    }

    async fn run(mut self) {
        let mut site: Option<Site> = None;
        loop {
            let head = match request::head_length(&self.input) {
                Some(length) => length,
                None => {
                    if self.input.len() > MAX_HEAD || !self.read().await {
                        return;
                    }
                    continue;
                }
            };
            if self.lacks_form(head) {
                if !self.read().await {
                    return;
                }
                continue;
            }
            let started_us = self.shared.clock.now_us();
            let input = std::mem::take(&mut self.input);
            let Some(request) = input.get(..head).and_then(request::parse) else {
                let _ = self.stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
                return;
            };
            let Some(index) = self.shared.web.site_index(self.address, request.host) else { return };
            let site = match &mut site {
                Some(known) if known.index == index => &*known,
                other => &*other.insert(self.shared.web.site(index)),
            };
            self.shared.log.count();
            let body = input.get(head..).unwrap_or_default();
            let body = body.get(..request.content_length).unwrap_or_default();
            let exchange = Exchange { site, request: &request, body, started_us };
            if !matches!(self.answer(&exchange).await, Ok(true)) {
                return;
            }
            self.input = input;
            self.input.drain(..head);
        }
    }

    /// Whether the fields of a form are still to come. More than a few nobody sends.
    fn lacks_form(&self, head: usize) -> bool {
        let is_form = self.input.starts_with(b"POST ");
        let length =
            self.input.get(..head).filter(|_| is_form).and_then(request::parse).map(|r| r.content_length);
        length.is_some_and(|length| length <= MAX_HEAD && self.input.len() < head + length)
    }

    async fn read(&mut self) -> bool {
        self.input.reserve(2048);
        matches!(self.stream.read_buf(&mut self.input).await, Ok(1..))
    }

    /// Called before the last bytes are sent: a client that has the whole response finds it in the log.
    fn log(&self, exchange: &Exchange<'_>, sent: &Sent) {
        if !self.shared.log.is_kept() {
            return;
        }
        let Exchange { site, request, started_us, .. } = exchange;
        self.shared.log.add(AccessEntry {
            started_us: *started_us,
            answered_us: sent.answered_us,
            ended_us: sent.ended_us,
            host: site.authority.clone(),
            site: site.index,
            connection: self.number,
            method: request.method.to_owned(),
            path: request.target.to_owned(),
            status: sent.status,
            bytes: sent.bytes,
            user_agent: request.user_agent.to_owned(),
            client_left: sent.client_left,
            handshake: self.stream.handshake(),
        });
    }

    /// Answers one request; true if the connection can be used again.
    async fn answer(&mut self, exchange: &Exchange<'_>) -> io::Result<bool> {
        let Exchange { site, request, .. } = exchange;
        if self.shared.silent.load(Ordering::Relaxed) {
            return self.wait_for_the_client_to_go(exchange).await;
        }
        let head_only = request.method == "HEAD";
        let wants_cookie = kinds::cookies::answer(site.kind, request, exchange.body);
        let answer = if let Some(answer) = wants_cookie {
            answer
        } else if head_only || request.method == "GET" {
            let earlier = self.shared.earlier(site, request.target);
            let answer = self.shared.web.answer(site, request.target, earlier);
            answer.to_head.filter(|_| head_only).map_or(answer, Answer::error)
        } else {
            Answer::error(405).header("Allow", "GET, HEAD")
        };
        let latency = answer.latency + Duration::from_millis(self.shared.web.config.latency_ms);
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        match answer.delivery {
            Delivery::Never => return self.wait_for_the_client_to_go(exchange).await,
            Delivery::Reset => return self.reset(exchange, 0, Vec::new()).await,
            Delivery::Garbage => {
                self.output.clear();
                self.output
                    .extend_from_slice(b"\x00\x01 this is not the protocol you are looking for\r\n\r\n");
                return self.send(exchange, 0, &[], false).await;
            }
            _ => {}
        }
        let etag = etag(site, &answer);
        let unchanged = etag.is_some() && request.if_none_match == etag.as_deref();
        let (body, encoded) = match unchanged {
            true => (Bytes::new(), false),
            false => self.shared.body(site, &answer.body, request.accepts_gzip),
        };
        let status = if unchanged { 304 } else { answer.status };
        self.answered = self.answered.saturating_add(1);
        let is_last =
            self.shared.web.config.requests_per_connection.is_some_and(|most| self.answered >= most);
        let keep_alive = request.keep_alive && !is_last;
        self.write_head(&answer, status, etag.as_deref(), (body.len(), encoded), keep_alive);
        let reusable = keep_alive && !request.has_body;
        if head_only || unchanged {
            return self.send(exchange, status, &[], reusable).await;
        }
        self.deliver(exchange, &answer, &body, reusable).await
    }

    fn write_head(
        &mut self,
        answer: &Answer,
        status: u16,
        etag: Option<&str>,
        (length, encoded): (usize, bool),
        keep_alive: bool,
    ) {
        let out = &mut self.output;
        out.clear();
        out.extend_from_slice(b"HTTP/1.1 ");
        write_number(u32::from(status), out);
        for part in [" ", reason_of(status), "\r\nServer: lab\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        if !answer.content_type.is_empty() {
            line(out, "Content-Type", &answer.content_type);
        }
        if let Some(etag) = etag {
            line(out, "ETag", etag);
            line(out, "Last-Modified", "Wed, 01 May 2024 12:00:00 GMT");
            line(out, "Vary", "Accept-Encoding");
        }
        if encoded {
            line(out, "Content-Encoding", "gzip");
        }
        for (name, value) in &answer.headers {
            line(out, name, value);
        }
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let length = match answer.delivery {
            _ if status == 304 => None,
            Delivery::Chunked | Delivery::ChunkedCut => {
                line(out, "Transfer-Encoding", "chunked");
                None
            }
            Delivery::UntilClose => None,
            Delivery::WrongLength(by) => Some(length + by),
            Delivery::Repeated(times) => Some(length.saturating_mul(i64::from(times))),
            _ => Some(length),
        };
        if let Some(length) = length {
            line(out, "Content-Length", &length.max(0).to_string());
        }
        if !keep_alive || !reusable_after(answer.delivery) {
            line(out, "Connection", "close");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Sends the head, which is written already, and the body with the faults of the response.
    async fn deliver(
        &mut self,
        exchange: &Exchange<'_>,
        answer: &Answer,
        body: &[u8],
        keep_alive: bool,
    ) -> io::Result<bool> {
        let reusable = keep_alive && reusable_after(answer.delivery);
        let status = answer.status;
        match answer.delivery {
            Delivery::Chunked | Delivery::ChunkedCut => {
                for chunk in body.chunks(4000) {
                    self.output.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    self.output.extend_from_slice(chunk);
                    self.output.extend_from_slice(b"\r\n");
                }
                if answer.delivery == Delivery::Chunked {
                    self.output.extend_from_slice(b"0\r\n\r\n");
                }
                self.send(exchange, status, &[], reusable).await
            }
            Delivery::ResetMidway => {
                let half = body.get(..body.len() / 2).unwrap_or(&[]).to_vec();
                self.reset(exchange, status, half).await
            }
            Delivery::Drip(pause) => self.drip(exchange, status, body, pause).await,
            Delivery::Repeated(times) => self.repeat(exchange, status, body, times).await.map(|()| reusable),
            _ => self.send(exchange, status, body, reusable).await,
        }
    }

    /// Sends `self.output` and then the body, which is not copied; the end is noted before the last piece goes out.
    async fn send(
        &mut self,
        exchange: &Exchange<'_>,
        status: u16,
        body: &[u8],
        reusable: bool,
    ) -> io::Result<bool> {
        let answered_us = self.shared.clock.now_us();
        let mut whole = Buf::chain(self.output.as_slice(), body);
        let length = whole.remaining();
        let mut sent =
            Sent { status, bytes: length as u64, answered_us, ended_us: answered_us, client_left: false };
        if length > PIECE {
            let result = self.stream.write_all_buf(&mut Buf::take(&mut whole, length - PIECE)).await;
            sent.ended_us = self.shared.clock.now_us();
            if let Err(error) = result {
                self.log(exchange, &sent);
                return Err(error);
            }
        }
        self.log(exchange, &sent);
        self.stream.write_all_buf(&mut whole).await?;
        self.stream.flush().await?;
        Ok(reusable)
    }

    async fn repeat(
        &mut self,
        exchange: &Exchange<'_>,
        status: u16,
        body: &[u8],
        times: u32,
    ) -> io::Result<()> {
        let answered_us = self.shared.clock.now_us();
        let bytes = self.output.len() as u64;
        let mut sent = Sent { status, bytes, answered_us, ended_us: answered_us, client_left: false };
        let mut result = self.stream.write_all(&self.output).await;
        for turn in 1..=times {
            sent.ended_us = self.shared.clock.now_us();
            if result.is_err() {
                break;
            }
            sent.bytes += body.len() as u64;
            if turn == times {
                self.log(exchange, &sent);
                self.stream.write_all(body).await?;
                return self.stream.flush().await;
            }
            result = self.stream.write_all(body).await;
        }
        self.log(exchange, &sent);
        result
    }

    async fn drip(
        &mut self,
        exchange: &Exchange<'_>,
        status: u16,
        body: &[u8],
        pause: Duration,
    ) -> io::Result<bool> {
        let answered_us = self.shared.clock.now_us();
        let mut sent = Sent { status, bytes: 0, answered_us, ended_us: answered_us, client_left: false };
        let mut result = self.stream.write_all(&self.output).await;
        let mut bytes = body.iter();
        // A client that disconnects shows as the end of its side.
        let mut scrap = [0; 64];
        while let (Ok(()), Some(byte)) = (&result, bytes.next()) {
            tokio::select! {
                () = tokio::time::sleep(pause) => {
                    result = self.stream.write_all(&[*byte]).await;
                    if result.is_ok() {
                        result = self.stream.flush().await;
                    }
                }
                _ = self.stream.read(&mut scrap) => {
                    sent.client_left = true;
                    break;
                }
            }
            sent.bytes += 1;
        }
        sent.ended_us = self.shared.clock.now_us();
        self.log(exchange, &sent);
        Ok(false)
    }

    async fn reset(&mut self, exchange: &Exchange<'_>, status: u16, first: Vec<u8>) -> io::Result<bool> {
        let answered_us = self.shared.clock.now_us();
        if !first.is_empty() {
            self.output.extend_from_slice(&first);
            // A client that has gone already needs no reset.
            let _ = self.stream.write_all(&self.output).await;
            let _ = self.stream.flush().await;
            // Data in flight is lost with a reset, so the client gets some first.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let ended_us = self.shared.clock.now_us();
        let bytes = first.len() as u64;
        self.log(exchange, &Sent { status, bytes, answered_us, ended_us, client_left: false });
        self.stream.set_zero_linger()?;
        Ok(false)
    }

    async fn wait_for_the_client_to_go(&mut self, exchange: &Exchange<'_>) -> io::Result<bool> {
        let mut scrap = [0; 1024];
        while matches!(self.stream.read(&mut scrap).await, Ok(1..)) {}
        let now_us = self.shared.clock.now_us();
        let (answered_us, ended_us) = (now_us, now_us);
        self.log(exchange, &Sent { status: 0, bytes: 0, answered_us, ended_us, client_left: true });
        Ok(false)
    }
}

fn reusable_after(delivery: Delivery) -> bool {
    matches!(delivery, Delivery::Whole | Delivery::Chunked | Delivery::Repeated(_))
}

fn line(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Pages have one; it follows from what the page follows from.
fn etag(site: &Site, answer: &Answer) -> Option<String> {
    let Body::Page(plan) = &answer.body else { return None };
    let key = plan.content.unwrap_or_else(|| mix(site.key, u64::from(plan.number)));
    (answer.delivery == Delivery::Whole).then(|| format!("\"{key:016x}\""))
}
