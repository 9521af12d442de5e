//! Recrawls: a discovery with a due time, and URLs with what is known of their last fetch.

use crate::owner::{Asked, JOB, Owner, spec, url};
use argiope_frontier::message::Message;
use argiope_frontier::{Completion, Discovery, Found, FrontierConfig, LastStop};
use argiope_model::{FingerprintKey, Millis, PreviousFetch, RequestKind, Validators};
use argiope_politeness::AnswerResult;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn previous(text: &str) -> PreviousFetch {
    let validators = Validators {
        etag: Some(String::from("\"1\"")),
        last_modified: Some(String::from("Tue, 15 Nov 1994 12:45:26 GMT")),
    };
    PreviousFetch { url: url(text), validators, archive: Some("w-1.warc.gz:77".parse().unwrap()) }
}

fn recrawl(text: &str, round: u32, not_before: Option<Millis>) -> Discovery {
    let found = Found {
        url: url(text),
        fingerprint: FingerprintKey::new([3; 16]).of(text, round),
        priority: 50,
        kind: RequestKind::Page,
        previous: Some(Box::new(previous(text))),
    };
    Discovery { job: JOB, round, depth: 2, source: None, not_before, found: vec![found] }
}

#[test]
fn a_recrawl_is_requested_when_it_is_due_with_what_is_known_of_the_last_fetch() {
    let mut owner = Owner::new(&spec());
    let text = "http://a.test/1";
    owner.add(&[text]);
    let first = owner.fetch();
    assert_eq!(first.visit.previous, None);
    owner.answer(first.token, AnswerResult::Status(200));
    owner.complete(first.token, Completion::Done { counted: true });
    let due = owner.now + HOUR;
    let (refused, new) = owner.frontier.discover(recrawl(text, 1, Some(due)), owner.now);
    assert_eq!((refused.len(), new), (0, 1));
    assert_eq!(
        owner.frontier.discover(recrawl(text, 1, Some(due)), owner.now).1,
        0,
        "it is scheduled already"
    );
    assert!(matches!(owner.ask(), Asked::Wait(Some(at)) if at == due));
    assert_eq!(owner.frontier.progress(JOB).unwrap().delayed, 1);

    owner.restart(&spec(), LastStop::Clean, HOUR / 2);
    assert!(matches!(owner.ask(), Asked::Wait(Some(at)) if at == due));
    owner.now = due;
    let second = owner.fetch();
    assert_eq!((second.visit.url.as_str(), second.visit.round, second.visit.depth), (text, 1, 2));
    assert_eq!(second.visit.validators(), Some(&previous(text).validators));
    assert_eq!(second.visit.previous.as_deref(), Some(&previous(text)));
}

#[test]
fn retries_and_redirects_of_a_recrawl_keep_the_last_fetch() {
    let mut owner = Owner::new(&spec());
    owner.frontier.discover(recrawl("http://a.test/1", 1, None), owner.now);
    let first = owner.fetch();
    owner.answer(first.token, AnswerResult::Status(503));
    let due = owner.now + HOUR;
    owner.complete(first.token, Completion::Retry { due });
    owner.now = due;
    let second = owner.fetch();
    assert_eq!((second.visit.attempt, &second.visit.previous), (1, &first.visit.previous));
    owner.answer(second.token, AnswerResult::Status(301));
    owner.complete(second.token, Completion::Redirect { to: url("http://b.test/"), status: 301 });
    let hop = owner.fetch();
    assert_eq!((hop.visit.url.as_str(), &hop.visit.previous), ("http://b.test/", &first.visit.previous));
    assert_eq!(hop.visit.validators(), None, "they are of another URL");
}

#[test]
fn a_recrawl_reaches_the_shard_it_belongs_to() {
    let config = FrontierConfig { shards: 4, leased: true, ..FrontierConfig::default() };
    let mut owner = Owner::with(&spec(), config, crate::owner::settings("{}"));
    let text = "http://a.test/1";
    let shard = owner.frontier.shard_of(&url(text));
    let from = (shard + 1) % 4;
    for taken in [shard, from] {
        let opens =
            std::collections::HashMap::from([(JOB, argiope_frontier::JobLimits::of(&spec(), "TestBot"))]);
        owner.frontier.restore_shard(&owner.state, taken, &opens, LastStop::Clean, owner.now).unwrap();
    }
    let due = owner.now + HOUR;
    owner.frontier.discover_in(from, recrawl(text, 1, Some(due)), owner.now);
    owner.apply();
    let log: Vec<(u64, Vec<u8>)> =
        owner.state.log(shard, 0).map(|(at, bytes)| (at, bytes.to_vec())).collect();
    assert_eq!(Message::decode(&log[0].1), Ok(Message::Found(recrawl(text, 1, Some(due)))));
    owner.frontier.deliver(shard, &log, owner.now);
    assert!(matches!(owner.ask(), Asked::Wait(Some(at)) if at == due));
    owner.now = due;
    let visit = owner.fetch().visit;
    assert_eq!(visit.previous.as_deref(), Some(&previous(text)));
}
