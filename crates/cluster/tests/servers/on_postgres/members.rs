//! Membership: shards have one owner, what the former one writes is refused, budgets are shared out to the page, messages
//! come in order and once, and one leads.

use super::peer::Peer;
use super::scratch::{LIMIT, Scratch};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::members::{
    IngestProgress, MessageSender, Outgoing, PreparedMessages, cluster_status, ingest_chunk, ingest_progress,
    send, set_budget,
};
use argiope_cluster::transport::Transport;
use argiope_frontier::LastStop;
use argiope_frontier::member::MemberEvent;
use argiope_frontier::state::{Change, HostKey};
use argiope_model::{JobId, Millis, Page};
use argiope_store::catalogue::{Batch, Catalogue, PageRow, url_key};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::Barrier;
use std::time::{Duration, Instant};

const JOB: JobId = JobId(1);

fn job(scratch: &Scratch) {
    scratch.ask(
        "INSERT INTO jobs (id, state, spec, seeds_hash, created_at) OVERRIDING SYSTEM VALUE VALUES (1, 'paused', '{}', 'h', now())",
    );
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "waited for {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn host(shard: u16, record: &[u8]) -> Change {
    Change::Host { key: HostKey { shard, number: 1 }, record: record.to_vec() }
}

fn hosts(scratch: &Scratch) -> Vec<String> {
    let rows =
        scratch.ask("SELECT shard || ' ' || encode(record, 'escape') FROM frontier_hosts ORDER BY shard");
    rows.into_iter().map(|row| row[0].clone().unwrap()).collect()
}

#[test]
fn of_many_that_join_at_once_each_shard_has_one() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let names = ["a", "b", "c", "d"];
    let even = "SELECT count(*) FROM (SELECT owner FROM shards WHERE owner IS NOT NULL GROUP BY owner HAVING count(*) = 2) o";
    let barrier = Barrier::new(names.len());
    let peers: Vec<BTreeMap<u16, LastStop>> = std::thread::scope(|scope| {
        let joining = names.map(|name| {
            let (scratch, barrier) = (&scratch, &barrier);
            scope.spawn(move || {
                let mut peer = Peer::join(scratch, name);
                // Whoever looked first has more than its share, and hands it over.
                peer.work_until("all to have their share", || scratch.number(even) == 4);
                peer.wait_for_shards(2);
                for shard in peer.shards.keys() {
                    let epoch = scratch.number(&format!("SELECT epoch FROM shards WHERE shard = {shard}"));
                    assert_eq!(peer.epochs.get(*shard), Some(epoch), "{}: shard {shard}", peer.owner);
                }
                barrier.wait();
                peer.shards
            })
        });
        joining.into_iter().map(|peer| peer.join().unwrap()).collect()
    });
    let all: BTreeSet<u16> = peers.iter().flat_map(|shards| shards.keys().copied()).collect();
    assert_eq!((all.len(), peers.iter().map(BTreeMap::len).sum::<usize>()), (8, 8), "{peers:?}");
}

#[test]
fn what_is_written_for_a_shard_that_another_has_is_left_out() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut first = Peer::join(&scratch, "first");
    first.wait_for_shards(8);
    first.write(vec![host(3, b"mine"), host(4, b"mine")]);
    // Its lease has ended without its knowing, and somebody else was quicker.
    scratch.ask("UPDATE shards SET owner = 'other#1', epoch = epoch + 1, lease_until = now() + interval '1 hour' WHERE shard = 3");
    first.write(vec![host(3, b"late"), host(4, b"later"), Change::Received { shard: 3, offset: 9 }]);
    assert_eq!(hosts(&scratch), ["3 mine", "4 later"]);
    assert_eq!(scratch.number("SELECT applied FROM shards WHERE shard = 3"), 0);
    let lost = first.wait("loss", |events| match events {
        MemberEvent::Lost { shard } => Some(*shard),
        _ => None,
    });
    assert_eq!((lost, first.shards.len()), (3, 7));
    assert!(first.lease.holds(), "of the others nothing is lost");
}

#[test]
fn the_catalogue_takes_nothing_from_one_that_was_declared_dead() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    job(&scratch);
    let first = Peer::join(&scratch, "first");
    let mut catalogue =
        PostgresCatalogue::open_for_worker(&scratch.database(), "first", &first.owner, Arc::default())
            .unwrap();
    catalogue.commit(&pages(&first.owner, 0..2)).unwrap();
    scratch.ask("DELETE FROM members");
    assert!(!catalogue.commit(&pages(&first.owner, 2..4)).unwrap_err().is_retryable());
    assert_eq!(scratch.number("SELECT count(*) FROM crawl_metadata"), 2);
    wait_until("it to know", || first.members.is_dead());
    assert!(!first.lease.holds());
}

