//! The last word on each block: what rules and names have found out goes to the model as features, and the model
//! decides.

use crate::blocks::Blocks;
use crate::clean;
use crate::discard::Marks;
use crate::element::Element;
use crate::features::{self, Page};
use crate::model;
use crate::tree::Tree;

/// Blocks of a page that are judged; a page with more is left to the rules.
const MOST_BLOCKS: usize = 50_000;

/// What the rules left of a page.
pub(crate) struct Ruled<'a> {
    pub(crate) marks: &'a Marks,
    pub(crate) cleaned: &'a Marks,
    pub(crate) left: &'a Blocks,
    pub(crate) roots: &'a [usize],
}

/// Inline elements that the rules dropped: they are no part of the blocks they stand in.
pub(crate) fn dropped_inline(tree: &Tree<'_>, marks: &Marks) -> Vec<bool> {
    let mut last_block = 0;
    let mut dropped = vec![false; tree.len()];
    for number in (0..tree.len()).rev() {
        let element = tree.element(number);
        if element.is_block() {
            last_block = number;
        }
        let holds_block = last_block >= number && last_block < tree.end(number);
        if element != Element::Text && marks.is_dropped(number) && !holds_block {
            dropped.get_mut(number).into_iter().for_each(|slot| *slot = true);
        }
    }
    dropped
}

/// What is dropped in the end, over the whole page; none where nothing would be left, or there is too much to judge.
pub(crate) fn judge(
    tree: &Tree<'_>,
    ruled: &Ruled<'_>,
    title: Option<&str>,
    body: Option<&str>,
) -> Option<Marks> {
    let inline = dropped_inline(tree, ruled.marks);
    let all = Blocks::of(tree, &inline);
    if all.all.len() > MOST_BLOCKS {
        return None;
    }
    let page = Page {
        tree,
        marks: ruled.marks,
        cleaned: ruled.cleaned,
        inline: &inline,
        all: &all,
        left: ruled.left,
        roots: ruled.roots,
        title,
        body,
    };
    let mut judged = ruled.marks.clone();
    judged.dropped = inline.clone();
    let mut is_kept = vec![false; tree.len()];
    let mut any = false;
    for (block, features) in all.all.iter().zip(features::of(&page)) {
        if model::score(&features) > 0.0 {
            any = true;
            let nodes = is_kept.get_mut(block.first as usize..block.end as usize).unwrap_or_default();
            nodes.fill(true);
        }
    }
    if !any {
        return None;
    }
    // What shows without text is kept where the rules found the text.
    let mut roots = ruled.roots.iter().copied().peekable();
    let mut root_end = 0;
    let mut dropped_to = 0;
    for (number, kept) in is_kept.iter().enumerate() {
        while roots.next_if(|root| *root <= number).is_some_and(|root| {
            root_end = root_end.max(tree.end(root));
            true
        }) {}
        if ruled.cleaned.is_dropped(number) && tree.element(number) != Element::Text {
            dropped_to = dropped_to.max(tree.end(number));
        }
        let drops = match tree.element(number) {
            Element::Text => !kept,
            Element::Img | Element::AmpImg | Element::Hr => number >= root_end || number < dropped_to,
            _ => false,
        };
        if drops {
            judged.drop(number);
        }
    }
    clean::drop_lonely_headings(tree, &mut judged);
    Some(judged)
}
