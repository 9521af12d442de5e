//! `inspect`, from files, standard input and a server of our own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod program;

use program::{argiope, with_input};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn file(name: &str, content: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

/// Answers each connection with the next of the given answers; gives its address.
fn serve(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((stream, _)) = listener.accept() else { return };
            let mut reader = BufReader::new(&stream);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    address
}

fn ok(content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn urls_are_shown_in_normal_form_with_their_identity() {
    let run = argiope(&[
        "inspect",
        "url",
        "HTTP://Blog.Example.co.uk:80/a/../b?utm_source=x#f",
        "mailto:a@b.c",
        "example.com",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines = json_lines(&run.stdout);
    assert_eq!(lines[0]["normal_form"], "http://blog.example.co.uk/b");
    assert_eq!(lines[0]["host"], "blog.example.co.uk");
    assert_eq!(lines[0]["root_domain"], "example.co.uk");
    let identity = lines[0]["identity"].as_str().unwrap();
    assert_eq!(identity.len(), 64);
    assert_eq!(lines[0]["key"].as_str(), identity.get(..16));
    assert_eq!(lines[1]["input"], "mailto:a@b.c");
    assert!(lines[1]["error"].as_str().unwrap().contains("mailto"));
    assert_eq!(lines[2]["normal_form"], "https://example.com/", "as crawl and why take it");
    let fields: Vec<usize> = ["input", "normal_form", "host", "root_domain", "identity", "key"]
        .iter()
        .map(|field| run.stdout.find(&format!("\"{field}\"")).unwrap())
        .collect();
    assert!(fields.is_sorted());
}

#[test]
fn urls_come_from_stdin_too() {
    let run = with_input(&["inspect", "url", "-"], "https://a.test/\nhttps://b.test\n");
    let lines = json_lines(&run.stdout);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["normal_form"], "https://b.test/");
}

#[test]
fn robots_txt_is_read_for_an_agent() {
    let (_directory, path) = file(
        "robots.txt",
        "User-agent: foo\nDisallow: /private\nCrawl-delay: 2.5\n\nUser-agent: *\nDisallow: /\n",
    );
    let urls = ["https://a.test/private/x", "https://a.test/public"];
    let run = argiope(&["inspect", "robots", &path, "--agent", "foo", urls[0], urls[1]]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines = json_lines(&run.stdout);
    assert_eq!((&lines[0]["url"], &lines[0]["allowed"]), (&Value::from(urls[0]), &Value::from(false)));
    assert_eq!((&lines[0]["line"], &lines[0]["crawl_delay"]), (&Value::from(2), &Value::from(2.5)));
    assert!(lines[0]["rule"].as_str().unwrap().contains("/private"));
    assert_eq!(lines[1]["allowed"], true);
    assert_eq!(lines[1]["line"], Value::Null);
    let other = argiope(&["inspect", "robots", &path, "--agent", "bar", urls[1]]);
    assert_eq!(json_lines(&other.stdout)[0]["allowed"], false);
}

#[test]
fn a_page_is_taken_apart() {
    let (_directory, path) = file(
        "page.html",
        "<html lang=en><title>A &amp; B</title><a href='x?a=1&amp;b=2' rel=nofollow>Go</a><h1>Head</h1>",
    );
    let run = argiope(&["inspect", "page", &path, "--base", "https://a.test/d/"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let page = &json_lines(&run.stdout)[0];
    assert_eq!(page["title"], "A & B");
    assert_eq!(page["links"][0]["url"], "https://a.test/d/x?a=1&b=2");
    assert_eq!(page["links"][0]["text"], "Go");
    for field in
        ["open_graph", "headings", "text", "article", "markdown", "structured", "images", "content_hash"]
    {
        assert!(page.get(field).is_some(), "{field}");
    }
    let run = argiope(&["inspect", "page", &path, "--base", "nonsense"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("--base"), "{}", run.stderr);
}

#[test]
fn a_sitemap_gives_a_line_for_each_url() {
    let xml = "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
               <url><loc>https://a.test/1</loc><lastmod>2026-01-02</lastmod><changefreq>daily</changefreq>\
               <priority>0.8</priority></url><url><loc>https://a.test/2</loc></url></urlset>";
    let run = with_input(&["inspect", "sitemap", "-"], xml);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stdout,
        "{\"url\":\"https://a.test/1\",\"lastmod\":\"2026-01-02\",\"changefreq\":\"daily\",\"priority\":0.8}\n\
         {\"url\":\"https://a.test/2\",\"lastmod\":null,\"changefreq\":null,\"priority\":null}\n"
    );
}

#[test]
fn a_page_is_fetched_through_its_redirects_where_private_addresses_are_allowed() {
    let moved = "HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let address = serve(vec![moved.to_owned(), ok("text/html", "<title>There</title><a href=next>n</a>")]);
    let run = argiope(&["inspect", "page", &format!("{address}/here"), "--allow-private"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let page = &json_lines(&run.stdout)[0];
    assert_eq!(page["url"], format!("{address}/here"));
    assert_eq!(page["final_url"], format!("{address}/there"));
    assert_eq!((&page["status"], &page["title"]), (&Value::from(200), &Value::from("There")));
    assert_eq!(page["links"][0]["url"], format!("{address}/next"));
}

/// A crawl cuts a page at the same place, with the same message.
#[test]
fn a_page_is_cut_at_the_limit_of_a_crawl() {
    let body = format!("<title>Long</title><p>{}<a href=/beyond>x</a>", "word ".repeat(200));
    let (directory, path) = file("page.html", &body);
    let config = directory.path().join("argiope.yaml");
    std::fs::write(&config, "crawl: {max_body: 500B}\n").unwrap();
    let config = config.to_str().unwrap();
    let address = serve(vec![ok("text/html", &body)]);
    for source in [path.as_str(), &format!("{address}/")] {
        let run = argiope(&["inspect", "page", source, "--allow-private", "--config", config]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let page = &json_lines(&run.stdout)[0];
        assert_eq!(page["error"], "truncated: body over 500 bytes", "{source}");
        assert_eq!((&page["title"], &page["bytes"]), (&Value::from("Long"), &Value::from(500)));
        assert_eq!(page["links"].as_array().unwrap().len(), 0, "{source}");
    }
    let whole = argiope(&["inspect", "page", &path]);
    let page = &json_lines(&whole.stdout)[0];
    assert_eq!((&page["error"], &page["bytes"]), (&Value::Null, &Value::from(body.len())));
    let (_directory, long) = file("long.html", &"x".repeat(10_000_001));
    let page = &json_lines(&argiope(&["inspect", "page", &long]).stdout)[0];
    assert_eq!(page["error"], "truncated: body over 10000000 bytes");
}

#[test]
fn a_private_address_is_refused_with_the_flag_named() {
    let run = argiope(&["inspect", "page", "http://127.0.0.1:9/"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("loopback") && run.stderr.contains("--allow-private"), "{}", run.stderr);
}

#[test]
fn a_missing_robots_txt_allows_everything_and_a_broken_one_nothing() {
    for (status, allowed) in [("404 Not Found", true), ("503 Unavailable", false)] {
        let address =
            serve(vec![format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")]);
        let robots = format!("{address}/robots.txt");
        let run = argiope(&["inspect", "robots", &robots, "--allow-private", "https://a.test/x"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(json_lines(&run.stdout)[0]["allowed"], allowed, "{status}");
    }
}

#[test]
fn what_cannot_be_read_says_what_to_give() {
    let run = argiope(&["inspect", "page", "nowhere.html"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("argiope: error: cannot read nowhere.html"), "{}", run.stderr);
    assert!(run.stderr.contains("\nhint: "), "{}", run.stderr);
    assert_eq!(argiope(&["inspect", "page", "ftp://a.test/x"]).code, 2);
    let run = argiope(&["inspect", "sitemap", "http://127.0.0.1:9/", "--allow-private"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
}
