//! Through a proxy: absolute form for http, a tunnel for https.

use crate::server::{Get, Server, fetcher, fetcher_with, ok, run};
use argiope_fetch::{FetcherOptions, ProfileOptions, RequestProfile};

fn by_proxy(server: &Server, credentials: &str, url: &str) -> Get {
    let options = ProfileOptions {
        proxy: Some(format!("http://{credentials}{}", server.address)),
        ..ProfileOptions::default()
    };
    Get { profile: RequestProfile::new(&options).unwrap(), ..Get::new(url) }
}

#[test]
fn http_goes_to_the_proxy_in_absolute_form_over_a_kept_connection() {
    run(async {
        let proxy = Server::always(ok("from the proxy")).await;
        let mut get = by_proxy(&proxy, "user:secret@", "http://site.test/page?x=1");
        // The host's own address is public; the proxy's is private, which is the operator's business.
        get.addresses = vec!["93.184.216.34".parse().unwrap()];
        let fetcher = fetcher_with(FetcherOptions::default());
        for _ in 0..2 {
            let fetched = get.from(&fetcher).await.unwrap();
            assert_eq!(fetched.body, "from the proxy");
            assert_eq!(fetched.address, proxy.address);
            let seen = proxy.requests.borrow().last().unwrap().clone();
            assert!(
                seen.starts_with("GET http://site.test/page?x=1 HTTP/1.1\r\nHost: site.test\r\n"),
                "{seen}"
            );
            assert!(seen.contains("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"));
            // What is archived has no credentials of the proxy in it.
            let kept = String::from_utf8(fetched.request_head.to_vec()).unwrap();
            assert_eq!(kept, seen.replace("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n", ""));
        }
        assert_eq!(proxy.connections.get(), 1);
    });
}

#[test]
fn a_proxy_is_no_way_around_the_address_guard() {
    run(async {
        let proxy = Server::always(ok("x")).await;
        let mut get = by_proxy(&proxy, "", "http://internal.test/");
        get.addresses = vec!["10.0.0.1".parse().unwrap()];
        let error = get.from(&fetcher_with(FetcherOptions::default())).await.unwrap_err();
        assert_eq!(error.kind.word(), "private_address");
        assert_eq!(proxy.connections.get(), 0);
    });
}

#[test]
fn a_refused_tunnel_is_said() {
    run(async {
        let proxy = Server::once("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
        let error = by_proxy(&proxy, "", "https://site.test/").from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "proxy");
        assert!(error.to_string().contains("407"), "{error}");
        assert!(
            proxy.requests.borrow()[0]
                .starts_with("CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n")
        );
    });
}

#[test]
fn a_proxy_that_asks_for_a_password_is_no_answer_of_the_site() {
    run(async {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
        let proxy = Server::always(refusal).await;
        let place = format!("http://{}", proxy.address);
        for (credentials, told) in
            [("", "asks for a user and password"), ("me:you@", "does not accept the user and password")]
        {
            for url in ["http://site.test/robots.txt", "https://site.test/"] {
                let error = by_proxy(&proxy, credentials, url).from(&fetcher()).await.unwrap_err();
                assert_eq!(error.kind.word(), "proxy");
                assert_eq!(error.to_string(), format!("proxy: {place} {told} (407)"));
            }
        }
        let url = format!("http://{}/", proxy.address);
        let site = Get::new(&url).from(&fetcher()).await.unwrap();
        assert_eq!(site.status, 407, "without a proxy it is the answer of the site");
    });
}

#[test]
fn a_proxy_that_is_not_there_is_said() {
    run(async {
        let options = ProfileOptions { proxy: Some("http://[::1]:1".into()), ..ProfileOptions::default() };
        let get = Get { profile: RequestProfile::new(&options).unwrap(), ..Get::new("http://site.test/") };
        let error = get.from(&fetcher()).await.unwrap_err();
        assert_eq!(error.kind.word(), "proxy");
        assert_eq!(error.to_string(), "proxy: [::1]:1: connection refused");
    });
}
