//! Plain text, and what is written as such: CSV, Markdown, source code. The first line that is not empty is the title; what
//! looks like a URL is a link.

use super::{Input, ProcessError, Processed, Processor};

const LONGEST_TITLE: usize = 200;
const MOST_LINKS: usize = 10_000;
const LONGEST_LINK: usize = 2_048;

#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Processor for Plain {
    fn name(&self) -> &'static str {
        "text"
    }

    fn takes(&self, media_type: &str) -> bool {
        media_type.starts_with("text/")
    }

    fn process(&self, input: &Input<'_>) -> Result<Processed, ProcessError> {
        let (text, is_cut) = input.text("text/plain");
        let mut processed = Processed::of(self.name());
        processed.truncated = is_cut;
        let title = text.lines().map(str::trim).find(|line| !line.is_empty());
        processed.title =
            title.map(|line| line.get(..line.floor_char_boundary(LONGEST_TITLE)).unwrap_or(line).to_owned());
        for word in text.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '(' | ')')) {
            let is_link = word.starts_with("http://") || word.starts_with("https://");
            if !is_link || word.len() > LONGEST_LINK {
                continue;
            }
            if processed.links.len() >= MOST_LINKS {
                processed.truncated = true;
                break;
            }
            processed.links.push(word.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'']).to_owned());
        }
        processed.text = Some(text.into_owned());
        Ok(processed)
    }
}
