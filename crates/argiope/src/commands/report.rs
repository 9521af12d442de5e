//! `report`: what was found, as text.

use super::crawl::now;
use super::export::write_to;
use super::selection;
use crate::cli::{GlobalOptions, ReportArgs};
use crate::data;
use crate::exit::Failure;
use crate::stores::Stores;
use argiope_store::error::StoreError;
use argiope_store::report::{Report, ReportLimits};

pub(crate) fn run(global: &GlobalOptions, args: &ReportArgs) -> Result<(), Failure> {
    let stores = Stores::of(global)?;
    let reader = stores.reader()?;
    let jobs = selection::jobs(reader.as_ref(), args.job.as_deref(), args.all)?;
    let work = stores.work()?;
    let mut text = String::new();
    for job in &jobs {
        let state = work.state_word(job);
        let report = Report::gather(reader.as_ref(), job, state, ReportLimits::default(), now())
            .map_err(|e| data::store_failure(&e))?;
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&report.to_string());
    }
    write_to(&args.output, |to| to.write_all(text.as_bytes()).map_err(|e| StoreError::io("report", e)))
}
