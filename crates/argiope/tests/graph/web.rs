//! A small web of made-up hosts on one port of the loopback, each with the home page a test gives it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A host's response to a request for its home page.
#[derive(Clone)]
pub(crate) enum Answer {
    Page(String),
    Status(u16),
    /// To this place.
    Redirect(String),
    /// The connection stays open and nothing comes.
    Silence,
}

#[derive(Clone)]
struct Host {
    home: Answer,
    /// Asked for the first times, it answers so instead.
    first: Vec<Answer>,
    robots: String,
    wait: Duration,
}

/// Hosts are named without their port; it is added where a page links to them.
pub(crate) struct Web {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    hosts: Mutex<HashMap<String, Host>>,
    /// Host and path of every request.
    log: Mutex<Vec<(String, String)>>,
}

impl Web {
    pub(crate) fn start() -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        Web { port, shared }
    }

    pub(crate) fn host(&self, name: &str, home: Answer) {
        let host = Host { home, first: Vec::new(), robots: String::new(), wait: Duration::ZERO };
        self.shared.hosts.lock().expect("hosts").insert(name.to_owned(), host);
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Host)) {
        change(self.shared.hosts.lock().expect("hosts").get_mut(name).expect("a host"));
    }

    pub(crate) fn robots(&self, name: &str, text: &str) {
        self.change(name, |host| host.robots = text.to_owned());
    }

    /// Before each answer of this host.
    pub(crate) fn wait(&self, name: &str, wait: Duration) {
        self.change(name, |host| host.wait = wait);
    }

    pub(crate) fn first(&self, name: &str, answers: &[Answer]) {
        self.change(name, |host| host.first = answers.iter().rev().cloned().collect());
    }

    /// A page with a title that links to these, written as `host` or `host/path`.
    pub(crate) fn page(&self, name: &str, links: &[&str]) {
        let links: String = links
            .iter()
            .map(|link| {
                let (host, path) = link.split_once('/').unwrap_or((link, ""));
                format!("<p><a href=\"http://{host}:{}/{path}\">to {host}</a></p>\n", self.port)
            })
            .collect();
        let html = format!("<html><head><title>Home of {name}</title></head><body>{links}</body></html>");
        self.host(name, Answer::Page(html));
    }

    /// The node of a host.
    pub(crate) fn node(&self, name: &str) -> String {
        format!("{name}:{}", self.port)
    }

    pub(crate) fn seed(&self, name: &str) -> String {
        format!("http://{name}:{}/", self.port)
    }

    /// How often a path was requested from a host.
    pub(crate) fn asked(&self, name: &str, path: &str) -> usize {
        let log = self.shared.log.lock().expect("log");
        log.iter().filter(|(host, asked)| host == name && asked == path).count()
    }

    pub(crate) fn requests(&self) -> usize {
        self.shared.log.lock().expect("log").len()
    }

    /// The program's configuration: names resolve to the lab, and delays are short.
    pub(crate) fn configuration(&self, delay: &str) -> String {
        let hosts = self.shared.hosts.lock().expect("hosts");
        let names: Vec<String> = hosts.keys().map(|name| format!("{name}: 127.0.0.1")).collect();
        format!(
            "politeness:\n  default_delay: {delay}\n  per_address: 64\ndns:\n  overrides: {{{}}}\n",
            names.join(", ")
        )
    }
}

fn serve(stream: &TcpStream, shared: &Shared) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let host =
        head.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned));
    let name = host.unwrap_or_default().split(':').next().unwrap_or("").to_owned();
    shared.log.lock().expect("log").push((name.clone(), path.clone()));
    let (answer, wait) = {
        let mut hosts = shared.hosts.lock().expect("hosts");
        match hosts.get_mut(&name) {
            None => (Answer::Status(404), Duration::ZERO),
            Some(host) if path == "/robots.txt" => (Answer::Page(host.robots.clone()), Duration::ZERO),
            Some(host) => (host.first.pop().unwrap_or_else(|| host.home.clone()), host.wait),
        }
    };
    std::thread::sleep(wait);
    let mut stream = stream;
    let (status, extra, body) = match answer {
        Answer::Silence => {
            std::thread::sleep(Duration::from_secs(600));
            return;
        }
        Answer::Page(body) => (200, String::new(), body),
        Answer::Status(status) => (status, String::new(), String::new()),
        Answer::Redirect(to) => (302, format!("Location: {to}\r\n"), String::new()),
    };
    let kind = if path == "/robots.txt" { "text/plain" } else { "text/html" };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}
