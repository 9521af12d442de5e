//! Shards that come and go: two owners share one state, as workers share a database.

use crate::owner::{Asked, JOB, Owner, robots_txt, settings, spec, url};
use argiope_frontier::message::Message;
use argiope_frontier::state::{Change, ShardState, StateBatch};
use argiope_frontier::{
    Completion, Delivered, Discovery, Found, FrontierConfig, JobLimits, LastStop, Notice, QueueView, Step,
    Unresolved,
};
use argiope_model::{FingerprintKey, JobId, JobSpec, Millis, RequestKind, SkipReason, Url};
use argiope_politeness::{AnswerResult, RobotsAnswer};
use std::collections::HashMap;
use std::time::Duration;

const SHARDS: u16 = 4;
const SECOND: Duration = Duration::from_secs(1);

fn config() -> FrontierConfig {
    FrontierConfig { shards: SHARDS, leased: true, ..FrontierConfig::default() }
}

fn leased(spec: &JobSpec) -> Owner {
    Owner::with(spec, config(), settings("{}"))
}

/// An owner of all shards.
fn whole(spec: &JobSpec) -> Owner {
    let mut owner = leased(spec);
    (0..SHARDS).for_each(|shard| take(&mut owner, spec, shard, LastStop::Clean));
    owner
}

fn take(owner: &mut Owner, spec: &JobSpec, shard: u16, last_stop: LastStop) {
    let opens = HashMap::from([(JOB, JobLimits::of(spec, "TestBot"))]);
    owner.frontier.restore_shard(&owner.state, shard, &opens, last_stop, owner.now).unwrap();
}

/// The state, and the time, go from one owner to the next.
fn pass_state(from: &mut Owner, to: &mut Owner) {
    from.apply();
    to.state = from.state.clone();
    to.now = from.now;
}

/// A host whose root domain is in this shard.
fn host(owner: &Owner, shard: u16, nth: usize) -> String {
    let names = (0..).map(|n| format!("h{n}.test"));
    let mut here = names.filter(|name| owner.frontier.shard_of(&url(&format!("http://{name}/"))) == shard);
    here.nth(nth).unwrap()
}

fn page(owner: &Owner, shard: u16, path: &str) -> String {
    format!("http://{}{path}", host(owner, shard, 0))
}

fn found(text: &str) -> Found {
    let fingerprint = FingerprintKey::new([3; 16]).of(text, 0);
    Found { url: url(text), fingerprint, priority: 50, kind: RequestKind::Page, previous: None }
}

fn links(source: &str, to: &[&str]) -> Discovery {
    let found = to.iter().map(|text| found(text)).collect();
    Discovery { job: JOB, round: 0, depth: 1, source: Some(url(source)), found, not_before: None }
}

/// What is in the log of a shard and was not applied.
fn deliver(owner: &mut Owner, shard: u16) -> Delivered {
    owner.apply();
    let after = owner.frontier.received(shard).unwrap_or(0);
    let messages: Vec<(u64, Vec<u8>)> =
        owner.state.log(shard, after).map(|(offset, message)| (offset, message.to_vec())).collect();
    owner.frontier.deliver(shard, &messages, owner.now)
}

fn send(owner: &mut Owner, to: u16, message: &Message) {
    let change = Change::Send { from: to, to, message: message.encode() };
    owner.state.apply(StateBatch { changes: vec![change], marks: Vec::new() }).unwrap();
}

fn sent(batch: &StateBatch) -> Vec<(u16, u16, Message)> {
    let of = |change: &Change| match change {
        Change::Send { from, to, message } => Some((*from, *to, Message::decode(message).unwrap())),
        _ => None,
    };
    batch.changes.iter().filter_map(of).collect()
}

fn touches(batch: &StateBatch, shard: u16) -> bool {
    batch.changes.iter().any(|change| change.shard() == Some(shard))
}

/// Nothing is to be done now.
fn rests(owner: &mut Owner) -> bool {
    matches!(owner.ask(), Asked::Wait(_))
}

/// A robots.txt that has just been read holds from the next millisecond on.
fn a_moment_later(owner: &mut Owner) {
    owner.now = owner.now + Duration::from_millis(2);
}

