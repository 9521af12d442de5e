//! The frontier's decisions, one by one, through its public face.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

mod owner;
mod recrawls;
mod reruns;
mod shards;
mod spellings;

use argiope_frontier::{
    Activity, Completion, Disposition, FrontierConfig, JobLimits, LastStop, Notice, RobotsAnswered, Step,
    Token, Unresolved,
};
use argiope_model::{FailureKind, JobId, JobSpec, Millis, NewUrlRate, SkipReason, WaitReason};
use argiope_politeness::{AnswerResult, PolitenessRules, RobotsAnswer};
use owner::{Asked, JOB, Owner, START, robots_txt, settings, spec, url};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const TIMEOUT: AnswerResult = AnswerResult::Failed(FailureKind::Timeout);

#[test]
fn a_redirect_goes_on_at_the_head_of_its_target_and_does_not_ask_the_seen_set() {
    let mut owner = Owner::new(&spec());
    owner.add(&["http://b.test/1", "http://b.test/2"]);
    let first = owner.fetch();
    assert_eq!(first.visit.url.as_str(), "http://b.test/1");
    owner.add(&["http://a.test/"]);
    let origin = owner.fetch();
    owner.answer(origin.token, AnswerResult::Status(302));
    // The target has been fetched already, and another URL waits there.
    owner.page(first.token);
    owner.complete(origin.token, Completion::Redirect { to: url("http://b.test/1"), status: 302 });
    let hop = owner.fetch();
    assert_eq!(hop.visit.url.as_str(), "http://b.test/1");
    assert_eq!(hop.visit.scheduled_url().as_str(), "http://a.test/");
    assert_eq!(hop.visit.hops[0].status, 302);
    owner.page(hop.token);
    let last = owner.fetch();
    assert_eq!(last.visit.url.as_str(), "http://b.test/2");
    owner.page(last.token);
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
}

#[test]
fn no_more_pages_than_wanted_are_fetched_and_what_fails_gives_its_page_back() {
    let mut owner = Owner::new(&JobSpec { max_pages: Some(2), ..spec() });
    owner.add(&["http://a.test/", "http://b.test/"]);
    let (a, b) = (owner.fetch(), owner.fetch());
    // These come when all pages are promised.
    owner.add(&["http://c.test/", "http://d.test/"]);
    owner.wait();
    assert_eq!(owner.answer(a.token, TIMEOUT), Disposition::Hold);
    // Asked for after that, so that its answer says whose failure it was.
    owner.now = owner.now + SECOND;
    owner.page(b.token);
    assert!(matches!(owner.ask(), Asked::Release(token) if token == a.token));
    owner.complete(a.token, Completion::Retry { due: owner.now + HOUR });
    let c = owner.fetch();
    owner.wait();
    owner.answer(c.token, AnswerResult::Status(500));
    owner.complete(c.token, Completion::Done { counted: false });
    let d = owner.fetch();
    owner.page(d.token);
    assert_eq!(owner.pages(), 2);
    // The retry comes due, and there is nothing left for it.
    owner.now = owner.now + HOUR + SECOND;
    owner.wait();
    assert!(owner.frontier.progress(JOB).unwrap().budget_spent);
}

#[test]
fn a_redirect_keeps_the_page_that_was_promised_to_it() {
    let mut owner = Owner::new(&JobSpec { max_pages: Some(1), ..spec() });
    owner.add(&["http://a.test/", "http://c.test/"]);
    let a = owner.fetch();
    owner.answer(a.token, AnswerResult::Status(301));
    owner.complete(a.token, Completion::Redirect { to: url("http://b.test/"), status: 301 });
    let hop = owner.fetch();
    assert_eq!(hop.visit.url.as_str(), "http://b.test/");
    owner.wait();
    owner.page(hop.token);
    owner.wait();
    assert_eq!(owner.pages(), 1);
}

/// A job of one page, whose first URL led to what is disallowed while another one waits; with the refusal's token.
fn refused_redirect() -> (Owner, Token) {
    let mut owner = Owner::new(&JobSpec { max_pages: Some(1), respect_robots: true, ..spec() });
    owner.add(&["http://a.test/"]);
    let robots = owner.robots();
    owner.answer_robots(robots.token, robots_txt(404, ""));
    let Asked::Fetch(a) = owner.ask_later() else { panic!("no fetch") };
    owner.add(&["http://c.test/"]);
    owner.answer(a.token, AnswerResult::Status(301));
    owner.complete(a.token, Completion::Redirect { to: url("http://b.test/no"), status: 301 });
    let robots = owner.robots();
    assert_eq!(robots.request.url.as_str(), "http://b.test/robots.txt");
    owner.answer_robots(robots.token, robots_txt(200, "User-agent: *\nDisallow: /no"));
    let Asked::Refuse { token, skip, .. } = owner.ask_later() else { panic!("not refused") };
    assert_eq!(skip.reason, SkipReason::RobotsDisallowed);
    (owner, token)
}

#[test]
fn a_redirect_that_is_refused_keeps_its_page_for_the_answer_it_had() {
    let (mut owner, token) = refused_redirect();
    owner.wait();
    owner.complete(token, Completion::Done { counted: true });
    owner.wait();
    assert_eq!(owner.pages(), 1);
    assert!(owner.frontier.progress(JOB).unwrap().budget_spent);
}

