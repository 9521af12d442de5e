//! A process that runs out of file descriptors, so it is a process of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

#[allow(dead_code, reason = "shared with the other tests")]
#[path = "sockets/server.rs"]
mod server;

use argiope_fetch::{Descriptors, FetcherOptions, ProfileOptions, RequestProfile};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use server::{Get, Server, fetcher_with, ok, private};
use std::fs::File;
use std::time::Duration;

fn limit_files(to: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(to), maximum }).unwrap();
}

/// Opens files until no more can be opened.
fn take_all() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[test]
fn idle_connections_are_closed_when_descriptors_run_out() {
    limit_files(200);
    server::run(async {
        let descriptors = Descriptors::with_most_idle(1000);
        let of = || fetcher_with(FetcherOptions { descriptors: descriptors.clone(), ..private() });
        let (one, other) = (of(), of());
        // The servers are in this process too: with them each connection takes two descriptors.
        let mut servers = Vec::new();
        for _ in 0..20 {
            let server = Server::always(ok("x")).await;
            server.get("/").from(&one).await.unwrap();
            servers.push(server);
        }
        let last = Server::always(ok("last")).await;
        let mut files = take_all();
        assert!(files.len() > 50);
        // Its own idle connections make room.
        assert_eq!(last.get("/").from(&one).await.unwrap().body, "last");
        let left = one.idle_connections();
        assert!(left < 20, "{left} are idle");
        assert!(descriptors.most_idle() <= 16, "{descriptors:?}");
        // So do those of another fetcher.
        files.extend(take_all());
        assert_eq!(last.get("/").from(&other).await.unwrap().body, "last");
        assert!(one.idle_connections() < left);
        // And for a connection to a proxy.
        files.extend(take_all());
        let proxy =
            ProfileOptions { proxy: Some(format!("http://{}", last.address)), ..ProfileOptions::default() };
        let mut get = Get::new("http://site.test/");
        get.profile = RequestProfile::new(&proxy).unwrap();
        assert_eq!(get.from(&one).await.unwrap().body, "last");
        drop(files);
        // With descriptors to spare all is as before.
        assert!(!servers[0].get("/").from(&one).await.unwrap().reused);
        assert!(servers[0].get("/").from(&one).await.unwrap().reused);
        // Where nothing can be closed the request waits until its time is over, and says what it waited for.
        drop((one, other));
        let none_idle = Descriptors::with_most_idle(0);
        let alone = fetcher_with(FetcherOptions { descriptors: none_idle, ..private() });
        let mut files = Vec::new();
        let mut failures = Vec::new();
        for _ in 0..20 {
            // The servers' side of what was closed is freed a little later: until then the request may get through.
            files.extend(take_all());
            let got = last.get("/").within(Duration::from_millis(300)).from(&alone).await;
            failures.extend(got.err());
            if failures.last().is_some_and(|failure| failure.kind.is_out_of_descriptors()) {
                break;
            }
        }
        assert!(failures.iter().any(|failure| failure.kind.is_out_of_descriptors()), "{failures:?}");
    });
}