#[test]
fn nothing_is_owned_before_it_is_restored() {
    let mut owner = leased(&spec());
    let here = page(&owner, 1, "/");
    let refused = owner.add(&[&here]);
    assert_eq!(refused[0].skip.reason, SkipReason::NotCrawlable);
    take(&mut owner, &spec(), 1, LastStop::Clean);
    assert!(owner.frontier.owns(1) && !owner.frontier.owns(2));
    assert!(owner.add(&[&here]).is_empty());
    assert_eq!(owner.fetch().visit.url.as_str(), here);
}

#[test]
fn what_is_heard_of_a_shard_that_has_gone_frees_slots_and_changes_nothing() {
    let mut owner = whole(&spec());
    let (gone, stays) = (page(&owner, 1, "/"), page(&owner, 2, "/"));
    owner.add(&[&gone, &stays]);
    owner.apply();
    let tokens: HashMap<String, _> =
        (0..2).map(|_| owner.fetch()).map(|d| (d.visit.url.to_string(), d.token)).collect();
    let before = owner.state.clone();
    owner.frontier.drop_shard(1, owner.now);
    assert!(!owner.frontier.owns(1));
    assert_eq!(owner.frontier.progress(JOB).unwrap().queued, 1);
    assert_eq!(owner.frontier.progress(JOB).unwrap().in_progress, 1);
    let token = tokens[&gone];
    owner.answer(token, AnswerResult::Status(200));
    assert_eq!(owner.frontier.requests_under_way(), 1);
    let elsewhere = page(&owner, 3, "/x");
    owner.frontier.discover_in(1, links(&gone, &[&elsewhere, &gone]), owner.now);
    owner.frontier.completed(token, Completion::Done { counted: true }, owner.now);
    let batch = owner.frontier.take_changes();
    assert!(!touches(&batch, 1) && sent(&batch).is_empty(), "{batch:?}");
    assert!(!owner.frontier.has_uncommitted());
    // The other one goes on, and the one that went can come back.
    owner.page(tokens[&stays]);
    assert_eq!(owner.pages(), 1);
    owner.state = before;
    take(&mut owner, &spec(), 1, LastStop::Clean);
    assert_eq!(owner.fetch().visit.url.as_str(), gone);
}

#[test]
fn what_a_shard_had_not_written_goes_with_it() {
    let mut owner = whole(&spec());
    let (gone, stays) = (page(&owner, 1, "/"), page(&owner, 2, "/"));
    owner.add(&[&gone, &stays]);
    owner.frontier.drop_shard(1, owner.now);
    let batch = owner.frontier.take_changes();
    assert!(!touches(&batch, 1) && touches(&batch, 2));
    take(&mut owner, &spec(), 1, LastStop::Clean);
    assert!(owner.add(&[&gone]).is_empty());
    let mut urls = [owner.fetch().visit.url.to_string(), owner.fetch().visit.url.to_string()];
    urls.sort();
    let mut expected = [gone, stays];
    expected.sort();
    assert_eq!(urls, expected);
}

#[test]
fn a_name_that_is_resolved_late_is_not_taken_for_the_host_in_its_place() {
    let mut owner = whole(&spec());
    let gone = page(&owner, 1, "/");
    owner.add(&[&gone]);
    let Step::Resolve { host: old, .. } = owner.frontier.next(owner.now) else { panic!() };
    owner.frontier.drop_shard(1, owner.now);
    take(&mut owner, &spec(), 1, LastStop::Clean);
    owner.add(&[&gone]);
    let Step::Resolve { host: new, .. } = owner.frontier.next(owner.now) else { panic!() };
    assert_ne!(old, new, "something refers to its place");
    let nowhere = Unresolved::NoSuchHost { until: Millis::NEVER, why: "gone".into() };
    owner.frontier.resolved(old, Err(nowhere), owner.now);
    assert!(matches!(owner.frontier.next(owner.now), Step::Wait(_)), "its own name is still asked for");
    let address = std::net::IpAddr::from([192, 0, 2, 1]);
    owner.frontier.resolved(new, Ok((std::sync::Arc::from([address]), Millis::NEVER)), owner.now);
    assert_eq!(owner.fetch().visit.url.as_str(), gone);
    // Nothing refers to the old place any more.
    let third = format!("http://{}/", host(&owner, 1, 1));
    owner.add(&[&third]);
    let Step::Resolve { host: reused, .. } = owner.frontier.next(owner.now) else { panic!() };
    assert_eq!(reused, old);
    assert_eq!(owner.frontier.overview().hosts, 2);
}

