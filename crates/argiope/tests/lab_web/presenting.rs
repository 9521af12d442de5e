//! How requests present themselves, seen by a server that keeps every head it gets.

use crate::BRISK;
use crate::desk::{Desk, lab};
use argiope_lab::SiteKind;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Answers every request with a page that links to the same server under another address.
struct Listener {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn start() -> Listener {
        let socket = TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).unwrap();
        let port = socket.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        // Ends with the process of the test.
        std::thread::spawn(move || {
            for stream in socket.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(stream, port, &kept));
            }
        });
        Listener { port, heads }
    }

    fn heads(&self, host: &str) -> Vec<String> {
        let wanted = format!("host: {host}:{}", self.port);
        let all = self.heads.lock().unwrap();
        all.iter().filter(|head| head.to_ascii_lowercase().contains(&wanted)).cloned().collect()
    }
}

fn serve(stream: TcpStream, port: u16, kept: &Mutex<Vec<String>>) {
    let mut answers = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(lines.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let is_robots = head.starts_with("GET /robots.txt ");
        kept.lock().unwrap().push(head);
        let (kind, body) = match is_robots {
            true => ("text/plain", String::new()),
            false => ("text/html", format!("<title>t</title><a href=\"http://127.0.0.2:{port}/\">other</a>")),
        };
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if answers.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn the_user_agent_of_the_command_line_is_sent_with_every_request() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Ordinary], 3, 0));
    desk.write("argiope.yaml", BRISK);
    desk.crawl(&lab.seeds(), &["--user-agent", "shopbot/2.1 (+https://shop.example/bot)"]).ok();
    let log = lab.access_log();
    assert!(
        log.len() >= 4
            && log.iter().all(|entry| entry.user_agent == "shopbot/2.1 (+https://shop.example/bot)")
    );
}

#[test]
fn a_robots_group_is_chosen_by_the_user_agent_that_is_sent() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::RobotsGroups], 3, 0));
    desk.write("argiope.yaml", BRISK);
    let run = desk.crawl(&lab.seeds(), &["--user-agent", "otherbot/1.0"]);
    assert_eq!(run.code, 1, "a crawl without a page has failed");
    assert!(lab.access_log().iter().all(|entry| entry.path == "/robots.txt"), "otherbot may fetch nothing");
}

#[test]
fn headers_cookies_and_a_password_go_to_the_seeds_hosts() {
    let (desk, listener) = (Desk::new(), Listener::start());
    desk.write("argiope.yaml", BRISK);
    desk.write(
        "job.yaml",
        "headers: {X-Purpose: research}\ncookies: {consent: 'yes'}\nbasic_auth: {username: ann, password: s3cret}\n",
    );
    let seed = format!("http://127.0.0.1:{}/", listener.port);
    desk.crawl(&[seed], &["-c", "job.yaml", "--scope", "any"]).ok();
    let heads = listener.heads("127.0.0.1");
    assert!(heads.iter().any(|head| head.starts_with("GET / ")), "{heads:?}");
    let page = heads.iter().find(|head| head.starts_with("GET / ")).unwrap().to_ascii_lowercase();
    assert!(page.contains("x-purpose: research\r\n"), "{page}");
    assert!(page.contains("cookie: consent=yes\r\n"), "{page}");
    assert!(page.contains("authorization: basic yw5uonmzy3jlda==\r\n"), "{page}");
    let others = listener.heads("127.0.0.2");
    assert!(!others.is_empty(), "the link is followed");
    assert!(!others.iter().any(|head| head.to_ascii_lowercase().contains("authorization:")), "{others:?}");
    assert!(!others.iter().any(|head| head.to_ascii_lowercase().contains("cookie:")), "{others:?}");
}

#[test]
fn a_password_is_not_shown_by_any_command() {
    let (desk, listener) = (Desk::new(), Listener::start());
    desk.write("argiope.yaml", BRISK);
    desk.write("job.yaml", "basic_auth: {username: ann, password: s3cret}\nmax_depth: 0\n");
    let seed = format!("http://127.0.0.1:{}/", listener.port);
    let run = desk.crawl(std::slice::from_ref(&seed), &["-c", "job.yaml", "-v"]).ok();
    assert!(!run.stderr.contains("s3cret") && !run.stdout.contains("s3cret"), "{}", run.stderr);
    for words in [vec!["status"], vec!["jobs", "--json"], vec!["report"], vec!["export"], vec!["why", &seed]]
    {
        let run = desk.run(&words).ok();
        assert!(!run.stdout.contains("s3cret"), "{words:?}");
    }
}
