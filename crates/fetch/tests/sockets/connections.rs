//! Keeping connections, and what happens when the other side did not.

use crate::server::{PATIENCE, Server, fetcher, fetcher_with, ok, private};
use argiope_fetch::{Descriptors, FetchFailure, FetcherOptions};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

#[test]
fn one_connection_serves_request_after_request() {
    run_counting(|server| async move {
        let fetcher = fetcher();
        for number in 0..20 {
            let fetched = server.get(&format!("/{number}")).from(&fetcher).await.unwrap();
            assert_eq!(fetched.body, "hello");
            assert_eq!(fetched.reused, number > 0);
        }
        assert_eq!(server.connections.get(), 1);
        assert_eq!(fetcher.idle_connections(), 1);
    });
}

fn run_counting<F: std::future::Future<Output = ()>>(test: impl FnOnce(Server) -> F) {
    crate::server::run(async {
        let server = Server::always(ok("hello")).await;
        test(server).await;
    });
}

#[test]
fn a_kept_connection_has_no_connect_time() {
    run_counting(|server| async move {
        let fetcher = fetcher();
        let first = server.get("/").from(&fetcher).await.unwrap();
        let second = server.get("/").from(&fetcher).await.unwrap();
        assert!(first.timings.connect_us > 0);
        assert_eq!((second.timings.connect_us, second.timings.tls_us), (0, 0));
        assert!(second.timings.first_byte_us > 0);
        assert!(second.timings.started <= second.timings.ended);
    });
}

#[test]
fn concurrent_requests_have_connections_of_their_own() {
    run_counting(|server| async move {
        let fetcher = fetcher();
        let (a, b) = (server.get("/a"), server.get("/b"));
        let (a, b) = tokio::join!(a.from(&fetcher), b.from(&fetcher));
        assert_eq!((a.unwrap().body, b.unwrap().body), ("hello".into(), "hello".into()));
        assert_eq!(server.connections.get(), 2);
        assert_eq!(fetcher.idle_connections(), 2);
    });
}

#[test]
fn a_head_request_keeps_the_connection() {
    crate::server::run(async {
        let server = Server::always("HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n").await;
        let fetcher = fetcher();
        for number in 0..3 {
            let fetched = server.get("/film").head_only().from(&fetcher).await.unwrap();
            assert_eq!((fetched.status.as_u16(), fetched.body.len(), fetched.truncated), (200, 0, None));
            assert_eq!(fetched.header_text("content-length").as_deref(), Some("4000000000"));
            assert!(fetched.request_head.starts_with(b"HEAD /film HTTP/1.1\r\n"));
            assert_eq!(fetched.reused, number > 0);
        }
        assert_eq!(server.connections.get(), 1);
    });
}

#[test]
fn connection_close_is_obeyed() {
    crate::server::run(async {
        let server =
            Server::always("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi").await;
        let fetcher = fetcher();
        for _ in 0..3 {
            assert_eq!(server.get("/").from(&fetcher).await.unwrap().body, "hi");
        }
        assert_eq!(server.connections.get(), 3);
        assert_eq!(fetcher.idle_connections(), 0);
    });
}

#[test]
fn a_host_that_keeps_connections_for_a_moment_only_gets_a_new_one_after_it() {
    crate::server::run(async {
        let answer = |timeout: u32| {
            format!("HTTP/1.1 200 OK\r\nKeep-Alive: timeout={timeout}\r\nContent-Length: 2\r\n\r\nhi")
        };
        let (short, long) = (Server::always(answer(1)).await, Server::always(answer(60)).await);
        let none = Server::always(answer(0)).await;
        let fetcher = fetcher();
        for server in [&short, &long, &none] {
            server.get("/").from(&fetcher).await.unwrap();
        }
        assert_eq!(fetcher.idle_connections(), 2);
        // Half of its second is left to the host. It is a time that the fetcher keeps, on the clock.
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert!(!short.get("/").from(&fetcher).await.unwrap().reused);
        assert!(long.get("/").from(&fetcher).await.unwrap().reused);
        assert_eq!((short.connections.get(), long.connections.get()), (2, 1));
    });
}

#[test]
fn fetchers_share_what_may_be_idle() {
    crate::server::run(async {
        let descriptors = Descriptors::with_most_idle(4);
        let of = || fetcher_with(FetcherOptions { descriptors: descriptors.clone(), ..private() });
        let (one, other) = (of(), of());
        for _ in 0..4 {
            let server = Server::always(ok("x")).await;
            server.get("/").from(&one).await.unwrap();
            server.get("/").from(&other).await.unwrap();
        }
        assert_eq!((one.idle_connections(), other.idle_connections()), (2, 2));
    });
}

