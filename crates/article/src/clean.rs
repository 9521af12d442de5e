//! What is left out inside of the main text: lists of links, boxes without text, lines that ask to share or to read
//! on, the headline, headings that nothing follows.

use crate::blocks::{Block, Blocks};
use crate::discard::Marks;
use crate::element::Element;
use crate::phrases;
use crate::tree::Tree;

/// Drops nodes in the roots that are no text, and blocks that are none: those by their text nodes.
pub(crate) fn clean(tree: &Tree<'_>, marks: &mut Marks, roots: &[usize], title: Option<&str>) {
    let blocks = Blocks::of(tree, &marks.dropped);
    for root in roots {
        drop_boxes(tree, &blocks, marks, *root);
    }
    let blocks = Blocks::of(tree, &marks.dropped);
    for root in roots {
        drop_blocks(tree, &blocks, marks, *root, title);
    }
}

fn drop_boxes(tree: &Tree<'_>, blocks: &Blocks, marks: &mut Marks, root: usize) {
    let mut number = root + 1;
    while number < tree.end(root) {
        if marks.is_dropped(number) {
            number = tree.end(number);
            continue;
        }
        if is_empty_box(tree, blocks, number) {
            marks.drop(number);
            number = tree.end(number);
            continue;
        }
        number += 1;
    }
}

/// A box of links or of scraps.
fn is_empty_box(tree: &Tree<'_>, blocks: &Blocks, number: usize) -> bool {
    use Element::*;
    let element = tree.element(number);
    if !matches!(element, Ul | Ol | Dl | Div | Section | Table | Form | Fieldset | Header | Address) {
        return false;
    }
    let range = blocks.between(number, tree.end(number));
    let counts = blocks.sum(range.clone());
    if counts.bytes == 0 {
        return false;
    }
    let density = counts.link_density();
    let count = range.len() as u32;
    match element {
        Ul | Ol | Dl => density > 0.6 && (count > 1 || density > 0.9) && counts.running * 3 < counts.bytes,
        Table => density > 0.6,
        Form | Fieldset => counts.running * 2 < counts.bytes,
        _ => density > 0.5 && counts.running < 200 && counts.running * 2 < counts.bytes,
    }
}

fn drop_blocks(tree: &Tree<'_>, blocks: &Blocks, marks: &mut Marks, root: usize, title: Option<&str>) {
    let range = blocks.between(root, tree.end(root));
    let first = range.start;
    for (position, block) in blocks.all.get(range).unwrap_or_default().iter().enumerate() {
        let text = text_of(tree, marks, block);
        let element = tree.element(block.holder as usize);
        let is_title = position < 12
            && element.heading().is_some_and(|level| level < 3)
            && title.is_some_and(|title| is_alike(title, &text));
        let is_h1 =
            element == Element::H1 && first == blocks.between(root, tree.end(root)).start && position < 4;
        if is_title || is_h1 || phrases::is_boilerplate(&text, block.counts.link_density()) {
            drop_block(tree, marks, block);
        }
    }
}

/// The text of a block, white space collapsed; only as much as it takes to judge it.
pub(crate) fn text_of(tree: &Tree<'_>, marks: &Marks, block: &Block) -> String {
    const LONGEST: usize = 400;
    let mut text = String::new();
    let mut number = block.first as usize;
    while number < block.end as usize && text.len() < LONGEST {
        if marks.is_dropped(number) {
            number = tree.end(number);
            continue;
        }
        for word in tree.text(number).split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            if text.len() > LONGEST {
                break;
            }
        }
        number += 1;
    }
    text
}

fn drop_block(tree: &Tree<'_>, marks: &mut Marks, block: &Block) {
    for number in block.first as usize..block.end as usize {
        if tree.element(number) == Element::Text {
            marks.drop(number);
        }
    }
}

/// Whether one has nearly all words of the other.
pub(crate) fn is_alike(one: &str, other: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (one, other) = (words(one), words(other));
    if other.is_empty() || one.is_empty() {
        return false;
    }
    let shared = other.iter().filter(|word| one.contains(word)).count();
    shared * 4 >= other.len() * 3 && other.len() * 2 >= one.len().min(12)
}

/// Headings at the end have lost their text.
pub(crate) fn drop_lonely_headings(tree: &Tree<'_>, marks: &mut Marks) {
    let blocks = Blocks::of(tree, &marks.dropped);
    for block in blocks.all.iter().rev() {
        if tree.element(block.holder as usize).heading().is_none() {
            break;
        }
        drop_block(tree, marks, block);
    }
}
