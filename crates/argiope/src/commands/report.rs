//! `report`: what was found, as text.

use super::broken;
use super::export::write_to;
use super::selection;
use crate::cli::ReportArgs;
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_service::directory;
use argiope_service::place::Place;
use argiope_store::clock::now;
use argiope_store::error::StoreError;
use argiope_store::report::{Report, ReportLimits};

pub(crate) fn run(global: &GlobalOptions, args: &ReportArgs, display: &Display) -> Result<(), Failure> {
    let failed = |e: StoreError| directory::store_failure(&e);
    let stores = Place::of(global)?;
    let reader = stores.reader()?;
    let jobs = selection::jobs(reader.as_ref(), args.job.as_deref(), args.all)?;
    let work = stores.work()?;
    let limits = ReportLimits::default();
    let links = || broken::links_if_any(global, &stores, reader.as_ref(), display);
    let mut text = String::new();
    for job in &jobs {
        let state = work.state_word(job);
        let mut urls = broken::urls(reader.as_ref(), job).map_err(failed)?;
        if !urls.is_empty()
            && let Some(links) = links()?
        {
            links.read(&mut |page| urls.of_page(page, &mut |_, _, _| Ok(()))).map_err(failed)?;
        }
        let broken = urls.most_linked(limits.pages);
        let report = Report::gather(reader.as_ref(), job, state, limits, now(), broken).map_err(failed)?;
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&report.to_string());
    }
    write_to(&args.output, |to| to.write_all(text.as_bytes()).map_err(|e| StoreError::io("report", e)))
}
