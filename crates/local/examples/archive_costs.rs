//! What an append to the archive and to the links costs, part by part: `cargo run --profile quick --example
//! archive_costs [DIRECTORY]`. The figures are the best of several rounds, in microseconds of wall time on one thread.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a measurement, run by hand")]

use argiope_local::archive::{ArchiveOptions, FileArchive};
use argiope_local::links::SegmentLinks;
use argiope_model::{JobId, LinkKind, Rel};
use argiope_store::archive::Archive;
use argiope_store::archive::contract::Sample;
use argiope_store::links::{Link, LinkBatch, Links, LinksPosition};
use argiope_store::warc::gzip::GzipWriter;
use argiope_store::warc::{Digest, VisitEncoder};
use sha1::{Digest as _, Sha1};
use std::hint::black_box;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

const ROUNDS: usize = 15;
const REPEATS: u32 = 300;

/// Best time of one call, in microseconds.
fn best(mut call: impl FnMut(u32)) -> f64 {
    let round = |call: &mut dyn FnMut(u32)| {
        let start = Instant::now();
        for n in 0..REPEATS {
            call(n);
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(REPEATS)
    };
    (0..ROUNDS).map(|_| round(&mut call)).fold(f64::MAX, f64::min)
}

/// A page of 30 KB that gzip brings to about 12 KB.
fn page() -> Vec<u8> {
    let mut html = Vec::new();
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    };
    while html.len() < 30_000 {
        let (a, b, c) = (draw(), draw(), draw());
        writeln!(html, "<p class=\"item\"><a href=\"/{}/{a:x}\">{b:x}</a> {c:x}</p>", a % 97).unwrap();
    }
    html
}

fn main() {
    let root =
        std::env::args().nth(1).map_or_else(|| std::env::temp_dir().join("archive-costs"), PathBuf::from);
    let _ = std::fs::remove_dir_all(&root);
    let html = page();
    let mut gzipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzipped.write_all(&html).unwrap();
    let gzipped = gzipped.finish().unwrap();
    println!("page {} bytes, gzip {} bytes", html.len(), gzipped.len());

    let sha256 = best(|_| {
        black_box(Digest::of(&[black_box(&gzipped)]));
    });
    let sha1 = best(|_| {
        black_box(Sha1::digest(black_box(&gzipped)));
    });
    println!("digest of the gzip body: SHA-1 {sha1:.2}, SHA-256 {sha256:.2}");

    let mut out = Vec::with_capacity(1 << 20);
    let mut gzip = GzipWriter::new();
    let small = vec![b'a'; 700].iter().zip(html.iter()).map(|(_, b)| *b).collect::<Vec<u8>>();
    for (name, bytes) in [("gzip body", &gzipped), ("plain page", &html), ("a record of 700 bytes", &small)] {
        let stored = best(|_| {
            out.clear();
            gzip.stored(&[black_box(bytes)], &mut out);
        });
        let stored_length = out.len();
        let deflated = best(|_| {
            out.clear();
            gzip.deflated(&[black_box(bytes)], &mut out);
        });
        println!(
            "{name}: stored {stored:.2} ({stored_length} bytes), deflated {deflated:.2} ({} bytes)",
            out.len()
        );
    }

    let mut compressed = Sample::of("https://example.com/some/path/to/a/page?with=query", gzipped);
    let length = compressed.body().len();
    compressed.response.as_mut().unwrap().0 = format!(
        "HTTP/1.1 200 OK\r\nServer: lab\r\nContent-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\nDate: Mon, 01 Jan 2026 00:00:00 GMT\r\nCache-Control: max-age=60\r\n\r\n"
    )
    .into_bytes();
    let plain = Sample::of("https://example.com/some/path/to/a/page?with=query", html);
    for (name, sample) in [("gzip body", &compressed), ("plain page", &plain)] {
        let mut encoder = VisitEncoder::new([7; 16]);
        let digest = Digest::of(&[sample.body()]);
        let encoded = best(|_| {
            out.clear();
            encoder.visit(&sample.exchange(), Some(digest), None, &mut out).unwrap();
        });
        println!("encode a visit, {name}: {encoded:.2} without the payload digest ({} bytes)", out.len());
        for block_digests in [false, true] {
            let options = ArchiveOptions { block_digests, ..ArchiveOptions::default() };
            let archive = FileArchive::open(&root.join("archive"), options).unwrap();
            let mut appender = archive.appender().unwrap();
            let appended = best(|_| {
                black_box(appender.append(&sample.exchange()).unwrap());
            });
            println!("append a visit, {name}, block digest {block_digests}: {appended:.2}");
        }
    }

    measure_links(&root);
    let _ = std::fs::remove_dir_all(&root);
}

fn measure_links(root: &std::path::Path) {
    let targets: Vec<String> = (0..100_000u64)
        .map(|n| {
            format!(
                "https://host-{}.example.com/section/{}/page-{}.html",
                n / 50 % 200,
                n % 17,
                n * 7919 % 100_003
            )
        })
        .collect();
    let mut batch = LinkBatch::new();
    let fill = |batch: &mut LinkBatch| {
        batch.clear();
        for (n, links) in targets.chunks(50).enumerate() {
            let links = links.iter().map(|target| Link {
                target,
                anchor: target.get(40..55).unwrap_or(""),
                rel: Rel::default(),
                kind: LinkKind::Anchor,
            });
            batch.push(
                JobId(1),
                &format!("https://host-{}.example.com/section/1/page-{n}.html", n % 200),
                links,
            );
        }
    };
    let mut store = SegmentLinks::open(&root.join("links")).unwrap();
    store.truncate_to(LinksPosition::default()).unwrap();
    let mut best_encode = f64::MAX;
    let mut best_append = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        fill(&mut batch);
        best_encode = best_encode.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        store.append(&batch).unwrap();
        best_append = best_append.min(start.elapsed().as_secs_f64());
    }
    let start = Instant::now();
    let position = store.sync().unwrap();
    let synced = start.elapsed().as_secs_f64();
    let links = batch.links() as f64;
    let mut read = 0u64;
    let start = Instant::now();
    store
        .read(position, &mut |page| {
            read += page.links.len() as u64;
            Ok(())
        })
        .unwrap();
    let reading = start.elapsed().as_secs_f64();
    println!(
        "links: encode {:.2} M/s, compress and write {:.2} M/s, both on one thread {:.2} M/s, {:.1} bytes each; sync of all {:.1} ms; read {:.2} M/s",
        links / best_encode / 1e6,
        links / best_append / 1e6,
        links / (best_encode + best_append) / 1e6,
        position.length as f64 / ROUNDS as f64 / links,
        synced * 1e3,
        read as f64 / reading / 1e6
    );
}