#[test]
fn a_shard_that_is_handed_over_asks_for_nothing_new_and_is_quiet_once_its_pages_are_stored() {
    let mut owner = whole(&spec());
    let (first, second) = (page(&owner, 1, "/1"), page(&owner, 1, "/2"));
    let other = page(&owner, 2, "/");
    owner.add(&[&first, &second]);
    let dispatch = owner.fetch();
    owner.frontier.hand_over(1, owner.now);
    assert!(!owner.frontier.is_quiet(1) && owner.frontier.is_quiet(2));
    owner.answer(dispatch.token, AnswerResult::Status(200));
    assert!(!owner.frontier.is_quiet(1), "its page is not stored");
    let third = page(&owner, 1, "/3");
    let fourth = format!("http://{}/", host(&owner, 1, 1));
    owner.frontier.discover_in(1, links(&first, &[&third, &fourth]), owner.now);
    owner.complete(dispatch.token, Completion::Done { counted: true });
    assert!(owner.frontier.is_quiet(1));
    assert_eq!(owner.wait(), None, "even hosts that are new wait for the next owner");
    owner.add(&[&other]);
    assert_eq!(owner.fetch().visit.url.as_str(), other);
    let mut next = leased(&spec());
    owner.frontier.give_up_shard(1, owner.now);
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec(), 1, LastStop::Clean);
    let mut served: Vec<String> = (0..2).map(|_| next.fetch().visit.url.to_string()).collect();
    served.sort();
    let mut expected = [second, fourth];
    expected.sort();
    assert_eq!(served, expected, "the rest is behind them");
    assert_eq!(next.frontier.progress(JOB).unwrap().queued, 3);
}

#[test]
fn a_delay_holds_for_the_next_owner_after_a_clean_handover() {
    let spec = JobSpec { delay: Some(10 * SECOND), ..spec() };
    let mut owner = whole(&spec);
    owner.add(&[&page(&owner, 1, "/1"), &page(&owner, 1, "/2"), &page(&owner, 1, "/3")]);
    let first = owner.fetch();
    owner.page(first.token);
    let asked = owner.now;
    let mut next = leased(&spec);
    owner.now = owner.now + 4 * SECOND;
    owner.frontier.hand_over(1, owner.now);
    owner.frontier.give_up_shard(1, owner.now);
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec, 1, LastStop::Clean);
    assert_eq!(next.wait(), Some(asked + 10 * SECOND));
    // A request that is under way when the shard goes is owed a delay as well.
    next.now = asked + 10 * SECOND;
    next.fetch();
    next.frontier.hand_over(1, next.now);
    next.frontier.give_up_shard(1, next.now);
    pass_state(&mut next, &mut owner);
    owner.frontier.drop_shard(1, owner.now);
    take(&mut owner, &spec, 1, LastStop::Clean);
    assert_eq!(owner.wait(), Some(asked + 20 * SECOND));
}

#[test]
fn after_an_unclean_takeover_hosts_of_that_shard_alone_wait_their_full_delay() {
    let spec = JobSpec { delay: Some(10 * SECOND), ..spec() };
    let mut owner = whole(&spec);
    owner.add(&[&page(&owner, 1, "/"), &page(&owner, 2, "/")]);
    let mut next = leased(&spec);
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec, 2, LastStop::Clean);
    take(&mut next, &spec, 1, LastStop::Unclean);
    assert_eq!(next.fetch().visit.url.to_string(), page(&next, 2, "/"));
    let until = next.now + 10 * SECOND;
    assert_eq!(next.wait(), Some(until));
    // A host that the state does not know may have been asked, too.
    next.now = next.now + 3 * SECOND;
    let unknown = format!("http://{}/", host(&next, 1, 5));
    send(&mut next, 1, &Message::Found(links("http://x.test/", &[&unknown])));
    deliver(&mut next, 1);
    assert_eq!(next.wait(), Some(until));
    assert_eq!(next.frontier.host_view(&host(&next, 1, 5)).unwrap().due.map(|(at, _)| at), Some(until));
}

