//! Operations on a job that no process runs: its row in the catalogue decides, and is changed.

use super::{ControlError, ControlErrorKind};
use crate::{directory, selection};
use argiope_config::{Failure, FailureClass, compare_for_resume};
use argiope_model::{JobId, JobSpec};
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Job, JobState, JobUpdate};
use argiope_store::clock::now;
use argiope_store::error::StoreError;

pub(super) const PAUSED: &str = "paused by a user";
pub(super) const CANCELLED: &str = "cancelled by a user";

pub(crate) fn job(reader: &dyn CatalogueReader, job: JobId) -> Result<Job, ControlError> {
    reader.job(job).map_err(|error| of_store(&error))?.ok_or_else(|| not_found(job))
}

/// A job that can still be paused, resumed, cancelled or changed.
pub(super) fn unfinished(reader: &dyn CatalogueReader, id: JobId) -> Result<Job, ControlError> {
    let job = job(reader, id)?;
    match job.state.is_finished() {
        true => Err(is_finished(id, job.state.as_str())),
        false => Ok(job),
    }
}

pub(super) fn pause(catalogue: &mut dyn Catalogue, job: JobId) -> Result<(), ControlError> {
    let stored = unfinished_in(catalogue, job)?;
    if stored.state == JobState::Paused {
        // Its message says why, and stays.
        return Ok(());
    }
    update(catalogue, JobUpdate { state: Some(JobState::Paused), ..told(job, PAUSED) })
}

pub(super) fn cancel(catalogue: &mut dyn Catalogue, job: JobId) -> Result<(), ControlError> {
    unfinished_in(catalogue, job)?;
    update(catalogue, JobUpdate { state: Some(JobState::Cancelled), ..told(job, CANCELLED) })
}

pub(super) fn change(catalogue: &mut dyn Catalogue, job: JobId, spec: &JobSpec) -> Result<(), ControlError> {
    let reader = catalogue.reader().map_err(|error| of_store(&error))?;
    check_change(&self::job(reader.as_ref(), job)?, spec)?;
    unfinished(reader.as_ref(), job)?;
    let spec = Some(as_json(spec)?);
    update(catalogue, JobUpdate { job, state: None, message: None, spec, at: now() })
}

/// Only settings that do not change the identity of a job can be changed.
pub(super) fn check_change(job: &Job, spec: &JobSpec) -> Result<JobSpec, ControlError> {
    let old = selection::spec(job).map_err(of_failure)?;
    compare_for_resume(&old, spec).map_err(|differences| {
        let words: Vec<String> = differences.iter().map(ToString::to_string).collect();
        invalid(words.join("; ")).hint("limits, delay and timeouts can be changed")
    })?;
    Ok(old)
}

pub(super) fn as_json(spec: &JobSpec) -> Result<String, ControlError> {
    serde_json::to_string(spec).map_err(|error| internal(&error))
}

fn unfinished_in(catalogue: &dyn Catalogue, job: JobId) -> Result<Job, ControlError> {
    let reader = catalogue.reader().map_err(|error| of_store(&error))?;
    unfinished(reader.as_ref(), job)
}

fn told(job: JobId, message: &str) -> JobUpdate {
    JobUpdate { job, state: None, message: Some(message.to_owned()), spec: None, at: now() }
}

fn update(catalogue: &mut dyn Catalogue, update: JobUpdate) -> Result<(), ControlError> {
    let batch = Batch { at: now(), jobs: vec![update], ..Batch::default() };
    catalogue.commit(&batch).map(|_| ()).map_err(|error| of_store(&error))
}

pub(super) fn invalid(detail: impl Into<String>) -> ControlError {
    ControlError::new(ControlErrorKind::Invalid, detail)
}

pub(super) fn not_found(job: JobId) -> ControlError {
    ControlError::new(ControlErrorKind::NotFound, format!("there is no job {job}"))
}

pub(super) fn is_finished(job: JobId, state: &str) -> ControlError {
    ControlError::new(ControlErrorKind::Conflict, format!("job {job} is already {state}"))
}

pub(super) fn internal(error: &dyn std::error::Error) -> ControlError {
    ControlError::new(ControlErrorKind::Internal, error.to_string())
}

pub(crate) fn of_store(error: &StoreError) -> ControlError {
    of_failure(directory::store_failure(error))
}

pub(super) fn of_failure(failure: Failure) -> ControlError {
    let kind = match failure.class {
        FailureClass::Usage => ControlErrorKind::Invalid,
        _ if failure.may_pass => ControlErrorKind::Unavailable,
        _ => ControlErrorKind::Internal,
    };
    ControlError { kind, detail: failure.messages.join("; "), hint: failure.hint }
}
