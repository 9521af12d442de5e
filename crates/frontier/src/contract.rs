//! The contract of [`crate::state::ShardState`]. The tests of each adapter run it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test suite: a failure is a panic"
)]

use crate::codec::{decode_visit, encode_visit};
use crate::queue::{Entry, OrderKey};
use crate::state::{
    Change, Delayed, HostKey, QueueAt, Restore, ShardState, Shards, StateBatch, StateError, StoredRobots,
};
use argiope_model::{Fingerprint, JobId, Millis, PreviousFetch, RequestKind, Url, Validators, Visit};
use std::collections::BTreeSet;

/// `fresh` creates an empty state each time.
pub fn shard_state<S: ShardState>(fresh: &mut dyn FnMut() -> S) {
    queues_are_served_in_order_after_a_position(&mut fresh());
    removed_entries_are_gone(&mut fresh());
    queues_do_not_mix(&mut fresh());
    delayed_entries_come_by_time(&mut fresh());
    a_recrawl_keeps_its_due_time_and_its_last_fetch(&mut fresh());
    robots_are_kept_per_origin(&mut fresh());
    a_restart_is_told_everything(&mut fresh());
    an_owner_is_told_of_its_shards_only(&mut fresh());
    a_job_that_comes_later_is_told_alone(&mut fresh());
    a_forgotten_job_leaves_nothing(&mut fresh());
    marks_are_kept(&mut fresh());
}

/// `reopen` opens the same state each time, empty at first.
pub fn survives_reopening<S: ShardState>(reopen: &mut dyn FnMut() -> S) {
    {
        let mut state = reopen();
        let seen = Change::Seen { job: JobId(1), shard: 3, fingerprints: vec![Fingerprint(1)] };
        apply(&mut state, vec![put(at(1, 1), order(5, 1)), seen.clone(), job(1)]);
        state.sync().unwrap();
    }
    {
        let mut state = reopen();
        let seen = Change::Seen { job: JobId(1), shard: 3, fingerprints: vec![Fingerprint(2)] };
        let entry = Entry { order: order(51, 3), value: encode_visit(&recrawl()) };
        let later = Change::Delay(Delayed { due: Millis(90), at: at(1, 2), entry });
        apply(&mut state, vec![put(at(1, 1), order(5, 2)), seen, later]);
        state.sync().unwrap();
    }
    let state = reopen();
    assert_eq!(orders(&state, at(1, 1), None, 10), vec![order(5, 1), order(5, 2)]);
    assert_eq!(told(&state).seen, BTreeSet::from([(1, 3, 1), (1, 3, 2)]));
    let (delayed, _) = state.load_due(&Shards::All, Millis(90), 10).unwrap();
    let visits: Vec<Visit> =
        delayed.iter().map(|delayed| decode_visit(JobId(1), 50, &delayed.entry.value).unwrap()).collect();
    assert_eq!(visits, [recrawl()]);
}

fn at(job: u32, number: u32) -> QueueAt {
    QueueAt { job: JobId(job), host: HostKey { shard: 7, number } }
}

fn order(rank: u8, sequence: u64) -> OrderKey {
    OrderKey { rank, depth: 0, sequence }
}

fn put(at: QueueAt, order: OrderKey) -> Change {
    Change::Queue { at, entry: Entry { order, value: format!("{order:?}").into_bytes().into() } }
}

fn job(id: u32) -> Change {
    job_in(id, 7, &[1, 2, 3])
}

fn job_in(id: u32, shard: u16, record: &[u8]) -> Change {
    Change::Job { job: JobId(id), shard, record: record.to_vec() }
}

fn seen_in(job: u32, shard: u16, fingerprints: &[u64]) -> Change {
    let fingerprints = fingerprints.iter().copied().map(Fingerprint).collect();
    Change::Seen { job: JobId(job), shard, fingerprints }
}

fn apply(state: &mut impl ShardState, changes: Vec<Change>) {
    state.apply(StateBatch { changes, marks: Vec::new() }).unwrap();
}

fn orders(state: &impl ShardState, at: QueueAt, after: Option<OrderKey>, limit: usize) -> Vec<OrderKey> {
    let entries = state.load_queue(at, after, limit).unwrap();
    for entry in &entries {
        assert_eq!(*entry.value, *format!("{:?}", entry.order).into_bytes());
    }
    entries.into_iter().map(|entry| entry.order).collect()
}

