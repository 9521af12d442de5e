//! What a recrawl knows of the last fetch of a URL.

use crate::{ArchiveRef, Url};
use serde::{Deserialize, Serialize};

/// Validators of a response: a conditional request sends them, and the server answers `304` if nothing has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// The last fetch of a URL, for the visit that fetches it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousFetch {
    /// The URL that sent the response: the last one of its redirects. Validators are sent to no other URL.
    pub url: Url,
    #[serde(flatten)]
    pub validators: Validators,
    /// Where its record is, if it was archived. The archive reads digest and date from there; a revisit record refers to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<ArchiveRef>,
}
