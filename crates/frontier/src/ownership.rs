//! Who owns which shard: the decisions, without the lease table. A table with its own clock records which workers are
//! alive and what they own. Its user (an adapter, a simulation) asks here which shards to take or hand over, and how
//! long a lease can be trusted.
//!
//! Every worker decides for itself, from the table it sees. The table grants a shard: it raises the shard's epoch, and
//! only if nobody else owns it.

use argiope_model::Millis;
use std::collections::BTreeMap;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How long a lease holds, by the table's clock.
pub const LEASE: Duration = Duration::from_secs(15);
pub const RENEW_EVERY: Duration = Duration::from_secs(5);
/// An owner stops this long before the table lets another worker in.
pub const MARGIN: Duration = Duration::from_secs(2);
/// A worker that has not read the table for this long has lost contact. Longer than the interval between renewals, and
/// short enough that no lease expires unnoticed.
const BLIND: Duration = Duration::from_secs(6);

/// Which worker should have each shard: an index into `workers` for each; empty without workers. The result is the same
/// for everyone who knows the same workers, in any order.
///
/// Rendezvous hashing with the same number of shards for each worker, give or take one: pairs of shard and worker are
/// assigned by weight as long as the worker has room. A worker that joins takes about its share, and hardly any shard
/// moves between the others.
pub fn spread<N: AsRef<str>>(shards: u16, workers: &[N]) -> Vec<usize> {
    let count = workers.len();
    if count == 0 {
        return Vec::new();
    }
    let mut pairs: Vec<(u64, u16, usize)> = Vec::with_capacity(usize::from(shards) * count);
    for (at, worker) in workers.iter().enumerate() {
        let name = worker.as_ref().as_bytes();
        pairs.extend((0..shards).map(|shard| (xxh3_64_with_seed(name, u64::from(shard)), shard, at)));
    }
    // Heaviest first; equal hashes are ordered by name, not by position.
    pairs.sort_unstable_by(|(weight, shard, at), (other_weight, other_shard, other_at)| {
        let name = |at: usize| workers.get(at).map(AsRef::as_ref);
        other_weight.cmp(weight).then(shard.cmp(other_shard)).then_with(|| name(*at).cmp(&name(*other_at)))
    });
    let share = usize::from(shards) / count;
    let mut extra = usize::from(shards) % count;
    let mut given = vec![0; count];
    let mut owners = vec![None; usize::from(shards)];
    for (_, shard, at) in pairs {
        let (Some(given), Some(owner)) = (given.get_mut(at), owners.get_mut(usize::from(shard))) else {
            continue;
        };
        if owner.is_some() || *given > share || (*given == share && extra == 0) {
            continue;
        }
        extra -= usize::from(*given == share);
        *given += 1;
        *owner = Some(at);
    }
    owners.into_iter().flatten().collect()
}

/// The state of a shard in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat<'t> {
    /// Without an owner: never owned, or released.
    Free,
    /// Its lease has expired by the table's clock. Its owner may only have lost contact with the table, and resume.
    Lapsed,
    Owned(&'t str),
}

/// Since when a worker has read the table without interruption, by a clock that includes suspension. If the table was
/// unavailable for everyone, all leases have expired and nobody is dead: the first worker to return must not take the
/// shards of those that return a moment later.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observation {
    since: Option<Millis>,
    last: Millis,
    /// It read the table before, but there was an interruption.
    was_lost: bool,
}

impl Observation {
    /// The table was read.
    pub fn seen(&mut self, now: Millis) {
        if self.since.is_none() || now > self.last + BLIND {
            self.was_lost = self.since.is_some();
            self.since = Some(now);
        }
        self.last = self.last.max(now);
    }

    /// Whether it was read for this long, up to the last time.
    pub fn has_lasted(&self, long: Duration) -> bool {
        self.since.is_some_and(|since| self.last >= since + long)
    }

    /// Everybody who was alive at the interruption has had time to renew a lease of this length.
    fn is_restored(&self, lease: Duration) -> bool {
        !self.was_lost || self.has_lasted(lease)
    }
}

/// What a worker should do about the shards now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Free shards that this worker should take.
    pub take: Vec<u16>,
    /// Its own shards that others should get: see [`crate::Frontier::hand_over`].
    pub hand_over: Vec<u16>,
}

