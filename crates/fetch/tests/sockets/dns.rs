//! The resolver against a DNS server of a few lines.

use crate::server::run;
use argiope_fetch::{DnsError, Fault, Resolver, ResolverOptions};
use argiope_model::Millis;
use std::cell::Cell;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::UdpSocket;
use tokio::runtime::Handle;

#[derive(Clone, Copy, PartialEq)]
enum Say {
    Address([u8; 4], u32),
    NoAddress,
    NxDomain { negative_ttl: u32 },
    ServFail,
    Nothing,
}

struct NameServer {
    address: SocketAddr,
    questions: Rc<Cell<usize>>,
}

const TYPE_A: u16 = 1;

impl NameServer {
    /// Answers questions for A as told, all others with no data.
    async fn start(say: impl Fn(&str) -> Say + 'static) -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let server = NameServer { address: socket.local_addr().unwrap(), questions: Rc::default() };
        let questions = server.questions.clone();
        tokio::task::spawn_local(async move {
            let mut buffer = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
                questions.set(questions.get() + 1);
                if let Some(answer) = answer(&buffer[..length], &say) {
                    let _ = socket.send_to(&answer, from).await;
                }
            }
        });
        server
    }
}

fn answer(query: &[u8], say: &impl Fn(&str) -> Say) -> Option<Vec<u8>> {
    let mut name = String::new();
    let mut at = 12;
    while query[at] != 0 {
        let length = usize::from(query[at]);
        name.push_str(std::str::from_utf8(&query[at + 1..=at + length]).unwrap());
        name.push('.');
        at += length + 1;
    }
    let question = &query[12..at + 5];
    let kind = u16::from_be_bytes([query[at + 1], query[at + 2]]);
    let mut said = say(name.trim_end_matches('.'));
    if kind != TYPE_A && matches!(said, Say::Address(..)) {
        said = Say::NoAddress;
    }
    let (code, answers, authorities) = match said {
        Say::Nothing => return None,
        Say::Address(..) => (0, 1, 0),
        Say::NoAddress => (0, 0, 1),
        Say::NxDomain { .. } => (3, 0, 1),
        Say::ServFail => (2, 0, 0),
    };
    let mut message = vec![query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, answers, 0, authorities, 0, 0];
    message.extend_from_slice(question);
    match said {
        Say::Address(octets, ttl) => {
            message.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1]);
            message.extend_from_slice(&ttl.to_be_bytes());
            message.extend_from_slice(&[0, 4]);
            message.extend_from_slice(&octets);
        }
        Say::NxDomain { .. } | Say::NoAddress => {
            let ttl: u32 = if let Say::NxDomain { negative_ttl } = said { negative_ttl } else { 120 };
            // An SOA of the root, whose minimum is the negative TTL.
            message.extend_from_slice(&[0, 0, 6, 0, 1]);
            message.extend_from_slice(&ttl.to_be_bytes());
            message.extend_from_slice(&[0, 22, 0, 0]);
            for number in [1, 2, 3, 4, ttl] {
                message.extend_from_slice(&u32::to_be_bytes(number));
            }
        }
        Say::ServFail | Say::Nothing => {}
    }
    Some(message)
}

fn options(servers: &[&NameServer]) -> ResolverOptions {
    ResolverOptions {
        resolvers: servers.iter().map(|server| server.address).collect(),
        timeout: Duration::from_millis(200),
        attempts: 1,
        ..ResolverOptions::default()
    }
}

fn resolver(servers: &[&NameServer]) -> Resolver {
    Resolver::new(options(servers), Handle::current()).unwrap()
}

fn now() -> Millis {
    Millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64)
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn an_answer_is_cached_for_its_ttl_after_one_query() {
    run(async {
        let server = NameServer::start(|_| Say::Address([192, 0, 2, 7], 600)).await;
        let resolver = resolver(&[&server]);
        assert!(resolver.cached("site.test").is_none());
        let before = now();
        let first = resolver.resolve("site.test").await.unwrap();
        assert_eq!(*first.addresses, [address("192.0.2.7")]);
        assert!(
            first.expires >= before + Duration::from_secs(599)
                && first.expires <= now() + Duration::from_secs(600)
        );
        assert!(first.dns_us > 0);
        let second = resolver.resolve("site.test").await.unwrap();
        assert_eq!((second.addresses, second.dns_us), (first.addresses, 0));
        assert_eq!(server.questions.get(), 1);
        assert!(resolver.cached("site.test").is_some());
    });
}

#[test]
fn a_long_time_to_live_is_cut_to_an_hour() {
    run(async {
        let server = NameServer::start(|_| Say::Address([192, 0, 2, 7], 86_400)).await;
        let resolved = resolver(&[&server]).resolve("site.test").await.unwrap();
        assert!(resolved.expires <= now() + Duration::from_secs(3600));
    });
}

#[test]
fn many_who_ask_at_once_cause_one_question() {
    run(async {
        let server = NameServer::start(|_| Say::Address([192, 0, 2, 7], 60)).await;
        let resolver = resolver(&[&server]);
        let asking: Vec<_> = (0..50)
            .map(|_| {
                let resolver = resolver.clone();
                tokio::task::spawn_local(async move { resolver.resolve("busy.test").await })
            })
            .collect();
        // One who gives up takes nothing from the others.
        asking[0].abort();
        for task in asking.into_iter().skip(1) {
            assert_eq!(*task.await.unwrap().unwrap().addresses, [address("192.0.2.7")]);
        }
        assert_eq!(server.questions.get(), 1);
    });
}

