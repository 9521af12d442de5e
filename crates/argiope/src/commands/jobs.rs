//! `jobs`: the list of jobs, as a table or as JSON; and changes of one.

use super::output::{print, print_json};
use crate::cli::{JobArg, JobChange, JobsArgs};
use argiope_config::{Failure, GlobalOptions};
use argiope_model::display::{count, fit, printable};
use argiope_service::Access;
use argiope_service::control::job_control;
use argiope_service::jobs::{ListedJob, list};
use argiope_service::selection::{self, seeds_in_short};

const WIDEST: usize = 60;

pub(crate) fn run(global: &GlobalOptions, args: &JobsArgs) -> Result<(), Failure> {
    let access = Access::open(global)?;
    if let Some(wanted) = &args.change {
        return change(&access, wanted);
    }
    let listed = list(&access)?;
    if args.json {
        return listed.iter().try_for_each(print_json);
    }
    if listed.is_empty() {
        return print("no jobs yet; 'argiope crawl URL' starts one\n");
    }
    print(&table(&listed))
}

fn change(access: &Access, wanted: &JobChange) -> Result<(), Failure> {
    let (JobChange::Pause(JobArg { job })
    | JobChange::Resume(JobArg { job })
    | JobChange::Cancel(JobArg { job })
    | JobChange::Delete(JobArg { job })) = wanted;
    let job = selection::job(access.reader()?.as_ref(), Some(job))?;
    let control = job_control(&access.place);
    let (done, word) = match wanted {
        JobChange::Pause(_) => (control.pause(job.id), "paused"),
        JobChange::Resume(_) => (control.resume(job.id), "resumed"),
        JobChange::Cancel(_) => (control.cancel(job.id), "cancelled"),
        JobChange::Delete(_) => (control.delete(job.id), "deleted"),
    };
    done.map_err(|error| {
        let failure = Failure::failed(&error.detail);
        match &error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    let name = job.name.unwrap_or_else(|| job.id.to_string());
    print(&format!("Job {} is {word}.\n", printable(&name)))
}

fn table(jobs: &[ListedJob]) -> String {
    let header = ["id", "name", "state", "pages", "failed", "queued", "created", "seeds"].map(String::from);
    let mut rows = vec![header];
    rows.extend(jobs.iter().map(|job| {
        [
            job.id.to_string(),
            job.name.as_deref().map_or_else(|| String::from("-"), |name| fit(&printable(name), WIDEST)),
            job.state.to_owned(),
            count(job.pages),
            count(job.failed),
            job.queued.map_or_else(|| String::from("-"), count),
            // To the second.
            job.created_at.split('.').next().unwrap_or_default().replace('T', " "),
            fit(&printable(&seeds_in_short(&job.seeds)), WIDEST),
        ]
    }));
    let mut lines: Vec<String> = aligned(&rows).lines().map(str::to_owned).collect();
    // Below each row, from the last on: why the job is not done.
    for (at, job) in (1..).zip(jobs).collect::<Vec<_>>().into_iter().rev() {
        let unfinished = matches!(job.state, "paused" | "failed");
        if let Some(message) = job.message.as_ref().filter(|_| unfinished) {
            lines.insert(at + 1, format!("    {}: {}", job.state, printable(message)));
        }
    }
    lines.join("\n") + "\n"
}

/// Numbers to the right, words to the left.
fn aligned(rows: &[[String; 8]]) -> String {
    let mut widths = [0; 8];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let numbers = [true, false, false, true, true, true, false, false];
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .zip(numbers)
            .map(
                |((cell, width), right)| {
                    if right { format!("{cell:>width$}") } else { format!("{cell:width$}") }
                },
            )
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_aligned_and_shows_what_is_unknown_as_a_dash() {
        let job = |id, name: Option<&str>, queued| ListedJob {
            id,
            name: name.map(str::to_owned),
            state: "completed",
            message: None,
            pages: 1234,
            failed: 0,
            skipped: 7,
            queued,
            created_at: String::from("2026-01-02T03:04:05.678Z"),
            started_at: None,
            finished_at: None,
            seeds: vec![String::from("https://a.test/"), String::from("https://b.test/")],
        };
        let paused = ListedJob {
            state: "paused",
            message: Some(String::from("no page was stored; x")),
            ..job(2, None, Some(1))
        };
        let text = table(&[paused, job(3, None, None)]);
        assert_eq!(text.lines().nth(2), Some("    paused: no page was stored; x"), "{text}");
        let text = table(&[job(1, None, None), job(12, Some("nightly"), Some(5))]);
        assert_eq!(
            text,
            "id  name     state      pages  failed  queued  created              seeds\n \
             1  -        completed  1,234       0       -  2026-01-02 03:04:05  https://a.test/ and 1 more\n\
             12  nightly  completed  1,234       0       5  2026-01-02 03:04:05  https://a.test/ and 1 more\n"
        );
    }
}