#[test]
fn a_redirect_that_is_refused_and_not_counted_gives_its_page_to_another() {
    let (mut owner, token) = refused_redirect();
    owner.complete(token, Completion::Done { counted: false });
    let robots = owner.robots();
    assert_eq!(robots.request.url.as_str(), "http://c.test/robots.txt");
}

#[test]
fn a_host_has_as_many_requests_in_flight_as_it_may() {
    let mut owner = Owner::new(&JobSpec { per_host: Some(3), ..spec() });
    let urls: Vec<String> = (0..6).map(|n| format!("http://a.test/{n}")).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let flights = [owner.fetch(), owner.fetch(), owner.fetch()];
    let mut lanes: Vec<u32> = flights.iter().map(|dispatch| dispatch.lane).collect();
    lanes.sort_unstable();
    assert_eq!(lanes, vec![0, 1, 2]);
    owner.wait();
    owner.page(flights[1].token);
    assert_eq!(owner.fetch().lane, flights[1].lane);
    owner.wait();
}

#[test]
fn hosts_that_share_an_address_wait_for_each_other_in_line() {
    let config = FrontierConfig { per_address: 2, ..FrontierConfig::default() };
    let mut owner = Owner::with(&spec(), config, settings("{}"));
    for name in ["a.test", "b.test", "c.test", "d.test"] {
        owner.names.insert(name.into(), Ok(IpAddr::from([192, 0, 2, 1])));
        owner.add(&[&format!("http://{name}/")]);
    }
    let (a, b) = (owner.fetch(), owner.fetch());
    owner.wait();
    assert_eq!(owner.frontier.overview().at_address, 2);
    owner.page(a.token);
    let c = owner.fetch();
    owner.wait();
    owner.page(b.token);
    let d = owner.fetch();
    assert_eq!((c.visit.url.host(), d.visit.url.host()), ("c.test", "d.test"));
}

/// A host that is woken for a place at its address and has nothing to ask there leaves it to the next.
#[test]
fn a_host_that_does_not_use_its_address_slot_passes_it_on() {
    let config = FrontierConfig { per_address: 1, ..FrontierConfig::default() };
    let mut owner = Owner::with(&spec(), config, settings("{}"));
    let second = JobId(2);
    owner.frontier.open_job(second, JobLimits::of(&spec(), "TestBot"));
    for name in ["a.test", "b.test", "c.test"] {
        owner.names.insert(name.into(), Ok(IpAddr::from([192, 0, 2, 1])));
    }
    owner.add(&["http://a.test/"]);
    let a = owner.fetch();
    owner.add_from(second, None, &[("http://b.test/", 50)]);
    owner.wait();
    owner.add(&["http://c.test/"]);
    owner.wait();
    // b.test is woken, but before it is served its job pauses.
    owner.answer(a.token, AnswerResult::Status(200));
    owner.frontier.set_activity(second, Activity::Paused);
    assert_eq!(owner.fetch().visit.url.host(), "c.test");
}

#[test]
fn an_unreachable_robots_txt_blocks_its_host_and_is_fetched_again() {
    let mut owner = Owner::new(&JobSpec { respect_robots: true, ..spec() });
    owner.add(&["http://a.test/"]);
    for _ in 0..3 {
        let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
        owner.answer_robots(robots.token, robots_txt(503, ""));
    }
    let blocked_at = owner.now;
    let until = owner.wait().unwrap();
    assert_eq!(until, blocked_at + HOUR);
    assert!(owner.frontier.take_notices().iter().any(|n| matches!(n, Notice::RobotsUnreachable { .. })));
    let blocked: Vec<_> = owner.frontier.blocked_hosts(JOB).collect();
    assert_eq!(blocked, vec![("a.test", WaitReason::RobotsUnreachable, until)]);
    assert!(owner.frontier.is_blocked_until(JOB, until));
    owner.now = until;
    let robots = owner.robots();
    owner.answer_robots(robots.token, robots_txt(200, ""));
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    owner.page(page.token);
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
}

#[test]
fn a_robots_txt_that_redirects_to_another_host_is_fetched_there() {
    let mut owner = Owner::new(&JobSpec { respect_robots: true, ..spec() });
    owner.add(&["http://a.test/yes", "http://a.test/no"]);
    let robots = owner.robots();
    owner.answer_robots(robots.token, RobotsAnswered::Redirect(url("https://www.a.test/robots.txt")));
    let robots = owner.robots();
    assert_eq!(robots.request.url.as_str(), "https://www.a.test/robots.txt");
    // Its own host is free, and has to wait all the same.
    owner.wait();
    owner.answer_robots(robots.token, robots_txt(200, "User-agent: *\nDisallow: /no"));
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    assert_eq!(page.visit.url.as_str(), "http://a.test/yes");
    owner.page(page.token);
    let (visit, skip) = owner.refuse();
    assert_eq!((visit.url.as_str(), skip.reason), ("http://a.test/no", SkipReason::RobotsDisallowed));
}

