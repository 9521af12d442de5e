//! Cookies, logins, proxies, headers and certificates, by the program itself.

use crate::desk::{Desk, Run, lab};
use argiope_lab::{LOGIN_PASSWORD, LOGIN_USER, LOGIN_WELCOME, SiteKind};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A server that records its requests, heads and forms.
struct Recorder {
    origin: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// `answer` gets the request, its head and its form.
    fn new(answer: impl Fn(&str) -> String + Send + 'static) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut request = String::new();
                while reader.read_line(&mut request).is_ok_and(|length| length > 2) {}
                let length = request.lines().find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
                });
                let mut form = vec![0; length.unwrap_or(0)];
                let _ = reader.read_exact(&mut form);
                request.push_str(&String::from_utf8_lossy(&form));
                let answer = answer(&request);
                kept.lock().unwrap().push(request);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Recorder { origin, asked }
    }

    /// Requests whose first line begins so.
    fn asked(&self, start: &str) -> Vec<String> {
        self.asked.lock().unwrap().iter().filter(|request| request.starts_with(start)).cloned().collect()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn page(body: &str) -> String {
    answer("200 OK", "", body)
}

fn header<'r>(request: &'r str, name: &str) -> Option<&'r str> {
    request.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// Counts its visitors by a cookie, and links from / to /a and from there to /b.
fn counting() -> Recorder {
    Recorder::new(|request| {
        let next = if request.starts_with("GET / ") { "<a href=/a>a</a>" } else { "<a href=/b>b</a>" };
        if request.starts_with("GET /robots.txt ") {
            return answer("404 Not Found", "", "");
        }
        answer("200 OK", "Set-Cookie: visitor=7; Path=/; Max-Age=3600\r\n", next)
    })
}

fn crawl(desk: &Desk, recorder: &Recorder, more: &[&str]) -> Run {
    desk.crawl(&[recorder.url("/")], &[&["--delay", "0"], more].concat())
}

#[test]
fn cookies_are_kept_as_long_as_the_jar_says() {
    for (jar, sent) in
        [("off", None), ("redirects", None), ("session", Some("visitor=7")), ("on", Some("visitor=7"))]
    {
        let (desk, site) = (Desk::new(), counting());
        crawl(&desk, &site, &["--cookie-jar", jar]).ok();
        let asked = site.asked("GET /a ");
        assert_eq!(asked.len(), 1, "{jar}");
        assert_eq!(header(&asked[0], "cookie"), sent, "{jar}");
        assert_eq!(desk.path("argiope-data/cookies/1.txt").exists(), jar == "on", "{jar}");
    }
}

#[test]
fn a_kept_cookie_is_there_when_the_job_goes_on() {
    let (desk, site) = (Desk::new(), counting());
    desk.write("job.yaml", &format!("name: n\nseeds: ['{}']\ncookies: on\ndelay: 0s\n", site.url("/")));
    desk.run(&["crawl", "-c", "job.yaml", "--allow-private", "--max-pages", "1"]).ok();
    assert_eq!(site.asked("GET /a ").len(), 0);
    desk.run(&["crawl", "-c", "job.yaml", "--allow-private", "--max-pages", "5"]).ok();
    assert_eq!(header(&site.asked("GET /a ")[0], "cookie"), Some("visitor=7"));
}

