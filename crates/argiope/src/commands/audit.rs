//! `audit`: prints the proof of politeness; a violation is a failure.

use super::output::{print, print_json};
use crate::cli::AuditArgs;
use argiope_config::{Failure, GlobalOptions};
use argiope_service::selection::JobSelection;
use argiope_service::{Access, audit};

pub(crate) fn run(global: &GlobalOptions, args: &AuditArgs) -> Result<(), Failure> {
    let access = Access::open(global)?;
    let report = audit::of(&access, &JobSelection::new(args.job.as_deref(), args.all))?;
    if args.json {
        print_json(&report)?;
    } else {
        print(&report.to_string())?;
    }
    if report.violation_count == 0 { Ok(()) } else { Err(Failure::silent()) }
}
