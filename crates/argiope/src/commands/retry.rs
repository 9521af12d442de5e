//! `retry`: queues what has failed again, and says what comes next.

use super::output::print;
use crate::cli::RetryArgs;
use argiope_config::{Failure, GlobalOptions};
use argiope_model::display::counted;
use argiope_service::Access;
use argiope_service::retry::{RetryAnswer, RetryRequest, retry};
use argiope_service::shell::{command, shell_word};

pub(crate) fn run(global: &GlobalOptions, args: &RetryArgs) -> Result<(), Failure> {
    let request = RetryRequest { words: args.words.clone(), failed: args.failed, blocked: args.blocked };
    print(&text(global, &retry(&Access::open(global)?, &request)?))
}

fn text(global: &GlobalOptions, retried: &RetryAnswer) -> String {
    let RetryAnswer { job, blocked, .. } = retried;
    let name = job.name.clone().unwrap_or_else(|| job.id.to_string());
    if retried.queued == 0 && *blocked == 0 {
        return format!("Job {name} has nothing to retry.\n");
    }
    let mut text = String::new();
    if retried.queued > 0 {
        let are = if retried.queued == 1 { "is" } else { "are" };
        let urls = counted(retried.queued, "URL", "URLs");
        text.push_str(&format!("{urls} of job {name} {are} queued again.\n"));
    }
    if *blocked > 0 {
        let when = if retried.is_running { "now" } else { "by the next crawl" };
        let urls = counted(*blocked, "URL waits", "URLs wait");
        text.push_str(&format!(
            "{urls} for a robots.txt that was unreachable; it is requested again {when}.\n"
        ));
    }
    if !retried.is_running {
        text.push_str(&match &job.name {
            Some(name) => {
                let again = command(&global.data, &format!("crawl --name {}", shell_word(name)));
                format!("To resume, repeat the command that started the job, or run: {again}\n")
            }
            None => String::from("To resume, repeat the command that started the job.\n"),
        });
    }
    text
}