#[test]
fn entries_of_two_owners_never_share_a_place() {
    // Both count from the same moment.
    let mut owner = whole(&spec());
    let first = page(&owner, 1, "/1");
    owner.add(&[&first]);
    let mut next = leased(&spec());
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec(), 1, LastStop::Clean);
    let second = page(&next, 1, "/2");
    next.add(&[&second]);
    pass_state(&mut next, &mut owner);
    owner.frontier.drop_shard(1, owner.now);
    take(&mut owner, &spec(), 1, LastStop::Clean);
    let one = owner.fetch();
    owner.page(one.token);
    assert_eq!([one.visit.url.to_string(), owner.fetch().visit.url.to_string()], [first, second]);
}

#[test]
fn a_job_is_counted_where_its_shards_are() {
    let mut owner = whole(&spec());
    owner.add(&[&page(&owner, 1, "/1"), &page(&owner, 1, "/2"), &page(&owner, 2, "/")]);
    let mut next = leased(&spec());
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec(), 1, LastStop::Clean);
    owner.frontier.drop_shard(1, owner.now);
    let queued = |owner: &Owner| owner.frontier.progress(JOB).unwrap().queued;
    assert_eq!((queued(&owner), queued(&next)), (1, 2));
    let token = next.fetch().token;
    next.page(token);
    assert_eq!((queued(&next), next.pages(), owner.pages()), (1, 1, 0));
}

#[test]
fn links_to_other_shards_are_sent_and_those_to_the_own_one_are_not() {
    let mut owner = whole(&spec());
    let (own, other) = (page(&owner, 1, "/a"), page(&owner, 2, "/b"));
    let (refused, new) =
        owner.frontier.discover_in(1, links(&page(&owner, 1, "/"), &[&own, &other]), owner.now);
    assert_eq!((refused.len(), new), (0, 1));
    let batch = owner.frontier.take_changes();
    let messages = sent(&batch);
    let [(1, 2, Message::Found(discovery))] = &messages[..] else { panic!("{messages:?}") };
    assert_eq!(discovery.found, vec![found(&other)]);
    assert_eq!((discovery.depth, discovery.source.as_ref()), (1, Some(&url(&page(&owner, 1, "/")))));
    owner.state.apply(batch).unwrap();
    assert_eq!(owner.frontier.progress(JOB).unwrap().queued, 1);
    assert!(deliver(&mut owner, 2).refused.is_empty());
    assert_eq!(owner.frontier.progress(JOB).unwrap().queued, 2);
}

#[test]
fn links_are_sent_again_until_they_are_known_to_be_durable() {
    let mut owner = whole(&spec());
    let (source, other) = (page(&owner, 1, "/"), page(&owner, 2, "/b"));
    let sends = |owner: &mut Owner| {
        owner.frontier.discover_in(1, links(&source, &[&other]), owner.now);
        let batch = owner.frontier.take_changes();
        let count = sent(&batch).len();
        owner.state.apply(batch).unwrap();
        count
    };
    assert_eq!((sends(&mut owner), sends(&mut owner)), (1, 1));
    let taken = owner.frontier.batches_taken();
    owner.frontier.batches_durable(taken);
    assert_eq!(sends(&mut owner), 0);
    // What a shard sent that was lost before it was durable was not sent.
    let third = page(&owner, 2, "/c");
    owner.frontier.discover_in(1, links(&source, &[&third]), owner.now);
    owner.frontier.take_changes();
    let taken = owner.frontier.batches_taken();
    owner.frontier.drop_shard(1, owner.now);
    owner.frontier.batches_durable(taken);
    take(&mut owner, &spec(), 1, LastStop::Clean);
    owner.frontier.discover_in(1, links(&source, &[&third]), owner.now);
    assert_eq!(sent(&owner.frontier.take_changes()).len(), 1);
    // Nor what was said to be durable before it was known to be lost.
    let taken = owner.frontier.batches_taken();
    owner.frontier.batches_durable(taken);
    owner.frontier.drop_shard(1, owner.now);
    take(&mut owner, &spec(), 1, LastStop::Clean);
    owner.frontier.discover_in(1, links(&source, &[&third]), owner.now);
    assert_eq!(sent(&owner.frontier.take_changes()).len(), 1);
}

