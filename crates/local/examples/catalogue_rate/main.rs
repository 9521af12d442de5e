//! How many pages a second the catalogue takes, and what a page costs in CPU time.
//!
//! `cargo run --profile quick --example catalogue_rate -- [PAGES] [BATCH] [PAGE_BYTES] [CHECKPOINT_MB] [CACHE_MB]`

mod rows;

use argiope_local::catalogue::{CatalogueSettings, SqliteCatalogue};
use argiope_model::Millis;
use argiope_store::catalogue::{Batch, Catalogue, NewJob, PageQuery};
use rows::{fetch_row, page_row};
use std::ops::ControlFlow;
use std::time::Instant;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut argument = |default: u64| arguments.next().unwrap_or(Ok(default));
    let pages = argument(50_000)?;
    let size = argument(1000)?;
    let defaults = CatalogueSettings::default();
    let settings = CatalogueSettings {
        page_bytes: u32::try_from(argument(u64::from(defaults.page_bytes))?)?,
        checkpoint_bytes: u32::try_from(argument(u64::from(defaults.checkpoint_bytes >> 20))? << 20)?,
        cache_bytes: u32::try_from(argument(u64::from(defaults.cache_bytes >> 20))? << 20)?,
    };
    let directory = tempfile::tempdir_in(".")?;
    let path = directory.path().join("catalog.db");
    let mut catalogue = SqliteCatalogue::open(&path, settings)?;
    let job = catalogue.create_job(&NewJob {
        name: None,
        seeds_hash: "0".into(),
        spec: "{}".into(),
        created_at: Millis(0),
        user: None,
    })?;
    println!("{pages} pages in batches of {size}, {settings:?}");
    let (mut spent, mut elapsed) = (0.0, 0.0);
    let mut done = 0;
    while done < pages {
        let until = (done + size).min(pages);
        let batch = Batch {
            at: Millis(1_767_323_045_678 + until),
            pages: (done..until).map(|number| page_row(job.id, number, None)).collect(),
            fetches: (done..until).map(|number| fetch_row(job.id, number)).collect(),
            ..Batch::default()
        };
        let (cpu, clock) = (cpu_seconds()?, Instant::now());
        catalogue.commit(&batch)?;
        spent += cpu_seconds()? - cpu;
        elapsed += clock.elapsed().as_secs_f64();
        if until * 5 / pages > done * 5 / pages {
            let each = 1e6 / until as f64;
            println!("{until:>9} pages: {:6.2} us CPU, {:6.2} us clock a page", spent * each, elapsed * each);
        }
        done = until;
    }
    let reader = catalogue.reader()?;
    let (cpu, mut count) = (cpu_seconds()?, 0u64);
    reader.pages(&PageQuery::of(job.id), &mut |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    println!("reading: {:6.2} us CPU a page", (cpu_seconds()? - cpu) * 1e6 / count as f64);
    drop(reader);
    let (cpu, clock) = (cpu_seconds()?, Instant::now());
    drop(catalogue);
    println!("closing: {:.2} s CPU, {:.2} s", cpu_seconds()? - cpu, clock.elapsed().as_secs_f64());
    println!("size: {:.0} bytes a page", std::fs::metadata(&path)?.len() as f64 / pages as f64);
    Ok(())
}

/// User and system time of this process.
fn cpu_seconds() -> Result<f64, Failure> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().unwrap_or("0").parse()?;
    Ok(nanoseconds / 1e9)
}