fn queues_are_served_in_order_after_a_position(state: &mut impl ShardState) {
    let here = at(1, 1);
    apply(state, vec![put(here, order(50, 2)), put(here, order(9, 3)), put(here, order(50, 1))]);
    let deeper = OrderKey { rank: 50, depth: 1, sequence: 0 };
    apply(state, vec![put(here, deeper), put(here, order(0, 9))]);
    let all = vec![order(0, 9), order(9, 3), order(50, 1), order(50, 2), deeper];
    assert_eq!(orders(state, here, None, 10), all);
    assert_eq!(orders(state, here, None, 2), all[..2]);
    assert_eq!(orders(state, here, Some(order(9, 3)), 10), all[2..]);
    assert_eq!(orders(state, here, Some(order(20, 0)), 1), all[2..3]);
    assert_eq!(orders(state, here, Some(deeper), 10), vec![]);
}

fn removed_entries_are_gone(state: &mut impl ShardState) {
    let here = at(1, 1);
    apply(state, vec![put(here, order(5, 1)), put(here, order(5, 2))]);
    apply(state, vec![Change::Unqueue { at: here, order: order(5, 1) }]);
    // Removing a missing entry is not an error: recovery repeats changes.
    apply(state, vec![Change::Unqueue { at: here, order: order(5, 1) }]);
    assert_eq!(orders(state, here, None, 10), vec![order(5, 2)]);
}

fn queues_do_not_mix(state: &mut impl ShardState) {
    apply(state, vec![put(at(1, 1), order(5, 1)), put(at(1, 2), order(5, 2)), put(at(2, 1), order(5, 3))]);
    assert_eq!(orders(state, at(1, 1), None, 10), vec![order(5, 1)]);
    assert_eq!(orders(state, at(1, 2), None, 10), vec![order(5, 2)]);
    assert_eq!(orders(state, at(2, 1), None, 10), vec![order(5, 3)]);
    assert_eq!(orders(state, at(2, 2), None, 10), vec![]);
}

fn delayed_entries_come_by_time(state: &mut impl ShardState) {
    let delayed = |due, sequence| {
        let entry = Entry { order: order(5, sequence), value: Box::default() };
        Delayed { due: Millis(due), at: at(1, 1), entry }
    };
    let (late, soon, middle) = (delayed(300, 1), delayed(100, 2), delayed(200, 3));
    apply(state, [&late, &soon, &middle].map(|d| Change::Delay(d.clone())).into());
    assert_eq!(state.load_due(&Shards::All, Millis(99), 10).unwrap(), (vec![], Some(Millis(100))));
    let due = state.load_due(&Shards::All, Millis(200), 10).unwrap();
    assert_eq!(due, (vec![soon.clone(), middle.clone()], Some(Millis(300))));
    assert_eq!(
        state.load_due(&Shards::All, Millis(999), 1).unwrap(),
        (vec![soon.clone()], Some(Millis(200)))
    );
    let gone = Change::Undelay { due: soon.due, at: soon.at, order: soon.entry.order };
    apply(state, vec![gone]);
    assert_eq!(state.load_due(&Shards::All, Millis(999), 10).unwrap(), (vec![middle, late], None));
}

/// A visit that fetches a URL again.
fn recrawl() -> Visit {
    let url = Url::from_stored("https://a.test/x?\u{e9}").unwrap();
    let validators = Validators { etag: Some(String::from("W/\"\u{e9}\"")), last_modified: None };
    let archive = Some("w-1/a.warc.gz:12345678901".parse().unwrap());
    Visit {
        job: JobId(1),
        kind: RequestKind::Page,
        url: url.clone(),
        round: 3,
        attempt: 0,
        depth: 2,
        priority: 50,
        scheduled_at: Millis(1),
        hops: Vec::new(),
        source: None,
        previous: Some(Box::new(PreviousFetch { url, validators, archive })),
    }
}

fn a_recrawl_keeps_its_due_time_and_its_last_fetch(state: &mut impl ShardState) {
    let (here, visit) = (at(1, 1), recrawl());
    let entry = |sequence| Entry { order: order(51, sequence), value: encode_visit(&visit) };
    let due = Millis(1_900_000_000_000);
    let later = Change::Delay(Delayed { due, at: here, entry: entry(2) });
    apply(state, vec![Change::Queue { at: here, entry: entry(1) }, later]);
    let queued = state.load_queue(here, None, 10).unwrap();
    assert_eq!(decode_visit(JobId(1), 50, &queued[0].value).unwrap(), visit);
    assert_eq!(state.load_due(&Shards::All, Millis(due.0 - 1), 10).unwrap(), (vec![], Some(due)));
    let (delayed, _) = state.load_due(&Shards::All, due, 10).unwrap();
    assert_eq!(decode_visit(JobId(1), 50, &delayed[0].entry.value).unwrap(), visit);
}

