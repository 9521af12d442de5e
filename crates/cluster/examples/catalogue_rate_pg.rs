//! How many rows a second the catalogue in PostgreSQL takes from several writers at once.
//!
//! `ARGIOPE_TEST_POSTGRES=... cargo run --example catalogue_rate_pg -- [PAGES] [BATCH] [WRITERS]`: pages of each writer,
//! each with its request, in a database made for it and dropped again.

#[path = "../../local/examples/catalogue_rate/rows.rs"]
mod rows;
mod scratch;

use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Database;
use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{Batch, Catalogue, NewJob, PageQuery};
use rows::{fetch_row, page_row};
use scratch::Failure;
use std::ops::ControlFlow;
use std::time::Instant;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut argument = |default: u64| arguments.next().unwrap_or(Ok(default));
    let (pages, size, writers) = (argument(50_000)?, argument(500)?, argument(2)?);
    scratch::with_cluster("argiope_catalogue_rate", 64, |database| measure(database, pages, size, writers))
}

fn measure(database: &Database, pages: u64, size: u64, writers: u64) -> Result<(), Failure> {
    let mut first = PostgresCatalogue::open(database, "first")?;
    let job = first
        .create_job(&NewJob {
            name: None,
            seeds_hash: "0".into(),
            spec: "{}".into(),
            created_at: Millis(0),
            user: None,
        })?
        .id;
    println!("{writers} writers, {pages} pages each, in batches of {size}");
    let clock = Instant::now();
    let waited: f64 = std::thread::scope(|scope| {
        let all: Vec<_> = (0..writers)
            .map(|writer| scope.spawn(move || write(database, job, writer, pages, size)))
            .collect();
        all.into_iter()
            .map(|writer| writer.join().map_err(|_| Failure::from("a writer panicked"))?)
            .sum::<Result<f64, Failure>>()
    })?;
    let rows = (2 * pages * writers) as f64;
    let seconds = clock.elapsed().as_secs_f64();
    println!(
        "writing: {:.0} rows/s, {seconds:.1} s; a commit took {:.1} ms on average",
        rows / seconds,
        waited * 1e3 / (pages * writers / size) as f64
    );
    let (clock, mut count) = (Instant::now(), 0u64);
    first.reader()?.pages(&PageQuery::of(job), &mut |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    println!("reading: {:.0} pages/s", count as f64 / clock.elapsed().as_secs_f64());
    Ok(())
}

/// The seconds its commits took.
fn write(database: &Database, job: JobId, writer: u64, pages: u64, size: u64) -> Result<f64, Failure> {
    let mut catalogue = PostgresCatalogue::open(database, &format!("w{writer}"))?;
    let (mut done, mut waited) = (0, 0.0);
    while done < pages {
        let until = (done + size).min(pages);
        let numbers = writer * pages + done..writer * pages + until;
        let batch = Batch {
            at: Millis(1_767_323_045_678 + until),
            pages: numbers.clone().map(|number| page_row(job, number, Some(topics(number)))).collect(),
            fetches: numbers.map(|number| fetch_row(job, number)).collect(),
            ..Batch::default()
        };
        let clock = Instant::now();
        catalogue.commit(&batch)?;
        waited += clock.elapsed().as_secs_f64();
        done = until;
    }
    Ok(waited)
}

fn topics(number: u64) -> Vec<String> {
    (0..15).map(|n| format!("topic {}", (number * 7 + n * n) % 5000)).collect()
}