#[test]
fn a_redirect_to_the_same_url_is_no_loop_where_a_cookie_was_set_and_one_where_none_was() {
    let site = Recorder::new(|request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        match (path, header(request, "cookie")) {
            ("/robots.txt", _) => answer("404 Not Found", "", ""),
            ("/", Some("seen=1")) => page("<a href=/changing>x</a><a href=/stuck>y</a>"),
            ("/", None) => answer("302 Found", "Set-Cookie: seen=1; Path=/\r\nLocation: /\r\n", ""),
            // Another value each time: only the limit of redirects ends this one.
            ("/changing", cookie) => {
                let count: u32 = cookie.and_then(|c| c.strip_prefix("n=")).map_or(0, |n| n.parse().unwrap());
                answer("302 Found", &format!("Set-Cookie: n={}\r\nLocation: /changing\r\n", count + 1), "")
            }
            _ => answer("302 Found", &format!("Location: {path}\r\n"), ""),
        }
    });
    let desk = Desk::new();
    crawl(&desk, &site, &[]).ok();
    let pages = desk.pages();
    let error = |path: &str| {
        let page = pages.iter().find(|page| page["url"] == site.url(path).as_str());
        page.unwrap_or_else(|| panic!("{path}: {pages:?}"))["error"].clone()
    };
    assert_eq!(pages[0]["status"], 200, "{pages:?}");
    assert_eq!(error("/"), serde_json::Value::Null);
    let many = format!("redirect: more than 5 redirects, the next one to {}", site.url("/changing"));
    assert_eq!(error("/changing"), many.as_str());
    assert_eq!(error("/stuck"), format!("redirect: a loop at {}", site.url("/stuck")).as_str());
    assert_eq!(site.asked("GET /stuck ").len(), 1);
}

#[test]
fn a_cookies_txt_is_sent_to_the_hosts_it_names() {
    let (desk, site) = (Desk::new(), counting());
    desk.write(
        "cookies.txt",
        "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\tabc\nother.test\tFALSE\t/\tFALSE\t0\tx\ty\n",
    );
    crawl(&desk, &site, &["--cookies", "cookies.txt"]).ok();
    assert_eq!(header(&site.asked("GET / ")[0], "cookie"), Some("sid=abc"));
    desk.write("broken.txt", "sid=abc\n");
    let run = crawl(&desk, &site, &["--cookies", "broken.txt", "--fresh"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("line 1") && run.stderr.contains("broken.txt"), "{}", run.stderr);
}

fn login_job(seed: &str, check: &str) -> String {
    format!(
        "name: members\nseeds: ['{seed}']\ndelay: 50ms\nlogin:\n  url: '{seed}login'\n  fields:\n    user: {LOGIN_USER}\n    \
         password: \"${{LAB_PASSWORD}}\"\n{check}"
    )
}

#[test]
fn a_job_logs_in_before_it_crawls_and_the_password_is_stored_nowhere() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Login], 6, 0));
    let seed = lab.seeds()[0].clone();
    desk.write("job.yaml", &login_job(&seed, &format!("  success_text: {LOGIN_WELCOME}\n")));
    let words = ["crawl", "-c", "job.yaml", "--allow-private", "-vv"];
    let run = desk.run_in(&[("LAB_PASSWORD", LOGIN_PASSWORD)], &words).ok();
    let log = lab.access_log();
    assert_eq!((log[0].method.as_str(), log[0].path.as_str(), log[0].status), ("POST", "/login", 303));
    assert_eq!(log[1].path, "/account");
    assert!(log[2..].iter().all(|entry| entry.path != "/login"), "nobody was sent back to the form");
    assert!(
        log.windows(2).all(|pair| pair[1].started_us - pair[0].ended_us >= 50_000),
        "the host's delay holds"
    );
    assert!(desk.pages().len() >= 6, "{}", run.stdout);
    assert!(!(run.stderr + &run.stdout).contains(LOGIN_PASSWORD));
    for (path, bytes) in files(&desk.path("argiope-data")) {
        for text in [LOGIN_PASSWORD, "open+sesame"] {
            let holds = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!holds, "{path} has the password");
        }
    }
    // The name alone resumes it: the variable is looked up again.
    desk.run_in(
        &[("LAB_PASSWORD", LOGIN_PASSWORD)],
        &["crawl", "--name", "members", "--fresh", "--allow-private"],
    )
    .ok();
}

fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path.display().to_string(), bytes));
        }
    }
    found
}

