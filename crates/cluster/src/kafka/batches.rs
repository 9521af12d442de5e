//! Encodes records into the batches that Kafka stores, and decodes them. Larger batches are compressed with zstd.

use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::records::{
    Compression, NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, Record,
    RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions, TimestampType,
};
use std::io::{self, Read};

/// Below this size compression saves too little.
const COMPRESSED_FROM: usize = 1024;
/// Fast, and links shrink to a fifth.
const LEVEL: i32 = 1;
/// A batch that unpacks to more was not written by this program.
const LONGEST_UNPACKED: u64 = 64 << 20;
const MOST_RECORDS: i32 = 1_000_000;

/// Of the header of a batch: where its length begins, and what the length does not count.
const LENGTH_AT: usize = 8;
const UNCOUNTED: usize = 12;
const LAST_DELTA_AT: usize = 23;
const RECORD_COUNT_AT: usize = 57;

/// The description of an error.
pub(super) type Unreadable = String;

/// Packs the records of one partition: (key, value), in order.
pub(super) fn packed<'a>(
    records: impl Iterator<Item = (Option<&'a [u8]>, &'a [u8])>,
    now_ms: i64,
) -> Result<Bytes, Unreadable> {
    let mut bytes = 0;
    let records: Vec<Record> = (0..)
        .zip(records)
        .map(|(offset, (key, value))| {
            bytes += value.len();
            record(offset, key, value, now_ms)
        })
        .collect();
    let compression = if bytes < COMPRESSED_FROM { Compression::None } else { Compression::Zstd };
    let options = RecordEncodeOptions { version: 2, compression };
    let mut out = BytesMut::with_capacity(bytes + 128);
    let compress = |raw: &mut BytesMut, out: &mut BytesMut, compression: Compression| {
        match compression {
            Compression::Zstd => out.extend_from_slice(&zstd::bulk::compress(raw, LEVEL)?),
            _ => out.extend_from_slice(raw),
        }
        Ok(())
    };
    RecordBatchEncoder::encode_with_custom_compression(&mut out, &records, &options, Some(compress))
        .map_err(|error| error.to_string())?;
    Ok(out.freeze())
}

fn record(offset: i32, key: Option<&[u8]>, value: &[u8], timestamp: i64) -> Record {
    Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer_id: NO_PRODUCER_ID,
        producer_epoch: NO_PRODUCER_EPOCH,
        timestamp_type: TimestampType::Creation,
        offset: i64::from(offset),
        // In one batch, sequence numbers rise as offsets do.
        sequence: NO_SEQUENCE.wrapping_add(offset),
        timestamp,
        key: key.map(Bytes::copy_from_slice),
        value: Some(Bytes::copy_from_slice(value)),
        headers: IndexMap::new(),
    }
}

/// What a partition has from an offset on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordRun {
    pub records: Vec<(i64, Vec<u8>)>,
    /// Where to continue: after the records, and after control batches.
    pub next: i64,
    /// Why the next batch cannot be read. `next` is after it, and there are no records.
    pub unreadable: Option<String>,
}

/// Unpacks a fetch response, from `from` on, until it has `max_bytes` of values; at least one record. The last batch
/// may be incomplete; the next fetch returns it whole.
pub(super) fn unpacked(mut bytes: Bytes, from: i64, max_bytes: usize) -> Result<RecordRun, Unreadable> {
    let mut run = RecordRun { next: from, ..RecordRun::default() };
    let mut taken = 0;
    while is_whole(&bytes)? {
        let after = after_batch(&bytes);
        let batch = RecordBatchDecoder::decode_with_custom_compression(&mut bytes, Some(unpack));
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                // The part before it is complete.
                if run.records.is_empty() {
                    run.next = after.max(from);
                    run.unreadable = Some(error.to_string());
                }
                return Ok(run);
            }
        };
        for record in batch.records {
            if record.control || record.offset < from {
                continue;
            }
            let value = record.value.unwrap_or_default();
            taken += value.len();
            if taken > max_bytes && !run.records.is_empty() {
                run.next = record.offset;
                return Ok(run);
            }
            run.records.push((record.offset, value.into()));
        }
        run.next = after.max(run.next);
    }
    Ok(run)
}

/// The offset after the batch that begins here.
fn after_batch(bytes: &Bytes) -> i64 {
    let first = bytes.first_chunk::<8>().copied().map_or(0, i64::from_be_bytes);
    let last = bytes.get(LAST_DELTA_AT..).and_then(|rest| rest.first_chunk::<4>()).copied();
    first.saturating_add(last.map_or(0, i32::from_be_bytes).into()).saturating_add(1)
}