#[test]
fn a_host_that_does_not_exist_is_remembered_for_its_negative_ttl() {
    run(async {
        let server = NameServer::start(|_| Say::NxDomain { negative_ttl: 90 }).await;
        let resolver = resolver(&[&server]);
        let error = resolver.resolve("gone.test").await.unwrap_err();
        let DnsError::NxDomain { retry_at } = error else { panic!("{error}") };
        assert!(retry_at > now() + Duration::from_secs(80) && retry_at <= now() + Duration::from_secs(90));
        assert_eq!(error.fault(), Fault::Host);
        let asked = server.questions.get();
        assert_eq!(resolver.resolve("gone.test").await.unwrap_err(), error);
        assert_eq!(server.questions.get(), asked);
    });
}

#[test]
fn a_host_without_address_is_no_failure_of_the_resolver() {
    run(async {
        let server = NameServer::start(|_| Say::NoAddress).await;
        let error = resolver(&[&server]).resolve("mail-only.test").await.unwrap_err();
        assert!(matches!(error, DnsError::NoAddress { .. }), "{error}");
        assert_eq!(error.fault(), Fault::Host);
        assert_eq!(server.questions.get(), 2, "both families are asked for");
    });
}

#[test]
fn the_backup_is_asked_when_the_first_fails_and_only_then() {
    run(async {
        let failing = NameServer::start(|name| match name {
            "good.test" => Say::Address([192, 0, 2, 1], 60),
            "gone.test" => Say::NxDomain { negative_ttl: 60 },
            "silent.test" => Say::Nothing,
            _ => Say::ServFail,
        })
        .await;
        let backup = NameServer::start(|_| Say::Address([192, 0, 2, 2], 60)).await;
        let resolver = resolver(&[&failing, &backup]);
        assert_eq!(*resolver.resolve("good.test").await.unwrap().addresses, [address("192.0.2.1")]);
        assert!(resolver.resolve("gone.test").await.is_err());
        assert_eq!(backup.questions.get(), 0);
        assert_eq!(*resolver.resolve("broken.test").await.unwrap().addresses, [address("192.0.2.2")]);
        assert_eq!(*resolver.resolve("silent.test").await.unwrap().addresses, [address("192.0.2.2")]);
    });
}

#[test]
fn failures_of_all_resolvers_are_theirs_and_not_remembered() {
    run(async {
        let broken = NameServer::start(|_| Say::ServFail).await;
        let resolver = resolver(&[&broken]);
        let error = resolver.resolve("site.test").await.unwrap_err();
        assert!(matches!(error, DnsError::ServFail(_)), "{error:?}");
        assert_eq!(error.fault(), Fault::Resolver);
        let asked = broken.questions.get();
        assert!(resolver.resolve("site.test").await.is_err());
        assert!(broken.questions.get() > asked);
        let silent = NameServer::start(|_| Say::Nothing).await;
        let error = self::resolver(&[&silent]).resolve("site.test").await.unwrap_err();
        assert_eq!(error, DnsError::Timeout);
    });
}

#[test]
fn overrides_literals_and_localhost_need_no_query() {
    run(async {
        let server = NameServer::start(|_| Say::ServFail).await;
        let overrides =
            HashMap::from([("Pinned.Test".to_owned(), vec![address("192.0.2.9"), address("2001:db8::9")])]);
        let resolver =
            Resolver::new(ResolverOptions { overrides, ..options(&[&server]) }, Handle::current()).unwrap();
        for (name, expected) in [
            ("pinned.test", vec!["192.0.2.9", "2001:db8::9"]),
            ("192.0.2.5", vec!["192.0.2.5"]),
            ("[2001:db8::5]", vec!["2001:db8::5"]),
            ("localhost", vec!["127.0.0.1", "::1"]),
            ("app.localhost", vec!["127.0.0.1", "::1"]),
        ] {
            let expected: Vec<IpAddr> = expected.into_iter().map(address).collect();
            assert_eq!(*resolver.resolve(name).await.unwrap().addresses, *expected, "{name}");
            assert!(resolver.cached(name).is_some());
        }
        assert_eq!(server.questions.get(), 0);
    });
}

#[test]
fn a_name_that_dns_cannot_hold_is_the_hosts_fault() {
    run(async {
        let server = NameServer::start(|_| Say::Address([192, 0, 2, 1], 60)).await;
        let resolver = resolver(&[&server]);
        for name in
            [format!("{}.test", "a".repeat(64)), "a..test".to_owned(), format!("{}test", "ab.".repeat(100))]
        {
            let error = resolver.resolve(&name).await.unwrap_err();
            assert_eq!((error.clone(), error.fault()), (DnsError::InvalidName, Fault::Host), "{name}");
        }
        assert!(resolver.resolve("under_score.test").await.is_ok());
    });
}

#[test]
fn the_probe_tells_an_answering_resolver_from_a_silent_or_cut_off_one() {
    run(async {
        let up = NameServer::start(|_| Say::NoAddress).await;
        let silent = NameServer::start(|_| Say::Nothing).await;
        let cut_off = NameServer::start(|_| Say::ServFail).await;
        assert!(resolver(&[&up]).probe().await);
        assert!(resolver(&[&silent, &up]).probe().await);
        assert!(!resolver(&[&silent]).probe().await);
        assert!(!resolver(&[&cut_off]).probe().await);
    });
}
