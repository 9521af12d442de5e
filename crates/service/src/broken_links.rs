//! Broken URLs of a job with the links that lead to them: for `export` and `report`.

use crate::access::Access;
use crate::place::Place;
use crate::stored_links::StoredLinks;
use argiope_config::Failure;
use argiope_model::JobSpec;
use argiope_store::broken::BrokenUrls;
use argiope_store::catalogue::{CatalogueReader, Job};
use argiope_store::error::{ErrorKind, Result as Stored, StoreError};

/// URLs of one job that are broken. The job's own rules say which spellings are one URL.
pub(crate) fn urls(reader: &dyn CatalogueReader, job: &Job) -> Stored<BrokenUrls> {
    let spec: JobSpec = serde_json::from_str(&job.spec).map_err(|error| {
        StoreError::new(ErrorKind::Corrupt, format!("job {}", job.id), "cannot be read").with_source(error)
    })?;
    BrokenUrls::gather(reader, job.id, spec.normal_form.compile())
}

/// The links. A cluster may not have them at hand: then there is a notice, and each URL is listed with the page it was
/// first found on.
pub(crate) fn links_if_any(
    access: &Access,
    reader: &dyn CatalogueReader,
    notice: &dyn Fn(&str),
) -> Result<Option<StoredLinks>, Failure> {
    match StoredLinks::of(access, reader) {
        Ok(links) => Ok(Some(links)),
        Err(failure) if matches!(access.place, Place::Cluster(_)) => {
            let why = failure.messages.join("; ");
            notice(&format!("warning: {why}; broken URLs are listed with the page they were first found on"));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}