/// Whether a complete batch begins here.
fn is_whole(bytes: &Bytes) -> Result<bool, Unreadable> {
    let number =
        |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().map(i32::from_be_bytes);
    let Some(length) = number(LENGTH_AT) else {
        return Ok(false);
    };
    let length = usize::try_from(length).map_err(|_| String::from("a batch of negative length"))?;
    if bytes.len() < UNCOUNTED + length {
        return Ok(false);
    }
    // Room for this many is allocated before any is decoded.
    match number(RECORD_COUNT_AT) {
        Some(0..=MOST_RECORDS) => Ok(true),
        _ => Err(String::from("a batch with an impossible record count")),
    }
}

fn unpack<E: From<io::Error>>(packed: &mut Bytes, compression: Compression) -> Result<Bytes, E> {
    match compression {
        Compression::None => Ok(std::mem::take(packed)),
        Compression::Zstd => {
            let mut raw = Vec::new();
            let mut decoder = zstd::stream::read::Decoder::new(&packed[..])?.take(LONGEST_UNPACKED + 1);
            decoder.read_to_end(&mut raw)?;
            if raw.len() as u64 > LONGEST_UNPACKED {
                return Err(io::Error::other("a batch that unpacks to more than 64 MB").into());
            }
            Ok(Bytes::from(raw))
        }
        other => {
            let message = format!("a batch compressed with {other:?}; only zstd and none are supported");
            Err(io::Error::other(message).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Bytes, from: i64, max_bytes: usize) -> Result<Vec<(i64, Vec<u8>)>, Unreadable> {
        let run = unpacked(bytes, from, max_bytes)?;
        run.unreadable.map_or(Ok(run.records), Err)
    }

    fn pack(values: &[&[u8]]) -> Bytes {
        packed(values.iter().map(|value| (Some(&b"key"[..]), *value)), 7).unwrap()
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let long = "https://example.com/a/b/c ".repeat(400).into_bytes();
        for values in [vec![&b"x"[..], b""], vec![&long[..], b"y", &long[..]]] {
            let batch = pack(&values);
            let expected: Vec<(i64, Vec<u8>)> =
                (0..).zip(values.iter().map(|value| value.to_vec())).collect();
            assert_eq!(read(batch.clone(), 0, usize::MAX).unwrap(), expected);
            assert_eq!(read(batch, 1, usize::MAX).unwrap(), expected[1..]);
        }
        assert!(pack(&[&long]).len() < long.len() / 5, "compressed");
    }

    #[test]
    fn a_limit_cuts_after_the_first() {
        let batch = pack(&[&[1; 500], &[2; 500], &[3; 500]]);
        let lengths = |limit| read(batch.clone(), 0, limit).unwrap().len();
        assert_eq!([lengths(0), lengths(999), lengths(1000), lengths(1500)], [1, 1, 2, 3]);
    }

    #[test]
    fn a_batch_that_is_cut_off_is_left_for_the_next_fetch() {
        let (first, second) = (pack(&[b"a"]), pack(&[b"b", b"c"]));
        let both = [first.clone(), second].concat();
        for length in 0..both.len() {
            let bytes = Bytes::copy_from_slice(&both[..length]);
            let expected = usize::from(length >= first.len());
            assert_eq!(read(bytes, 0, usize::MAX).unwrap().len(), expected, "{length}");
        }
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        let batch = pack(&[&[5; 2000], b"z"]);
        for at in 0..batch.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = batch.to_vec();
                bytes[at] ^= flip;
                // Offset and epoch are before the bytes that the checksum covers.
                let read = read(bytes.into(), 0, usize::MAX);
                assert!(at < 16 || read.is_err(), "{at}");
            }
        }
    }

    /// As another program would write it.
    fn packed_with(compression: Compression) -> Bytes {
        let records = [record(0, None, b"a", 7), record(1, None, b"b", 7)];
        let options = RecordEncodeOptions { version: 2, compression };
        let mut out = BytesMut::new();
        let store = |raw: &mut BytesMut, out: &mut BytesMut, _: Compression| {
            out.extend_from_slice(raw);
            Ok(())
        };
        RecordBatchEncoder::encode_with_custom_compression(&mut out, &records, &options, Some(store))
            .unwrap();
        out.freeze()
    }

    #[test]
    fn a_batch_that_cannot_be_read_is_told_and_stepped_over() {
        let (whole, strange) = (packed_with(Compression::None), packed_with(Compression::Lz4));
        let first = unpacked([whole.clone(), strange.clone()].concat().into(), 0, usize::MAX).unwrap();
        assert_eq!((first.records.len(), first.next, first.unreadable), (2, 2, None));
        let second = unpacked([strange, whole].concat().into(), 0, usize::MAX).unwrap();
        assert_eq!((second.records.len(), second.next), (0, 2));
        assert!(second.unreadable.unwrap().contains("Lz4"));
    }
}
