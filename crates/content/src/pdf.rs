//! PDF files: text, title, links.
//!
//! No PDF reader is safe in the process of a crawler: some files let it recurse without end, loop, or take all memory. So files are
//! read in a child process with limits of the kernel on memory and CPU time, and with a limit on the clock here. A child
//! reads one file at a time, is used again for the next, and is replaced when it ends.
//!
//! [`child_main`] is what the child does, in a hidden command of the same program; [`Pool`] is the parent's side.

mod child;
mod content;
mod pool;
mod protocol;

pub use child::{ChildLimits, child_main, child_main_with};
pub use content::PdfContent;
pub use pool::{PdfError, Pool, PoolSettings};

use crate::processor::{Input, ProcessError, Processed, Processor};
use serde_json::Value;
use std::sync::Arc;

/// The processor for `application/pdf`.
#[derive(Clone, Debug)]
pub struct Pdf {
    pool: Arc<Pool>,
}

impl Pdf {
    pub fn new(pool: Arc<Pool>) -> Pdf {
        Pdf { pool }
    }
}

impl Processor for Pdf {
    fn name(&self) -> &'static str {
        "pdf"
    }

    fn takes(&self, media_type: &str) -> bool {
        matches!(media_type, "application/pdf" | "application/x-pdf")
    }

    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        // A part of a PDF file is none: its table of contents is at its end.
        let (bytes, is_cut) = input.within_budget();
        let content = self.pool.read(bytes, input.budget.time).map_err(|error| match error {
            PdfError::Unreadable(what) => ProcessError::Broken { format: "PDF", what },
            PdfError::TooSlow(time) => ProcessError::TooSlow(time),
            PdfError::Crashed(what) => ProcessError::Crashed { format: "PDF", what },
            PdfError::NotStarted(what) => ProcessError::Unavailable { format: "PDF", what },
        })?;
        let mut processed = Processed::of(self.name());
        processed.title = content.title;
        processed.text = Some(content.text);
        processed.links = content.links;
        processed.truncated = is_cut || content.truncated;
        processed.properties.insert("pages".to_owned(), Value::from(content.pages));
        let of_file =
            [("author", content.author), ("subject", content.subject), ("keywords", content.keywords)];
        for (name, value) in of_file {
            if let Some(value) = value {
                processed.properties.insert(name.to_owned(), Value::from(value));
            }
        }
        Ok(processed)
    }
}
