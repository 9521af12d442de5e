//! A start that asks again: what was unreachable or left alone before it, and URLs that have ended.

use crate::owner::{Asked, JOB, Owner, robots_txt, settings, spec};
use crate::{HOUR, SECOND};
use argiope_frontier::{Again, Completion, LastStop};
use argiope_model::JobSpec;
use argiope_politeness::AnswerResult;

/// robots.txt of the host of the next request fails until its host is left alone.
fn fail_robots(owner: &mut Owner) {
    for _ in 0..3 {
        let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
        owner.answer_robots(robots.token, robots_txt(503, ""));
    }
}

#[test]
fn a_new_start_asks_at_once_for_a_robots_txt_that_was_unreachable_and_keeps_the_delay() {
    let careful = JobSpec { respect_robots: true, delay: Some(10 * SECOND), ..spec() };
    let mut owner = Owner::new(&careful);
    owner.add(&["http://a.test/"]);
    fail_robots(&mut owner);
    let failed_at = owner.now;
    assert_eq!(owner.wait(), Some(failed_at + HOUR));
    owner.restart(&careful, LastStop::Clean, SECOND);
    owner.frontier.forget_robots_failures(&owner.state, owner.now).unwrap();
    let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
    // No earlier than the delay allows, and no later.
    assert!(owner.now >= failed_at + 10 * SECOND && owner.now < failed_at + 11 * SECOND, "{:?}", owner.now);
    // This one failed in the new process: it is remembered.
    owner.answer_robots(robots.token, robots_txt(503, ""));
    for _ in 0..2 {
        let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
        owner.answer_robots(robots.token, robots_txt(503, ""));
    }
    assert_eq!(owner.wait(), Some(owner.now + HOUR));
}

#[test]
fn a_new_start_has_urls_due_that_were_put_off_for_a_robots_txt_and_leaves_retries_alone() {
    let careful = JobSpec { respect_robots: true, ..spec() };
    let mut owner = Owner::new(&careful);
    owner.add(&["http://a.test/1", "https://a.test/", "http://a.test/2"]);
    let Asked::Robots(http) = owner.ask_later() else { panic!("no robots.txt") };
    owner.answer_robots(http.token, robots_txt(200, ""));
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    owner.answer(page.token, AnswerResult::Status(503));
    owner.complete(page.token, Completion::Retry { due: owner.now + HOUR });
    fail_robots(&mut owner);
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    assert_eq!(page.visit.url.as_str(), "http://a.test/2");
    owner.page(page.token);
    assert_eq!(owner.frontier.progress(JOB).unwrap().delayed, 2);
    owner.restart(&careful, LastStop::Clean, SECOND);
    owner.frontier.forget_robots_failures(&owner.state, owner.now).unwrap();
    assert_eq!(owner.frontier.progress(JOB).unwrap().delayed, 1);
    let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
    assert_eq!(robots.request.origin.as_str(), "https://a.test/");
    owner.answer_robots(robots.token, robots_txt(200, ""));
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    assert_eq!(page.visit.url.as_str(), "https://a.test/");
}

#[test]
fn a_changed_setting_holds_for_a_robots_txt_that_is_unreachable_already() {
    let careful = JobSpec { respect_robots: true, ..spec() };
    let mut owner = Owner::new(&careful);
    owner.add(&["http://a.test/"]);
    fail_robots(&mut owner);
    let failed_at = owner.now;
    assert_eq!(owner.wait(), Some(failed_at + HOUR));
    // The host answers slowly, and is asked more slowly: that wait ends first.
    owner.now = owner.now + 10 * SECOND;
    owner.frontier.set_politeness(settings(r#"{"robots": {"unreachable_for": "60s"}}"#), owner.now);
    assert_eq!(owner.wait(), Some(failed_at + 60 * SECOND));
    owner.frontier.set_politeness(settings(r#"{"robots": {"unreachable": "allow"}}"#), owner.now);
    assert_eq!(owner.fetch().visit.url.as_str(), "http://a.test/");
}

#[test]
fn forgotten_failures_open_a_host_that_was_left_alone() {
    let mut owner = Owner::new(&spec());
    let urls: Vec<String> = (0..6).map(|n| format!("http://a.test/{n}")).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    for _ in 0..5 {
        let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
        owner.answer(page.token, AnswerResult::Status(500));
        owner.complete(page.token, Completion::Done { counted: true });
    }
    assert!(owner.wait() >= Some(owner.now + 50 * SECOND));
    owner.restart(&spec(), LastStop::Clean, SECOND);
    assert!(owner.wait() >= Some(owner.now + 50 * SECOND));
    owner.frontier.forget_failures(owner.now);
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    assert_eq!(page.visit.url.as_str(), "http://a.test/5");
}

fn again(visit: &argiope_model::Visit, number: u64, counted: bool) -> Again {
    Again { visit: argiope_model::Visit { attempt: 0, hops: Vec::new(), ..visit.clone() }, number, counted }
}

#[test]
fn a_url_that_has_ended_is_queued_again_once_however_often_it_is_said() {
    let mut owner = Owner::new(&spec());
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let failed = owner.fetch();
    owner.answer(failed.token, AnswerResult::Status(404));
    owner.complete(failed.token, Completion::Done { counted: false });
    for expected in [true, false] {
        owner.apply();
        let put = owner.frontier.requeue(&owner.state, &again(&failed.visit, 7, false), owner.now).unwrap();
        assert_eq!(put, Some(expected));
    }
    // The process is killed and does it over.
    owner.restart(&spec(), LastStop::Clean, SECOND);
    let put = owner.frontier.requeue(&owner.state, &again(&failed.visit, 7, false), owner.now).unwrap();
    assert_eq!(put, Some(false));
    assert_eq!(owner.frontier.progress(JOB).unwrap().queued, 2);
    let mut urls = Vec::new();
    for _ in 0..2 {
        let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
        urls.push(page.visit.url.as_str().to_owned());
        owner.page(page.token);
    }
    assert_eq!(urls, ["http://a.test/1", "http://a.test/2"]);
    let progress = owner.frontier.progress(JOB).unwrap();
    assert!(progress.is_finished());
    assert_eq!((progress.pages, progress.done), (2, 2));
}

#[test]
fn a_retried_page_returns_its_part_of_the_budget() {
    let limited = JobSpec { max_pages: Some(1), max_pages_per_domain: Some(1), ..spec() };
    let mut owner = Owner::new(&limited);
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let page = owner.fetch();
    owner.page(page.token);
    assert!(owner.frontier.progress(JOB).unwrap().budget_spent);
    owner.apply();
    let put = owner.frontier.requeue(&owner.state, &again(&page.visit, 1, true), owner.now).unwrap();
    assert_eq!(put, Some(true));
    assert!(!owner.frontier.progress(JOB).unwrap().budget_spent);
    let repeated = owner.fetch();
    assert_eq!(repeated.visit.url.as_str(), "http://a.test/1");
    owner.page(repeated.token);
    assert_eq!(owner.pages(), 1);
}
