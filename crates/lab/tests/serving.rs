//! The lab over its sockets: what arrives at a client, what the log keeps, what the faults do.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use argiope_lab::{Fate, HostRule, Lab, LabConfig, Outage, PageSize, SiteKind, check, read_log};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// What came back, as it came.
struct Reply {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

struct Client {
    stream: TcpStream,
    buffered: Vec<u8>,
}

impl Client {
    fn connect(lab: &Lab, site: u32) -> Client {
        let address = SocketAddr::from((lab.web().address(site).unwrap(), lab.port()));
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { stream, buffered: Vec::new() }
    }

    fn send(&mut self, path: &str, headers: &str) -> std::io::Result<()> {
        // In one piece: a request written in bits waits for acknowledgements.
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nUser-Agent: test/1\r\n{headers}\r\n");
        self.stream.write_all(request.as_bytes())
    }

    fn get(&mut self, path: &str, headers: &str) -> std::io::Result<Reply> {
        self.send(path, headers)?;
        self.reply()
    }

    fn more(&mut self) -> std::io::Result<()> {
        let mut piece = [0; 65_536];
        let count = self.stream.read(&mut piece)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.buffered.extend_from_slice(&piece[..count]);
        Ok(())
    }

    fn reply(&mut self) -> std::io::Result<Reply> {
        let head = loop {
            match self.buffered.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(at) => break at,
                None => self.more()?,
            }
        };
        let text = String::from_utf8(self.buffered.drain(..head + 4).collect()).unwrap();
        let mut lines = text.lines();
        let status = lines.next().unwrap().split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or(std::io::Error::from(ErrorKind::InvalidData))?;
        let headers: HashMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        while self.buffered.len() < length {
            self.more()?;
        }
        Ok(Reply { status, headers, body: self.buffered.drain(..length).collect() })
    }
}

