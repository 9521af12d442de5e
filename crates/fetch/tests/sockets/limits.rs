//! Nothing a peer sends is taken without bound.

use crate::server::{Server, fetcher, ok, run};
use argiope_fetch::{DecodeScratch, FetchFailure, TruncationCause, decode};
use std::io::Write;

#[test]
fn a_body_over_the_limit_is_cut_there() {
    run(async {
        let server = Server::always(ok(&"x".repeat(5000))).await;
        let fetcher = fetcher();
        let mut get = server.get("/");
        get.max_body_bytes = 1000;
        let fetched = get.from(&fetcher).await.unwrap();
        assert_eq!(fetched.body.len(), 1000);
        assert_eq!(fetched.truncated, Some(TruncationCause::TooLarge { limit: 1000 }));
        assert_eq!(fetcher.idle_connections(), 0);
        get.max_body_bytes = 5000;
        let fetched = get.from(&fetcher).await.unwrap();
        assert_eq!((fetched.body.len(), fetched.truncated), (5000, None));
    });
}

#[test]
fn an_endless_body_is_cut() {
    run(async {
        let server = Server::start(|mut peer| async move {
            peer.request().await;
            peer.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
            let block = vec![b'x'; 65536];
            // Ends when the client has had enough.
            for _ in 0..10_000 {
                if tokio::io::AsyncWriteExt::write_all(&mut peer.stream, &block).await.is_err() {
                    break;
                }
            }
        })
        .await;
        let mut get = server.get("/");
        get.max_body_bytes = 3_000_000;
        let fetched = get.from(&fetcher()).await.unwrap();
        assert_eq!(fetched.body.len(), 3_000_000);
        assert_eq!(fetched.truncated, Some(TruncationCause::TooLarge { limit: 3_000_000 }));
    });
}

#[test]
fn an_announced_length_takes_no_memory_in_advance() {
    run(async {
        let server = Server::once("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\nx").await;
        let mut get = server.get("/");
        get.max_body_bytes = usize::MAX;
        let fetched = get.from(&fetcher()).await.unwrap();
        assert_eq!(
            fetched.truncated,
            Some(TruncationCause::ShortBody { received: 1, announced: Some(99_999_999_999_999) })
        );
    });
}

#[test]
fn too_many_headers_are_refused() {
    run(async {
        let fields = |count: usize| {
            let lines: String = (0..count).map(|n| format!("X-{n}: y\r\n")).collect();
            format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 0\r\n\r\n")
        };
        let server = Server::always(fields(300)).await;
        let error = server.get("/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind, FetchFailure::HeadersTooLarge, "{error}");
        let server = Server::always(fields(200)).await;
        assert_eq!(server.get("/").from(&fetcher()).await.unwrap().headers.len(), 201);
    });
}

#[test]
fn giant_headers_are_refused() {
    run(async {
        let server = Server::always(format!(
            "HTTP/1.1 200 OK\r\nX-Big: {}\r\nContent-Length: 0\r\n\r\n",
            "y".repeat(200_000)
        ))
        .await;
        let error = server.get("/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind, FetchFailure::HeadersTooLarge, "{error}");
        let server = Server::always(format!(
            "HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n",
            "y".repeat(50_000)
        ))
        .await;
        assert_eq!(server.get("/").from(&fetcher()).await.unwrap().status, 200);
    });
}

#[test]
fn a_head_that_never_ends_is_refused() {
    run(async {
        let server = Server::start(|mut peer| async move {
            peer.request().await;
            peer.send(b"HTTP/1.1 200 OK\r\n").await;
            for _ in 0..100_000 {
                if tokio::io::AsyncWriteExt::write_all(&mut peer.stream, &[b'a'; 1024]).await.is_err() {
                    break;
                }
            }
        })
        .await;
        let error = server.get("/").from(&fetcher()).await.unwrap_err();
        assert!(matches!(error.kind.word(), "headers_too_large" | "protocol"), "{error}");
    });
}

#[test]
fn a_gzip_bomb_costs_its_limit() {
    run(async {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for _ in 0..200 {
            encoder.write_all(&vec![0; 1 << 20]).unwrap();
        }
        let bomb = encoder.finish().unwrap();
        let mut answer =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", bomb.len())
                .into_bytes();
        answer.extend_from_slice(&bomb);
        let server = Server::always(answer).await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.body, bomb);
        let decoded = decode(&fetched.headers, &fetched.body, 1 << 20, &mut DecodeScratch::new());
        assert_eq!((decoded.bytes.len(), decoded.cut), (1 << 20, true));
    });
}