#[test]
fn a_connection_closed_while_idle_is_replaced_without_a_trace() {
    crate::server::run(async {
        let closed = Rc::new(Notify::new());
        let signal = closed.clone();
        let server = Server::start(move |mut peer| {
            let signal = signal.clone();
            async move {
                peer.request().await;
                peer.send(&ok("one")).await;
                drop(peer);
                signal.notify_one();
            }
        })
        .await;
        let fetcher = fetcher();
        server.get("/a").from(&fetcher).await.unwrap();
        closed.notified().await;
        let second = server.get("/b").from(&fetcher).await.unwrap();
        assert!(!second.reused);
        assert_eq!(server.connections.get(), 2);
        assert_eq!(server.requests.borrow().len(), 2);
    });
}

#[test]
fn a_request_that_a_closing_connection_swallowed_is_a_failure_and_not_sent_again() {
    crate::server::run(async {
        // The first connection takes a second request and closes without a byte of an answer.
        let server = Server::start(|mut peer| async move {
            peer.request().await;
            peer.send(&ok("answer")).await;
            peer.request().await;
            if peer.number > 0 {
                peer.hang().await;
            }
        })
        .await;
        let fetcher = fetcher();
        server.get("/a").from(&fetcher).await.unwrap();
        let second = server.get("/b").from(&fetcher).await.unwrap_err();
        assert!(matches!(second.kind, FetchFailure::Stale(_)), "{:?}", second.kind);
        assert_eq!(server.requests.borrow().len(), 2, "the host has seen it once");
        // Whoever asks again gets a new connection.
        let third = server.get("/b").from(&fetcher).await.unwrap();
        assert!(!third.reused);
        assert_eq!(server.connections.get(), 2);
    });
}

#[test]
fn a_new_connection_that_closes_without_an_answer_is_a_failure_and_no_second_request() {
    crate::server::run(async {
        let server = Server::start(|mut peer| async move {
            peer.request().await;
        })
        .await;
        let error = server.get("/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "reset");
        assert_eq!(server.requests.borrow().len(), 1);
    });
}

#[test]
fn the_oldest_idle_connections_give_way() {
    crate::server::run(async {
        let fetcher =
            fetcher_with(FetcherOptions { descriptors: Descriptors::with_most_idle(2), ..private() });
        let mut servers = Vec::new();
        for _ in 0..4 {
            let server = Server::always(ok("x")).await;
            server.get("/").from(&fetcher).await.unwrap();
            servers.push(server);
        }
        assert_eq!(fetcher.idle_connections(), 2);
        assert!(servers[3].get("/").from(&fetcher).await.unwrap().reused);
        assert!(!servers[0].get("/").from(&fetcher).await.unwrap().reused);
    });
}

#[test]
fn idle_connections_are_closed_after_a_while_even_if_nothing_is_fetched() {
    crate::server::run(async {
        let gone = Rc::new(Notify::new());
        let signal = gone.clone();
        let server = Server::start(move |mut peer| {
            let signal = signal.clone();
            async move {
                peer.request().await;
                peer.send(&ok("x")).await;
                peer.hang().await;
                signal.notify_one();
            }
        })
        .await;
        let fetcher = fetcher_with(FetcherOptions { idle_timeout: Duration::from_millis(50), ..private() });
        server.get("/").from(&fetcher).await.unwrap();
        tokio::time::timeout(PATIENCE, gone.notified()).await.unwrap();
        assert_eq!(fetcher.idle_connections(), 0);
    });
}

#[test]
fn a_fetch_that_is_given_up_closes_its_connection() {
    crate::server::run(async {
        let gone = Rc::new(Notify::new());
        let signal = gone.clone();
        let server = Server::start(move |mut peer| {
            let signal = signal.clone();
            async move {
                peer.request().await;
                peer.hang().await;
                signal.notify_one();
            }
        })
        .await;
        let fetcher = fetcher();
        let get = server.get("/");
        let given_up = tokio::time::timeout(Duration::from_millis(100), get.from(&fetcher)).await;
        assert!(given_up.is_err());
        tokio::time::timeout(PATIENCE, gone.notified()).await.unwrap();
    });
}

#[test]
fn an_address_that_refuses_is_passed_over_for_the_next() {
    run_counting(|server| async move {
        let mut get = server.get("/");
        get.addresses = vec!["127.0.0.2".parse().unwrap(), "127.0.0.1".parse().unwrap()];
        let fetched = get.from(&fetcher()).await.unwrap();
        assert_eq!(fetched.address, server.address);
    });
}