#[test]
fn a_login_sends_the_hidden_fields_and_cookies_of_its_page() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Login], 4, 0));
    let seed = lab.seeds()[0].clone();
    let words = ["crawl", "-c", "job.yaml", "--allow-private"];
    let password = [("LAB_PASSWORD", LOGIN_PASSWORD)];
    let check = format!("  success_text: {LOGIN_WELCOME}\n");
    let job = login_job(&seed, &check).replace("/login'", "/signin'");
    desk.write("job.yaml", &job);
    let run = desk.run_in(&password, &words);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("returned 403"), "{}", run.stderr);
    desk.write("job.yaml", &format!("{job}  page: '{seed}nothing-here'\n"));
    assert_eq!(desk.run_in(&password, &words).code, 1);
    desk.write("job.yaml", &format!("{job}  page: '{seed}signin'\n"));
    desk.run_in(&password, &words).ok();
    let pages = desk.pages();
    assert!(pages.len() >= 4 && pages.iter().all(|page| page["status"] == 200), "{pages:?}");
}

#[test]
fn a_failed_login_is_an_error_before_any_page_is_requested() {
    let (desk, lab) = (Desk::new(), lab(&[SiteKind::Login], 3, 0));
    let seed = lab.seeds()[0].clone();
    for (check, why) in [
        ("", "set no cookie"),
        ("  success_text: Sign out\n", "'Sign out' is not in its response"),
        ("  success_cookie: session\n", "the cookie 'session' was not set"),
    ] {
        desk.write("job.yaml", &login_job(&seed, check));
        let run = desk.run_in(&[("LAB_PASSWORD", "wrong")], &["crawl", "-c", "job.yaml", "--allow-private"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("the login failed") && run.stderr.contains(why), "{}", run.stderr);
        assert!(!run.stderr.contains("wrong"), "{}", run.stderr);
    }
    assert!(lab.access_log().iter().all(|entry| entry.path == "/login"), "nothing else was asked for");
    assert!(desk.run(&["jobs"]).stdout.matches("members").count() == 0, "no job was begun");
    let unset = desk.run(&["crawl", "-c", "job.yaml", "--allow-private"]);
    assert_eq!(unset.code, 2);
    assert!(unset.stderr.contains("'LAB_PASSWORD' is not set"), "{}", unset.stderr);
    desk.write("job.yaml", &login_job(&seed, "").replace("\"${LAB_PASSWORD}\"", "hunter2"));
    let literal = desk.run(&["config", "check", "job.yaml"]);
    assert_eq!(literal.code, 2);
    assert!(
        literal.stderr.contains("login.fields.password") && !literal.stderr.contains("hunter2"),
        "{}",
        literal.stderr
    );
}

#[test]
fn headers_are_sent_and_those_that_let_somebody_in_only_to_the_hosts_of_the_seeds() {
    let other = Recorder::new(|_| page("elsewhere"));
    let target = other.url("/x");
    let site = Recorder::new(move |request| {
        if request.starts_with("GET / ") {
            page(&format!("<a href={target}>x</a>"))
        } else {
            answer("404 No", "", "")
        }
    });
    let desk = Desk::new();
    let headers =
        ["--header", "X-Team: search", "--header", "Authorization: Bearer hunter2", "--scope", "any", "-vv"];
    let run = crawl(&desk, &site, &headers).ok();
    let (own, foreign) = (&site.asked("GET / ")[0], &other.asked("GET /x ")[0]);
    assert_eq!(
        (header(own, "x-team"), header(own, "authorization")),
        (Some("search"), Some("Bearer hunter2"))
    );
    assert_eq!((header(foreign, "x-team"), header(foreign, "authorization")), (Some("search"), None));
    assert!(!(run.stderr + &run.stdout).contains("hunter2"));
    let broken = crawl(&desk, &site, &["--header", "Host: hunter2"]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("'Host' is set by the crawler itself"), "{}", broken.stderr);
    assert!(!broken.stderr.contains("hunter2"), "{}", broken.stderr);
    let nameless = crawl(&desk, &site, &["--header", ": hunter2"]);
    assert_eq!(nameless.code, 2);
    assert!(
        nameless.stderr.contains("--header: the name before the colon is missing"),
        "{}",
        nameless.stderr
    );
    assert!(!nameless.stderr.contains("hunter2"), "{}", nameless.stderr);
}

/// A proxy that answers by itself.
fn proxy() -> Recorder {
    Recorder::new(|request| {
        if request.contains("/robots.txt") {
            answer("404 Not Found", "", "")
        } else {
            page("through the proxy")
        }
    })
}

#[test]
fn proxies_of_the_environment_are_used_but_for_hosts_that_need_none() {
    let (desk, proxy) = (Desk::new(), proxy());
    let words = ["crawl", "http://site.test/", "--depth", "0", "--delay", "0", "--fresh"];
    let run = desk.run_in(&[("http_proxy", &proxy.origin)], &words).ok();
    assert!(run.stderr.contains("requests use the proxy"), "{}", run.stderr);
    assert_eq!(proxy.asked("GET http://site.test/ ").len(), 1);
    desk.run_in(&[("HTTP_PROXY", &proxy.origin)], &words).ok();
    assert_eq!(proxy.asked("GET http://site.test/ ").len(), 2);
    let direct = [("http_proxy", proxy.origin.as_str()), ("no_proxy", "test")];
    desk.run_in(&direct, &words);
    desk.run_in(&[("http_proxy", &proxy.origin)], &[&words[..], &["--proxy", "none"]].concat());
    assert_eq!(proxy.asked("GET http://site.test/ ").len(), 2, "nobody asked the proxy");
    desk.run(&[&words[..], &["--proxy", &proxy.origin]].concat()).ok();
    assert_eq!(proxy.asked("GET http://site.test/ ").len(), 3);
    let wrong = desk.run_in(&[("http_proxy", "socks5://me:hunter2@127.0.0.1:9")], &words);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("http_proxy") && !wrong.stderr.contains("hunter2"), "{}", wrong.stderr);
}

