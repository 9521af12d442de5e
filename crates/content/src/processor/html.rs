//! Pages: structured data, and the fields of the job's rules. Title, text and links of a page are `argiope_extract`'s, which
//! has read it before.

use super::{Input, ProcessError, Processed, Processor};
use crate::rules::Rules;
use crate::structured;

#[derive(Clone, Debug, Default)]
pub struct Html {
    rules: Option<Rules>,
}

impl Html {
    pub fn with_rules(rules: Rules) -> Html {
        Html { rules: Some(rules) }
    }
}

impl Processor for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn takes(&self, media_type: &str) -> bool {
        matches!(media_type, "text/html" | "application/xhtml+xml")
    }

    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        let (html, is_cut) = input.text("application/xhtml+xml");
        let structured = structured::read(&html, Some(input.url));
        let mut processed = Processed::of(self.name());
        processed.truncated = is_cut || structured.truncated;
        processed.problems.clone_from(&structured.problems);
        processed.structured = Some(structured);
        if let Some(rules) = &self.rules {
            let found = rules.run(&html, Some(input.url));
            processed.fields = found.fields;
            processed.truncated |= found.truncated;
        }
        Ok(processed)
    }
}
