//! `report`: the results, as text or JSON.

use super::output::write_to;
use crate::cli::{ReportArgs, ReportFormat};
use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_service::Access;
use argiope_service::report::{self, Report, ReportLimits};
use argiope_service::selection::JobSelection;
use argiope_store::error::StoreError;

pub(crate) fn run(global: &GlobalOptions, args: &ReportArgs, display: &Display) -> Result<(), Failure> {
    let access = Access::open(global)?;
    let jobs = JobSelection::new(args.job.as_deref(), args.all);
    let reports = report::gather(&access, &jobs, ReportLimits::default(), &|text| display.message(text))?;
    let text = match args.format {
        ReportFormat::Text => reports.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        ReportFormat::Json => lines_of_json(&reports)?,
    };
    write_to(&args.output, |to| to.write_all(text.as_bytes()).map_err(|e| StoreError::io("report", e)))
}

fn lines_of_json(reports: &[Report]) -> Result<String, Failure> {
    let mut lines = String::new();
    for report in reports {
        let line = serde_json::to_string(report);
        lines +=
            &line.map_err(|error| Failure::failed(format!("cannot write the report as JSON: {error}")))?;
        lines.push('\n');
    }
    Ok(lines)
}
