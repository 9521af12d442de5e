//! `graph rank`, `graph export` and `graph view` of a crawl whose links are known, and of a domain graph.

use crate::desk::{Desk, Run};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// Two hosts of a few pages. `@` in a page is the other host.
struct Site {
    port: u16,
}

const FRONT: &str = "<link rel=canonical href=@/canonical><title>Front</title>\
    <a href=/a>a</a> <a href=/b>b</a> <a href=/old>old</a> <a href=@/>other</a> <a href=/>itself</a><img src=/i.png>";
const A: &str = "<a href=/b>b</a> <a href=/>front</a>";
const B: &str =
    "<a href=/>front</a> <a href=/missing>gone</a> <a href=@/x>other</a> <a rel=nofollow href=@/y>y</a>";

impl Site {
    fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                std::thread::spawn(move || answer(stream, port));
            }
        });
        Site { port }
    }

    fn here(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn there(&self, path: &str) -> String {
        format!("http://127.0.0.2:{}{path}", self.port)
    }

    fn crawled() -> (Desk, Site) {
        let (desk, site) = (Desk::new(), Site::start());
        desk.crawl(&[site.here("/")], &["--delay", "0"]).ok();
        (desk, site)
    }
}

fn answer(mut stream: std::net::TcpStream, port: u16) {
    let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
    let Some(Ok(request)) = lines.next() else { return };
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = request.split(' ').nth(1).unwrap_or("/");
    let (status, body) = match path {
        "/" => ("200 OK", FRONT),
        "/a" => ("200 OK", A),
        "/b" => ("200 OK", B),
        "/old" => ("301 Moved Permanently\r\nLocation: /a", ""),
        _ => ("404 Not Found", "nothing here"),
    };
    let body = body.replace('@', &format!("http://127.0.0.2:{port}"));
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close"
    );
    // The client may be gone.
    let _ = write!(stream, "{head}\r\n\r\n{body}");
}

fn edges(graph: &Value) -> BTreeSet<(String, String, u64)> {
    let links = graph["links"].as_array().expect("links");
    links
        .iter()
        .map(|link| {
            let text = |field: &str| link[field].as_str().expect("a name").to_owned();
            (text("source"), text("target"), link["weight"].as_u64().expect("a weight"))
        })
        .collect()
}

