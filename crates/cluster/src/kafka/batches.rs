//! Encodes records into the batches that Kafka stores, and decodes them. Larger batches are compressed.

use super::codecs::{Codec, compress, decompress};
use super::producer::Stamp;
use bytes::{Bytes, BytesMut};
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::records::{
    Compression, NO_PARTITION_LEADER_EPOCH, Record, RecordBatchDecoder, RecordBatchEncoder,
    RecordEncodeOptions, TimestampType,
};
use std::io;

/// Below this size compression saves too little.
const COMPRESSED_FROM: usize = 1024;
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
    stamp: Stamp,
    codec: Codec,
    now_ms: i64,
) -> Result<Bytes, Unreadable> {
    let mut bytes = 0;
    let records: Vec<Record> = (0..)
        .zip(records)
        .map(|(offset, (key, value))| {
            bytes += value.len();
            record(offset, key, value, stamp, now_ms)
        })
        .collect();
    let compression = if bytes < COMPRESSED_FROM { Compression::None } else { codec.compression() };
    let options = RecordEncodeOptions { version: 2, compression };
    let mut out = BytesMut::with_capacity(bytes + 128);
    let compress = |raw: &mut BytesMut, out: &mut BytesMut, compression: Compression| {
        match compression {
            Compression::None => out.extend_from_slice(raw),
            _ => out.extend_from_slice(&compress(raw, compression)?),
        }
        Ok(())
    };
    RecordBatchEncoder::encode_with_custom_compression(&mut out, &records, &options, Some(compress))
        .map_err(|error| error.to_string())?;
    Ok(out.freeze())
}

fn record(offset: i32, key: Option<&[u8]>, value: &[u8], stamp: Stamp, timestamp: i64) -> Record {
    Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
        producer_id: stamp.producer_id,
        producer_epoch: stamp.epoch,
        timestamp_type: TimestampType::Creation,
        offset: i64::from(offset),
        // In one batch, sequence numbers rise as offsets do. Only the first is written.
        sequence: stamp.sequence.wrapping_add(offset),
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
        let unpack = |packed: &mut Bytes, compression: Compression| match compression {
            Compression::None => Ok(std::mem::take(packed)),
            _ => match decompress(packed, compression) {
                Ok(raw) => Ok(Bytes::from(raw)),
                Err(error) => {
                    let message = format!("a batch that says it is compressed with {compression:?}: {error}");
                    Err(io::Error::other(message).into())
                }
            },
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Bytes, from: i64, max_bytes: usize) -> Result<Vec<(i64, Vec<u8>)>, Unreadable> {
        let run = unpacked(bytes, from, max_bytes)?;
        run.unreadable.map_or(Ok(run.records), Err)
    }

    const STAMP: Stamp = Stamp { producer_id: 9, epoch: 3, sequence: i32::MAX };

    fn pack_with(codec: Codec, values: &[&[u8]]) -> Bytes {
        packed(values.iter().map(|value| (Some(&b"key"[..]), *value)), STAMP, codec, 7).unwrap()
    }

    fn pack(values: &[&[u8]]) -> Bytes {
        pack_with(Codec::Zstd, values)
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
    fn batches_of_all_codecs_are_read() {
        let long = "https://example.com/a/b/c ".repeat(400).into_bytes();
        for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            let batch = pack_with(codec, &[&long, b"y"]);
            assert_eq!(batch.len() < long.len(), codec != Codec::None, "{codec:?}");
            let expected = vec![(0, long.clone()), (1, b"y".to_vec())];
            assert_eq!(read(batch, 0, usize::MAX).unwrap(), expected, "{codec:?}");
        }
    }

    #[test]
    fn a_batch_says_who_wrote_it_and_which_it_is() {
        let info = RecordBatchDecoder::decode_batch_info(&mut pack(&[b"a", b"b", b"c"])).unwrap();
        let found: Vec<_> = info
            .iter()
            .map(|one| (one.producer_id, one.producer_epoch, one.base_sequence, one.record_count))
            .collect();
        assert_eq!(found, [(9, 3, i32::MAX, 3)], "one batch, also where the numbers begin again");
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

    /// Says that it is compressed so, and is not compressed.
    fn mislabelled(compression: Compression) -> Bytes {
        let records = [record(0, None, b"a", STAMP, 7), record(1, None, b"b", STAMP, 7)];
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
        let (whole, strange) = (mislabelled(Compression::None), mislabelled(Compression::Lz4));
        let first = unpacked([whole.clone(), strange.clone()].concat().into(), 0, usize::MAX).unwrap();
        assert_eq!((first.records.len(), first.next, first.unreadable), (2, 2, None));
        let second = unpacked([strange, whole].concat().into(), 0, usize::MAX).unwrap();
        assert_eq!((second.records.len(), second.next), (0, 2));
        assert!(second.unreadable.unwrap().contains("compressed with Lz4"));
    }
}
