//! What the records of a batch are compressed with. Whatever programs write is read; [`Codec`] is what this program writes.

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use kafka_protocol::records::Compression;
use lz4_flex::frame::{BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use std::io::{self, Read, Write};

/// A batch that unpacks to more was not written by this program.
const LONGEST_UNPACKED: usize = 64 << 20;
/// Quick, and links shrink to a fifth at it.
const ZSTD_LEVEL: i32 = 1;

/// Snappy has no format for streams of its own; Kafka's programs use that of the Java library: this header, then blocks
/// with their lengths.
const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";
/// Two versions, of four bytes each, which are 1.
const SNAPPY_VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
/// What the Java library reads at once.
const SNAPPY_BLOCK: usize = 32 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    None,
    Gzip,
    Snappy,
    Lz4,
    #[default]
    Zstd,
}

impl Codec {
    pub(super) fn compression(self) -> Compression {
        match self {
            Codec::None => Compression::None,
            Codec::Gzip => Compression::Gzip,
            Codec::Snappy => Compression::Snappy,
            Codec::Lz4 => Compression::Lz4,
            Codec::Zstd => Compression::Zstd,
        }
    }
}

pub(super) fn compress(raw: &[u8], compression: Compression) -> io::Result<Vec<u8>> {
    match compression {
        Compression::None => Ok(raw.to_vec()),
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(raw)?;
            encoder.finish()
        }
        Compression::Snappy => {
            let mut out = [SNAPPY_MAGIC, &SNAPPY_VERSIONS].concat();
            for block in raw.chunks(SNAPPY_BLOCK) {
                let packed = snap::raw::Encoder::new().compress_vec(block).map_err(io::Error::other)?;
                let length = u32::try_from(packed.len()).map_err(io::Error::other)?;
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(&packed);
            }
            Ok(out)
        }
        Compression::Lz4 => {
            // Kafka's Java client reads frames of independent blocks only, which these are unless told otherwise.
            let frame = FrameInfo::new().block_size(BlockSize::Max64KB);
            let mut encoder = FrameEncoder::with_frame_info(frame, Vec::new());
            encoder.write_all(raw)?;
            encoder.finish().map_err(io::Error::other)
        }
        Compression::Zstd => zstd::bulk::compress(raw, ZSTD_LEVEL),
    }
}

pub(super) fn decompress(packed: &[u8], compression: Compression) -> io::Result<Vec<u8>> {
    match compression {
        Compression::None => Ok(packed.to_vec()),
        Compression::Gzip => read_bounded(MultiGzDecoder::new(packed)),
        Compression::Snappy => decompress_snappy(packed),
        Compression::Lz4 => read_bounded(FrameDecoder::new(packed)),
        Compression::Zstd => read_bounded(zstd::stream::read::Decoder::new(packed)?),
    }
}

fn too_long() -> io::Error {
    io::Error::other(format!("a batch that unpacks to more than {} MB", LONGEST_UNPACKED >> 20))
}

fn read_bounded(decoder: impl Read) -> io::Result<Vec<u8>> {
    let mut raw = Vec::new();
    decoder.take(LONGEST_UNPACKED as u64 + 1).read_to_end(&mut raw)?;
    if raw.len() > LONGEST_UNPACKED {
        return Err(too_long());
    }
    Ok(raw)
}

/// In the stream format of the Java library, or one block without any, as some clients write it.
fn decompress_snappy(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut raw = Vec::new();
    let Some(framed) = packed.strip_prefix(SNAPPY_MAGIC) else {
        append_snappy(packed, &mut raw)?;
        return Ok(raw);
    };
    let cut_off = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (_, mut rest) = framed.split_at_checked(SNAPPY_VERSIONS.len()).ok_or_else(cut_off)?;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let (block, after) = after.split_at_checked(length).ok_or_else(cut_off)?;
        append_snappy(block, &mut raw)?;
        rest = after;
    }
    if rest.is_empty() { Ok(raw) } else { Err(cut_off()) }
}

fn append_snappy(block: &[u8], raw: &mut Vec<u8>) -> io::Result<()> {
    // The length is only a claim, and room is made for it.
    let length = snap::raw::decompress_len(block).map_err(io::Error::other)?;
    if raw.len().saturating_add(length) > LONGEST_UNPACKED {
        return Err(too_long());
    }
    raw.extend(snap::raw::Decoder::new().decompress_vec(block).map_err(io::Error::other)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Compression; 5] =
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

    #[test]
    fn what_each_codec_packs_it_unpacks() {
        let text = "https://example.com/a/b/c ".repeat(20_000).into_bytes();
        for compression in ALL {
            for raw in [&text[..], b"x", b""] {
                let packed = compress(raw, compression).unwrap();
                assert_eq!(decompress(&packed, compression).unwrap(), raw, "{compression:?}");
            }
            let packed = compress(&text, compression).unwrap();
            assert_eq!(packed.len() < text.len() / 5, compression != Compression::None, "{compression:?}");
        }
    }

    #[test]
    fn a_snappy_block_without_the_stream_format_is_read() {
        let packed = snap::raw::Encoder::new().compress_vec(b"plain plain plain").unwrap();
        assert_eq!(decompress(&packed, Compression::Snappy).unwrap(), b"plain plain plain");
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let zeros = vec![0; LONGEST_UNPACKED + 1];
        for compression in &ALL[1..] {
            let packed = compress(&zeros, *compression).unwrap();
            let error = decompress(&packed, *compression).unwrap_err();
            assert!(error.to_string().contains("more than 64 MB"), "{compression:?}: {error}");
        }
        // A few bytes that claim 4 GB.
        let claim = [0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0];
        assert!(decompress(&claim, Compression::Snappy).is_err());
    }

    #[test]
    fn damage_is_no_panic() {
        // The checksum of the batch is checked before; a program may have written it for damaged bytes.
        let raw = "abcabcabd".repeat(200).into_bytes();
        for compression in &ALL[1..] {
            let packed = compress(&raw, *compression).unwrap();
            for cut in 0..packed.len() {
                let _ = decompress(&packed[..cut], *compression);
                let mut damaged = packed.clone();
                damaged[cut] ^= 0x55;
                let _ = decompress(&damaged, *compression);
            }
        }
    }
}