#[test]
fn a_robots_txt_that_redirects_to_nowhere_is_unreachable() {
    let mut owner = Owner::new(&JobSpec { respect_robots: true, ..spec() });
    let missing = Unresolved::NoSuchHost { until: Millis::NEVER, why: "no such name".into() };
    owner.names.insert("gone.test".into(), Err(missing));
    owner.add(&["http://a.test/"]);
    for _ in 0..3 {
        let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
        owner.answer_robots(robots.token, RobotsAnswered::Redirect(url("http://gone.test/robots.txt")));
    }
    let until = owner.wait().unwrap();
    let blocked: Vec<_> = owner.frontier.blocked_hosts(JOB).collect();
    assert_eq!(blocked, vec![("a.test", WaitReason::RobotsUnreachable, until)]);
}

#[test]
fn many_requests_at_once_wait_for_one_robots_txt() {
    let mut owner = Owner::new(&JobSpec { respect_robots: true, per_host: Some(8), ..spec() });
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let robots = owner.robots();
    owner.wait();
    owner.answer_robots(robots.token, robots_txt(200, ""));
    assert!(matches!(owner.ask_later(), Asked::Fetch(_)));
    assert!(matches!(owner.ask_later(), Asked::Fetch(_)));
}

#[test]
fn a_robots_request_that_is_never_heard_of_is_made_again() {
    let mut owner = Owner::new(&JobSpec { respect_robots: true, ..spec() });
    owner.add(&["http://a.test/"]);
    let lost = owner.robots();
    let until = owner.wait().unwrap();
    assert_eq!(until, START + Duration::from_secs(300));
    owner.now = until;
    assert!(matches!(owner.ask(), Asked::Forget(token) if token == lost.token));
    assert!(matches!(owner.ask_later(), Asked::Robots(_)));
}

#[test]
fn a_delay_that_answers_lengthen_holds_for_the_request_that_waits() {
    let mut owner = Owner::new(&JobSpec { per_host: Some(2), delay: Some(Duration::ZERO), ..spec() });
    owner.add(&["http://a.test/1", "http://a.test/2", "http://a.test/3"]);
    let (first, second) = (owner.fetch(), owner.fetch());
    assert_eq!((first.delay, second.delay), (Duration::ZERO, Duration::ZERO));
    owner.answer(first.token, AnswerResult::Status(500));
    let lengthened = Duration::from_millis(150);
    let until = owner.wait().unwrap();
    assert!(until >= owner.now + lengthened, "{until:?}");
    owner.now = until;
    assert!(owner.fetch().delay >= lengthened);
}