fn get(lab: &Lab, site: u32, path: &str) -> Reply {
    Client::connect(lab, site).get(path, "").unwrap()
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

fn logged(hosts: u32, kinds: &[SiteKind]) -> Lab {
    let config =
        LabConfig { hosts, pages: 30, kinds: kinds.to_vec(), log_capacity: 1000, ..LabConfig::plain() };
    Lab::start_on_thread(config).unwrap()
}

fn path_of(lab: &Lab, site: u32, page: u32) -> String {
    let url = lab.web().page_url(site, page);
    url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap()
}

#[test]
fn gzip_and_plain_are_the_same_page_over_one_connection() {
    let lab = logged(3, &[]);
    let mut client = Client::connect(&lab, 1);
    for page in 0..30 {
        let path = path_of(&lab, 1, page);
        let plain = client.get(&path, "").unwrap();
        let zipped = client.get(&path, "Accept-Encoding: gzip\r\n").unwrap();
        assert_eq!((plain.status, zipped.status), (200, 200));
        assert_eq!(zipped.headers.get("content-encoding").unwrap(), "gzip");
        assert_eq!(unzip(&zipped.body), plain.body);
        assert_eq!(plain.body, lab.web().body(1, &path));
    }
    let connections: Vec<u64> = lab.access_log().iter().map(|entry| entry.connection).collect();
    assert_eq!(connections, vec![connections[0]; 60]);
}

#[test]
fn pages_are_the_same_with_and_without_the_cache_and_on_repeated_requests() {
    let config = LabConfig { hosts: 2, pages: 8, kinds: vec![SiteKind::Shop], ..LabConfig::plain() };
    let lab = Lab::start_on_thread(config.clone()).unwrap();
    // The port is part of the pages: the other lab listens on it when this one has gone.
    let mut paths: Vec<String> = (0..8).map(|page| path_of(&lab, 1, page)).collect();
    paths.push(String::from("/product/3"));
    let listen = lab.web().config().listen;
    let ask = |lab: &Lab| -> Vec<Vec<u8>> {
        let mut client = Client::connect(lab, 1);
        paths.iter().map(|path| client.get(path, "Accept-Encoding: gzip\r\n").unwrap().body).collect()
    };
    let (first, again) = (ask(&lab), ask(&lab));
    assert_eq!(first, again);
    drop(lab);
    let lab = Lab::start_on_thread(LabConfig { listen, cache_bytes: 0, ..config }).unwrap();
    assert_eq!(ask(&lab), first);
}

/// Bytes of a page and of its gzip, on average over many.
fn mean_sizes(page_size: PageSize) -> (usize, usize) {
    let config = LabConfig { hosts: 40, pages: 250, page_size, ..LabConfig::plain() };
    let lab = Lab::start_on_thread(config).unwrap();
    let (mut plain, mut zipped, mut count) = (0, 0, 0);
    for site in (0..40).step_by(5) {
        let mut client = Client::connect(&lab, site);
        for page in 0..50 {
            let reply = client.get(&path_of(&lab, site, page), "Accept-Encoding: gzip\r\n").unwrap();
            zipped += reply.body.len();
            plain += unzip(&reply.body).len();
            count += 1;
        }
    }
    (plain / count, zipped / count)
}

#[test]
fn a_page_is_of_about_30_kilobytes_and_12_when_compressed() {
    let (plain, zipped) = mean_sizes(PageSize::Standard);
    assert!((27_000..=33_000).contains(&plain), "{plain} bytes");
    assert!((11_000..=13_000).contains(&zipped), "{zipped} bytes compressed");
}

#[test]
fn a_small_page_is_of_about_2_kilobytes_and_1_when_compressed() {
    let (plain, zipped) = mean_sizes(PageSize::Small);
    assert!((1600..=2400).contains(&plain), "{plain} bytes");
    assert!((800..=1200).contains(&zipped), "{zipped} bytes compressed");
}

#[test]
fn the_log_has_every_request_with_its_times() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("access.jsonl");
    let config = LabConfig {
        hosts: 2,
        pages: 3,
        log_file: Some(path.clone()),
        log_capacity: 10,
        ..LabConfig::plain()
    };
    let lab = Lab::start_on_thread(config).unwrap();
    let mut client = Client::connect(&lab, 1);
    for target in ["/", "/robots.txt", "/nothing"] {
        client.get(target, "").unwrap();
    }
    let log = lab.access_log();
    let seen: Vec<(&str, u16)> = log.iter().map(|entry| (entry.path.as_str(), entry.status)).collect();
    assert_eq!(seen, [("/", 200), ("/robots.txt", 200), ("/nothing", 404)]);
    for entry in &log {
        assert_eq!(entry.host, format!("127.0.0.2:{}", lab.port()));
        assert_eq!(entry.user_agent, "test/1");
        assert!(entry.started_us <= entry.answered_us && entry.answered_us <= entry.ended_us);
    }
    assert!(check(&log, |_| HostRule::one_at_a_time(Duration::ZERO)).is_empty());
    assert_eq!(check(&log, |_| HostRule::one_at_a_time(Duration::from_secs(60))).len(), 2);
    drop(lab);
    assert_eq!(read_log(&path).unwrap(), log);
}

#[test]
fn sites_are_known_by_address_and_by_name() {
    let lab = logged(5, &[]);
    let mut client = Client::connect(&lab, 0);
    write!(client.stream, "GET / HTTP/1.1\r\nHost: site4.lab.test:{}\r\n\r\n", lab.port()).unwrap();
    assert_eq!(client.reply().unwrap().body, lab.web().body(4, "/"));
    let stranger = TcpStream::connect(SocketAddr::from((Ipv4Addr::new(127, 0, 0, 77), lab.port())));
    let mut client = Client { stream: stranger.unwrap(), buffered: Vec::new() };
    assert!(client.get("/", "").is_err(), "no site lives there");
}

