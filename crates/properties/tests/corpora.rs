//! Every property over its committed corpus, and over what becomes of it when bytes are changed, cut out, doubled and
//! mixed: a fraction of what the fuzzer does, the same on every machine.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use argiope_properties::{ALL, Property};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

const MUTATIONS: u64 = 1500;
const LONGEST: usize = 4096;

fn fuzz_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let directory = fuzz_directory().join("corpus").join(name);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 2, "{name} has hardly a corpus");
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A place between two bytes, or a range of at most `longest`.
    fn range(&mut self, length: usize, longest: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(longest + 1)).min(length)
    }
}

fn mutated(seeds: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = seeds[chance.below(seeds.len())].clone();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        match chance.below(7) {
            0 if !bytes.is_empty() => bytes[at] = chance.next() as u8,
            1 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
            2 => drop(bytes.drain(chance.range(bytes.len(), 16))),
            3 => {
                let copy = bytes[chance.range(bytes.len(), 64)].to_vec();
                bytes.splice(at..at, copy);
            }
            4 => {
                let other = &seeds[chance.below(seeds.len())];
                let piece = other[chance.range(other.len(), 64)].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let telling = b"\0\xff\n\r \t<>&\"'=/?#%:;,.-+0129azAZ\x7f\x80\xc3\xef";
                bytes.insert(at, telling[chance.below(telling.len())]);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

fn check(name: &str) {
    let property: &Property = ALL.iter().find(|property| property.name == name).unwrap();
    let seeds = corpus(name);
    let mut chance = Chance(name.len() as u64);
    let mutations = (0..MUTATIONS).map(|_| mutated(&seeds, &mut chance));
    for bytes in seeds.iter().cloned().chain(mutations) {
        if catch_unwind(|| (property.holds_for)(&bytes)).is_err() {
            panic!("{name} does not hold for b\"{}\"", bytes.escape_ascii());
        }
    }
}

macro_rules! properties {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_property_is_tested_and_has_a_fuzz_target() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(ALL.map(|property| property.name), tested);
            for name in tested {
                let target = fuzz_directory().join("fuzz_targets").join(format!("{name}.rs"));
                let text = std::fs::read_to_string(&target).unwrap();
                assert!(text.contains(&format!("check(\"{name}\", bytes)")), "{target:?}");
            }
        }
    };
}

properties! {
    article charset content_coding content_frequencies content_processors content_rules content_structured
    content_topics cookies frontier_records html link_batch link_segment messages robots_txt search_query
    sitemap times url warc_read warc_round_trip words
}
