//! One function per command: it takes what was typed and returns how it ended.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod crawl;
pub(crate) mod lab;
pub(crate) mod progress;

use crate::cli::{
    AuditArgs, ExportArgs, GlobalOptions, JobsArgs, ReportArgs, StatusArgs, WhyArgs,
};
use crate::exit::Failure;
use crate::progress::Display;

fn unavailable(command: &str) -> Result<(), Failure> {
    Err(Failure::failed(format!("'{command}' is not available in this build")))
}

pub(crate) fn demo(_global: &GlobalOptions, _display: &Display) -> Result<(), Failure> {
    unavailable("demo")
}

pub(crate) fn jobs(_global: &GlobalOptions, _args: &JobsArgs) -> Result<(), Failure> {
    unavailable("jobs")
}

pub(crate) fn status(_global: &GlobalOptions, _args: &StatusArgs) -> Result<(), Failure> {
    unavailable("status")
}

pub(crate) fn export(_global: &GlobalOptions, _args: &ExportArgs) -> Result<(), Failure> {
    unavailable("export")
}

pub(crate) fn why(_global: &GlobalOptions, _args: &WhyArgs) -> Result<(), Failure> {
    unavailable("why")
}

pub(crate) fn report(_global: &GlobalOptions, _args: &ReportArgs) -> Result<(), Failure> {
    unavailable("report")
}

pub(crate) fn audit(_global: &GlobalOptions, _args: &AuditArgs) -> Result<(), Failure> {
    unavailable("audit")
}