#[test]
fn a_log_is_applied_once_however_often_it_is_read() {
    let mut owner = whole(&spec());
    let target = page(&owner, 2, "/b");
    let message = Message::Found(links("http://x.test/", &[&target])).encode();
    let log = [(5, &message), (6, &message)];
    owner.frontier.deliver(2, &log, owner.now);
    assert_eq!(owner.frontier.received(2), Some(6));
    let batch = owner.frontier.take_changes();
    let received = |change: &&Change| matches!(change, Change::Received { shard: 2, offset: 6 });
    assert_eq!(batch.changes.iter().filter(received).count(), 1);
    owner.state.apply(batch).unwrap();
    owner.frontier.deliver(2, &log, owner.now);
    assert!(owner.frontier.take_changes().is_empty());
    let mut next = leased(&spec());
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec(), 2, LastStop::Clean);
    assert_eq!(next.frontier.received(2), Some(6));
    next.frontier.deliver(2, &[(7, message)], next.now);
    assert_eq!(next.frontier.progress(JOB).unwrap().queued, 1, "the seen-set knows it");
    assert_eq!(next.frontier.received(2), Some(7));
}

#[test]
fn a_log_waits_for_a_job_that_is_not_open() {
    let mut owner = whole(&spec());
    let later = JobId(2);
    let target = page(&owner, 2, "/");
    let for_job = |job| Message::Found(Discovery { job, ..links("http://x.test/", &[&target]) }).encode();
    let log = [(1, for_job(JOB)), (2, for_job(later)), (3, for_job(JOB))];
    let delivered = owner.frontier.deliver(2, &log, owner.now);
    assert_eq!((delivered.waits_for, owner.frontier.received(2)), (Some(later), Some(1)));
    owner.apply();
    let limits = JobLimits::of(&spec(), "TestBot");
    owner.frontier.restore_job(&owner.state, later, limits, owner.now).unwrap();
    assert_eq!(owner.frontier.deliver(2, &log, owner.now).waits_for, None);
    assert_eq!(owner.frontier.received(2), Some(3));
    assert_eq!(owner.frontier.progress(later).unwrap().queued, 1);
    // What comes for a job that has ended is let go.
    owner.frontier.end_job(later);
    assert_eq!(owner.frontier.deliver(2, &[(4, for_job(later))], owner.now).waits_for, None);
    assert_eq!((owner.frontier.received(2), owner.frontier.progress(later)), (Some(4), None));
}

#[test]
fn a_job_that_is_opened_after_its_shard_finds_its_queues_and_its_seen_set() {
    let mut owner = whole(&spec());
    let later = JobId(2);
    let (shared, text) = (page(&owner, 1, "/1"), page(&owner, 1, "/2"));
    owner.frontier.open_job(later, JobLimits::of(&spec(), "TestBot"));
    owner.add(&[&shared]);
    owner.add_from(later, None, &[(&text, 50)]);
    let mut next = leased(&spec());
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec(), 1, LastStop::Clean);
    let token = next.fetch().token;
    next.page(token);
    assert_eq!(next.wait(), None);
    let limits = JobLimits::of(&spec(), "TestBot");
    next.frontier.restore_job(&next.state, later, limits, next.now).unwrap();
    assert_eq!(next.frontier.progress(later).unwrap().queued, 1);
    let seen = next.frontier.queue_view(later, &url(&text), found(&text).fingerprint);
    assert_eq!(seen, QueueView::Seen);
    assert_eq!(next.fetch().visit.url.as_str(), text);
}

#[test]
fn damaged_messages_and_those_for_the_wrong_shard_are_skipped_and_reported() {
    let mut owner = whole(&spec());
    let stray = page(&owner, 3, "/");
    let log = [(1, vec![9, 9, 9]), (2, Message::Found(links("http://x.test/", &[&stray])).encode())];
    let delivered = owner.frontier.deliver(2, &log, owner.now);
    assert_eq!(delivered.refused[0].skip.reason, SkipReason::NotCrawlable);
    assert!(delivered.refused[0].skip.detail.contains("shard 2"));
    let notices = owner.frontier.take_notices();
    assert!(matches!(notices[0], Notice::DamagedMessage { shard: 2, offset: 1, .. }), "{notices:?}");
    assert_eq!((owner.frontier.received(2), owner.wait()), (Some(2), None));
}