fn names(graph: &Value) -> BTreeSet<String> {
    graph["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|n| n["id"].as_str().expect("a name").to_owned())
        .collect()
}

fn graph(desk: &Desk, more: &[&str]) -> Value {
    let words: Vec<&str> = ["graph", "export", "-f", "json"].iter().chain(more).copied().collect();
    desk.run(&words).ok().json()
}

#[test]
fn the_links_of_a_crawl_are_a_graph_of_pages() {
    let (desk, site) = Site::crawled();
    let whole = graph(&desk, &[]);
    let [front, a, b, missing] = ["/", "/a", "/b", "/missing"].map(|path| site.here(path));
    let [other, x, y] = ["/", "/x", "/y"].map(|path| site.there(path));
    let edge = |from: &String, to: &String, weight| (from.clone(), to.clone(), weight);
    // The link to /old counts for its target /a; a page's statements about itself are not links.
    let expected = BTreeSet::from([
        edge(&front, &a, 2),
        edge(&front, &b, 1),
        edge(&front, &other, 1),
        edge(&a, &b, 1),
        edge(&a, &front, 1),
        edge(&b, &front, 1),
        edge(&b, &missing, 1),
        edge(&b, &x, 1),
        edge(&b, &y, 1),
    ]);
    assert_eq!(edges(&whole), expected);
    assert_eq!(names(&whole), BTreeSet::from([&front, &a, &b, &missing, &other, &x, &y].map(String::clone)));
    let ranks: f64 =
        whole["nodes"].as_array().unwrap().iter().map(|node| node["rank"].as_f64().unwrap()).sum();
    assert!((ranks - 1.0).abs() < 1e-9, "{ranks}");
    let node = whole["nodes"].as_array().unwrap().iter().find(|node| node["id"] == b.as_str()).unwrap();
    assert_eq!((&node["in_degree"], &node["out_degree"]), (&json!(2), &json!(4)));
    assert_eq!((&node["crawled"], &node["domain"]), (&json!(true), &json!("127.0.0.1")));

    let crawled = graph(&desk, &["--crawled-only"]);
    assert_eq!(names(&crawled), BTreeSet::from([front, a, b, missing]));
    assert_eq!(edges(&crawled).len(), 6);
}

#[test]
fn hosts_have_the_links_of_all_their_pages() {
    let (desk, site) = Site::crawled();
    let hosts = graph(&desk, &["--hosts"]);
    let (here, there) = (format!("127.0.0.1:{}", site.port), format!("127.0.0.2:{}", site.port));
    assert_eq!(edges(&hosts), BTreeSet::from([(here.clone(), there, 3)]));
    let node = hosts["nodes"].as_array().unwrap().iter().find(|node| node["id"] == here.as_str()).unwrap();
    assert_eq!(node["pages"], 4, "/, /a, /b and /missing; /old is no page of its own");
    let domains = graph(&desk, &["--domains"]);
    assert_eq!(edges(&domains), BTreeSet::from([("127.0.0.1".to_owned(), "127.0.0.2".to_owned(), 3)]));
    assert_eq!(names(&graph(&desk, &["--hosts", "--crawled-only"])), BTreeSet::from([here]));
}

#[test]
fn the_highest_ranks_are_listed() {
    let (desk, site) = Site::crawled();
    let ranking = desk.run(&["graph", "rank", "-n", "2", "--json"]).ok().json();
    assert_eq!(
        (&ranking["level"], &ranking["nodes"], &ranking["edges"]),
        (&json!("page"), &json!(7), &json!(9))
    );
    assert_eq!((&ranking["converged"], ranking["ranking"].as_array().unwrap().len()), (&json!(true), 2));
    let first = &ranking["ranking"][0];
    assert_eq!((&first["name"], &first["in_degree"]), (&json!(site.here("/")), &json!(2)));
    // f = e + 0.425 a + 0.2125 b and b = e + 0.425 a + 0.2125 f: these two are equal.
    let second = &ranking["ranking"][1];
    assert_eq!(second["name"], site.here("/b").as_str());
    let [first, second] = [first, second].map(|row| row["rank"].as_f64().unwrap());
    assert!((first - second).abs() < 1e-8, "{first} {second}");

    let text = desk.run(&["graph", "rank", "1", "-n", "3"]).ok().stdout;
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), format!("Job 1: {}: 7 pages, 9 links", site.here("/")));
    let row = text.lines().find(|line| line.trim_start().starts_with("1 ")).unwrap();
    assert!(row.ends_with(&site.here("/")), "{text}");
    assert_eq!(text.lines().count(), 6, "{text}");
}