fn robots_are_kept_per_origin(state: &mut impl ShardState) {
    let stored = |status, body: &[u8]| StoredRobots {
        fetched_at: Millis(5),
        expires: Millis(10),
        status,
        body: body.into(),
    };
    let change = |origin: &str, stored: &StoredRobots| Change::Robots {
        shard: 7,
        origin: origin.into(),
        stored: stored.clone(),
    };
    let (first, second) = (stored(200, b"User-agent: *\n\xff"), stored(404, b""));
    apply(state, vec![change("https://a.test", &first), change("http://a.test", &second)]);
    assert_eq!(state.load_robots("https://a.test").unwrap(), Some(first));
    assert_eq!(state.load_robots("http://a.test").unwrap(), Some(second.clone()));
    assert_eq!(state.load_robots("https://b.test").unwrap(), None);
    apply(state, vec![change("https://a.test", &second)]);
    assert_eq!(state.load_robots("https://a.test").unwrap(), Some(second));
}

#[derive(Default)]
struct Told {
    jobs: Vec<(u32, u16, Vec<u8>)>,
    hosts: Vec<(HostKey, Vec<u8>)>,
    seen: BTreeSet<(u32, u16, u64)>,
    received: Vec<(u16, u64)>,
    next_due: Option<Millis>,
}

impl Restore for Told {
    fn job(&mut self, job: JobId, shard: u16, record: &[u8]) -> Result<(), StateError> {
        assert!(self.hosts.is_empty(), "jobs come before hosts");
        self.jobs.push((job.0, shard, record.to_vec()));
        Ok(())
    }

    fn host(&mut self, key: HostKey, record: &[u8]) -> Result<(), StateError> {
        self.hosts.push((key, record.to_vec()));
        Ok(())
    }

    fn seen(&mut self, job: JobId, shard: u16, fingerprints: &mut dyn Iterator<Item = Fingerprint>) {
        self.seen.extend(fingerprints.map(|f| (job.0, shard, f.0)));
    }

    fn received(&mut self, shard: u16, offset: u64) {
        self.received.push((shard, offset));
    }

    fn next_due(&mut self, due: Option<Millis>) {
        self.next_due = due;
    }
}

fn told(state: &impl ShardState) -> Told {
    told_of(state, &Shards::All)
}

fn told_of(state: &impl ShardState, shards: &Shards) -> Told {
    let mut told = Told::default();
    state.restore(shards, &mut told, &|_| true).unwrap();
    told.jobs.sort();
    told
}

fn a_restart_is_told_everything(state: &mut impl ShardState) {
    let host = |number, byte| Change::Host { key: at(1, number).host, record: vec![byte] };
    let seen = [seen_in(1, 0, &[1, 2]), seen_in(2, 0, &[3])];
    apply(state, [vec![host(1, 10), host(2, 20), job(1), job(2)], seen.into()].concat());
    apply(state, vec![host(1, 11), seen_in(1, 0, &[4]), seen_in(1, 63, &[5])]);
    let entry = Entry { order: order(1, 1), value: Box::default() };
    apply(state, vec![Change::Delay(Delayed { due: Millis(77), at: at(1, 1), entry })]);
    let all = told(state);
    assert_eq!(all.jobs.iter().map(|(id, _, _)| *id).collect::<Vec<_>>(), vec![1, 2]);
    assert_eq!(all.hosts, vec![(at(1, 1).host, vec![11]), (at(1, 2).host, vec![20])]);
    let expected = [(1, 0, 1), (1, 0, 2), (1, 0, 4), (1, 63, 5), (2, 0, 3)];
    assert_eq!(all.seen, BTreeSet::from(expected));
    assert_eq!(all.next_due, Some(Millis(77)));
    let mut some = Told::default();
    state.restore(&Shards::All, &mut some, &|job| job == JobId(2)).unwrap();
    assert_eq!(some.seen, BTreeSet::from([(2, 0, 3)]));
}