#[test]
fn a_redirect_to_another_shard_goes_on_there_once() {
    let mut owner = whole(&spec());
    let (from, to) = (page(&owner, 1, "/old"), page(&owner, 2, "/new"));
    owner.add(&[&from]);
    let dispatch = owner.fetch();
    owner.answer(dispatch.token, AnswerResult::Status(301));
    let redirect = Completion::Redirect { to: url(&to), status: 301 };
    owner.frontier.completed(dispatch.token, redirect, owner.now);
    let batch = owner.frontier.take_changes();
    let messages = sent(&batch);
    let [(1, 2, message @ Message::Continue(_))] = &messages[..] else { panic!("{messages:?}") };
    owner.state.apply(batch).unwrap();
    // Its sender did not know that it had come through.
    send(&mut owner, 2, message);
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
    deliver(&mut owner, 2);
    assert_eq!(owner.frontier.progress(JOB).unwrap().queued, 1);
    let dispatch = owner.fetch();
    assert_eq!(dispatch.visit.url.as_str(), to);
    assert_eq!(dispatch.visit.scheduled_url().as_str(), from);
    owner.page(dispatch.token);
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
}

#[test]
fn a_message_makes_a_shard_fetch_an_ended_url_again() {
    let mut owner = whole(&spec());
    let here = page(&owner, 2, "/again");
    owner.add(&[&here]);
    let first = owner.fetch();
    owner.answer(first.token, AnswerResult::Status(404));
    owner.complete(first.token, Completion::Done { counted: true });
    send(&mut owner, 2, &Message::Again(first.visit.clone()));
    deliver(&mut owner, 2);
    let second = owner.fetch();
    assert_eq!((&second.visit.url, second.visit.attempt), (&first.visit.url, 0));
    owner.page(second.token);
    // One that is not for this shard is refused.
    send(&mut owner, 1, &Message::Again(first.visit.clone()));
    assert_eq!(deliver(&mut owner, 1).refused[0].skip.reason, SkipReason::NotCrawlable);
    assert!(owner.frontier.progress(JOB).unwrap().is_finished());
}

#[test]
fn a_job_that_is_handed_in_again_asks_again_for_a_robots_txt_that_was_unreachable() {
    let careful = JobSpec { respect_robots: true, ..spec() };
    let mut owner = whole(&careful);
    let here = page(&owner, 2, "/");
    owner.add(&[&here]);
    for _ in 0..3 {
        let Asked::Robots(robots) = owner.ask_later() else { panic!("no robots.txt") };
        owner.answer_robots(robots.token, robots_txt(503, ""));
    }
    owner.now = owner.now + 60 * SECOND;
    assert!(rests(&mut owner));
    assert_eq!(owner.frontier.blocked_shards(JOB, owner.now + 600 * SECOND).len(), 1);
    send(&mut owner, 2, &Message::Begin { job: JOB, fresh: false });
    assert!(deliver(&mut owner, 2).begins);
    owner.frontier.forget_robots_failures(&owner.state, owner.now).unwrap();
    assert!(owner.frontier.blocked_shards(JOB, owner.now + 600 * SECOND).is_empty());
    assert_eq!(owner.robots().request.origin.host(), url(&here).host());
}

#[test]
fn a_fresh_job_forgets_host_failures_in_the_shards_it_is_announced_to() {
    let mut owner = whole(&spec());
    let urls: Vec<String> = (0..6).map(|n| page(&owner, 2, &format!("/{n}"))).collect();
    owner.add(&urls.iter().map(String::as_str).collect::<Vec<_>>());
    for _ in 0..5 {
        let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
        owner.answer(page.token, AnswerResult::Status(500));
        owner.complete(page.token, Completion::Done { counted: true });
    }
    let rests_until = owner.now + 50 * SECOND;
    assert!(owner.wait() >= Some(rests_until));
    send(&mut owner, 2, &Message::Begin { job: JOB, fresh: false });
    deliver(&mut owner, 2);
    assert!(owner.wait() >= Some(rests_until));
    send(&mut owner, 2, &Message::Begin { job: JOB, fresh: true });
    assert!(deliver(&mut owner, 2).begins);
    let Asked::Fetch(page) = owner.ask_later() else { panic!("no fetch") };
    assert!(owner.now < rests_until && page.visit.url.as_str() == urls[5]);
}

