//! Reproducible random numbers, from a seed.

/// splitmix64: a few instructions per number, good enough for prose and link structure.
pub(crate) struct Random(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scramble(self.0)
    }

    /// A number under `bound`, which is at least 1. The bias of the multiplication is of no matter here.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let product = (self.next() >> 32) * u64::from(bound);
        u32::try_from(product >> 32).unwrap_or(0)
    }
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number that depends on both.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    scramble(a.wrapping_mul(STEP) ^ scramble(b.wrapping_add(STEP)))
}

/// A number that depends on every byte of a text.
pub(crate) fn mix_text(seed: u64, text: &str) -> u64 {
    text.bytes().fold(seed, |hash, byte| mix(hash, u64::from(byte)))
}
