//! Everything that is extracted from a page.

use super::document::{self, Document, InspectOptions, Source, What};
use argiope_config::{Failure, GlobalOptions};
use argiope_extract::{Input, Limits, Wants, inspect_page};
use argiope_model::{NormalRules, Page, Url};
use serde::Serialize;

/// The base for the links of a file if no other is given. Reserved, so that none of its links is taken for a real
/// place.
const NOWHERE: &str = "http://page.invalid/";

/// The page as a record. `base` is where a file comes from.
pub fn page(
    global: &GlobalOptions,
    source: Source,
    base: Option<&str>,
    options: &InspectOptions,
    notice: &dyn Fn(&str),
) -> Result<impl Serialize, Failure> {
    let rules = NormalRules::default();
    let document = document::read(global, source, What::Page, options, notice)?;
    let url = place(base, &document, &rules)?;
    let robots_tags = document.x_robots_tags();
    let input = Input {
        body: &document.body,
        payload: None,
        content_type: document.content_type(),
        url: &url,
        x_robots_tag: &robots_tags,
        agent: "argiope",
        limits: Limits::default(),
        wants: Wants::ALL,
    };
    Ok(inspect_page(&input, &rules, document.page_record()))
}

/// `--base`, or where the page was fetched from.
fn place(base: Option<&str>, document: &Document, rules: &NormalRules) -> Result<Url, Failure> {
    if let Some(base) = base {
        return Url::parse(base, rules).map_err(|error| {
            Failure::usage(format!("--base '{base}': {error}"))
                .hint("for example --base https://example.com/")
        });
    }
    match document.final_url() {
        Some(url) => Ok(url.clone()),
        None => Url::parse(NOWHERE, rules).map_err(|error| Failure::failed(error.to_string())),
    }
}

impl Document {
    fn page_record(&self) -> Page {
        match &self.answer {
            None => Page { error: self.error.clone(), ..Page::default() },
            Some(answer) => Page {
                url: answer.asked.as_str().to_owned(),
                final_url: Some(answer.url.as_str().to_owned()),
                status: Some(answer.status),
                content_type: answer.content_type.clone(),
                crawled_at: Some(answer.started),
                fetch_ms: Some(answer.fetch_ms),
                error: self.error.clone(),
                ..Page::default()
            },
        }
    }
}
