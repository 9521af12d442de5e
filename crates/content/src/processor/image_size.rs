//! Width and height of a picture, from its first bytes: PNG, GIF, JPEG, WebP, BMP.

/// None where it is none of these, or cut off before its size.
pub(super) fn image_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?)),
        [b'G', b'I', b'F', b'8', ..] => Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?)),
        [0xff, 0xd8, ..] => jpeg(bytes),
        [b'R', b'I', b'F', b'F', ..] if bytes.get(8..12) == Some(b"WEBP") => webp(bytes),
        // Upside down where its height is negative.
        [b'B', b'M', ..] => Some((little(bytes, 18, 4)?, little(bytes, 22, 4)?.cast_signed().unsigned_abs())),
        _ => None,
    }
}

fn field(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(length)?)
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(field(bytes, at, length)?.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(field(bytes, at, length)?.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
}

/// Segment by segment up to the one that begins the picture.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let [0xff, marker] = *field(bytes, at, 2)?.first_chunk::<2>()? else { return None };
        match marker {
            // Filled up.
            0xff => at += 1,
            // Without content.
            0x01 | 0xd0..=0xd8 => at += 2,
            // All that begin a picture, but for tables among them.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            0xd9 | 0xda => return None,
            _ => at += 2 + big(bytes, at + 2, 2)? as usize,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match field(bytes, 12, 4)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_each_format() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\0\x20";
        assert_eq!(image_size(png), Some((256, 32)));
        assert_eq!(image_size(b"GIF89a\x0a\0\x14\0"), Some((10, 20)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\xc0\0\x11\x08\0\x20\0\x40\x03";
        assert_eq!(image_size(jpeg), Some((64, 32)));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x3f\xc0\x07\0";
        assert_eq!(image_size(lossless), Some((64, 32)));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x3f\0\0\x1f\0\0";
        assert_eq!(image_size(extended), Some((64, 32)));
        let mut bitmap = b"BM".to_vec();
        bitmap.resize(18, 0);
        bitmap.extend_from_slice(&[64, 0, 0, 0, 0xe0, 0xff, 0xff, 0xff]);
        assert_eq!(image_size(&bitmap), Some((64, 32)));
        assert_eq!(image_size(b"\xff\xd8\xff"), None);
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_bytes_there_is_a_size_or_none(format in 0usize..5, bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)) {
            let start: &[u8] = [b"\x89PNG".as_slice(), b"GIF8", b"\xff\xd8\xff", b"RIFF....WEBPVP8", b"BM"][format];
            let _: Option<(u32, u32)> = image_size(&[start, &bytes].concat());
        }
    }
}
