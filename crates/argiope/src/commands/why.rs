//! `why`: prints the way to the decision on a URL, step by step.

use super::output::{print, print_json};
use crate::cli::WhyArgs;
use argiope_config::{Failure, GlobalOptions};
use argiope_model::display::printable;
use argiope_service::Access;
use argiope_service::why::{Explanation, explain};
use std::fmt::Write;

pub(crate) fn run(global: &GlobalOptions, args: &WhyArgs) -> Result<(), Failure> {
    let answer = explain(&Access::open(global)?, args.job.as_deref(), &args.url)?;
    if args.json { print_json(&answer) } else { print(&text(&answer)) }
}

/// The decision is alone on the first line.
pub(crate) fn text(answer: &Explanation) -> String {
    let mut text =
        format!("{}\n  {} in job {}\n", answer.decision.as_str(), printable(&answer.url), answer.job);
    let widest = answer.steps.iter().map(|step| step.step.len()).max().unwrap_or(0);
    for step in &answer.steps {
        let mark = if step.passed { "ok" } else { "no" };
        let _ = writeln!(text, "  {mark}  {:widest$}  {}", step.step, printable(&step.detail));
    }
    for note in &answer.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}
