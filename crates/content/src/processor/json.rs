//! JSON: its texts, one a line, and those of them that are URLs.

use super::{Input, ProcessError, Processed, Processor};
use serde_json::Value;

const MOST_LINKS: usize = 10_000;
const LONGEST_LINK: usize = 2_048;

#[derive(Clone, Copy, Debug)]
pub struct Json;

impl Processor for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn takes(&self, media_type: &str) -> bool {
        matches!(media_type, "application/json" | "text/json" | "application/feed+json")
            || media_type.ends_with("+json")
    }

    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        let (text, is_cut) = input.text("text/plain");
        let mut processed = Processed::of(self.name());
        processed.truncated = is_cut;
        let text = text.trim_start_matches('\u{feff}');
        // Its parser ends at a depth of 128.
        let value: Value = serde_json::from_str(text)
            .map_err(|error| ProcessError::Broken { format: "JSON", what: error.to_string() })?;
        if let Value::Object(object) = &value {
            let title = ["title", "name", "headline"].iter().find_map(|key| object.get(*key)?.as_str());
            processed.title = title.map(str::to_owned);
        }
        let mut texts = String::new();
        let mut waiting = vec![&value];
        while let Some(value) = waiting.pop() {
            match value {
                Value::String(text) => {
                    let is_link = text.starts_with("http://") || text.starts_with("https://");
                    if is_link && text.len() <= LONGEST_LINK && !text.contains(char::is_whitespace) {
                        if processed.links.len() < MOST_LINKS {
                            processed.links.push(text.clone());
                        } else {
                            processed.truncated = true;
                        }
                    } else {
                        texts.push_str(text);
                        texts.push('\n');
                    }
                }
                Value::Array(values) => waiting.extend(values.iter().rev()),
                Value::Object(object) => waiting.extend(object.values().rev()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        texts.truncate(texts.trim_end().len());
        processed.text = Some(texts);
        Ok(processed)
    }
}