/// `seats` is the table, by number of the shard; `workers` are those that are alive and stay. A worker that is not
/// among them hands over everything. One that is hands over one shard at a time; `handing_over` is how many it is
/// handing over now. It takes a shard with an expired lease of another worker only after it has read the table for a
/// whole `lease`. For the same time after an interruption nothing is handed over: the workers that should get the
/// shards may only be late.
pub fn moves<N: AsRef<str>>(
    me: &str,
    workers: &[N],
    seats: &[Seat<'_>],
    handing_over: usize,
    observation: &Observation,
    lease: Duration,
) -> Moves {
    let stays = workers.iter().any(|worker| worker.as_ref() == me);
    let shards = u16::try_from(seats.len()).unwrap_or(u16::MAX);
    let owners = spread(shards, workers);
    let mut moves = Moves::default();
    for (shard, seat) in (0..shards).zip(seats) {
        let meant_for = owners.get(usize::from(shard)).and_then(|at| workers.get(*at)).map(AsRef::as_ref);
        match seat {
            Seat::Free if meant_for == Some(me) => moves.take.push(shard),
            Seat::Lapsed if meant_for == Some(me) && observation.has_lasted(lease) => moves.take.push(shard),
            Seat::Owned(owner) if *owner == me && meant_for != Some(me) => moves.hand_over.push(shard),
            Seat::Free | Seat::Lapsed | Seat::Owned(_) => {}
        }
    }
    if stays {
        moves.hand_over.truncate(usize::from(handing_over == 0 && observation.is_restored(lease)));
    }
    moves
}

/// The leases that a worker trusts. Times are of its own clock, which includes suspension.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    held: BTreeMap<u16, Held>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    epoch: u64,
    /// From this time on another worker may own it.
    deadline: Millis,
}

impl Leases {
    /// The table has granted the shard, in response to the request sent at `sent_at`.
    pub fn taken(&mut self, shard: u16, epoch: u64, sent_at: Millis) {
        self.held.insert(shard, Held { epoch, deadline: sent_at + (LEASE - MARGIN) });
    }

    /// The table has renewed the lease, in response to the request sent at `sent_at`. A late response shortens nothing;
    /// one about another epoch, or about a shard that is gone, is ignored.
    pub fn renewed(&mut self, shard: u16, epoch: u64, sent_at: Millis) {
        if let Some(held) = self.held.get_mut(&shard).filter(|held| held.epoch == epoch) {
            held.deadline = held.deadline.max(sent_at + (LEASE - MARGIN));
        }
    }

    /// Released, or lost.
    pub fn gone(&mut self, shard: u16) {
        self.held.remove(&shard);
    }

    pub fn epoch(&self, shard: u16) -> Option<u64> {
        self.held.get(&shard).map(|held| held.epoch)
    }

    /// Whether hosts of this shard may be requested at `now`.
    pub fn holds(&self, shard: u16, now: Millis) -> bool {
        self.held.get(&shard).is_some_and(|held| now < held.deadline)
    }

    /// Shards with expired leases: their requests are aborted, and no new ones are sent until the table has renewed the
    /// lease. It does so if nobody has taken the shard meanwhile.
    pub fn lapsed(&self, now: Millis) -> Vec<u16> {
        self.held.iter().filter(|(_, held)| now >= held.deadline).map(|(shard, _)| *shard).collect()
    }

