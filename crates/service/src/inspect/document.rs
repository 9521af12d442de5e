//! What is inspected: a file, a stream, or a URL that is fetched the way a crawl fetches.

use super::fetching;
use argiope_config::{
    Failure, GlobalOptions, NetworkOptions, apply_network, load_config, load_config_to_read, merge_job,
};
use argiope_fetch::TruncationCause;
use argiope_model::{JobSpec, Millis, Url};
use bytes::Bytes;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// Nothing that a crawl would take is longer, whatever it is.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Where a document is.
pub enum Source {
    /// An http or https URL.
    Url(String),
    File(PathBuf),
    /// Called that in messages.
    Stream(&'static str, Box<dyn Read>),
}

impl Source {
    /// A URL if it begins like one, else a file.
    pub fn named(text: &str) -> Result<Source, Failure> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            Some("http" | "https") => Ok(Source::Url(text.to_owned())),
            Some(other) => Err(Failure::usage(format!("scheme '{other}' of '{text}' is unknown"))
                .hint("give a file, - for stdin, or an http or https URL")),
            None => Ok(Source::File(PathBuf::from(text))),
        }
    }
}

/// How a URL is fetched.
#[derive(Clone, Debug, Default)]
pub struct InspectOptions {
    pub network: NetworkOptions,
    pub allow_private: bool,
}

/// What is read, for a crawl does not take as much of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Up to `max_body`; a longer one is cut there, with a note.
    Page,
    /// With limits of their own.
    Other,
}

/// Bytes, and how they were come by.
pub(super) struct Document {
    pub(super) body: Bytes,
    /// Why the body is not all of it.
    pub(super) error: Option<String>,
    /// The server's response; `None` for a file.
    pub(super) answer: Option<Answer>,
}

pub(super) struct Answer {
    pub(super) asked: Url,
    /// Where redirects ended.
    pub(super) url: Url,
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) x_robots_tags: Vec<String>,
    pub(super) started: Millis,
    pub(super) fetch_ms: u32,
}

impl Document {
    pub(super) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    pub(super) fn content_type(&self) -> Option<&str> {
        self.answer.as_ref().and_then(|answer| answer.content_type.as_deref())
    }

    pub(super) fn final_url(&self) -> Option<&Url> {
        self.answer.as_ref().map(|answer| &answer.url)
    }

    pub(super) fn x_robots_tags(&self) -> Vec<&str> {
        self.answer.iter().flat_map(|answer| answer.x_robots_tags.iter().map(String::as_str)).collect()
    }

    /// For what makes sense only if it was found.
    pub(super) fn require_success(&self) -> Result<(), Failure> {
        match &self.answer {
            Some(answer) if !(200..300).contains(&answer.status) => {
                Err(Failure::failed(format!("{} answered {}", answer.url, answer.status)))
            }
            _ => Ok(()),
        }
    }
}

/// `notice` gets what the user should know.
pub(super) fn read(
    global: &GlobalOptions,
    source: Source,
    what: What,
    options: &InspectOptions,
    notice: &dyn Fn(&str),
) -> Result<Document, Failure> {
    let is_fetched = matches!(source, Source::Url(_));
    let config = if is_fetched { load_config(global)? } else { load_config_to_read(global)? };
    let mut spec = merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?;
    apply_network(&mut spec, &options.network)?;
    let limit = if what == What::Page { spec.max_body } else { MAX_BYTES };
    match source {
        Source::Url(url) => fetching::fetched(global, &config, &spec, &url, limit, options, notice),
        Source::Stream(name, stream) => limited(stream, name, what, limit),
        Source::File(path) => {
            let file = File::open(&path).map_err(|error| {
                Failure::usage(format!("cannot read {}: {error}", path.display()))
                    .hint("give a file, - for stdin, or an http or https URL")
            })?;
            limited(file, &path.display().to_string(), what, limit)
        }
    }
}

fn limited(from: impl Read, name: &str, what: What, limit: u64) -> Result<Document, Failure> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let is_cut = bytes.len() as u64 > limit;
    if is_cut && what == What::Other {
        let limit = argiope_model::display::bytes(limit);
        return Err(Failure::usage(format!("{name} is longer than {limit}")));
    }
    bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let error = is_cut.then(|| TruncationCause::TooLarge { limit }.to_string());
    Ok(Document { body: Bytes::from(bytes), error, answer: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_url_a_file_or_unknown() {
        assert!(matches!(Source::named("HTTPS://a.test/").unwrap(), Source::Url(_)));
        assert!(matches!(Source::named("robots.txt").unwrap(), Source::File(_)));
        assert!(Source::named("ftp://a.test/").is_err());
    }

    #[test]
    fn a_page_is_cut_at_the_limit_and_anything_else_is_refused() {
        let page = limited(&b"12345"[..], "stdin", What::Page, 3).unwrap();
        assert_eq!((&page.body[..], page.error.is_some()), (&b"123"[..], true));
        let whole = limited(&b"123"[..], "stdin", What::Page, 3).unwrap();
        assert_eq!((&whole.body[..], whole.error.is_some()), (&b"123"[..], false));
        assert!(limited(&b"1234"[..], "stdin", What::Other, 3).is_err());
    }
}
