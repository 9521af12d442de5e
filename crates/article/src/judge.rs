//! The last word on each block: what rules and names have found out goes to the model as features, and the model
//! decides.

use crate::blocks::Blocks;
use crate::clean;
use crate::discard::Marks;
use crate::element::Element;
use crate::features::{self, Features, Page};
use crate::markdown::table;
use crate::model;
use crate::phrases;
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
    let rows = features::of(&page);
    let mut verdicts: Vec<bool> = rows.iter().map(|features| model::score(features) > 0.0).collect();
    fill_gaps(&all, &rows, &mut verdicts);
    keep_together(tree, ruled, &all, &mut verdicts);
    overrule(tree, &all, &inline, title, &mut verdicts);
    for (verdict, row) in verdicts.iter_mut().zip(&rows) {
        *verdict &= !features::is_intrusion(row);
    }
    let mut is_kept = vec![false; tree.len()];
    for (block, _) in all.all.iter().zip(&verdicts).filter(|(_, verdict)| **verdict) {
        is_kept.get_mut(block.first as usize..block.end as usize).unwrap_or_default().fill(true);
    }
    if !verdicts.contains(&true) {
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

/// What stands alone between two blocks of the text is a part of it, unless the rules dropped it.
fn fill_gaps(all: &Blocks, rows: &[Features], verdicts: &mut [bool]) {
    let before: Vec<bool> = verdicts.to_vec();
    let is_running = |at: usize| all.all.get(at).is_some_and(|block| block.counts.running > 0);
    for (at, (verdict, row)) in verdicts.iter_mut().zip(rows).enumerate().skip(1) {
        let is_between = before.get(at - 1) == Some(&true) && before.get(at + 1) == Some(&true);
        let links = all.all.get(at).map_or(1.0, |block| block.counts.link_density());
        if is_between
            && features::is_left_by_rules(row)
            && links < 0.3
            && (is_running(at - 1) || is_running(at + 1))
        {
            *verdict = true;
        }
    }
}

/// A table of which a cell is kept is kept whole, and so is a list of which half is, unless the rules dropped them.
fn keep_together(tree: &Tree<'_>, ruled: &Ruled<'_>, all: &Blocks, verdicts: &mut [bool]) {
    let mut number = 0;
    while number < tree.len() {
        let element = tree.element(number);
        let least = match element {
            Element::Table if table::is_data(tree, number) && is_part(tree, all, number) => 0.0,
            Element::Ul | Element::Ol | Element::Dl => 0.5,
            _ => {
                number += 1;
                continue;
            }
        };
        let range = all.between(number, tree.end(number));
        let counts = all.sum(range.clone());
        let kept: u32 = all
            .all
            .get(range.clone())
            .unwrap_or_default()
            .iter()
            .zip(verdicts.get(range.clone()).unwrap_or_default())
            .map(|(block, verdict)| if *verdict { block.counts.bytes } else { 0 })
            .sum();
        let is_ruled_out = ruled.cleaned.is_dropped(number);
        if kept > 0
            && !is_ruled_out
            && kept as f32 >= counts.bytes as f32 * least
            && counts.link_density() < 0.5
        {
            verdicts.get_mut(range).unwrap_or_default().fill(true);
        }
        number = tree.end(number);
    }
}

/// Whether a table has rows, and less than half of the running text of the page: else it lays out the page.
fn is_part(tree: &Tree<'_>, all: &Blocks, number: usize) -> bool {
    let rows = (number..tree.end(number)).filter(|inner| tree.element(*inner) == Element::Tr).count();
    rows > 1 && all.within(tree, number).running * 2 < all.total().running
}

/// The title is told apart from the text, and so is what leads to other pages in so many words.
fn overrule(tree: &Tree<'_>, all: &Blocks, inline: &[bool], title: Option<&str>, verdicts: &mut [bool]) {
    const LONGEST: usize = 300;
    let mut kept = 0;
    for (block, verdict) in all.all.iter().zip(verdicts) {
        if !*verdict {
            continue;
        }
        let level = tree.element(block.holder as usize).heading();
        let is_early = kept < 3;
        kept += 1;
        let text = features::text_of(tree, inline, block, LONGEST);
        let is_title = is_early
            && level.is_some_and(|level| level < 3)
            && title.is_some_and(|title| clean::is_alike(title, &text));
        *verdict = !is_title && !phrases::is_surely_boilerplate(&text, block.counts.link_density());
    }
}