#[test]
fn every_format_is_known_by_the_ending_of_its_file() {
    let (desk, site) = Site::crawled();
    for (file, begins) in [
        ("g.graphml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml"),
        ("g.gexf", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<gexf"),
        ("g.dot", "digraph links {"),
        ("g.json", "{\"directed\":true"),
        ("g.csv", "source,target,weight\n"),
    ] {
        let run = desk.run(&["graph", "export", "-o", file]).ok();
        assert!(run.stderr.contains(&format!("7 pages with 9 links written to {file}")), "{}", run.stderr);
        let text = desk.read(file);
        assert!(text.starts_with(begins), "{text}");
        assert!(text.contains(&site.here("/missing")), "{text}");
    }
    let run = desk.run(&["graph", "export", "-o", "e.csv", "--nodes", "n.csv", "--limit", "2"]).ok();
    assert!(run.stderr.contains("2 of 7 pages"), "{}", run.stderr);
    assert_eq!(desk.read("n.csv").lines().next(), Some("id,rank,in_degree,out_degree,domain,crawled"));
    assert_eq!(desk.read("n.csv").lines().count(), 3);

    let fails = |words: &[&str], why: &str| {
        let Run { code, stderr, .. } = desk.run(words);
        assert!(code == 2 && stderr.contains(why), "{code} {stderr}");
    };
    fails(&["graph", "export", "-o", "g.txt"], "no format was given");
    fails(&["graph", "export", "-o", "g.dot", "--nodes", "n.csv"], "--nodes is for csv");
    fails(&["graph", "export", "--hosts", "--domains", "-f", "dot"], "cannot be used with");
}

#[test]
fn a_picture_is_one_file_that_needs_nothing_else() {
    let (desk, site) = Site::crawled();
    let run = desk.run(&["graph", "view", "-o", "graph.html", "--limit", "5"]).ok();
    assert!(run.stderr.contains("5 of 7 pages drawn in graph.html"), "{}", run.stderr);
    let page = desk.read("graph.html");
    let (before, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").expect("the data");
    let (data, after) = rest.split_once("</script>").expect("its end");
    let data: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!((&data["all_nodes"], &data["noun"]), (&json!(7), &json!("pages")));
    assert_eq!(data["names"][0], site.here("/").as_str());
    assert_eq!(data["names"].as_array().unwrap().len(), 5);
    // The title has the seed in it; nothing else leads out.
    let title = format!("Job 1: {}", site.here("/"));
    for part in [before.replace(&title, ""), after.to_owned()] {
        for outside in ["http://", "https://", "src=", "href=", "@import", "url("] {
            assert!(!part.contains(outside), "{outside}");
        }
    }
}

#[test]
fn a_domain_graph_is_read_from_its_file() {
    let desk = Desk::new();
    let database = rusqlite::Connection::open(desk.path("crawler.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE nodes (node_id INTEGER PRIMARY KEY AUTOINCREMENT, domain_name TEXT UNIQUE NOT NULL,
               description TEXT, crawl_count INTEGER DEFAULT 0, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
             CREATE TABLE edges (edge_id INTEGER PRIMARY KEY AUTOINCREMENT, from_node_id INTEGER NOT NULL,
               to_node_id INTEGER NOT NULL, weight INTEGER DEFAULT 1);
             INSERT INTO nodes (domain_name, description, crawl_count) VALUES
               ('www.example.com', 'An \"example\"', 2), ('blog.example.com', NULL, 1), ('example.org', NULL, 0);
             INSERT INTO edges (from_node_id, to_node_id, weight) VALUES (1, 2, 3), (1, 3, 4), (2, 3, 1);",
        )
        .unwrap();
    let hosts = graph(&desk, &["--db", "crawler.db"]);
    assert_eq!(hosts["nodes"][0]["description"], "An \"example\"");
    assert_eq!(
        (&hosts["nodes"][0]["crawl_count"], &hosts["nodes"][0]["domain"]),
        (&json!(2), &json!("example.com"))
    );
    assert_eq!(edges(&hosts).len(), 3);
    let domains = graph(&desk, &["--db", "crawler.db", "--domains"]);
    assert_eq!(edges(&domains), BTreeSet::from([("example.com".to_owned(), "example.org".to_owned(), 5)]));
    assert_eq!(names(&graph(&desk, &["--db", "crawler.db", "--crawled-only"])).len(), 2);
    let rank = desk.run(&["graph", "rank", "--db", "crawler.db"]).ok().stdout;
    assert!(rank.starts_with("crawler.db: 3 hosts, 3 links\n"), "{rank}");
    desk.run(&["graph", "view", "--db", "crawler.db"]).ok();
    assert!(desk.read("graph.html").contains("blog.example.com"));

    database.execute_batch("INSERT INTO edges (from_node_id, to_node_id) VALUES (1, 9)").unwrap();
    let broken = desk.run(&["graph", "rank", "--db", "crawler.db"]);
    assert!(broken.code == 1 && broken.stderr.contains("missing node 9"), "{}", broken.stderr);
    let missing = desk.run(&["graph", "rank", "--db", "none.db"]);
    assert!(missing.code == 1 && missing.stderr.contains("none.db"), "{}", missing.stderr);
    assert!(!desk.path("none.db").exists() && !desk.path("argiope-data").exists());
}

#[test]
fn a_directory_without_data_is_reported() {
    let desk = Desk::new();
    let run = desk.run(&["graph", "rank"]);
    assert!(run.code == 1 && run.stderr.contains("there is no data in"), "{}", run.stderr);
    assert!(!desk.path("argiope-data").exists(), "nothing is made by looking");
}
