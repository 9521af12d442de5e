//! The SHA-256 of a body, which identifies pages with the same content.

use argiope_model::ContentHash;
use sha2::block_api::compress256;

pub fn content_hash(body: &[u8]) -> ContentHash {
    Hashing::of(body).finish()
}

const BLOCK: usize = 64;
const LENGTH: usize = 8;

/// A SHA-256 that is computed block by block on request. Each block depends on the previous one and leaves the
/// processor idle most of the time, so interleaved with other work it costs little.
pub(crate) struct Hashing<'b> {
    state: [u32; 8],
    blocks: &'b [[u8; BLOCK]],
    rest: &'b [u8],
    bits: u64,
}

impl<'b> Hashing<'b> {
    pub(crate) fn of(bytes: &'b [u8]) -> Hashing<'b> {
        let (blocks, rest) = bytes.as_chunks();
        Hashing { state: FIRST_STATE, blocks, rest, bits: (bytes.len() as u64).wrapping_mul(8) }
    }

    /// Processes one more block, if there is one.
    #[inline]
    pub(crate) fn step(&mut self) {
        if let Some((block, others)) = self.blocks.split_first() {
            compress256(&mut self.state, std::slice::from_ref(block));
            self.blocks = others;
        }
    }

    /// Processes the rest and the length, as the standard requires.
    pub(crate) fn finish(mut self) -> ContentHash {
        compress256(&mut self.state, self.blocks);
        let mut last = [[0; BLOCK]; 2];
        let used = if self.rest.len() + 1 + LENGTH <= BLOCK { 1 } else { 2 };
        let ending = self.rest.iter().copied().chain([0x80]);
        last.as_flattened_mut().iter_mut().zip(ending).for_each(|(to, byte)| *to = byte);
        if let Some(length) = last.get_mut(used - 1).and_then(|block| block.last_chunk_mut::<LENGTH>()) {
            *length = self.bits.to_be_bytes();
        }
        compress256(&mut self.state, last.get(..used).unwrap_or_default());
        let mut hash = [0; 32];
        let (words, _) = hash.as_chunks_mut::<4>();
        words.iter_mut().zip(self.state).for_each(|(to, word)| *to = word.to_be_bytes());
        ContentHash(hash)
    }
}

/// The fractions of the square roots of the first eight primes.
const FIRST_STATE: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha_256_in_hex() {
        assert_eq!(
            content_hash(b"abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            content_hash(b"").to_string(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn however_it_is_taken_in_steps_the_hash_is_that_of_the_crate() {
        use sha2::Digest;
        let bytes: Vec<u8> = (0..400u32).map(|n| (n * 7 + n / 13) as u8).collect();
        for length in 0..bytes.len() {
            let body = &bytes[..length];
            let mut hashing = Hashing::of(body);
            (0..length % 5).for_each(|_| hashing.step());
            assert_eq!(hashing.finish().0, <[u8; 32]>::from(sha2::Sha256::digest(body)), "{length}");
        }
    }
}
