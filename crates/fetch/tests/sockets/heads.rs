//! What goes over the wire, and what is kept of it.

use crate::server::{Get, Server, fetcher, ok, run};
use argiope_fetch::{
    Fetch, FetchRequest, ProfileOptions, RequestProfile, SendPermit, Start, default_user_agent,
};
use argiope_model::Validators;
use http::{StatusCode, Version};

#[test]
fn the_request_head_is_kept_as_the_server_saw_it() {
    run(async {
        let server = Server::always(ok("x")).await;
        let fetcher = fetcher();
        for path in ["/a?b=c", "/second"] {
            let fetched = server.get(path).from(&fetcher).await.unwrap();
            let seen = server.requests.borrow().last().unwrap().clone();
            assert_eq!(fetched.request_head, seen);
            assert!(
                seen.starts_with(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", server.address)),
                "{seen}"
            );
            assert!(seen.contains(&format!("User-Agent: {}\r\n", default_user_agent())));
            assert!(seen.contains("Accept-Encoding: gzip, br, zstd, deflate\r\n"));
            assert!(!seen.to_ascii_lowercase().contains("content-length"));
        }
    });
}

#[test]
fn the_response_head_is_kept_byte_for_byte() {
    run(async {
        let head = "HTTP/1.1 200 Fine  by me\r\nx-ODD:   spaced \r\nSet-Cookie: a\r\nset-cookie: b\r\nContent-Length: 4\r\n\r\n";
        let server = Server::always(format!("{head}\r\n\r\n")).await;
        let fetcher = fetcher();
        for _ in 0..2 {
            let fetched = server.get("/").from(&fetcher).await.unwrap();
            assert_eq!(fetched.head, head);
            assert_eq!(fetched.body, "\r\n\r\n");
            assert_eq!(fetched.headers.get_all("set-cookie").iter().count(), 2);
            assert_eq!((fetched.status, fetched.version), (StatusCode::OK, Version::HTTP_11));
        }
        assert_eq!(server.connections.get(), 1);
    });
}

#[test]
fn interim_answers_are_skipped() {
    run(async {
        let answer =
            "HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
        let server = Server::always(answer).await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.head, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n");
        assert_eq!(fetched.body, "x");
    });
}

#[test]
fn a_redirect_is_returned_with_its_location_and_not_followed() {
    run(async {
        let server =
            Server::always("HTTP/1.1 302 Found\r\nLocation:  /next?x=1 \r\nContent-Length: 0\r\n\r\n").await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.redirect().as_deref(), Some("/next?x=1"));
        assert_eq!(server.requests.borrow().len(), 1);
        let server = Server::always("HTTP/1.1 200 OK\r\nLocation: /no\r\nContent-Length: 0\r\n\r\n").await;
        assert_eq!(server.get("/").from(&fetcher()).await.unwrap().redirect(), None);
    });
}

#[test]
fn a_location_that_is_not_utf8_is_read_as_latin_1() {
    run(async {
        let server =
            Server::always(&b"HTTP/1.1 301 Moved\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n"[..])
                .await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.redirect().as_deref(), Some("/café"));
    });
}

#[test]
fn profile_and_validators_are_sent() {
    run(async {
        let server = Server::always("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n").await;
        let options = ProfileOptions {
            user_agent: Some("TestBot/1.0".into()),
            accept_language: Some("de, en;q=0.5".into()),
            headers: vec![("X-Key".into(), "secret".into())],
            cookie: Some("session=1; theme=dark".into()),
            basic_auth: Some(("user".into(), "pass:word".into())),
            ..ProfileOptions::default()
        };
        let get = Get { profile: RequestProfile::new(&options).unwrap(), ..server.get("/p") };
        let validators = Validators {
            etag: Some("\"v1\"".into()),
            last_modified: Some("Mon, 01 Jan 2024 00:00:00 GMT".into()),
        };
        let fetcher = fetcher();
        let fetched = fetcher
            .fetch(FetchRequest {
                url: &get.url,
                start: Start::now(),
                addresses: &get.addresses,
                dns_us: 1234,
                profile: &get.profile,
                validators: Some(&validators),
                cookie: None,
                form: None,
                head_only: false,
                timeout: get.timeout,
                max_body_bytes: get.max_body_bytes,
                permit: SendPermit::default(),
            })
            .await
            .unwrap();
        assert_eq!(fetched.status, StatusCode::NOT_MODIFIED);
        assert_eq!(fetched.timings.dns_us, 1234);
        let seen = server.requests.borrow()[0].clone();
        for line in [
            "User-Agent: TestBot/1.0",
            "Accept-Language: de, en;q=0.5",
            "X-Key: secret",
            "Cookie: session=1; theme=dark",
            "Authorization: Basic dXNlcjpwYXNzOndvcmQ=",
            "If-None-Match: \"v1\"",
            "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT",
        ] {
            assert!(seen.contains(&format!("{line}\r\n")), "{line} in {seen}");
        }
    });
}

#[test]
fn chunks_are_joined_and_the_content_encoding_is_left_alone() {
    run(async {
        let server = Server::always(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: x\r\n\r\n",
        )
        .await;
        let fetcher = fetcher();
        for _ in 0..3 {
            let fetched = server.get("/").from(&fetcher).await.unwrap();
            assert_eq!(fetched.body, "hello world");
            assert_eq!(fetched.truncated, None);
        }
        assert_eq!(server.connections.get(), 1);
    });
}

#[test]
fn a_body_without_length_ends_with_the_connection() {
    run(async {
        let server = Server::once("HTTP/1.0 200 OK\r\n\r\nold school").await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!((fetched.body.as_ref(), fetched.truncated), (&b"old school"[..], None));
        assert_eq!(fetched.version, Version::HTTP_10);
    });
}

#[test]
fn sloppy_headers_are_read_as_browsers_read_them() {
    run(async {
        let server = Server::always(
            "HTTP/1.1 200 OK\nServer : sloppy\r\nbad header line\r\nX-Long: a\r\n  b\r\nContent-Length: 2\n\nhi",
        )
        .await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.body, "hi");
        assert!(fetched.head.ends_with(b"Content-Length: 2\n\n"));
    });
}
