//! Hosts that fail in every way, and the word each failure gets.

use crate::server::{Get, SHORT, Server, fetcher, fetcher_with, run};
use argiope_fetch::{
    AddressClass, AddressPolicy, ConnectFailure, FetchFailure, FetcherOptions, Stage, TruncationCause,
};
use tokio::net::TcpListener;

#[test]
fn connection_refused() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let error = Get::new(&format!("http://{address}/")).from(&fetcher()).await.unwrap_err();
        assert!(
            matches!(error.kind, FetchFailure::Connect { reason: ConnectFailure::Refused, .. }),
            "{error}"
        );
        assert_eq!(error.to_string(), "connect: connection refused");
        assert_eq!(error.address, Some(address));
        assert!(error.kind.kind().counts_for_breaker());
    });
}

#[test]
fn a_private_address_is_refused_before_a_packet_leaves() {
    run(async {
        let server = Server::always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        let error = server.get("/").from(&fetcher_with(FetcherOptions::default())).await.unwrap_err();
        assert!(
            matches!(&error.kind, FetchFailure::PrivateAddress(refused) if refused.class == AddressClass::Loopback)
        );
        assert!(!error.kind.kind().counts_for_breaker());
        assert_eq!(server.connections.get(), 0);
    });
}

#[test]
fn metadata_addresses_stay_closed_with_allow_private_and_are_opened_by_the_list() {
    run(async {
        let mut get = Get::new("http://rebound.test/").within(SHORT);
        get.addresses = vec!["169.254.169.254".parse().unwrap()];
        let error = get.from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "private_address");
        let opened = AddressPolicy {
            allow_private: false,
            allowed: vec![AddressPolicy::parse_network("127.0.0.1/32").unwrap()],
        };
        let server = Server::always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        let fetcher = fetcher_with(FetcherOptions { addresses: opened, ..FetcherOptions::default() });
        assert!(server.get("/").from(&fetcher).await.is_ok());
    });
}

#[test]
fn a_mapped_loopback_address_is_loopback() {
    run(async {
        let mut get = Get::new("http://mapped.test/").within(SHORT);
        get.addresses = vec!["::ffff:127.0.0.1".parse().unwrap()];
        let error = get.from(&fetcher_with(FetcherOptions::default())).await.unwrap_err();
        assert_eq!(error.kind.word(), "private_address");
    });
}

#[test]
fn no_address_is_said() {
    run(async {
        let mut get = Get::new("http://nowhere.test/");
        get.addresses.clear();
        let error = get.from(&fetcher()).await.unwrap_err();
        assert!(matches!(error.kind, FetchFailure::Connect { reason: ConnectFailure::NoAddress, .. }));
    });
}

#[test]
fn garbage_is_a_protocol_error() {
    run(async {
        for garbage in [
            "SSH-2.0-OpenSSH_9.0\r\n\r\n",
            "\0\0\0\0\0\0\0\0\r\n\r\n",
            "HTTP/1.1 banana\r\n\r\n",
            "<html></html>\n\n",
        ] {
            let server = Server::once(garbage).await;
            let error = server.get("/").from(&fetcher()).await.unwrap_err();
            assert_eq!(error.kind.word(), "protocol", "{garbage:?}: {error}");
        }
    });
}

#[test]
fn an_unasked_switch_of_protocols_is_a_protocol_error() {
    run(async {
        let server =
            Server::once("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
                .await;
        let error = server.get("/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "protocol", "{error}");
    });
}

#[test]
fn closing_at_once_is_a_reset() {
    run(async {
        let server = Server::start(|peer| async move { drop(peer) }).await;
        let error = server.get("/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "reset", "{error}");
    });
}

#[test]
fn closing_within_the_head_is_a_reset() {
    run(async {
        let server = Server::once("HTTP/1.1 200 OK\r\nContent-Le").await;
        let error = server.get("/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "reset", "{error}");
    });
}

#[test]
fn silence_times_out_at_the_first_byte() {
    run(async {
        let server = Server::start(|mut peer| async move {
            peer.request().await;
            peer.hang().await;
        })
        .await;
        let error = server.get("/").within(SHORT).from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind, FetchFailure::Timeout { stage: Stage::FirstByte, after: SHORT });
        assert_eq!(error.to_string(), "timeout: first byte after 0.5 s");
    });
}

#[test]
fn a_dripping_head_times_out_in_the_head() {
    run(async {
        let server = Server::start(|mut peer| async move {
            peer.request().await;
            peer.send(b"HTTP/1.1 200 OK\r\n").await;
            loop {
                peer.send(b"X-Drip: x\r\n").await;
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
        let error = server.get("/").within(SHORT).from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind, FetchFailure::Timeout { stage: Stage::Head, after: SHORT });
    });
}

#[test]
fn a_full_backlog_times_out_in_connect() {
    run(async {
        // A socket that listens with the shortest backlog and never accepts: the kernel drops what does not fit.
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut held = Vec::new();
        for _ in 0..8 {
            let connecting = tokio::net::TcpStream::connect(address);
            if let Ok(Ok(stream)) =
                tokio::time::timeout(std::time::Duration::from_millis(100), connecting).await
            {
                held.push(stream);
            }
        }
        let error = Get::new(&format!("http://{address}/")).within(SHORT).from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind, FetchFailure::Timeout { stage: Stage::Connect, after: SHORT });
    });
}

#[test]
fn a_dripping_body_keeps_its_status_and_what_came() {
    run(async {
        let server = Server::start(|mut peer| async move {
            peer.request().await;
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").await;
            loop {
                peer.send(b"drip").await;
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
        let fetcher = fetcher();
        let fetched = server.get("/").within(SHORT).from(&fetcher).await.unwrap();
        assert_eq!(fetched.status, 200);
        assert!(fetched.body.starts_with(b"drip"));
        assert_eq!(fetched.truncated, Some(TruncationCause::Timeout { after: SHORT }));
        assert_eq!(fetcher.idle_connections(), 0);
    });
}

#[test]
fn a_short_body_says_how_short() {
    run(async {
        let server = Server::once("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this").await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.body, "only this");
        assert_eq!(fetched.truncated, Some(TruncationCause::ShortBody { received: 9, announced: Some(100) }));
        assert_eq!(fetched.truncated.unwrap().to_string(), "truncated: short body: 9 of 100 bytes");
    });
}

#[test]
fn a_chunked_body_that_ends_early_is_short() {
    run(async {
        let server =
            Server::once("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.body, "hello");
        assert_eq!(fetched.truncated, Some(TruncationCause::ShortBody { received: 5, announced: None }));
    });
}

#[test]
fn a_broken_chunk_keeps_what_came_before() {
    run(async {
        let server = Server::always(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\nworld\r\n",
        )
        .await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.body, "hello");
        assert_eq!(fetched.truncated, Some(TruncationCause::Malformed { received: 5 }));
    });
}

#[test]
fn a_reset_within_the_body_keeps_what_came_before() {
    run(async {
        let server = Server::start(|mut peer| async move {
            peer.request().await;
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello").await;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            // Closing with nothing to linger for sends a reset.
            peer.stream.set_zero_linger().unwrap();
        })
        .await;
        let fetched = server.get("/").from(&fetcher()).await.unwrap();
        assert_eq!(fetched.body, "hello");
        assert_eq!(fetched.truncated, Some(TruncationCause::Reset { received: 5 }));
    });
}