fn rules_with_delay(delay: &str) -> Arc<PolitenessRules> {
    settings(&format!(r#"{{"domain_overrides": {{"a.test": {{"delay": "{delay}"}}}}}}"#))
}

#[test]
fn a_delay_that_new_settings_shorten_ends_the_wait_that_is_under_way() {
    let mut owner = Owner::with(&spec(), FrontierConfig::default(), rules_with_delay("10m"));
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let first = owner.fetch();
    owner.answer(first.token, AnswerResult::Status(200));
    owner.complete(first.token, Completion::Done { counted: true });
    let ended = owner.now;
    assert_eq!(owner.wait(), Some(ended + 600 * SECOND));
    owner.frontier.set_politeness(rules_with_delay("2s"), owner.now);
    assert_eq!(owner.wait(), Some(ended + 2 * SECOND));
    owner.now = ended + 2 * SECOND;
    assert_eq!(owner.fetch().delay, 2 * SECOND);
}

#[test]
fn new_settings_do_not_shorten_a_pause_that_the_host_asked_for() {
    let mut owner = Owner::with(&spec(), FrontierConfig::default(), rules_with_delay("10m"));
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let first = owner.fetch();
    let asked = owner.now + 30 * SECOND;
    owner.answer_with(first.token, AnswerResult::Status(503), Some(asked));
    owner.complete(first.token, Completion::Done { counted: true });
    assert_eq!(owner.wait(), Some(owner.now + 600 * SECOND));
    owner.frontier.set_politeness(rules_with_delay("1s"), owner.now);
    assert_eq!(owner.wait(), Some(asked));
}

#[test]
fn a_job_that_goes_on_with_another_delay_waits_by_that_one() {
    let with = |delay| JobSpec { delay: Some(delay), ..spec() };
    for (asked, expected) in [(None, 5 * SECOND), (Some(30 * SECOND), 30 * SECOND)] {
        let mut owner = Owner::new(&with(HOUR));
        owner.add(&["http://a.test/1", "http://a.test/2"]);
        let first = owner.fetch();
        let ended = owner.now;
        let status = if asked.is_some() { 503 } else { 200 };
        owner.answer_with(first.token, AnswerResult::Status(status), asked.map(|asked| ended + asked));
        owner.complete(first.token, Completion::Done { counted: true });
        assert_eq!(owner.wait(), Some(ended + HOUR));
        owner.restart(&with(5 * SECOND), LastStop::Clean, SECOND);
        assert_eq!(owner.wait(), Some(ended + expected), "{asked:?}");
    }
}

#[test]
fn a_delay_that_new_settings_lengthen_holds_for_the_request_that_waits() {
    let rules = rules_with_delay;
    let mut owner = Owner::with(&spec(), FrontierConfig::default(), rules("100ms"));
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let first = owner.fetch();
    owner.answer(first.token, AnswerResult::Status(200));
    let ended = owner.now;
    owner.now = ended + Duration::from_millis(50);
    owner.frontier.set_politeness(rules("1s"), owner.now);
    owner.now = ended + Duration::from_millis(100);
    assert_eq!(owner.wait(), Some(ended + SECOND));
    owner.now = ended + SECOND;
    assert_eq!(owner.fetch().delay, SECOND);
}

#[test]
fn retry_after_parks_the_whole_host() {
    let mut owner = Owner::new(&spec());
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let first = owner.fetch();
    let until = owner.now + 2 * HOUR;
    owner.answer_with(first.token, AnswerResult::Status(503), Some(until));
    owner.complete(first.token, Completion::Retry { due: until });
    assert_eq!(owner.wait(), Some(until));
    let view = owner.frontier.host_view("a.test").unwrap();
    assert_eq!(view.due, Some((until, WaitReason::Parked)));
    assert!(matches!(owner.frontier.take_notices().front(), Some(Notice::Parked { .. })));
    let blocked: Vec<_> = owner.frontier.blocked_hosts(JOB).collect();
    assert_eq!(blocked, vec![("a.test", WaitReason::Parked, until)]);
    let block = owner.frontier.block_of(first.ticket.at.host, &first.visit.url, owner.now);
    assert_eq!(block, Some((WaitReason::Parked, until)));
    assert_eq!(owner.frontier.block_of(first.ticket.at.host, &first.visit.url, until), None);
    assert_eq!(owner.frontier.host_name(first.ticket.at.host), Some("a.test"));
    owner.now = until;
    owner.fetch();
}

#[test]
fn a_host_that_fails_again_and_again_is_left_alone_and_then_probed_by_one_request() {
    let rules = settings(r#"{"adaptive": false}"#);
    let mut owner = Owner::with(&JobSpec { per_host: Some(4), ..spec() }, FrontierConfig::default(), rules);
    let urls: Vec<String> = (0..20).map(|n| format!("http://a.test/{n}")).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let failed_at_once = loop {
        let Asked::Fetch(page) = owner.ask() else { break owner.now };
        owner.answer(page.token, AnswerResult::Status(500));
        owner.complete(page.token, Completion::Done { counted: false });
    };
    let view = owner.frontier.host_view("a.test").unwrap();
    let (until, reason) = view.due.unwrap();
    assert_eq!(reason, WaitReason::BreakerOpen);
    assert!(until > failed_at_once);
    owner.now = until;
    owner.fetch();
    owner.wait();
}

#[test]
fn a_paused_job_is_not_served_and_goes_on_where_it_was() {
    let mut owner = Owner::new(&spec());
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let first = owner.fetch();
    owner.frontier.set_activity(JOB, Activity::Paused);
    owner.page(first.token);
    owner.wait();
    owner.frontier.set_activity(JOB, Activity::Running);
    assert_eq!(owner.fetch().visit.url.as_str(), "http://a.test/2");
}

#[test]
fn a_forgotten_job_leaves_nothing_and_other_jobs_alone() {
    let mut owner = Owner::new(&spec());
    let second = JobId(2);
    owner.frontier.open_job(second, JobLimits::of(&spec(), "TestBot"));
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    owner.add_from(second, None, &[("http://a.test/1", 50)]);
    let first = owner.fetch();
    owner.frontier.forget_job(JOB);
    owner.apply();
    // What was under way comes to its end unnoticed.
    owner.page(first.token);
    let other = owner.fetch();
    assert_eq!(other.visit.job, second);
    owner.page(other.token);
    owner.wait();
    assert!(owner.frontier.progress(JOB).is_none());
    assert!(owner.state.queues().all(|(at, _)| at.job != JOB));
    assert_eq!(owner.frontier.overview().outstanding, 0);
}

#[test]
fn a_full_queue_gives_up_its_worst_for_a_better_url() {
    let mut owner = Owner::new(&JobSpec { queue_cap: Some(2), respect_robots: true, ..spec() });
    assert_eq!(owner.add_from(JOB, None, &[("http://a.test/bad", 90), ("http://b.test/fair", 50)]), vec![]);
    let refused = owner.add_from(JOB, None, &[("http://c.test/worst", 95)]);
    assert_eq!(refused[0].skip.reason, SkipReason::QueueFull);
    assert_eq!(owner.add_from(JOB, None, &[("http://d.test/good", 10)]), vec![]);
    let mut fetched = Vec::new();
    let mut evicted = Vec::new();
    loop {
        match owner.ask_later() {
            Asked::Robots(robots) => owner.answer_robots(robots.token, robots_txt(404, "")),
            Asked::Fetch(page) => {
                fetched.push(page.visit.url.path().to_owned());
                owner.page(page.token);
            }
            Asked::Refuse { token, visit, skip } => {
                assert_eq!(skip.reason, SkipReason::QueueFull);
                evicted.push(visit.url.path().to_owned());
                owner.complete(token, Completion::Done { counted: false });
            }
            other => {
                assert!(matches!(other, Asked::Wait(None)), "{other:?}");
                break;
            }
        }
    }
    fetched.sort_unstable();
    assert_eq!((fetched, evicted), (vec!["/fair".to_owned(), "/good".to_owned()], vec!["/bad".to_owned()]));
    // There is room again.
    assert_eq!(owner.add_from(JOB, None, &[("http://e.test/1", 95), ("http://e.test/2", 95)]), vec![]);
}

#[test]
fn a_source_that_brings_too_many_new_urls_gets_them_served_later() {
    let rate = NewUrlRate { per_second: 2, burst: 3 };
    let mut owner = Owner::new(&JobSpec { new_urls_per_source: rate, ..spec() });
    let urls: Vec<(String, u8)> = (0..7).map(|n| (format!("http://h{n}.test/"), 50)).collect();
    let urls: Vec<(&str, u8)> = urls.iter().map(|(text, priority)| (text.as_str(), *priority)).collect();
    assert_eq!(owner.add_from(JOB, Some("http://a.test/"), &urls), vec![]);
    let progress = owner.frontier.progress(JOB).unwrap();
    assert_eq!((progress.queued, progress.delayed), (3, 4));
    for _ in 0..3 {
        owner.fetch();
    }
    assert_eq!(owner.wait(), Some(START + SECOND / 2));
    for _ in 0..4 {
        assert!(matches!(owner.ask_later(), Asked::Fetch(_)));
    }
    assert_eq!(owner.now, START + 2 * SECOND);
    // What is known already counts for nothing.
    owner.add_from(JOB, Some("http://a.test/"), &urls);
    assert_eq!(owner.frontier.progress(JOB).unwrap().delayed, 0);
}

#[test]
fn a_host_may_name_as_many_of_its_own_urls_as_it_has() {
    let rate = NewUrlRate { per_second: 2, burst: 3 };
    let mut owner = Owner::new(&JobSpec { new_urls_per_source: rate, ..spec() });
    let urls: Vec<(String, u8)> = (0..7).map(|n| (format!("http://a.test/{n}"), 50)).collect();
    let urls: Vec<(&str, u8)> = urls.iter().map(|(text, priority)| (text.as_str(), *priority)).collect();
    assert_eq!(owner.add_from(JOB, Some("http://a.test/"), &urls), vec![]);
    let progress = owner.frontier.progress(JOB).unwrap();
    assert_eq!((progress.queued, progress.delayed), (7, 0));
}

#[test]
fn a_visit_that_is_never_heard_of_goes_back_to_its_queue() {
    let mut owner = Owner::new(&spec());
    owner.add(&["http://a.test/"]);
    let lost = owner.fetch();
    let until = owner.wait().unwrap();
    owner.now = until;
    assert!(matches!(owner.ask(), Asked::Forget(token) if token == lost.token));
    let Asked::Fetch(again) = owner.ask_later() else { panic!("no fetch") };
    assert_eq!(again.visit, lost.visit);
    // The lost one turns up after all: it is nobody's business any more.
    owner.complete(lost.token, Completion::Done { counted: true });
    assert_eq!(owner.pages(), 0);
    owner.page(again.token);
    assert_eq!(owner.pages(), 1);
    assert_eq!(owner.frontier.overview().in_flight, 0);
}

#[test]
fn the_request_that_has_been_under_way_for_longest_is_shown() {
    let mut owner = Owner::new(&spec());
    let oldest = |owner: &Owner| owner.frontier.overview().oldest_request.map(|(url, _)| url);
    assert_eq!(oldest(&owner), None);
    owner.add(&["http://a.test/1", "http://b.test/1"]);
    let (first, second) = (owner.fetch(), owner.fetch());
    assert_eq!(oldest(&owner), Some(first.visit.url));
    owner.page(first.token);
    assert_eq!(oldest(&owner), Some(second.visit.url));
    owner.page(second.token);
    assert_eq!(oldest(&owner), None);
}

#[test]
fn a_name_that_does_not_exist_fails_its_urls_for_as_long_as_it_is_said_to() {
    let mut owner = Owner::new(&spec());
    let until = START + Duration::from_secs(60);
    let missing = Unresolved::NoSuchHost { until, why: "NXDOMAIN".into() };
    owner.names.insert("a.test".into(), Err(missing));
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    for _ in 0..2 {
        let Asked::Fail { token, error } = owner.ask() else { panic!("did not fail") };
        assert_eq!(error, "NXDOMAIN");
        owner.complete(token, Completion::Done { counted: false });
    }
    owner.names.clear();
    owner.add(&["http://a.test/3"]);
    let Asked::Fail { token, .. } = owner.ask() else { panic!("asked again too early") };
    owner.complete(token, Completion::Done { counted: false });
    owner.now = until;
    owner.add(&["http://a.test/4"]);
    assert_eq!(owner.fetch().visit.url.path(), "/4");
}

#[test]
fn names_made_up_without_end_are_refused_and_take_no_place() {
    let mut owner = Owner::new(&JobSpec { max_subdomains_per_root: Some(3), ..spec() });
    let urls: Vec<String> = (0..100).map(|n| format!("http://x{n}.example.com/")).collect();
    let refused = owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(refused.len(), 97);
    assert!(refused.iter().all(|one| one.skip.reason == SkipReason::OutOfScope));
    assert_eq!(owner.frontier.overview().hosts, 3);
    // They are told once.
    assert_eq!(owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>()), vec![]);
    assert_eq!(owner.add(&["http://x1.example.com/more"]), vec![]);
}

#[test]
fn after_a_restart_no_host_is_asked_early() {
    let delayed = JobSpec { delay: Some(10 * SECOND), ..spec() };
    for (last_stop, due_after_end) in [(LastStop::Clean, 10), (LastStop::Unclean, 13)] {
        let mut owner = Owner::new(&delayed);
        owner.add(&["http://a.test/1", "http://a.test/2"]);
        let first = owner.fetch();
        owner.page(first.token);
        let ended = owner.now;
        owner.restart(&delayed, last_stop, 3 * SECOND);
        let Asked::Fetch(second) = owner.ask_later() else { panic!("no fetch") };
        assert_eq!(second.visit.url.path(), "/2");
        assert_eq!(owner.now, ended + due_after_end * SECOND, "{last_stop:?}");
    }
}

#[test]
fn what_was_under_way_is_fetched_again_unless_its_records_were_stored() {
    let mut owner = Owner::new(&JobSpec { per_host: Some(2), ..spec() });
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let (stored, _lost) = (owner.fetch(), owner.fetch());
    owner.restart(&spec(), LastStop::Unclean, SECOND);
    owner.recover(stored.ticket, &stored.visit, Completion::Done { counted: true });
    let Asked::Fetch(again) = owner.ask_later() else { panic!("no fetch") };
    assert_eq!(again.visit.url.path(), "/2");
    owner.page(again.token);
    // Recovery may repeat itself.
    owner.recover(stored.ticket, &stored.visit, Completion::Done { counted: true });
    assert_eq!(owner.pages(), 2);
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
}

#[test]
fn robots_txt_that_fails_while_the_network_is_down_blocks_no_host() {
    let mut owner = Owner::new(&JobSpec { respect_robots: true, ..spec() });
    let urls: Vec<String> = (0..25).map(|n| format!("http://h{n}.test/")).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let asked: Vec<_> = (0..25).map(|_| owner.robots().token).collect();
    let nothing = || RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() };
    for token in asked {
        owner.answer_robots(token, nothing());
    }
    assert!(owner.frontier.overview().network_down_since.is_some());
    // It stays away for a minute: one request at a time tries, and nobody turns in circles meanwhile.
    let Asked::Robots(probe) = owner.ask_later() else { panic!("no probe") };
    owner.now = owner.now + 20 * SECOND;
    assert!(owner.wait().unwrap() > owner.now);
    owner.answer_robots(probe.token, nothing());
    while owner.now < START + Duration::from_secs(60) {
        let Asked::Robots(robots) = owner.ask_later() else { panic!("no probe") };
        owner.answer_robots(robots.token, nothing());
    }
    assert!(
        owner
            .frontier
            .take_notices()
            .iter()
            .all(|notice| !matches!(notice, Notice::RobotsUnreachable { .. }))
    );
    let mut pages = 0;
    while pages < 25 {
        match owner.ask_later() {
            Asked::Robots(robots) => owner.answer_robots(robots.token, robots_txt(404, "")),
            Asked::Fetch(page) => {
                owner.page(page.token);
                pages += 1;
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A host has answered, and then 25 others fail.
fn many_failures() -> (Owner, Vec<Token>) {
    let mut owner = Owner::new(&spec());
    owner.add(&["http://good.test/"]);
    let good = owner.fetch();
    owner.page(good.token);
    let urls: Vec<String> = (0..25).map(|n| format!("http://h{n}.test/")).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let asked: Vec<_> = (0..25).map(|_| owner.fetch().token).collect();
    owner.now = owner.now + SECOND;
    for token in &asked {
        assert_eq!(owner.answer(*token, TIMEOUT), Disposition::Hold);
    }
    (owner, asked)
}

#[test]
fn many_dead_hosts_are_no_network_that_is_down_if_another_one_answers() {
    let (mut owner, asked) = many_failures();
    let Asked::Robots(witness) = owner.ask_later() else { panic!("nobody is asked") };
    assert_eq!(witness.request.url.as_str(), "http://good.test/robots.txt");
    assert!(owner.wait().is_some(), "one witness is enough");
    owner.now = owner.now + SECOND;
    owner.answer_robots(witness.token, robots_txt(404, ""));
    for token in asked {
        assert!(matches!(owner.ask(), Asked::Release(released) if released == token));
        owner.complete(token, Completion::Done { counted: false });
    }
    assert!(owner.frontier.overview().network_down_since.is_none());
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
}

#[test]
fn a_network_is_down_if_who_has_answered_does_not_answer_either() {
    let (mut owner, asked) = many_failures();
    let nothing = || RobotsAnswered::Final { answer: RobotsAnswer::NoAnswer, body: Vec::new() };
    let Asked::Robots(witness) = owner.ask_later() else { panic!("nobody is asked") };
    owner.answer_robots(witness.token, nothing());
    assert!(owner.frontier.overview().network_down_since.is_some());
    for _ in &asked {
        assert!(matches!(owner.ask(), Asked::Forget(_)));
    }
    // Who has answered once is asked again and again, nobody else.
    for _ in 0..3 {
        let before = owner.now;
        let Asked::Robots(witness) = owner.ask_later() else { panic!("nobody is asked") };
        assert!(owner.now > before + 4 * SECOND, "every five seconds");
        assert_eq!(witness.request.url.host(), "good.test");
        owner.answer_robots(witness.token, nothing());
    }
    let Asked::Robots(witness) = owner.ask_later() else { panic!("nobody is asked") };
    owner.answer_robots(witness.token, robots_txt(404, ""));
    assert!(owner.frontier.overview().network_down_since.is_none());
    for _ in asked {
        let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
        assert_eq!(page.visit.attempt, 0);
        owner.page(page.token);
    }
}

#[test]
fn a_crawl_goes_on_as_soon_as_names_can_be_looked_up_again() {
    let mut owner = Owner::new(&spec());
    let names: Vec<String> = (0..40).map(|n| format!("h{n}.test")).collect();
    for name in &names {
        owner.names.insert(name.clone(), Err(Unresolved::NoAnswer { why: "no resolver".into() }));
    }
    let urls: Vec<String> = names.iter().map(|name| format!("http://{name}/")).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    owner.wait();
    assert!(owner.frontier.overview().network_down_since.is_some());
    for _ in 0..10 {
        owner.now = owner.now + 5 * SECOND;
        owner.wait();
    }
    // An address is found, and the host it is of is the one that is asked.
    owner.names.clear();
    let back = owner.now;
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    assert!(owner.now <= back + 5 * SECOND, "{:?}", owner.now.since(back));
    owner.page(page.token);
    assert!(owner.frontier.overview().network_down_since.is_none());
    for _ in 1..40 {
        let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
        owner.page(page.token);
    }
}

#[test]
fn a_failure_is_not_held_where_too_few_hosts_could_fail_with_it() {
    let mut owner = Owner::new(&spec());
    owner.add(&["http://a.test/1", "http://b.test/"]);
    let (a, b) = (owner.fetch(), owner.fetch());
    assert_eq!(owner.answer(a.token, TIMEOUT), Disposition::Hold);
    // The page of b.test may name many hosts.
    owner.wait();
    owner.page(b.token);
    assert!(matches!(owner.ask(), Asked::Release(token) if token == a.token));
    owner.complete(a.token, Completion::Retry { due: owner.now + HOUR });
    owner.add(&["http://a.test/2"]);
    let Asked::Fetch(second) = owner.ask_later() else { panic!("no fetch") };
    owner.answer(second.token, TIMEOUT);
    assert!(matches!(owner.ask(), Asked::Release(token) if token == second.token));
}

#[test]
fn a_failure_is_held_while_enough_hosts_could_fail_with_it() {
    let mut owner = Owner::with(
        &JobSpec { delay: Some(5 * SECOND), ..spec() },
        FrontierConfig::default(),
        settings("{}"),
    );
    let urls: Vec<String> =
        (0..20).flat_map(|n| [format!("http://h{n}.test/1"), format!("http://h{n}.test/2")]).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let asked: Vec<_> = (0..20).map(|_| owner.fetch().token).collect();
    // One fails, the others are answered before that was known, and are to be asked again within the window.
    for token in &asked[1..] {
        owner.page(*token);
    }
    owner.now = owner.now + SECOND;
    assert_eq!(owner.answer(asked[0], TIMEOUT), Disposition::Hold);
    owner.wait();
    // The end of the process does not wait for the window.
    assert!(
        matches!(owner.frontier.next_verdict(owner.now), Some(Step::Release(token)) if token == asked[0])
    );
    assert!(owner.frontier.next_verdict(owner.now).is_none());
}

#[test]
fn a_network_that_goes_away_while_the_process_ends_is_no_fault_of_the_hosts() {
    let mut owner = Owner::new(&spec());
    let urls: Vec<String> = (0..20).map(|n| format!("http://h{n}.test/")).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    let asked: Vec<_> = (0..20).map(|_| owner.fetch().token).collect();
    for token in &asked[1..] {
        owner.answer(*token, TIMEOUT);
        assert!(owner.frontier.next_verdict(owner.now).is_none(), "one is under way");
    }
    owner.answer(asked[0], TIMEOUT);
    let verdicts: Vec<Step> = std::iter::from_fn(|| owner.frontier.next_verdict(owner.now)).collect();
    assert_eq!(verdicts.len(), 20);
    assert!(verdicts.iter().all(|step| matches!(step, Step::Forget(_))));
}

#[test]
fn a_retry_after_is_distinguished_from_the_delay() {
    let mut owner = Owner::new(&JobSpec { delay: Some(SECOND), ..spec() });
    owner.add(&["http://a.test/1", "http://a.test/2"]);
    let first = owner.fetch();
    let until = owner.now + 30 * SECOND;
    owner.answer_with(first.token, AnswerResult::Status(503), Some(until));
    owner.complete(first.token, Completion::Retry { due: until + 10 * SECOND });
    assert_eq!(owner.frontier.host_view("a.test").unwrap().due, Some((until, WaitReason::RetryAfter)));
    assert_eq!(owner.frontier.overview().next_retry, Some(until + 10 * SECOND));
    let Asked::Fetch(second) = owner.ask_later() else { panic!("no fetch") };
    owner.add(&["http://a.test/3"]);
    owner.page(second.token);
    let (_, reason) = owner.frontier.host_view("a.test").unwrap().due.unwrap();
    assert_eq!(reason, WaitReason::CrawlDelay);
}

#[test]
fn a_host_is_visited_so_often_and_former_runs_count() {
    let mut owner = Owner::new(&spec());
    let limits = JobLimits {
        max_visits_per_host: Some(2),
        max_subdomains_per_root: Some(2),
        ..JobLimits::of(&spec(), "TestBot")
    };
    owner.frontier.open_job(JOB, limits);
    owner.frontier.visited_host(JOB, "a.test", 1);
    owner.frontier.visited_host(JOB, "done.test", 2);
    owner.frontier.visited_host(JOB, "x.done.test", 1);
    let refused = owner.add(&[
        "http://a.test/1",
        "http://a.test/2",
        "http://b.test/1",
        "http://b.test/2",
        "http://b.test/3",
        "http://done.test/",
        "http://y.done.test/",
    ]);
    let refused: Vec<(&str, SkipReason)> = refused.iter().map(|r| (r.url.as_str(), r.skip.reason)).collect();
    assert_eq!(
        refused,
        [
            ("http://a.test/2", SkipReason::OverBudget),
            ("http://b.test/3", SkipReason::OverBudget),
            ("http://done.test/", SkipReason::OverBudget),
            ("http://y.done.test/", SkipReason::OutOfScope),
        ]
    );
    // A retry is the same visit.
    let Asked::Fetch(first) = owner.ask() else { panic!("no fetch") };
    owner.answer(first.token, AnswerResult::Status(503));
    owner.complete(first.token, Completion::Retry { due: owner.now + SECOND });
    assert_eq!(owner.frontier.progress(JOB).unwrap().delayed, 1);
}

#[test]
fn a_job_that_is_not_open_keeps_what_it_has_queued_on_a_host_that_another_one_uses() {
    let other = JobId(2);
    let mut owner = Owner::new(&spec());
    owner.frontier.open_job(other, JobLimits::of(&spec(), "TestBot"));
    owner.add(&["http://a.test/1"]);
    owner.add_from(other, None, &[("http://a.test/2", 50)]);
    // A run of the first job alone.
    owner.restart(&spec(), LastStop::Clean, Duration::ZERO);
    let token = owner.fetch().token;
    owner.page(token);
    assert_eq!(owner.wait(), None);
    owner.restart(&spec(), LastStop::Clean, Duration::ZERO);
    let limits = JobLimits::of(&spec(), "TestBot");
    owner.frontier.restore_job(&owner.state, other, limits, owner.now).unwrap();
    assert_eq!(owner.fetch().visit.url.as_str(), "http://a.test/2");
}

#[test]
fn a_clean_stop_soon_after_an_unclean_one_does_not_shorten_the_wait() {
    let spec = JobSpec { delay: Some(60 * SECOND), ..spec() };
    let mut owner = Owner::new(&spec);
    owner.add(&["http://a.test/1", "http://b.test/1"]);
    owner.apply();
    owner.fetch();
    owner.restart(&spec, LastStop::Unclean, SECOND);
    let allowed = owner.now + 60 * SECOND;
    owner.now = owner.now + 5 * SECOND;
    owner.frontier.give_up(owner.now);
    owner.restart(&spec, LastStop::Clean, SECOND);
    assert_eq!(owner.wait(), Some(allowed));
}

#[test]
fn a_redirect_with_the_last_page_of_the_budget_is_found_in_a_queue_that_is_not_loaded() {
    let spec = JobSpec { max_pages: Some(1), ..spec() };
    let mut owner = Owner::new(&spec);
    owner.add(&["http://a.test/", "http://b.test/1"]);
    owner.restart(&spec, LastStop::Clean, Duration::ZERO);
    let first = owner.fetch();
    let (from, to) = match first.visit.url.host() {
        "a.test" => ("a.test", "http://b.test/moved"),
        _ => ("b.test", "http://a.test/moved"),
    };
    owner.answer(first.token, AnswerResult::Status(301));
    owner.complete(first.token, Completion::Redirect { to: url(to), status: 301 });
    let hop = owner.fetch();
    assert_eq!((hop.visit.url.as_str(), hop.visit.scheduled_url().host()), (to, from));
    owner.page(hop.token);
    assert!(owner.frontier.progress(JOB).unwrap().budget_spent);
    assert_eq!(owner.wait(), None);
}

#[test]
fn a_host_that_only_the_killed_process_knew_is_owed_its_delay_after_a_clean_stop_too() {
    let spec = JobSpec { delay: Some(60 * SECOND), ..spec() };
    let mut owner = Owner::new(&spec);
    owner.add(&["http://known.test/1"]);
    let killed = owner.now;
    owner.restart(&spec, LastStop::Unclean, SECOND);
    owner.now = owner.now + 5 * SECOND;
    owner.frontier.give_up(owner.now);
    owner.restart(&spec, LastStop::CleanAfterKill(killed), SECOND);
    owner.add(&["http://a.test/1"]);
    assert_eq!(owner.wait(), Some(killed + 60 * SECOND));
}