fn pages(owner: &str, numbers: std::ops::Range<u32>) -> Batch {
    let page = |number| {
        let url = format!("https://a.test/{number}");
        let page = Page { url: url.clone(), status: Some(200), ..Page::default() };
        PageRow { worker_id: Some(format!("{owner}/0")), ..PageRow::new(JOB, url_key(&url), "a.test", page) }
    };
    Batch { pages: numbers.map(page).collect(), ..Batch::default() }
}

#[test]
fn how_an_owner_ended_is_told_to_the_next_and_a_death_also_to_those_after() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let all = |peer: &Peer, is_it: fn(&LastStop) -> bool| peer.shards.values().all(is_it);
    let mut first = Peer::join(&scratch, "first");
    first.wait_for_shards(8);
    assert!(all(&first, |stop| *stop == LastStop::Clean), "never owned: {:?}", first.shards);
    let mut second = Peer::join(&scratch, "second");
    first.wait_for_shards(4);
    second.wait_for_shards(4);
    assert!(all(&second, |stop| *stop == LastStop::Clean), "handed over: {:?}", second.shards);
    first.members.leave();
    second.wait_for_shards(8);
    assert!(all(&second, |stop| *stop == LastStop::Clean), "left: {:?}", second.shards);
    second.die();
    let mut third = Peer::join(&scratch, "third");
    third.wait_for_shards(8);
    assert!(all(&third, |stop| *stop == LastStop::Unclean), "killed: {:?}", third.shards);
    let mut fourth = Peer::join(&scratch, "fourth");
    third.wait_for_shards(4);
    fourth.wait_for_shards(4);
    assert!(all(&fourth, |stop| matches!(stop, LastStop::CleanAfterKill(_))), "{:?}", fourth.shards);
    third.members.leave();
    fourth.wait_for_shards(8);
    assert!(all(&fourth, |stop| matches!(stop, LastStop::CleanAfterKill(_))), "{:?}", fourth.shards);
}

#[test]
fn many_that_take_pages_at_once_get_all_of_them_and_no_more() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    job(&scratch);
    let mut session = scratch.database().connect(LIMIT).unwrap();
    set_budget(&mut session, JOB, None, 237).unwrap();
    let take_all = |peer: &mut Peer| {
        std::iter::repeat_with(|| peer.take_pages(JOB)).take_while(|pages| *pages > 0).sum::<u64>()
    };
    let mut peers = ["a", "b", "c", "d"].map(|name| Peer::join(&scratch, name));
    let taken: Vec<u64> = std::thread::scope(|scope| {
        let taking: Vec<_> = peers.iter_mut().map(|peer| scope.spawn(|| take_all(peer))).collect();
        taking.into_iter().map(|peer| peer.join().unwrap()).collect()
    });
    assert_eq!(taken.iter().sum::<u64>(), 237, "{taken:?}");
    assert_eq!(scratch.number("SELECT left_over FROM budgets"), 0);
    // One gives some back, and another gets just those.
    let [first, second, ..] = &mut peers;
    first.says.returns_pages(JOB, 5);
    wait_until("them to be back", || scratch.number("SELECT left_over FROM budgets") == 5);
    assert_eq!(take_all(second), 5);
    // A limit that grows, and one that shrinks below what is taken: said twice, it is the same.
    for (max, left) in [(240, 3), (240, 3), (230, -7), (230, -7), (238, 1)] {
        set_budget(&mut session, JOB, Some(237), max).unwrap();
        assert_eq!(scratch.number("SELECT left_over FROM budgets"), left, "{max}");
    }
    assert_eq!(take_all(second), 1);
}

#[test]
fn no_page_is_granted_twice_or_forgotten_while_connections_break() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    job(&scratch);
    set_budget(&mut scratch.database().connect(LIMIT).unwrap(), JOB, None, 4_000).unwrap();
    let mut peer = Peer::join(&scratch, "a");
    let mut held = 0;
    scratch.while_connections_break(|| {
        for turn in 0..60 {
            let pages = peer.take_pages(JOB);
            held += pages;
            if turn % 3 == 0 {
                peer.says.returns_pages(JOB, pages / 2);
                held -= pages / 2;
            }
        }
    });
    // What it has said before is answered first.
    held += peer.take_pages(JOB);
    assert_eq!(scratch.number("SELECT taken FROM grants"), i64::try_from(held).unwrap());
    assert_eq!(scratch.number("SELECT left_over + taken FROM budgets JOIN grants USING (job)"), 4_000);
}

