//! Search on a server: the index by its contract on a real one, and what is done with answers that a real one seldom gives.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod private_set;

use argiope_cluster::search::{
    Positions, SearchAuth, SearchServer, SearchSettings, ServerReader, ServerWriter,
};
use argiope_lab::TestServer;
use argiope_model::{JobId, Millis, PublicSuffixes};
use argiope_search::contract::IndexFixture;
use argiope_search::document::{Document, DocumentId};
use argiope_search::follower::{IndexSink, PageText};
use argiope_search::hits::{Count, Request};
use argiope_search::index::{IndexBatch, IndexReader, IndexWriter};
use argiope_search::query::parse;
use argiope_store::catalogue::StoredPage;
use argiope_store::error::{ErrorKind, Result};
use argiope_store::follower::contract::SinkFixture;
use argiope_store::follower::{CommittedPages, Finished, PageSink, Position};
use private_set::unique;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// What is stored survives the writer.
#[derive(Clone, Default)]
struct Remembered(Arc<Mutex<Position>>);

impl Positions for Remembered {
    fn read(&mut self) -> Result<Position> {
        Ok(*self.0.lock().unwrap())
    }

    fn store(&mut self, position: Position) -> Result<()> {
        *self.0.lock().unwrap() = position;
        Ok(())
    }
}

/// An index of a test's own, deleted with it.
struct Fixture {
    server: SearchServer,
    positions: Remembered,
}

impl Fixture {
    fn open() -> Option<Fixture> {
        let settings = SearchSettings {
            url: TestServer::Search.address()?,
            index: unique("pages"),
            ..SearchSettings::default()
        };
        let server = SearchServer::new(&settings).unwrap();
        server.prepare().unwrap();
        Some(Fixture { server, positions: Remembered::default() })
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.server.delete_index().unwrap();
    }
}

impl IndexFixture for Fixture {
    fn writer(&mut self) -> Box<dyn IndexWriter> {
        Box::new(ServerWriter::open(self.server.clone(), self.positions.clone()).unwrap())
    }

    fn reader(&mut self) -> Box<dyn IndexReader> {
        Box::new(ServerReader::new(self.server.clone()))
    }
}

mod on_search {
    use super::*;

    mod index {
        use super::*;

        fn open() -> Option<Box<dyn IndexFixture>> {
            Some(Box::new(Fixture::open()?))
        }

        argiope_search::search_index_contract!(open);
    }

    mod sink {
        use super::*;

        fn open() -> Option<Box<dyn SinkFixture>> {
            Some(Box::new(Fixture::open()?))
        }

        argiope_store::page_sink_contract!(open);
    }

    #[test]
    fn the_top_topics_of_a_domain_in_a_month_are_counted() {
        let Some(mut fixture) = Fixture::open() else { return };
        let page = |number: u64, domain: &str, day: u64, topics: &[&str]| Document {
            id: DocumentId { job: JobId(1), url_key: number },
            url: format!("https://{domain}/{number}"),
            host: domain.into(),
            root_domain: domain.into(),
            topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
            status: 200,
            // Days of May 2026.
            crawled_at: Millis(1_777_593_600_000 + (day - 1) * 86_400_000),
            content: number,
            ..Document::default()
        };
        let documents = vec![
            page(1, "a.test", 1, &["silk", "loom"]),
            page(2, "a.test", 31, &["silk"]),
            page(3, "a.test", 32, &["wool"]),
            page(4, "b.test", 2, &["wool"]),
        ];
        let mut writer = fixture.writer();
        writer.position().unwrap();
        let reached = Position { page: 4, batch: 1 };
        writer.add(IndexBatch { documents, reached, ..IndexBatch::default() }).unwrap();
        writer.commit().unwrap();
        let query = parse("site:a.test after:2026-05 before:2026-06").unwrap();
        let request = Request { limit: 0, facets: true, ..Request::new(query) };
        let hits = fixture.reader().search(&request).unwrap();
        let expected = [Count { name: "silk".into(), pages: 2 }, Count { name: "loom".into(), pages: 1 }];
        assert_eq!((hits.total, hits.facets.unwrap().topics), (2, expected.to_vec()));
    }

    #[test]
    fn what_was_fetched_earlier_does_not_replace_what_was_fetched_later() {
        let Some(mut fixture) = Fixture::open() else { return };
        let mut writer = fixture.writer();
        for (at, title) in [(2000, "Later"), (1000, "Earlier")] {
            let document =
                Document { title: title.into(), status: 200, crawled_at: Millis(at), ..Document::default() };
            writer.position().unwrap();
            writer.add(IndexBatch { documents: vec![document], ..IndexBatch::default() }).unwrap();
        }
        writer.commit().unwrap();
        let found =
            |query: &str| fixture.server_reader().search(&Request::new(parse(query).unwrap())).unwrap().total;
        assert_eq!((found("later"), found("earlier")), (1, 0));
    }

    impl Fixture {
        fn server_reader(&self) -> ServerReader {
            ServerReader::new(self.server.clone())
        }
    }

    #[test]
    fn an_index_that_is_not_there_is_said_to_be_missing() {
        let Some(address) = TestServer::Search.address() else { return };
        let settings = SearchSettings { url: address, index: unique("absent"), ..SearchSettings::default() };
        let reader = ServerReader::new(SearchServer::new(&settings).unwrap());
        let error = reader.search(&Request::new(parse("x").unwrap())).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("no such index"), "{error}");
    }
}