#[test]
fn a_host_that_a_seed_leads_to_is_in_scope_where_it_is_crawled() {
    let mut owner = whole(&spec());
    let grown = url(&page(&owner, 2, "/"));
    owner.frontier.add_scope_host(JOB, 1, &grown);
    owner.frontier.add_scope_host(JOB, 1, &grown);
    let mut next = leased(&spec());
    pass_state(&mut owner, &mut next);
    take(&mut next, &spec(), 2, LastStop::Clean);
    assert_eq!(next.frontier.scope_hosts(JOB), &[] as &[Box<str>]);
    assert_eq!(deliver(&mut next, 2).scope, vec![(JOB, grown.clone())]);
    assert_eq!(next.frontier.scope_hosts(JOB), &[grown.as_str().into()]);
    pass_state(&mut next, &mut owner);
    owner.frontier.drop_shard(2, owner.now);
    take(&mut owner, &spec(), 2, LastStop::Clean);
    assert!(deliver(&mut owner, 2).scope.is_empty());
}

fn with_robots() -> JobSpec {
    JobSpec { respect_robots: true, ..spec() }
}

/// A robots.txt of shard 1 that redirects to a host of shard 2, which has been told of it.
fn robots_in_other_shards(owner: &mut Owner) -> Url {
    let target = url(&page(owner, 2, "/robots.txt"));
    owner.add(&[&page(owner, 1, "/secret"), &page(owner, 1, "/open")]);
    let robots = owner.robots();
    owner.answer_robots(robots.token, argiope_frontier::RobotsAnswered::Redirect(target.clone()));
    assert!(matches!(owner.ask(), Asked::Wait(_)));
    deliver(owner, 2);
    target
}

#[test]
fn a_robots_txt_in_another_shard_is_fetched_there_and_sent_back() {
    let mut owner = whole(&with_robots());
    let target = robots_in_other_shards(&mut owner);
    let robots = owner.robots();
    assert_eq!((&robots.request.url, robots.job), (&target, JOB));
    owner.answer_robots(robots.token, robots_txt(200, "User-agent: *\nDisallow: /secret\n"));
    let batch = owner.frontier.take_changes();
    assert!(matches!(&sent(&batch)[..], [(2, 1, Message::RobotsTold { .. })]));
    owner.state.apply(batch).unwrap();
    let delivered = deliver(&mut owner, 1);
    assert_eq!(delivered.robots[0].origin.host(), host(&owner, 1, 0));
    a_moment_later(&mut owner);
    let (refused, skip) = owner.refuse();
    assert_eq!((refused.url.path(), skip.reason), ("/secret", SkipReason::RobotsDisallowed));
    assert_eq!(owner.fetch().visit.url.path(), "/open");
    assert!(deliver(&mut owner, 1).robots.is_empty());
}

#[test]
fn a_robots_request_without_reply_is_repeated() {
    let mut owner = whole(&with_robots());
    robots_in_other_shards(&mut owner);
    let asked = owner.now;
    // Whoever was asked has lost the question.
    owner.frontier.drop_shard(2, owner.now);
    let robots = match owner.ask_later() {
        Asked::Robots(robots) => robots,
        other => panic!("{other:?}"),
    };
    assert_eq!(robots.request.origin.host(), host(&owner, 1, 0));
    assert!(owner.now >= asked + Duration::from_secs(300));
    owner.answer_robots(robots.token, robots_txt(404, ""));
    // The answer of the first time is no news.
    let origin = url(&page(&owner, 1, "/"));
    let told =
        Message::RobotsTold { origin, answer: RobotsAnswer::Status(200), body: b"Disallow: /\n".to_vec() };
    send(&mut owner, 1, &told);
    assert!(deliver(&mut owner, 1).robots.is_empty());
    a_moment_later(&mut owner);
    assert_eq!(owner.fetch().visit.url.path(), "/secret");
}

fn limited() -> JobSpec {
    JobSpec { max_pages: Some(100), per_host: Some(8), ..spec() }
}

fn pages_of(owner: &Owner, shard: u16, count: usize) -> Vec<String> {
    (0..count).map(|n| page(owner, shard, &format!("/{n}"))).collect()
}