#[test]
fn a_page_that_has_not_changed_is_not_sent_again() {
    let lab = logged(1, &[]);
    let first = get(&lab, 0, "/");
    let etag = first.headers.get("etag").unwrap();
    let again = Client::connect(&lab, 0).get("/", &format!("If-None-Match: {etag}\r\n")).unwrap();
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn robots_of_all_kinds_answer_as_they_should() {
    use SiteKind::*;
    let kinds = [
        RobotsMissing,
        RobotsForbidden,
        RobotsBroken,
        RobotsFlaky,
        RobotsRedirect,
        RobotsBom,
        RobotsHuge,
        RobotsHtml,
    ];
    let lab = logged(8, &kinds);
    let robots = |site| get(&lab, site, "/robots.txt");
    let statuses: Vec<u16> = (0..8).map(|site| robots(site).status).collect();
    assert_eq!(statuses, [404, 403, 503, 503, 301, 200, 200, 200]);
    assert_eq!((robots(2).status, robots(3).status), (503, 200), "one is broken for good, one was for once");
    let elsewhere = get(&lab, 4, robots(4).headers.get("location").unwrap());
    assert!(elsewhere.body.starts_with(b"User-agent: *"));
    assert!(robots(5).body.starts_with(b"\xef\xbb\xbfUser-agent"));
    assert!(robots(6).body.len() > 512_000);
    assert!(robots(7).headers.get("content-type").unwrap().starts_with("text/html"));
}

#[test]
fn answers_that_heal_do_so_when_asked_again() {
    let lab = logged(3, &[SiteKind::Errors, SiteKind::Busy, SiteKind::Overloaded]);
    let first = get(&lab, 0, "/error/503-once");
    assert_eq!((first.status, first.headers.get("retry-after").map(String::as_str)), (503, Some("1")));
    assert_eq!(get(&lab, 0, "/error/503-once").status, 200);
    let busy = path_of(&lab, 1, 10);
    assert_eq!((get(&lab, 1, &busy).status, get(&lab, 1, &busy).status), (429, 200));
    let statuses: Vec<u16> = (0..3).map(|_| get(&lab, 2, "/").status).collect();
    assert_eq!(statuses, [503, 503, 200]);
}

#[test]
fn bad_deliveries_are_as_bad_as_announced() {
    let lab = logged(1, &[SiteKind::Transport]);
    let fails = |path: &str| Client::connect(&lab, 0).get(path, "").err().map(|error| error.kind());
    assert_eq!(fails("/t/reset"), Some(ErrorKind::ConnectionReset));
    assert_eq!(fails("/t/longer-than-said"), Some(ErrorKind::UnexpectedEof));
    assert_eq!(fails("/t/garbage"), Some(ErrorKind::InvalidData));

    let mut client = Client::connect(&lab, 0);
    client.send("/t/chunked", "").unwrap();
    let reply = client.reply().unwrap();
    assert_eq!(reply.headers.get("transfer-encoding").unwrap(), "chunked");
    while !client.buffered.ends_with(b"\r\n0\r\n\r\n") {
        client.more().unwrap();
    }

    // Silence is what is asked for: there is no event in it.
    let mut client = Client::connect(&lab, 0);
    client.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let silence = client.get("/t/never", "").err().map(|error| error.kind());
    assert_eq!(silence, Some(ErrorKind::WouldBlock));
}

#[test]
fn the_bomb_is_small_and_grows() {
    let lab = logged(1, &[SiteKind::Big]);
    let bomb = get(&lab, 0, "/big/bomb");
    assert!(bomb.body.len() < 1_000_000, "{} bytes", bomb.body.len());
    let mut decoder = flate2::read::GzDecoder::new(bomb.body.as_slice()).take(20 << 20);
    assert_eq!(std::io::copy(&mut decoder, &mut std::io::sink()).unwrap(), 20 << 20);
}

#[test]
fn sitemaps_name_the_pages_that_nothing_links_to() {
    let lab = logged(1, &[SiteKind::Sitemaps]);
    let mut named = String::new();
    for path in ["/sitemap-pages.xml", "/sitemap.txt", "/feed.rss", "/feed.atom"] {
        named.push_str(&String::from_utf8(get(&lab, 0, path).body).unwrap());
    }
    named.push_str(&String::from_utf8(unzip(&get(&lab, 0, "/sitemap-more.xml.gz").body)).unwrap());
    let hidden: Vec<_> = lab.expected().urls.into_iter().filter(|url| url.url.contains("/listed/")).collect();
    assert_eq!(hidden.len(), 15);
    for url in hidden {
        assert!(named.contains(&url.url), "{} is in no sitemap", url.url);
        assert_eq!(url.fate, Fate::Answered { status: 200 });
    }
}

#[tokio::test]
async fn the_network_goes_away_and_comes_back() {
    let lab = logged(2, &[]);
    let mut open = Client::connect(&lab, 0);
    assert_eq!(open.get("/", "").unwrap().status, 200);
    lab.set_down(true).await.unwrap();
    assert!(open.get("/", "").is_err(), "open connections end");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, lab.port()));
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    lab.set_down(false).await.unwrap();
    assert_eq!(get(&lab, 1, "/").status, 200);
    lab.set_outage(Outage::Silent).await.unwrap();
    let mut mute = Client::connect(&lab, 0);
    mute.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert_eq!(mute.get("/", "").err().map(|error| error.kind()), Some(ErrorKind::WouldBlock));
}