/// Whatever is taken is found at once.
struct Committing<S>(S);

impl<S: PageSink> PageSink for Committing<S> {
    fn position(&mut self) -> Result<Position> {
        self.0.position()
    }

    fn store(&mut self, batch: &CommittedPages) -> Result<()> {
        self.0.store(batch)?;
        self.0.finish().map(|_| ())
    }

    fn finish(&mut self) -> Result<Finished> {
        self.0.finish()
    }
}

impl SinkFixture for Fixture {
    fn open(&mut self) -> Box<dyn PageSink> {
        let text =
            |_: &StoredPage| Ok(Some(PageText { text: String::from("a text"), ..PageText::default() }));
        Box::new(Committing(IndexSink::new(self.writer(), text, Arc::new(PublicSuffixes::bundled()))))
    }

    fn taken(&mut self) -> Vec<String> {
        let request = Request { limit: 100, ..Request::new(parse("text").unwrap()) };
        let hits = self.reader().search(&request).unwrap().hits;
        let mut urls: Vec<String> = hits.into_iter().map(|hit| hit.url).collect();
        // An index has no order of its own.
        urls.sort_by_key(|url| url.rsplit('/').next().unwrap().parse::<u32>().unwrap());
        urls
    }

    fn job(&self) -> JobId {
        JobId(1)
    }
}

/// Answers each request with the next of the answers, and tells what it was asked.
fn answering(answers: Vec<(u16, &'static str)>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = asked.clone();
    std::thread::spawn(move || {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                reader.read_line(&mut head).unwrap();
            }
            let head = head.to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            let mut sent = vec![0; length];
            reader.read_exact(&mut sent).unwrap();
            heard.lock().unwrap().push(format!("{head}{}", String::from_utf8_lossy(&sent)));
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, asked)
}

fn writer(url: String, auth: SearchAuth) -> Result<ServerWriter<Remembered>> {
    let server = SearchServer::new(&SearchSettings { url, auth, ..SearchSettings::default() }).unwrap();
    ServerWriter::open(server, Remembered::default())
}

#[test]
fn a_server_is_told_who_we_are() {
    for (auth, expected) in [
        (SearchAuth::None, None),
        (
            SearchAuth::Basic { user: "me".into(), password: "secret".into() },
            Some("authorization: basic bwu6c2vjcmv0"),
        ),
        (SearchAuth::ApiKey("abc".into()), Some("authorization: apikey abc")),
    ] {
        let (address, asked) = answering(vec![(200, "")]);
        writer(address, auth).unwrap();
        let asked = asked.lock().unwrap();
        let header = asked[0].lines().find(|line| line.starts_with("authorization"));
        assert_eq!(header, expected);
        assert!(asked[0].starts_with("head /crawl_metadata http"), "{}", asked[0]);
    }
    let (address, _) = answering(vec![(401, "")]);
    let error = writer(address, SearchAuth::None).err().unwrap();
    assert!(error.kind == ErrorKind::Usage && error.to_string().contains("search.api_key"), "{error}");
}

#[test]
fn a_server_that_is_away_or_busy_is_asked_again() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = writer(format!("http://{closed}"), SearchAuth::None).err().unwrap();
    assert!(error.is_retryable(), "{error}");

    let part = r#"{"errors":true,"items":[{"index":{"_id":"1","status":201}},{"index":{"_id":"2","status":429,"error":{"type":"busy","reason":"queue full"}}}]}"#;
    for (status, body) in [(429, ""), (503, ""), (200, part)] {
        let (address, _) =
            answering(vec![(200, ""), (status, body), (200, r#"{"errors":false}"#), (200, "{}")]);
        let mut writer = writer(address, SearchAuth::None).unwrap();
        let batch = IndexBatch {
            documents: vec![Document::default()],
            reached: Position { page: 5, batch: 1 },
            ..IndexBatch::default()
        };
        assert_eq!(writer.position().unwrap(), Position::default());
        let error = writer.add(batch.clone()).unwrap_err();
        assert!(error.is_retryable(), "{error}");
        assert!(
            !writer.add(batch.clone()).unwrap_err().is_retryable(),
            "not without asking where to continue"
        );
        assert_eq!(writer.position().unwrap(), Position::default());
        writer.add(batch).unwrap();
        writer.commit().unwrap();
        assert_eq!(writer.position().unwrap(), Position { page: 5, batch: 1 });
    }
}

#[test]
fn a_document_that_is_refused_for_good_stops_nothing() {
    let refused = r#"{"errors":true,"items":[{"index":{"_id":"1","status":400,"error":{"type":"mapper_parsing_exception","reason":"x"}}},{"index":{"_id":"2","status":409,"error":{}}}]}"#;
    let (address, asked) = answering(vec![(200, ""), (200, refused)]);
    let mut writer = writer(address, SearchAuth::None).unwrap();
    writer.position().unwrap();
    writer.add(IndexBatch { documents: vec![Document::default()], ..IndexBatch::default() }).unwrap();
    assert_eq!(writer.refused(), 1);
    let asked = asked.lock().unwrap();
    assert!(asked[1].contains("content-type: application/x-ndjson"), "{}", asked[1]);
    assert!(asked[1].contains(r#""version_type":"external_gte""#), "{}", asked[1]);
}