#[test]
fn a_proxy_opens_no_address_that_is_closed() {
    let (desk, proxy) = (Desk::new(), proxy());
    // A seed of this kind is refused at once; a redirect leads there all the same.
    let elsewhere = Recorder::new(|request| {
        if request.contains("/robots.txt") {
            answer("404 No", "", "")
        } else {
            answer("302 Found", "Location: http://169.254.169.254/\r\n", "")
        }
    });
    let words = ["crawl", "http://site.test/", "--depth", "0", "--delay", "0", "--scope", "any"];
    desk.run_in(&[("http_proxy", &elsewhere.origin)], &words);
    let reached = |recorder: &Recorder| recorder.asked("GET http://169.254.169.254/").len();
    assert_eq!((reached(&elsewhere), reached(&proxy)), (0, 0));
    let page = &desk.pages()[0];
    assert!(page["error"].as_str().unwrap().contains("169.254.169.254"), "{page}");
}

#[test]
fn a_proxy_that_refuses_all_requests_ends_the_crawl_and_is_named() {
    let refusing = Recorder::new(|_| answer("407 Proxy Authentication Required", "", ""));
    let asks = format!("proxy: {} asks for a user and password (407)", refusing.origin);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let gone = format!("proxy: {nobody}: connection refused");
    for (proxy, told) in [(refusing.origin.clone(), asks), (format!("http://{nobody}"), gone)] {
        let desk = Desk::new();
        desk.write("argiope.yaml", "politeness:\n  robots: {retry_after: []}\n");
        let words = ["crawl", "http://site.test/", "--depth", "0", "--delay", "0", "--proxy", &proxy];
        let run = desk.run(&words);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains(&told), "{}", run.stderr);
        assert!(run.stderr.contains("check the proxy: --proxy URL"), "{}", run.stderr);
        assert!(desk.pages().iter().all(|page| page["status"].is_null()), "{:?}", desk.pages());
    }
}

#[test]
fn inspect_asks_as_a_crawl_does() {
    let (desk, proxy) = (Desk::new(), proxy());
    let page = desk.run_in(
        &[("http_proxy", &proxy.origin)],
        &["inspect", "page", "http://site.test/", "--header", "X-A: b"],
    );
    assert!(page.ok().stdout.contains("through the proxy"));
    assert_eq!(header(&proxy.asked("GET http://site.test/ ")[0], "x-a"), Some("b"));
}
