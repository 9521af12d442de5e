//! Hands a job to the process that owns the data directory.

use super::{Control, ControlError, ControlErrorKind, OwnerClient};
use crate::job_request::JobRequest;
use crate::seeds::all_seeds;
use argiope_config::{CrawlSettings, Failure, read_cookies_file};
use argiope_model::JobId;
use std::path::Path;

/// Seeds that are sent at once.
const SEEDS: usize = 10_000;

/// Submits a job with its seeds and starts it, unless it runs already. `notice` gets what the user should know.
pub fn hand_in(
    settings: &mut CrawlSettings,
    owner: &OwnerClient,
    notice: &dyn Fn(&str),
) -> Result<JobId, Failure> {
    if settings.has_ca_file {
        return Err(Failure::usage("--ca-file cannot be used with a process that is already running")
            .hint("wait for it to end, or use another directory with --data DIR"));
    }
    if let Some(path) = settings.job.cookies_file.clone() {
        settings.job.cookies_text = Some(read_cookies_file(Path::new(&path))?);
    }
    let seeds = all_seeds(settings, notice)?;
    let accepted = owner.submit(JobRequest::of(settings)).map_err(refused)?;
    if !accepted.is_running {
        accepted.notices.iter().for_each(|text| notice(text));
        if settings.list.is_some() {
            for chunk in seeds.chunks(SEEDS) {
                let urls = chunk.iter().map(|url| url.as_str().to_owned()).collect();
                owner.add_seeds(accepted.job, urls).map_err(refused)?;
            }
        }
        owner.start(accepted.job).map_err(refused)?;
    }
    Ok(accepted.job)
}

/// What the owner has refused, for the user.
pub fn refused(error: ControlError) -> Failure {
    let failure = match error.kind {
        ControlErrorKind::Invalid | ControlErrorKind::Conflict => Failure::usage(&error.detail),
        _ => Failure::failed(format!(
            "the process that owns the data directory did not accept the job: {error}"
        )),
    };
    match error.hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_config::FailureClass;

    #[test]
    fn a_request_that_cannot_be_carried_out_is_wrong_usage_and_keeps_its_hint() {
        let error = ControlError::new(ControlErrorKind::Invalid, "it runs with --no-archive").hint("wait");
        let failure = refused(error);
        assert_eq!(failure.class, FailureClass::Usage);
        assert_eq!(failure.messages, ["it runs with --no-archive"]);
        assert_eq!(failure.hint.as_deref(), Some("wait"));
        let failure = refused(ControlError::new(ControlErrorKind::Unavailable, "it is ending"));
        assert_eq!(failure.class, FailureClass::Failed);
        assert!(failure.messages[0].ends_with("did not accept the job: it is ending"));
    }
}
