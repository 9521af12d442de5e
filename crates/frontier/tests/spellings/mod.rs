//! One URL in several spellings, and one host with two schemes.

use crate::owner::{Asked, JOB, Owner, robots_txt, spec};
use crate::{HOUR, SECOND};
use argiope_frontier::{Completion, Discovery, Found, LastStop, Refused};
use argiope_model::{JobSpec, NormalRules, RequestKind, SkipReason, Url, WaitReason};
use argiope_politeness::AnswerResult;

fn offer(owner: &mut Owner, urls: &[&str]) -> Vec<Refused> {
    let found = urls.iter().map(|text| {
        let url = Url::parse(text, &NormalRules::default()).unwrap();
        let fingerprint = owner.frontier.fingerprint(&url, 0);
        Found { url, fingerprint, priority: 50, kind: RequestKind::Page, previous: None }
    });
    let discovery =
        Discovery { job: JOB, round: 0, depth: 0, source: None, found: found.collect(), not_before: None };
    owner.frontier.discover(discovery, owner.now).0
}

fn merged(refused: &[Refused]) -> Vec<(&str, &str)> {
    assert!(refused.iter().all(|one| one.skip.reason == SkipReason::Merged), "{refused:?}");
    refused.iter().map(|one| (one.url.as_str(), one.skip.detail.as_str())).collect()
}

#[test]
fn a_url_is_merged_only_with_another_spelling_and_told_once() {
    let mut owner = Owner::new(&spec());
    let first = ["http://a.test/x?ref=1", "http://a.test/y", "http://a.test/z?utm_source=same"];
    assert!(offer(&mut owner, &first).is_empty());
    // The same again is no other spelling, and neither is another order.
    let same = ["http://a.test/z?utm_source=same", "http://a.test/y", "http://a.test//y"];
    assert!(offer(&mut owner, &same).is_empty());
    let others = [
        "http://a.test/x?ref=2",
        "http://a.test/x",
        "http://a.test/y?source=1&ref=2",
        "http://a.test/x?ref=1",
    ];
    let refused = offer(&mut owner, &others);
    let expected = [
        ("http://a.test/x?ref=2", "ref"),
        ("http://a.test/x", ""),
        ("http://a.test/y?source=1&ref=2", "source ref"),
    ];
    assert_eq!(merged(&refused), expected);
    assert!(offer(&mut owner, &others).is_empty(), "told before");
    assert_eq!(owner.frontier.progress(JOB).unwrap().queued, 3);
    owner.restart(&spec(), LastStop::Clean, SECOND);
    assert!(offer(&mut owner, &others).is_empty(), "told by the process before");
    let refused = offer(&mut owner, &["http://a.test/z", "http://a.test/y?ref=3"]);
    assert_eq!(merged(&refused), [("http://a.test/z", ""), ("http://a.test/y?ref=3", "ref")]);
}

#[test]
fn a_spelling_that_robots_txt_forbids_does_not_stand_for_one_that_it_allows() {
    let careful = JobSpec { respect_robots: true, ..spec() };
    let mut owner = Owner::new(&careful);
    offer(&mut owner, &["http://a.test/"]);
    let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
    let rules = "User-agent: *\nDisallow: /*utm_\nDisallow: /no//go\nDisallow: /secret";
    owner.answer_robots(robots.token, robots_txt(200, rules));
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    let links = [
        "http://a.test/no//go",
        "http://a.test/art?utm_source=x",
        "http://a.test/no/go",
        "http://a.test/art",
    ];
    let refused = offer(&mut owner, &links);
    let told: Vec<_> = refused.iter().map(|one| (one.url.as_str(), one.skip.reason)).collect();
    assert_eq!(told, [(links[0], SkipReason::RobotsDisallowed), (links[1], SkipReason::RobotsDisallowed)]);
    assert!(refused[1].skip.detail.contains("Disallow: /*utm_"), "{refused:?}");
    assert!(offer(&mut owner, &links).is_empty(), "told before");
    owner.page(page.token);
    for expected in ["http://a.test/no/go", "http://a.test/art"] {
        let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
        assert_eq!(page.visit.url.as_str(), expected);
        owner.page(page.token);
    }
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
}

/// `https://a.test/` has no robots.txt to be had, and a page of `http://a.test/` waits for its retry.
fn half_dead() -> (JobSpec, Owner) {
    let careful = JobSpec { respect_robots: true, ..spec() };
    let mut owner = Owner::new(&careful);
    owner.add(&["http://a.test/flaky", "https://a.test/secure"]);
    let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
    owner.answer_robots(robots.token, robots_txt(404, ""));
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    assert_eq!(page.visit.url.as_str(), "http://a.test/flaky");
    owner.answer(page.token, AnswerResult::Status(503));
    owner.complete(page.token, Completion::Retry { due: owner.now + 60 * SECOND });
    for _ in 0..3 {
        let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
        assert_eq!(robots.request.origin.as_str(), "https://a.test/");
        owner.answer_robots(robots.token, robots_txt(503, ""));
    }
    (careful, owner)
}

fn expect_flaky(owner: &mut Owner) {
    match owner.ask_later() {
        Asked::Robots(robots) => {
            assert_eq!(robots.request.origin.as_str(), "http://a.test/");
            owner.answer_robots(robots.token, robots_txt(404, ""));
            expect_flaky(owner);
        }
        Asked::Fetch(page) => assert_eq!(page.visit.url.as_str(), "http://a.test/flaky"),
        other => panic!("no fetch: {other:?}"),
    }
}

#[test]
fn a_retry_does_not_wait_for_the_robots_txt_of_the_other_scheme() {
    let (_, mut owner) = half_dead();
    let began = owner.now;
    expect_flaky(&mut owner);
    assert!(owner.now < began + HOUR / 2, "{:?} after {began:?}", owner.now);
}

#[test]
fn nor_does_it_after_a_restart() {
    let (careful, mut owner) = half_dead();
    owner.restart(&careful, LastStop::Clean, SECOND);
    let began = owner.now;
    expect_flaky(&mut owner);
    assert!(owner.now < began + HOUR / 2, "{:?} after {began:?}", owner.now);
}

#[test]
fn what_blocks_a_url_is_its_own_origin() {
    let (_, mut owner) = half_dead();
    owner.wait();
    let key = owner.frontier.queue_at(JOB, "a.test").unwrap().host;
    let block_of = |owner: &mut Owner, text: &str| {
        let url = Url::from_stored(text).unwrap();
        let now = owner.now;
        owner.frontier.block_of(key, &url, now).map(|(reason, _)| reason)
    };
    assert_eq!(block_of(&mut owner, "https://a.test/secure"), Some(WaitReason::RobotsUnreachable));
    assert_eq!(block_of(&mut owner, "http://a.test/flaky"), None);
}
