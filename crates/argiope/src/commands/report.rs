//! `report`: the results, as text.

use super::output::write_to;
use crate::cli::ReportArgs;
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_service::Access;
use argiope_service::report::{self, ReportLimits};
use argiope_service::selection::JobSelection;
use argiope_store::error::StoreError;

pub(crate) fn run(global: &GlobalOptions, args: &ReportArgs, display: &Display) -> Result<(), Failure> {
    let access = Access::open(global)?;
    let jobs = JobSelection::new(args.job.as_deref(), args.all);
    let reports = report::gather(&access, &jobs, ReportLimits::default(), &|text| display.message(text))?;
    let texts: Vec<String> = reports.iter().map(ToString::to_string).collect();
    write_to(&args.output, |to| {
        to.write_all(texts.join("\n").as_bytes()).map_err(|e| StoreError::io("report", e))
    })
}
