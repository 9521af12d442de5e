//! How long the index of near duplicates takes, and what it weighs:
//!
//! ```text
//! cargo run --profile quick -p argiope-duplicates --example near_rate [MILLIONS]
//! ```
//!
//! Times are of the processor. Fingerprints are random, as those of different texts are. A hit is one of them with up to three bits changed.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement that cannot be made has failed")]

use argiope_duplicates::{DuplicateIndex, Facts, NearIndex};
use argiope_model::{ContentHash, SimHash};
use std::hint::black_box;

const LOOKUPS: u64 = 200_000;

fn main() {
    let millions =
        std::env::args().nth(1).map_or(10.0, |word| word.parse::<f64>().expect("a number of millions"));
    let count = (millions * 1e6) as u64;
    let mut index = NearIndex::new(count as usize);
    let before = resident_megabytes();
    let (took, largest) = inserts(&mut index, count);
    println!(
        "insert, each looked up first  {:.2} us, {:.0} a second; the slowest {largest:.0} ms",
        took / count as f64 * 1e6,
        count as f64 / took
    );
    sizes("", &index, before);
    lookups(&index, count);
    drop(index);

    let before = resident_megabytes();
    let started = cpu_seconds();
    let restored = NearIndex::of(count as usize, (0..count).map(|page| (fingerprint(page), page)));
    println!(
        "built again from pages        {:.2} s, {:.0} a second",
        since(started),
        count as f64 / since(started)
    );
    sizes(", built again", &restored, before);
    lookups(&restored, count);
    drop(restored);

    let (mut all, before) = (DuplicateIndex::new(count as usize), resident_megabytes());
    let started = cpu_seconds();
    let mut duplicates = 0;
    for page in 0..count {
        duplicates += u64::from(all.judge(&facts(page)).is_some());
    }
    let took = since(started) / count as f64 * 1e6;
    let bytes = all.memory_bytes() as f64 / count as f64;
    println!(
        "all that is looked at for a page  {took:.2} us, {bytes:.1} bytes a page, resident {} MB, {duplicates} duplicates",
        resident_megabytes().saturating_sub(before)
    );
}

/// Seconds in all, and milliseconds of the one that took longest, which builds the tables.
fn inserts(index: &mut NearIndex, count: u64) -> (f64, f64) {
    let started = cpu_seconds();
    let mut largest = 0f64;
    let mut last = 0.0;
    for page in 0..count {
        black_box(index.insert(fingerprint(page), page));
        if page % 1024 == 0 {
            let now = since(started);
            largest = largest.max(now - last);
            last = now;
        }
    }
    (since(started), largest * 1e3)
}

fn lookups(index: &NearIndex, count: u64) {
    let started = cpu_seconds();
    let found =
        (0..LOOKUPS).filter(|n| black_box(index.find(fingerprint(count + n), u64::MAX)).is_some()).count();
    println!("look-up, a miss               {:.2} us ({found} found)", since(started) / LOOKUPS as f64 * 1e6);
    let queries: Vec<SimHash> = (0..LOOKUPS)
        .map(|n| {
            let random = mixed(n ^ 0x5555);
            let SimHash(known) = fingerprint(random % count);
            let bits = (0..n % 4).map(|bit| 1u64 << ((random >> (8 * bit + 20)) % 64));
            SimHash(bits.fold(known, |hash, bit| hash ^ bit))
        })
        .collect();
    let started = cpu_seconds();
    let found = queries.iter().filter(|query| black_box(index.find(**query, u64::MAX)).is_some()).count();
    println!(
        "look-up, a hit                {:.2} us ({found} of {LOOKUPS} found)",
        since(started) / LOOKUPS as f64 * 1e6
    );
}

fn sizes(what: &str, index: &NearIndex, before: u64) {
    let bytes = index.memory_bytes();
    println!(
        "memory{what}: {} MB, {:.1} bytes an entry, resident {} MB",
        bytes / 1_000_000,
        bytes as f64 / index.len().max(1) as f64,
        resident_megabytes().saturating_sub(before)
    );
}

fn facts(page: u64) -> Facts {
    let mut content = [0; 32];
    content.iter_mut().zip(mixed(page ^ 0xaaaa).to_be_bytes()).for_each(|(to, from)| *to = from);
    Facts {
        page,
        content: Some(ContentHash(content)),
        canonical: false,
        simhash: Some(fingerprint(page)),
        word_count: 1000,
    }
}

fn fingerprint(page: u64) -> SimHash {
    SimHash(mixed(page))
}

/// The finalizer of splitmix64.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn since(started: f64) -> f64 {
    cpu_seconds() - started
}

/// Of this thread, the only one: the machine may be busy with other things.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux with schedstat");
    text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).expect("nanoseconds") / 1e9
}

fn resident_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) / 1000
}