#[test]
fn what_a_dead_one_held_comes_back_when_it_is_dead_and_not_before() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    job(&scratch);
    set_budget(&mut scratch.database().connect(LIMIT).unwrap(), JOB, None, 100).unwrap();
    let doomed_owner = {
        let mut doomed = Peer::join(&scratch, "doomed");
        let mut catalogue =
            PostgresCatalogue::open_for_worker(&scratch.database(), "doomed", &doomed.owner, Arc::default())
                .unwrap();
        assert_eq!(doomed.take_pages(JOB), 25);
        catalogue.commit(&pages(&doomed.owner, 0..7)).unwrap();
        let owner = doomed.owner.clone();
        doomed.die();
        owner
    };
    let mut other = Peer::join(&scratch, "other");
    let dead = || scratch.number("SELECT count(*) FROM former_members WHERE state = 'dead'") == 1;
    // In this order: one who is not dead yet has all that it took.
    loop {
        let left = scratch.number("SELECT left_over FROM budgets");
        if dead() {
            break;
        }
        assert_eq!(left, 75);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(scratch.number("SELECT left_over FROM budgets"), 75 + 25 - 7);
    assert_eq!(scratch.number(&format!("SELECT count(*) FROM members WHERE owner = '{doomed_owner}'")), 0);
    other.wait_for_shards(8);
    // One that leaves gives back what it has not said.
    let held = other.take_pages(JOB);
    assert!(held > 0);
    other.members.leave();
    assert_eq!(scratch.number("SELECT left_over FROM budgets"), 93);
}

fn message(shard: u16, number: u32) -> Outgoing {
    Outgoing { shard, job: 0, message: number.to_le_bytes().to_vec() }
}

fn by_inbox(outgoing: Vec<Outgoing>) -> PreparedMessages {
    MessageSender::new(&Transport::Inbox, "test", "test").unwrap().prepare(outgoing).unwrap()
}

#[test]
fn messages_come_in_order_and_those_read_but_not_applied_come_again() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    std::thread::scope(|scope| {
        // Many senders, a shard each: every one's messages stay in their order.
        for shard in 0..2 {
            let scratch = &scratch;
            scope.spawn(move || {
                let mut session = scratch.database().connect(LIMIT).unwrap();
                for piece in 0..10 {
                    let outgoing: Vec<Outgoing> = (0..50).map(|n| message(shard, piece * 50 + n)).collect();
                    send(&mut session, &by_inbox(outgoing)).unwrap();
                }
            });
        }
    });
    let mut first = Peer::join(&scratch, "first");
    let (mut applied, mut read) = (BTreeMap::<u16, Vec<(u64, Vec<u8>)>>::new(), 0);
    while applied.values().map(Vec::len).sum::<usize>() < 400 {
        let (shard, messages) = first.wait_for_messages();
        let offset = messages.last().unwrap().0;
        applied.entry(shard).or_default().extend(messages);
        first.write(vec![Change::Received { shard, offset }]);
        first.says.delivered(shard, offset);
    }
    // The next are read, and it dies over them.
    while read == 0 {
        read += first.wait_for_messages().1.len();
    }
    first.die();
    let mut second = Peer::join(&scratch, "second");
    while applied.values().map(Vec::len).sum::<usize>() < 1_000 {
        let (shard, messages) = second.wait_for_messages();
        let offset = messages.last().unwrap().0;
        applied.entry(shard).or_default().extend(messages);
        second.write(vec![Change::Received { shard, offset }]);
        second.says.delivered(shard, offset);
    }
    for (shard, messages) in applied {
        let expected: Vec<(u64, Vec<u8>)> =
            (0..500u32).map(|n| (u64::from(n) + 1, n.to_le_bytes().to_vec())).collect();
        assert_eq!(messages, expected, "shard {shard}");
    }
    let mut session = scratch.database().connect(LIMIT).unwrap();
    assert_eq!(cluster_status(&mut session).unwrap().lag, Some(0));
}

#[test]
fn one_leads_and_another_when_that_one_is_dead() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut session = scratch.database().connect(LIMIT).unwrap();
    let mut leader = || cluster_status(&mut session).unwrap().leader;
    let mut first = Peer::join(&scratch, "first");
    first.wait_for_shards(8);
    wait_until("the first to lead", || leader().as_deref() == Some("first"));
    let mut second = Peer::join(&scratch, "second");
    first.wait_for_shards(4);
    second.wait_for_shards(4);
    assert_eq!(leader().as_deref(), Some("first"));
    assert_eq!(scratch.number("SELECT count(*) FROM leader"), 1);
    first.die();
    wait_until("the second to lead", || leader().as_deref() == Some("second"));
    wait_until("the first to be called dead", || {
        scratch.number("SELECT count(*) FROM former_members WHERE worker = 'first' AND state = 'dead'") == 1
    });
    second.wait_for_shards(8);
    assert_eq!(scratch.number("SELECT count(*) FROM members"), 1);
    let status = cluster_status(&mut scratch.database().connect(LIMIT).unwrap()).unwrap();
    let states: Vec<(&str, &str)> = status.workers.iter().map(|w| (&*w.name, &*w.state)).collect();
    assert_eq!(states, [("first", "dead"), ("second", "working")]);
}

