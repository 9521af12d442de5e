//! Tables of data as pipe tables. Tables that only lay out a page are none: their cells are read as paragraphs.

use super::inline::{Inline, Style};
use crate::address::Addresses;
use crate::discard::Marks;
use crate::element::Element;
use crate::tree::{Name, Tree};

/// What is wider is not read as a table.
const MOST_COLUMNS: usize = 64;

/// The table as Markdown, if it is one of data.
pub(super) fn table(
    tree: &Tree<'_>,
    marks: &Marks,
    addresses: &Addresses,
    number: usize,
    mut left: usize,
) -> Option<String> {
    if !is_data(tree, number) {
        return None;
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut caption = None;
    let mut inner = number + 1;
    while inner < tree.end(number) {
        let element = tree.element(inner);
        if marks.is_dropped(inner) && element != Element::Text {
            inner = tree.end(inner);
            continue;
        }
        match element {
            Element::Caption => {
                caption =
                    Some(cell(tree, marks, addresses, inner, &mut left)).filter(|text| !text.is_empty());
                inner = tree.end(inner);
                continue;
            }
            Element::Tr => rows.push(Vec::new()),
            Element::Td | Element::Th => {
                let text = cell(tree, marks, addresses, inner, &mut left);
                let row = rows.last_mut()?;
                row.push(text);
                let span = tree
                    .attribute(inner, Name::ColumnSpan)
                    .and_then(|span| span.trim().parse::<usize>().ok());
                for _ in 1..span.unwrap_or(1).min(MOST_COLUMNS) {
                    row.push(String::new());
                }
                if row.len() > MOST_COLUMNS {
                    return None;
                }
                inner = tree.end(inner);
                continue;
            }
            _ => {}
        }
        inner += 1;
    }
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let columns = rows.iter().map(Vec::len).max()?;
    if rows.len() < 2 || columns < 2 {
        return None;
    }
    let mut out = String::new();
    if let Some(caption) = caption {
        out.push_str(&caption);
        out.push_str("\n\n");
    }
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        out.push('|');
        // The others may be shorter.
        let width = if number == 0 { columns } else { row.len() };
        for cell in row.iter().map(String::as_str).chain(std::iter::repeat("")).take(width) {
            out.push(' ');
            out.push_str(cell);
            if !cell.is_empty() {
                out.push(' ');
            }
            out.push('|');
        }
        if number == 0 {
            out.push_str("\n|");
            out.push_str(&" --- |".repeat(columns));
        }
    }
    Some(out)
}

/// A table of data has no tables in it and nothing that a cell cannot hold.
pub(crate) fn is_data(tree: &Tree<'_>, number: usize) -> bool {
    use Element::*;
    (number + 1..tree.end(number)).all(|inner| {
        let element = tree.element(inner);
        !matches!(element, Table | Pre | Blockquote | Form | Article | Section) && element.heading().is_none()
    })
}

/// `left` is how many bytes of addresses may still be written.
fn cell(tree: &Tree<'_>, marks: &Marks, addresses: &Addresses, number: usize, left: &mut usize) -> String {
    let mut inline = Inline::default();
    inline.in_cell = true;
    let mut ends: Vec<usize> = Vec::new();
    let mut inner = number + 1;
    while inner < tree.end(number) {
        while ends.last().is_some_and(|end| *end <= inner) {
            ends.pop();
            inline.close();
        }
        let element = tree.element(inner);
        if marks.is_dropped(inner) || (element != Element::Text && element.is_no_text()) {
            inner = tree.end(inner);
            continue;
        }
        let style = match element {
            Element::Text => {
                inline.text(tree.text(inner));
                None
            }
            Element::Img | Element::AmpImg => {
                if let Some(image) = super::image(tree, addresses, inner)
                    && let Some(rest) = left.checked_sub(image.len())
                {
                    *left = rest;
                    inline.image(&image.replace('|', "%7C"));
                }
                None
            }
            Element::Code => {
                inline.code(&super::kept_text(tree, marks, inner));
                inner = tree.end(inner);
                continue;
            }
            Element::Strong | Element::B => Some(Style::Strong),
            Element::Em | Element::I => Some(Style::Emphasis),
            Element::A => tree
                .attribute(inner, Name::Href)
                .and_then(|reference| addresses.absolute(&reference))
                .filter(|address| {
                    let rest = left.checked_sub(address.len());
                    *left = rest.unwrap_or(*left);
                    rest.is_some()
                })
                .map(|address| Style::Link(address.replace('|', "%7C"))),
            element if element.is_block() || element == Element::Br => {
                inline.line_break();
                None
            }
            _ => None,
        };
        if let Some(style) = style {
            inline.open(style);
            ends.push(tree.end(inner));
        }
        inner += 1;
    }
    while ends.pop().is_some() {
        inline.close();
    }
    inline.take().unwrap_or_default()
}
