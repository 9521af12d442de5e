//! What every adapter of [`Log`] has to fulfil.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use argiope_cluster::server_error::ServerErrorKind;
use argiope_cluster::transport::{Log, Offset};
use std::collections::BTreeMap;

/// An empty log of at least eight shards: `log` gives another way to it each time, `forget` makes it forget what comes
/// before an offset.
pub(crate) struct Fresh<'a> {
    pub(crate) log: &'a dyn Fn() -> Box<dyn Log>,
    pub(crate) forget: &'a dyn Fn(u16, Offset),
}

/// Each is called with an empty log.
pub(crate) const SUITE: [fn(&Fresh<'_>); 6] = [
    messages_are_read_in_order_by_everyone,
    reading_goes_on_after_an_offset,
    a_reading_is_bounded_and_gives_one_at_least,
    ends_are_those_of_the_last_messages,
    many_writers_lose_nothing,
    what_was_forgotten_is_named,
];

fn message(shard: u16, number: usize) -> (u16, Vec<u8>) {
    (shard, format!("{shard}/{number} {}", "x".repeat(number % 300)).into_bytes())
}

fn append(log: &mut dyn Log, messages: &[(u16, Vec<u8>)]) -> BTreeMap<u16, Offset> {
    let messages: Vec<(u16, &[u8])> = messages.iter().map(|(shard, value)| (*shard, &value[..])).collect();
    log.append(&messages).unwrap()
}

fn read_all(log: &mut dyn Log, shard: u16, mut after: Offset, max_bytes: usize) -> Vec<(Offset, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let next = log.read(shard, after, max_bytes).unwrap();
        let Some((last, _)) = next.last() else {
            return all;
        };
        assert!(next.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(next[0].0 > after);
        after = *last;
        all.extend(next);
    }
}

fn values(messages: &[(Offset, Vec<u8>)]) -> Vec<Vec<u8>> {
    messages.iter().map(|(_, value)| value.clone()).collect()
}

fn messages_are_read_in_order_by_everyone(fresh: &Fresh<'_>) {
    let (mut writer, mut reader) = ((fresh.log)(), (fresh.log)());
    assert_eq!(reader.read(3, 0, 1000).unwrap(), []);
    assert!(append(&mut *writer, &[]).is_empty());
    let sent: Vec<(u16, Vec<u8>)> = (0..500).map(|n| message([3, 0, 7][n % 3], n)).collect();
    for some in sent.chunks(170) {
        append(&mut *writer, some);
    }
    for shard in [0, 3, 7] {
        let expected: Vec<Vec<u8>> =
            sent.iter().filter(|(to, _)| *to == shard).map(|(_, value)| value.clone()).collect();
        let first = read_all(&mut *reader, shard, 0, 1 << 20);
        assert_eq!(values(&first), expected);
        assert_eq!(read_all(&mut *(fresh.log)(), shard, 0, 5000), first, "the same for everyone");
    }
    assert_eq!(reader.read(1, 0, 1000).unwrap(), []);
}

fn reading_goes_on_after_an_offset(fresh: &Fresh<'_>) {
    let mut log = (fresh.log)();
    append(&mut *log, &[message(1, 1), message(1, 2), message(1, 3)]);
    let all = read_all(&mut *log, 1, 0, 1 << 20);
    assert!(all[0].0 >= 1);
    assert_eq!(read_all(&mut *log, 1, all[0].0, 1 << 20), all[1..]);
    assert_eq!(log.read(1, all[2].0, 1000).unwrap(), []);
    append(&mut *log, &[message(1, 4)]);
    assert_eq!(values(&log.read(1, all[2].0, 1000).unwrap()), [message(1, 4).1]);
}

fn a_reading_is_bounded_and_gives_one_at_least(fresh: &Fresh<'_>) {
    let mut log = (fresh.log)();
    let large = vec![7; 200_000];
    let sent: Vec<(u16, Vec<u8>)> = (0..10).map(|_| (2, large.clone())).collect();
    append(&mut *log, &sent);
    assert_eq!(log.read(2, 0, 1).unwrap().len(), 1);
    let some = log.read(2, 0, 500_000).unwrap();
    assert!((1..=2).contains(&some.len()), "{}", some.len());
    assert_eq!(read_all(&mut *log, 2, 0, 500_000).len(), 10);
    assert_eq!(read_all(&mut *log, 2, 0, 1).len(), 10);
}

fn ends_are_those_of_the_last_messages(fresh: &Fresh<'_>) {
    let mut log = (fresh.log)();
    assert_eq!(log.ends(&[0, 5]).unwrap(), [0, 0]);
    let told = append(&mut *log, &[message(5, 1), message(5, 2), message(0, 1)]);
    let ends = log.ends(&[5, 1, 0]).unwrap();
    let last = |log: &mut dyn Log, shard| read_all(log, shard, 0, 1 << 20).last().unwrap().0;
    assert_eq!(ends, [last(&mut *log, 5), 0, last(&mut *log, 0)]);
    assert_eq!(told, BTreeMap::from([(5, ends[0]), (0, ends[2])]), "whoever appends is told where");
    assert_eq!(log.ends(&[]).unwrap(), Vec::<Offset>::new());
}

fn many_writers_lose_nothing(fresh: &Fresh<'_>) {
    let writers: Vec<Box<dyn Log>> = (0..4).map(|_| (fresh.log)()).collect();
    std::thread::scope(|scope| {
        for (writer, mut log) in writers.into_iter().enumerate() {
            scope.spawn(move || {
                for n in 0..50 {
                    append(&mut *log, &[(4, format!("{writer} {n}").into_bytes()), message(6, n)]);
                }
            });
        }
    });
    let read = values(&read_all(&mut *(fresh.log)(), 4, 0, 1 << 20));
    assert_eq!(read.len(), 200);
    for writer in 0..4 {
        let begin = format!("{writer} ").into_bytes();
        let own: Vec<&Vec<u8>> = read.iter().filter(|value| value.starts_with(&begin)).collect();
        let expected: Vec<Vec<u8>> = (0..50).map(|n| format!("{writer} {n}").into_bytes()).collect();
        assert!(own.into_iter().eq(&expected), "in the order of the writer");
    }
    assert_eq!(read_all(&mut *(fresh.log)(), 6, 0, 1 << 20).len(), 200);
}

fn what_was_forgotten_is_named(fresh: &Fresh<'_>) {
    let mut log = (fresh.log)();
    for n in 0..10 {
        append(&mut *log, &[message(5, n)]);
    }
    let all = read_all(&mut *log, 5, 0, 1 << 20);
    (fresh.forget)(5, all[6].0);
    for after in [0, all[2].0] {
        let error = log.read(5, after, 1000).unwrap_err();
        assert_eq!(error.kind, ServerErrorKind::DataLost, "{error}");
        assert!(error.to_string().contains("are gone"), "{error}");
    }
    assert_eq!(read_all(&mut *log, 5, all[5].0, 1 << 20), all[6..], "nothing before it is missing");
    assert_eq!(log.ends(&[5]).unwrap(), [all[9].0]);
}