#[test]
fn a_list_goes_on_where_it_stopped_and_no_piece_is_sent_twice() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut session = scratch.database().connect(LIMIT).unwrap();
    let reached = |lines| IngestProgress { lines, sent: lines, skipped: 0, finished: lines == 100 };
    let messages = || scratch.number("SELECT count(*) FROM inbox");
    let begin = ingest_progress(&mut session, JOB, "urls.txt").unwrap();
    assert_eq!(begin, IngestProgress::default());
    ingest_chunk(&mut session, JOB, "urls.txt", begin, reached(10), &by_inbox(vec![message(0, 1)])).unwrap();
    // The answer was lost, and it is said again; another who had read the same piece comes late.
    ingest_chunk(&mut session, JOB, "urls.txt", begin, reached(10), &by_inbox(vec![message(0, 1)])).unwrap();
    ingest_chunk(
        &mut session,
        JOB,
        "urls.txt",
        begin,
        reached(20),
        &by_inbox(vec![message(0, 1), message(1, 2)]),
    )
    .unwrap();
    assert_eq!((messages(), ingest_progress(&mut session, JOB, "urls.txt").unwrap()), (1, reached(10)));
    scratch.while_connections_break(|| {
        for lines in 11..=100 {
            let before = reached(lines - 1);
            let chunk = by_inbox(vec![message(1, 2)]);
            while ingest_chunk(&mut session, JOB, "urls.txt", before, reached(lines), &chunk).is_err() {}
        }
    });
    assert_eq!((messages(), ingest_progress(&mut session, JOB, "urls.txt").unwrap()), (91, reached(100)));
    assert_eq!(ingest_progress(&mut session, JOB, "other.txt").unwrap(), IngestProgress::default());
}

#[test]
fn a_job_is_paused_when_all_its_shards_say_that_they_are_blocked_and_nothing_is_on_its_way() {
    let Some(scratch) = Scratch::with_cluster() else { return };
    let mut peer = Peer::join(&scratch, "first");
    peer.wait_for_shards(8);
    scratch.ask("INSERT INTO urls SELECT 1, shard, 1, 0, 0, 0, 1, 'x' FROM unnest(ARRAY[2, 5]) AS s(shard)");
    job(&scratch);
    scratch.ask("UPDATE jobs SET state = 'running'");
    let mut session = scratch.database().connect(LIMIT).unwrap();
    send(&mut session, &by_inbox(vec![Outgoing { shard: 5, job: 1, message: Vec::new() }])).unwrap();
    let hour = Millis(scratch.number("SELECT (extract(epoch FROM now()) * 1000)::bigint + 3600000") as u64);
    let blocked = |shard, applied| Change::Blocked { job: JOB, shard, applied, until: Some(hour) };
    // A leader renews its lease, ends and pauses jobs, and does so again: what it does not do in two turns it does not do.
    let turn = || scratch.value("SELECT lease_until FROM leader");
    let still_runs = |why: &str| {
        for _ in 0..3 {
            let before = turn();
            wait_until("the leader's next turn", || turn() != before);
        }
        assert_eq!(scratch.value("SELECT state FROM jobs"), "running", "{why}");
    };
    peer.write(vec![blocked(2, 0)]);
    still_runs("one shard says nothing");
    peer.write(vec![blocked(5, 0)]);
    still_runs("something is on its way");
    peer.write(vec![Change::Received { shard: 5, offset: 1 }]);
    still_runs("what has come since is not in what was said");
    scratch.ask("UPDATE frontier_blocked SET epoch = epoch - 1 WHERE shard = 2");
    peer.write(vec![blocked(5, 1)]);
    still_runs("a former owner said it");
    peer.write(vec![blocked(2, 0)]);
    wait_until("the job to be paused", || scratch.value("SELECT state FROM jobs") == "paused");
    let message = scratch.value("SELECT message FROM jobs");
    assert!(message.starts_with("remaining URLs are blocked until 20"), "{message}");
    // It is taken back.
    peer.write(vec![Change::Blocked { job: JOB, shard: 2, applied: 0, until: None }]);
    scratch.ask("UPDATE jobs SET state = 'running'");
    still_runs("one shard can go on");
}
