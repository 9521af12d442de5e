//! The keys of the frontier's keyspaces: fixed width, big-endian, in queue order.

use argiope_frontier::queue::OrderKey;
use argiope_frontier::state::{HostKey, QueueAt, StoredRobots};
use argiope_model::{JobId, Millis};

const QUEUE: usize = 20;
const DELAYED: usize = 28;

/// job, shard, host number, rank, depth, sequence
pub(super) fn queue(at: QueueAt, order: OrderKey) -> [u8; QUEUE] {
    let mut key = [0; QUEUE];
    fill(&mut key, &[&place(at), &order_bytes(order)]);
    key
}

/// due time, then as in the queue
pub(super) fn delayed(due: Millis, at: QueueAt, order: OrderKey) -> [u8; DELAYED] {
    let mut key = [0; DELAYED];
    fill(&mut key, &[&due.0.to_be_bytes(), &place(at), &order_bytes(order)]);
    key
}

/// shard, host number
pub(super) fn host(at: HostKey) -> [u8; 6] {
    let mut key = [0; 6];
    fill(&mut key, &[&at.shard.to_be_bytes(), &at.number.to_be_bytes()]);
    key
}

/// job, shard
pub(super) fn job(job: JobId, shard: u16) -> [u8; 6] {
    let mut key = [0; 6];
    fill(&mut key, &[&job.0.to_be_bytes(), &shard.to_be_bytes()]);
    key
}

/// job, shard, sequence
pub(super) fn seen(job: JobId, shard: u16, sequence: u64) -> [u8; 14] {
    let mut key = [0; 14];
    fill(&mut key, &[&job.0.to_be_bytes(), &shard.to_be_bytes(), &sequence.to_be_bytes()]);
    key
}

fn place(at: QueueAt) -> [u8; 10] {
    let mut bytes = [0; 10];
    fill(&mut bytes, &[&at.job.0.to_be_bytes(), &host(at.host)]);
    bytes
}

fn order_bytes(order: OrderKey) -> [u8; 10] {
    let mut bytes = [0; 10];
    fill(&mut bytes, &[&[order.rank, order.depth], &order.sequence.to_be_bytes()]);
    bytes
}

fn fill(key: &mut [u8], parts: &[&[u8]]) {
    let bytes = parts.iter().flat_map(|part| part.iter());
    for (to, from) in key.iter_mut().zip(bytes) {
        *to = *from;
    }
}

fn take<const N: usize>(key: &[u8], from: usize) -> Option<[u8; N]> {
    key.get(from..from + N)?.try_into().ok()
}

pub(super) fn job_of(key: &[u8]) -> Option<JobId> {
    take(key, 0).map(|bytes| JobId(u32::from_be_bytes(bytes)))
}

pub(super) fn split_job(key: &[u8]) -> Option<(JobId, u16)> {
    Some((job_of(key)?, u16::from_be_bytes(take(key, 4)?)))
}

pub(super) fn split_host(key: &[u8]) -> Option<HostKey> {
    Some(HostKey { shard: u16::from_be_bytes(take(key, 0)?), number: u32::from_be_bytes(take(key, 2)?) })
}

pub(super) fn order_of(key: &[u8]) -> Option<OrderKey> {
    let tail = key.get(key.len().checked_sub(10)?..)?;
    let [rank, depth] = take(tail, 0)?;
    Some(OrderKey { rank, depth, sequence: u64::from_be_bytes(take(tail, 2)?) })
}

pub(super) fn split_delayed(key: &[u8]) -> Option<(Millis, QueueAt, OrderKey)> {
    let due = Millis(u64::from_be_bytes(take(key, 0)?));
    let job = job_of(key.get(8..)?)?;
    let host = split_host(key.get(12..)?)?;
    Some((due, QueueAt { job, host }, order_of(key)?))
}

pub(super) fn job_of_delayed(key: &[u8]) -> Option<JobId> {
    job_of(key.get(8..)?)
}

pub(super) fn shard_of_seen(key: &[u8]) -> Option<u16> {
    take(key, 4).map(u16::from_be_bytes)
}

/// fetched at, expires, status, body
pub(super) fn encode_robots(stored: &StoredRobots) -> Vec<u8> {
    let mut value = Vec::with_capacity(18 + stored.body.len());
    value.extend_from_slice(&stored.fetched_at.0.to_be_bytes());
    value.extend_from_slice(&stored.expires.0.to_be_bytes());
    value.extend_from_slice(&stored.status.to_be_bytes());
    value.extend_from_slice(&stored.body);
    value
}

pub(super) fn decode_robots(value: &[u8]) -> Option<StoredRobots> {
    Some(StoredRobots {
        fetched_at: Millis(u64::from_be_bytes(take(value, 0)?)),
        expires: Millis(u64::from_be_bytes(take(value, 8)?)),
        status: u16::from_be_bytes(take(value, 16)?),
        body: value.get(18..)?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_they_are_served_and_are_read_back() {
        let at = QueueAt { job: JobId(3), host: HostKey { shard: 9, number: 77 } };
        let first = OrderKey { rank: 1, depth: 200, sequence: u64::MAX };
        let second = OrderKey { rank: 2, depth: 0, sequence: 0 };
        assert!(queue(at, first) < queue(at, second));
        assert_eq!(order_of(&queue(at, first)), Some(first));
        assert!(delayed(Millis(5), at, second) < delayed(Millis(6), at, first));
        assert_eq!(split_delayed(&delayed(Millis(5), at, second)), Some((Millis(5), at, second)));
        assert_eq!(split_host(&host(at.host)), Some(at.host));
        assert_eq!(split_job(&job(JobId(3), 63)), Some((JobId(3), 63)));
        assert_eq!(split_job(&[0, 0, 0, 1]), None);
        assert_eq!(shard_of_seen(&seen(JobId(1), 12, 5)), Some(12));
    }

    #[test]
    fn a_short_key_is_no_key() {
        assert_eq!(order_of(&[1, 2, 3]), None);
        assert_eq!(split_delayed(&[0; 10]), None);
        assert!(decode_robots(&[0; 17]).is_none());
    }
}
