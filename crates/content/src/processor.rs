//! Processors: what is made of a body, by its content type.
//!
//! A [`Processor`] says which types it takes and makes a [`Processed`] of an [`Input`]. A [`Registry`] asks its processors in order
//! and gives the body to the first that takes its type; those that a program adds come before those of this crate. What
//! nobody takes is a [`Binary`]. `docs/processors.md` is the page about them.

mod binary;
mod html;
mod image_size;
mod json;
mod plain;
mod xml;

pub use binary::Binary;
pub use html::Html;
pub use json::Json;
pub use plain::Plain;
pub use xml::Xml;

use crate::structured::{Problem, Structured};
use argiope_extract::text_of;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::time::Duration;
use thiserror::Error;

/// A body with what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// After content decoding.
    pub bytes: &'a [u8],
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The charset that the body was found to be in, where somebody has found it. It beats all declarations.
    pub charset: Option<&'a str>,
    /// Where it came from, after redirects.
    pub url: &'a str,
    pub budget: Budget,
}

/// What a processor may cost. A body beyond `bytes` is read as far as that. Processors in this process take time
/// in proportion to the bytes and need no clock; those that run elsewhere end at `time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub bytes: usize,
    pub time: Duration,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { bytes: 10 << 20, time: Duration::from_secs(20) }
    }
}

/// What was made of a body.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Processed {
    /// The name of the processor.
    pub processor: &'static str,
    pub title: Option<String>,
    /// White space collapsed, but for line breaks in what is plain text.
    pub text: Option<String>,
    /// URLs, absolute where they can be.
    pub links: Vec<String>,
    pub structured: Option<Structured>,
    /// By the rules of the job.
    pub fields: Map<String, Value>,
    /// What else the type has: `width`, `pages`, `sha256`.
    pub properties: Map<String, Value>,
    /// What was broken; the rest counts all the same.
    pub problems: Vec<Problem>,
    /// A limit was reached, and there is more in the body.
    pub truncated: bool,
}

impl Processed {
    pub fn of(processor: &'static str) -> Processed {
        Processed { processor, ..Processed::default() }
    }

    pub(crate) fn problem(&mut self, kind: &'static str, detail: impl Into<String>) {
        self.problems.push(Problem { kind, detail: detail.into() });
    }
}

/// Why nothing could be made of a body.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProcessError {
    #[error("cannot read it as {format}: {what}")]
    Broken { format: &'static str, what: String },
    #[error("took longer than {0:?}")]
    TooSlow(Duration),
    #[error("the process that reads {format} ended: {what}")]
    Crashed { format: &'static str, what: String },
    #[error("cannot start the process that reads {format}: {what}")]
    Unavailable { format: &'static str, what: String },
}

/// Makes something of bodies of some types. It must not fail on any bytes but by an error, and must cost no more than the budget
/// says: bodies come from the net.
pub trait Processor: Send + Sync {
    fn name(&self) -> &'static str;

    /// Whether it takes bodies of this type: `text/html`, in lower case and without parameters. By what they begin with, for
    /// bodies without a type or of `application/octet-stream`.
    fn takes(&self, media_type: &str) -> bool;

    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError>;
}

impl<'a> Input<'a> {
    /// The bytes within the budget, and whether there are more.
    pub fn within_budget(&self) -> (&'a [u8], bool) {
        match self.bytes.get(..self.budget.bytes) {
            Some(head) if head.len() < self.bytes.len() => (head, true),
            _ => (self.bytes, false),
        }
    }

    /// The type without parameters, in lower case; by the first bytes where it says nothing.
    pub fn media_type(&self) -> Cow<'static, str> {
        let declared = self.content_type.unwrap_or_default();
        let declared = declared.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase();
        match declared.as_str() {
            "" | "application/octet-stream" | "binary/octet-stream" | "unknown/unknown" => {
                Cow::Borrowed(binary::media_type_of(self.bytes))
            }
            // Servers say so of what they do not know; a PDF is one whatever they say.
            _ if self.bytes.starts_with(b"%PDF-") => Cow::Borrowed("application/pdf"),
            _ => Cow::Owned(declared),
        }
    }

    /// The bytes within the budget as text, in the charset that they are in. `as_type` decides which declarations within the
    /// body are looked at.
    pub(crate) fn text(&self, as_type: &str) -> (Cow<'a, str>, bool) {
        let (bytes, is_cut) = self.within_budget();
        let declared = || {
            let parameters = self.content_type?.split(';').skip(1);
            let charset = parameters.filter_map(|parameter| parameter.split_once('='));
            let mut charset = charset.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
            charset.next().map(|(_, label)| label.trim().trim_matches(['"', '\'']).to_owned())
        };
        let as_type = match self.charset.map(str::to_owned).or_else(declared) {
            Some(charset) => format!("{as_type}; charset={charset}"),
            None => as_type.to_owned(),
        };
        let host = url::Url::parse(self.url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_default();
        let text = text_of(bytes, Some(&as_type), &host).unwrap_or_else(|| String::from_utf8_lossy(bytes));
        (text, is_cut)
    }
}

/// Processors in the order in which they are asked.
pub struct Registry {
    processors: Vec<Box<dyn Processor>>,
}

impl Default for Registry {
    /// Those of this crate that run in this process: [`Html`], [`Xml`], [`Json`], [`Plain`], [`Binary`].
    fn default() -> Registry {
        let processors: Vec<Box<dyn Processor>> =
            vec![Box::new(Html::default()), Box::new(Xml), Box::new(Json), Box::new(Plain), Box::new(Binary)];
        Registry { processors }
    }
}

impl Registry {
    /// Adds a processor that is asked before all others.
    pub fn add(&mut self, processor: impl Processor + 'static) {
        self.processors.insert(0, Box::new(processor));
    }

    /// The processor for a type.
    pub fn processor_for(&self, media_type: &str) -> Option<&dyn Processor> {
        self.processors.iter().find(|processor| processor.takes(media_type)).map(|processor| &**processor)
    }

    /// Gives the body to the processor for its type.
    pub fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        match self.processor_for(&input.media_type()) {
            Some(processor) => processor.process(input),
            None => Binary.process(input),
        }
    }
}

#[cfg(test)]
mod tests;
