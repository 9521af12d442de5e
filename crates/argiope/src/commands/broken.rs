//! Broken URLs of a job with the links that lead to them: for `export` and `report`.

use crate::progress::Display;
use argiope_config::{Failure, GlobalOptions};
use argiope_model::JobSpec;
use argiope_service::place::Place;
use argiope_service::stored_links::StoredLinks;
use argiope_store::broken::BrokenUrls;
use argiope_store::catalogue::{CatalogueReader, Job};
use argiope_store::error::{ErrorKind, Result as Stored, StoreError};

/// Those that are not there by the job's own rules for what the same URL is.
pub(crate) fn urls(reader: &dyn CatalogueReader, job: &Job) -> Stored<BrokenUrls> {
    let spec: JobSpec = serde_json::from_str(&job.spec).map_err(|error| {
        StoreError::new(ErrorKind::Corrupt, format!("job {}", job.id), "cannot be read").with_source(error)
    })?;
    BrokenUrls::gather(reader, job.id, spec.normal_form.compile())
}

/// The links, or a warning that they are not here: then each URL has the page it was first found on.
pub(crate) fn links_if_any(
    global: &GlobalOptions,
    stores: &Place,
    reader: &dyn CatalogueReader,
    display: &Display,
) -> Result<Option<StoredLinks>, Failure> {
    match StoredLinks::of(global, stores, reader) {
        Ok(links) => Ok(Some(links)),
        Err(failure) if matches!(stores, Place::Cluster(_)) => {
            let why = failure.messages.join("; ");
            display.message(&format!(
                "warning: {why}; broken URLs are listed with the page they were first found on"
            ));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}