fn an_owner_is_told_of_its_shards_only(state: &mut impl ShardState) {
    let place = |shard| QueueAt { job: JobId(1), host: HostKey { shard, number: 0 } };
    let delayed = |shard: u16| {
        let entry = Entry { order: order(5, 1), value: Box::default() };
        Delayed { due: Millis(10 * u64::from(shard)), at: place(shard), entry }
    };
    for shard in [1, 2, 3] {
        let host = Change::Host { key: place(shard).host, record: vec![shard as u8] };
        let received = Change::Received { shard, offset: 100 + u64::from(shard) };
        let seen = seen_in(1, shard, &[u64::from(shard)]);
        let record = job_in(1, shard, &[shard as u8]);
        apply(state, vec![record, host, seen, received, Change::Delay(delayed(shard))]);
    }
    apply(state, vec![Change::Received { shard: 2, offset: 200 }, job_in(2, 2, &[9])]);
    let own = Shards::one(2);
    let told = told_of(state, &own);
    assert_eq!(told.jobs, vec![(1, 2, vec![2]), (2, 2, vec![9])]);
    assert_eq!(told.hosts, vec![(place(2).host, vec![2])]);
    assert_eq!(told.seen, BTreeSet::from([(1, 2, 2)]));
    assert_eq!(told.received, vec![(2, 200)]);
    assert_eq!(told.next_due, Some(Millis(20)));
    assert_eq!(state.load_due(&own, Millis(99), 10).unwrap(), (vec![delayed(2)], None));
    assert_eq!(state.load_due(&own, Millis(10), 10).unwrap(), (vec![], Some(Millis(20))));
    let both = Shards::Only(BTreeSet::from([1, 3]));
    assert_eq!(told_of(state, &both).jobs, vec![(1, 1, vec![1]), (1, 3, vec![3])]);
    assert_eq!(state.load_due(&both, Millis(10), 10).unwrap(), (vec![delayed(1)], Some(Millis(30))));
    let none = told_of(state, &Shards::one(4));
    assert_eq!((none.jobs, none.hosts, none.next_due), (vec![], vec![], None));
}

fn a_job_that_comes_later_is_told_alone(state: &mut impl ShardState) {
    for shard in [1, 2] {
        apply(state, vec![job_in(1, shard, &[1]), job_in(2, shard, &[2]), seen_in(2, shard, &[7])]);
    }
    apply(state, vec![seen_in(1, 1, &[6])]);
    let mut told = Told::default();
    state.restore_job(&Shards::one(2), JobId(2), &mut told).unwrap();
    assert_eq!((told.jobs, told.hosts), (vec![(2, 2, vec![2])], vec![]));
    assert_eq!(told.seen, BTreeSet::from([(2, 2, 7)]));
}

fn a_forgotten_job_leaves_nothing(state: &mut impl ShardState) {
    let seen = |job| Change::Seen { job: JobId(job), shard: 0, fingerprints: vec![Fingerprint(1)] };
    let entry = Entry { order: order(1, 1), value: Box::default() };
    let later = |job| Change::Delay(Delayed { due: Millis(1), at: at(job, 1), entry: entry.clone() });
    for id in [1, 2] {
        apply(state, vec![job(id), job_in(id, 8, &[4]), put(at(id, 1), order(5, 1)), seen(id), later(id)]);
    }
    apply(state, vec![Change::ForgetJob(JobId(1))]);
    assert_eq!(orders(state, at(1, 1), None, 10), vec![]);
    assert_eq!(orders(state, at(2, 1), None, 10), vec![order(5, 1)]);
    let rest = told(state);
    assert_eq!(rest.jobs, vec![(2, 7, vec![1, 2, 3]), (2, 8, vec![4])]);
    assert_eq!(rest.seen, BTreeSet::from([(2, 0, 1)]));
    let (due, _) = state.load_due(&Shards::All, Millis(9), 10).unwrap();
    assert_eq!(due.iter().map(|d| d.at.job.0).collect::<Vec<_>>(), vec![2]);
}

fn marks_are_kept(state: &mut impl ShardState) {
    let set = |state: &mut dyn ShardState, marks: &[(&str, u64)]| {
        let marks = marks.iter().map(|(name, number)| ((*name).into(), *number)).collect();
        state.apply(StateBatch { changes: Vec::new(), marks }).unwrap();
    };
    assert_eq!(state.marks().unwrap(), vec![]);
    set(state, &[("catalogue", 40), ("archive/a", 7)]);
    set(state, &[("catalogue", 41)]);
    apply(state, vec![job(1)]);
    let mut marks = state.marks().unwrap();
    marks.sort();
    assert_eq!(marks, vec![("archive/a".into(), 7), ("catalogue".into(), 41)]);
}