    /// When the first lease expires unless it is renewed.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.held.values().map(|held| held.deadline).min()
    }

    /// The held shards with their epochs: for renewals, and to fence writes.
    pub fn all(&self) -> impl Iterator<Item = (u16, u64)> {
        self.held.iter().map(|(shard, held)| (*shard, held.epoch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("worker-{n}")).collect()
    }

    fn seen(seconds: &[u64]) -> Observation {
        let mut observation = Observation::default();
        seconds.iter().for_each(|second| observation.seen(Millis(1000 * second)));
        observation
    }

    fn long() -> Observation {
        seen(&[0, 5, 10, 15])
    }

    fn owners(shards: u16, workers: &[String]) -> Vec<&str> {
        spread(shards, workers).into_iter().map(|at| workers[at].as_str()).collect()
    }

    proptest! {
        #[test]
        fn every_shard_has_one_owner_and_every_worker_its_share(shards in 1u16..200, count in 1usize..30) {
            let workers = names(count);
            let owners = owners(shards, &workers);
            prop_assert_eq!(owners.len(), usize::from(shards));
            let share = usize::from(shards) / count;
            for worker in &workers {
                let has = owners.iter().filter(|owner| *owner == worker).count();
                prop_assert!(has == share || has == share + 1, "{} has {}", worker, has);
            }
        }

        #[test]
        fn the_order_in_which_workers_are_listed_means_nothing(count in 1usize..20, turn in 0usize..20) {
            let workers = names(count);
            let mut turned = workers.clone();
            turned.rotate_left(turn % count);
            prop_assert_eq!(owners(64, &workers), owners(64, &turned));
        }

        #[test]
        fn a_worker_that_joins_takes_little_more_than_its_share(count in 1usize..20) {
            let (before, after) = (names(count), names(count + 1));
            let (before, after) = (owners(64, &before), owners(64, &after));
            let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            let share = 64usize.div_ceil(count + 1);
            prop_assert!(moved <= 3 * share, "{} of 64 move for the {}th worker", moved, count + 1);
        }
    }

    #[test]
    fn without_workers_no_shard_has_an_owner() {
        assert_eq!(spread::<&str>(64, &[]), Vec::<usize>::new());
    }

    #[test]
    fn what_is_free_is_taken_and_what_is_for_others_is_given_away_one_by_one() {
        let workers = names(2);
        let meant = owners(8, &workers);
        let me = "worker-0";
        let (mine, others): (Vec<u16>, Vec<u16>) = (0..8).partition(|shard| meant[usize::from(*shard)] == me);
        assert_eq!((mine.len(), others.len()), (4, 4));
        let free = [Seat::Free; 8];
        assert_eq!(
            moves(me, &workers, &free, 0, &long(), LEASE),
            Moves { take: mine.clone(), hand_over: vec![] }
        );
        let all_mine = [Seat::Owned(me); 8];
        let one = Moves { take: vec![], hand_over: vec![others[0]] };
        assert_eq!(moves(me, &workers, &all_mine, 0, &long(), LEASE), one);
        assert_eq!(moves(me, &workers, &all_mine, 1, &long(), LEASE), Moves::default());
        assert_eq!(
            moves(me, &workers[1..], &all_mine, 1, &long(), LEASE).hand_over,
            (0..8).collect::<Vec<u16>>()
        );
        assert_eq!(moves(me, &workers, &[Seat::Owned("worker-1"); 8], 0, &long(), LEASE), Moves::default());
    }

    #[test]
    fn what_may_still_be_others_is_taken_by_those_alone_who_have_seen_the_table_for_a_whole_lease() {
        let workers = names(1);
        let lapsed = [Seat::Lapsed; 4];
        let (new, back) = (seen(&[0, 5, 10]), seen(&[0, 5, 10, 15, 22]));
        for observation in [new, back] {
            assert_eq!(moves("worker-0", &workers, &lapsed, 0, &observation, LEASE), Moves::default());
        }
        assert_eq!(moves("worker-0", &workers, &lapsed, 0, &long(), LEASE).take, [0, 1, 2, 3]);
        assert_eq!(moves("worker-0", &workers, &[Seat::Free; 4], 0, &back, LEASE).take.len(), 4);
        let (both, mine) = (names(2), [Seat::Owned("worker-0"); 4]);
        assert_eq!(moves("worker-0", &both, &mine, 0, &new, LEASE).hand_over.len(), 1);
        assert_eq!(moves("worker-0", &both, &mine, 0, &back, LEASE), Moves::default());
        // A worker that leaves hands over everything.
        assert_eq!(moves("worker-0", &both[1..], &mine, 0, &back, LEASE).hand_over.len(), 4);
    }

    #[test]
    fn sight_of_the_table_lasts_until_it_was_not_seen_for_longer_than_between_two_renewals() {
        assert!(!Observation::default().has_lasted(Duration::ZERO));
        assert!(!seen(&[100, 105, 110, 114]).has_lasted(LEASE));
        assert!(seen(&[100, 105, 110, 115]).has_lasted(LEASE));
        assert!(seen(&[100, 105, 110, 115, 121]).has_lasted(LEASE));
        assert!(!seen(&[100, 105, 110, 115, 122, 127]).has_lasted(LEASE));
        assert!(seen(&[100, 122, 127, 132, 137]).has_lasted(LEASE));
    }

    #[test]
    fn a_lease_is_believed_in_until_shortly_before_its_end() {
        let mut leases = Leases::default();
        leases.taken(3, 1, Millis(1_000));
        assert_eq!(leases.next_deadline(), Some(Millis(14_000)));
        assert!(leases.holds(3, Millis(13_999)) && !leases.holds(3, Millis(14_000)));
        assert!(!leases.holds(4, Millis(0)));
        leases.renewed(3, 1, Millis(6_000));
        leases.renewed(3, 1, Millis(2_000));
        assert!(leases.holds(3, Millis(18_999)), "a late answer shortens nothing");
        assert_eq!((leases.lapsed(Millis(18_999)), leases.lapsed(Millis(19_000))), (vec![], vec![3]));
    }

    #[test]
    fn an_answer_about_a_former_epoch_means_nothing() {
        let mut leases = Leases::default();
        leases.taken(3, 2, Millis(1_000));
        leases.renewed(3, 1, Millis(9_000));
        assert_eq!((leases.epoch(3), leases.next_deadline()), (Some(2), Some(Millis(14_000))));
        leases.taken(3, 5, Millis(500));
        assert_eq!((leases.epoch(3), leases.next_deadline()), (Some(5), Some(Millis(13_500))));
        leases.gone(3);
        leases.renewed(3, 5, Millis(9_000));
        assert_eq!(leases.all().count(), 0, "it has gone meanwhile");
    }
}
