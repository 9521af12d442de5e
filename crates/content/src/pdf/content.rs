//! What a PDF file holds, read by unpdf. Runs in the child only.

use serde::{Deserialize, Serialize};
use unpdf::model::{Block, InlineContent, Paragraph};
use unpdf::{ParseOptions, PdfParser};

const LONGEST_TEXT: usize = 4 << 20;
const LONGEST_FIELD: usize = 16 * 1024;
const MOST_LINKS: usize = 10_000;
const LONGEST_LINK: usize = 2_048;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PdfContent {
    pub title: Option<String>,
    pub author: Option<String>,
    pub subject: Option<String>,
    pub keywords: Option<String>,
    pub pages: u32,
    /// Paragraphs and pages separated by empty lines.
    pub text: String,
    pub links: Vec<String>,
    pub truncated: bool,
}

impl PdfContent {
    /// Reads a file, or says why it cannot be read.
    pub(super) fn of(bytes: &[u8]) -> Result<PdfContent, String> {
        let options = ParseOptions::new().lenient().sequential().with_resources(false);
        let document = PdfParser::from_bytes_with_options(bytes, options)
            .and_then(|parser| parser.parse())
            .map_err(|error| error.to_string())?;
        let metadata = document.metadata;
        let mut content = PdfContent {
            title: field(metadata.title),
            author: field(metadata.author),
            subject: field(metadata.subject),
            keywords: field(metadata.keywords),
            pages: u32::try_from(document.pages.len()).unwrap_or(u32::MAX),
            ..PdfContent::default()
        };
        for page in &document.pages {
            content.add_text(&page.plain_text());
            for block in &page.elements {
                match block {
                    Block::Paragraph(paragraph) => content.add_links(paragraph),
                    Block::Table(table) => {
                        let cells = table.rows.iter().flat_map(|row| &row.cells);
                        cells
                            .flat_map(|cell| &cell.content)
                            .for_each(|paragraph| content.add_links(paragraph));
                    }
                    _ => {}
                }
            }
        }
        Ok(content)
    }

    fn add_text(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push_str("\n\n");
        }
        let room = LONGEST_TEXT.saturating_sub(self.text.len());
        let kept = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
        self.truncated |= kept.len() < text.len();
        self.text.push_str(kept);
    }

    fn add_links(&mut self, paragraph: &Paragraph) {
        for inline in &paragraph.content {
            let InlineContent::Link { url, .. } = inline else { continue };
            if url.is_empty() || url.len() > LONGEST_LINK || self.links.last() == Some(url) {
                continue;
            }
            if self.links.len() >= MOST_LINKS {
                self.truncated = true;
                return;
            }
            self.links.push(url.clone());
        }
    }
}

fn field(value: Option<String>) -> Option<String> {
    let value = value?;
    let value = value.trim();
    let value = value.get(..value.floor_char_boundary(LONGEST_FIELD)).unwrap_or_default();
    (!value.is_empty()).then(|| value.to_owned())
}