#[test]
fn no_more_pages_are_stored_than_were_granted() {
    let mut owner = whole(&limited());
    let pages = pages_of(&owner, 1, 5);
    owner.add(&pages.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(owner.wait(), None);
    assert!(owner.frontier.wants_pages(JOB));
    owner.frontier.grant(JOB, 2, owner.now);
    assert!(!owner.frontier.wants_pages(JOB));
    let (first, second) = (owner.fetch(), owner.fetch());
    assert!(rests(&mut owner));
    assert!(owner.frontier.wants_pages(JOB));
    assert_eq!(owner.frontier.return_pages(JOB), 0, "both are promised");
    owner.page(first.token);
    assert!(rests(&mut owner));
    // What is tried again gives its page back.
    owner.answer(second.token, AnswerResult::Status(200));
    owner.complete(second.token, Completion::Retry { due: owner.now + 60 * SECOND });
    let third = owner.fetch();
    owner.page(third.token);
    assert_eq!((owner.pages(), owner.wait().is_some()), (2, true));
    owner.frontier.grant(JOB, 10, owner.now);
    let fourth = owner.fetch();
    assert_eq!(owner.frontier.return_pages(JOB), 9);
    assert_eq!(owner.frontier.return_pages(JOB), 0);
    owner.page(fourth.token);
    assert_eq!(owner.pages(), 3);
    assert!(owner.frontier.wants_pages(JOB));
}

#[test]
fn nothing_is_wanted_where_nothing_waits() {
    let mut owner = whole(&limited());
    assert!(!owner.frontier.wants_pages(JOB));
    let pages = pages_of(&owner, 1, 1);
    owner.add(&[&pages[0]]);
    assert_eq!(owner.wait(), None);
    assert!(owner.frontier.wants_pages(JOB));
    owner.frontier.hand_over(1, owner.now);
    assert!(!owner.frontier.wants_pages(JOB), "that is for the next owner to ask");
}

#[test]
fn a_page_of_a_shard_that_has_gone_is_held_until_it_is_known_whether_it_was_stored() {
    let mut owner = whole(&limited());
    let pages = pages_of(&owner, 1, 3);
    owner.add(&pages.iter().map(String::as_str).collect::<Vec<_>>());
    owner.frontier.grant(JOB, 3, owner.now);
    let [stored, retried, lost] = [owner.fetch().token, owner.fetch().token, owner.fetch().token];
    owner.apply();
    owner.frontier.drop_shard(1, owner.now);
    assert_eq!(owner.frontier.return_pages(JOB), 0);
    for token in [stored, retried, lost] {
        owner.answer(token, AnswerResult::Status(200));
    }
    assert_eq!(owner.frontier.return_pages(JOB), 0);
    owner.complete(stored, Completion::Done { counted: true });
    owner.complete(retried, Completion::Retry { due: owner.now });
    assert_eq!(owner.frontier.return_pages(JOB), 1);
    owner.frontier.abandon(lost, owner.now);
    assert_eq!(owner.frontier.return_pages(JOB), 1);
    assert!(!owner.frontier.has_uncommitted());
}

#[test]
fn the_page_of_a_redirect_to_another_shard_is_given_back() {
    let mut owner = whole(&limited());
    let (from, to, same) = (page(&owner, 1, "/old"), page(&owner, 2, "/new"), page(&owner, 1, "/same"));
    owner.add(&[&from]);
    owner.frontier.grant(JOB, 1, owner.now);
    let dispatch = owner.fetch();
    owner.answer(dispatch.token, AnswerResult::Status(301));
    owner.complete(dispatch.token, Completion::Redirect { to: url(&to), status: 301 });
    owner.add(&[&same]);
    let dispatch = owner.fetch();
    assert_eq!(dispatch.visit.url.as_str(), same, "the page is free");
    deliver(&mut owner, 2);
    assert!(rests(&mut owner), "a redirect needs a page where it goes on");
    owner.page(dispatch.token);
    assert!(owner.frontier.wants_pages(JOB));
    owner.frontier.grant(JOB, 1, owner.now);
    let dispatch = owner.fetch();
    assert_eq!(dispatch.visit.url.as_str(), to);
    owner.page(dispatch.token);
    assert_eq!((owner.pages(), owner.frontier.return_pages(JOB)), (2, 0));
}
