//! Several jobs in one process: settings of the process have to be the same for all of them, and each job needs its own
//! identity.

use super::CrawlSettings;
use crate::failure::Failure;
use crate::options::CrawlOptions;
use std::path::PathBuf;

/// Refuses options that only make sense for one job.
pub(super) fn check_options(options: &CrawlOptions) -> Result<(), Failure> {
    let given = [
        (!options.seeds.is_empty(), "a seed", "put it into one of the files, under 'seeds'"),
        (
            options.list.is_some(),
            "--list",
            "crawl the list by itself, or put its URLs into a file, under 'seeds'",
        ),
        (options.name.is_some(), "--name", "put it into the file, as 'name'"),
        (options.output.is_some(), "-o", "write the pages of each with 'argiope export JOB -o FILE'"),
    ];
    match given.iter().find(|(is_given, _, _)| *is_given) {
        None => Ok(()),
        Some((_, option, instead)) => {
            Err(Failure::usage(format!("{option} is for one job, and several job files are given"))
                .hint(*instead))
        }
    }
}

/// The highest concurrency of any job applies to the process; identical notices are shown once.
pub(super) fn reconcile(files: &[PathBuf], all: &mut [CrawlSettings]) -> Result<(), Failure> {
    let name = |number: usize| files.get(number).map(|path| path.display().to_string()).unwrap_or_default();
    for (number, settings) in all.iter().enumerate() {
        let before = all.get(..number).unwrap_or_default();
        if let Some(same) = before.iter().position(|other| other.identity.key == settings.identity.key) {
            return Err(Failure::usage(format!("{} and {} are the same job", name(same), name(number)))
                .hint("give each a name of its own, as 'name'"));
        }
        if let Some(other) = before.iter().position(|other| other.addresses != settings.addresses) {
            let text = format!("{} and {} differ in allow_private", name(other), name(number));
            return Err(Failure::usage(text)
                .hint("allow_private applies to the whole process; run the jobs separately"));
        }
    }
    let most = all.iter().map(|settings| settings.process.concurrency).max();
    let mut told = Vec::new();
    for settings in all {
        settings.process.concurrency = most.unwrap_or(settings.process.concurrency);
        settings.notices.retain(|notice| !told.contains(notice));
        told.extend(settings.notices.iter().cloned());
    }
    Ok(())
}
