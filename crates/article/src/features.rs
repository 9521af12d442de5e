//! What is known of each block of a page, as numbers: what the model judges a block by.

use crate::blocks::{Block, Blocks};
use crate::choice;
use crate::clean;
use crate::discard::Marks;
use crate::element::Element;
use crate::hints::Hints;
use crate::phrases;
use crate::tree::Tree;
use std::collections::HashMap;

/// How much of the text of a block is looked at.
const LONGEST: usize = 400;

/// Numbers of a block.
pub(crate) const COUNT: usize = 72;

pub(crate) type Features = [f32; COUNT];

/// What was found out about a page before its blocks are judged one by one.
pub(crate) struct Page<'a, 'p> {
    pub(crate) tree: &'a Tree<'p>,
    /// With what was dropped by names alone.
    pub(crate) marks: &'a Marks,
    /// With what cleaning dropped, too.
    pub(crate) cleaned: &'a Marks,
    /// Inline elements that are no part of the block they stand in.
    pub(crate) inline: &'a [bool],
    /// The blocks of the page, whether dropped or not.
    pub(crate) all: &'a Blocks,
    /// Those that names have left.
    pub(crate) left: &'a Blocks,
    pub(crate) roots: &'a [usize],
    pub(crate) title: Option<&'a str>,
    pub(crate) body: Option<&'a str>,
}

/// Appends one number after the other.
struct Row {
    numbers: Features,
    next: usize,
}

impl Row {
    fn push(&mut self, number: f32) {
        if let Some(slot) = self.numbers.get_mut(self.next) {
            *slot = number;
        }
        self.next += 1;
    }

    fn flag(&mut self, holds: bool) {
        self.push(f32::from(u8::from(holds)));
    }
}

fn log(count: u32) -> f32 {
    (count as f32 + 1.0).ln()
}

fn share(part: u32, whole: u32) -> f32 {
    part as f32 / whole.max(1) as f32
}

/// The features of all blocks.
pub(crate) fn of(page: &Page<'_, '_>) -> Vec<Features> {
    let tree = page.tree;
    // Of each node what it and the nodes around it are called, whether one of them is dropped, and the depth.
    let mut names = vec![0_u32; tree.len()];
    let mut dropped = vec![false; tree.len()];
    let mut depth = vec![0_u16; tree.len()];
    for number in 0..tree.len() {
        let parent = tree.parent(number);
        let above = if number == 0 { 0 } else { names.get(parent).copied().unwrap_or(0) };
        let above_dropped = number > 0 && dropped.get(parent).copied().unwrap_or(false);
        let above_depth = if number == 0 { 0 } else { depth.get(parent).copied().unwrap_or(0) };
        if let Some(slot) = names.get_mut(number) {
            *slot = above | page.marks.hints(number).bits();
        }
        if let Some(slot) = dropped.get_mut(number) {
            *slot = above_dropped || page.marks.is_dropped(number);
        }
        if let Some(slot) = depth.get_mut(number) {
            *slot = above_depth.saturating_add(1);
        }
    }
    let mut cleaned = vec![false; tree.len()];
    for number in 0..tree.len() {
        let above = number > 0 && cleaned.get(tree.parent(number)).copied().unwrap_or(false);
        if let Some(slot) = cleaned.get_mut(number) {
            *slot = above || page.cleaned.is_dropped(number);
        }
    }
    let dense = choice::densest(tree, page.left, page.marks);
    let best = |wanted: Hints| {
        (0..tree.len())
            .filter(|number| page.marks.hints(*number).has(wanted) && tree.element(*number).is_block())
            .max_by_key(|number| (page.left.within(tree, *number).running, *number))
    };
    let (body, article, content) = (best(Hints::BODY), best(Hints::ARTICLE), best(Hints::CONTENT));
    let within = |node: Option<usize>, at: usize| node.is_some_and(|node| tree.contains(node, at));
    let mut is_in_root = vec![false; tree.len()];
    for root in page.roots {
        is_in_root.get_mut(*root..tree.end(*root)).unwrap_or_default().fill(true);
    }
    let in_roots = |at: usize| is_in_root.get(at).copied().unwrap_or(false);

    let texts: Vec<String> =
        page.all.all.iter().map(|block| text_of(tree, page.inline, block, LONGEST)).collect();
    let mut repeated: HashMap<&str, u32> = HashMap::new();
    for text in &texts {
        *repeated.entry(text.as_str()).or_default() += 1;
    }
    let shingles = page.body.map(Shingles::of);
    let first_root = page.roots.first().copied().unwrap_or(0);
    let last_end = page.roots.last().map_or(0, |root| tree.end(*root));
    let root_range = page.all.between(first_root, last_end);
    let root_counts = page.all.sum(root_range.clone());
    let total = page.all.total();
    let left = page.left.total();
    let count = page.all.all.len() as u32;
    let block_at = |at: Option<usize>| at.and_then(|at| page.all.all.get(at)).copied().unwrap_or_default();

    let mut rows = Vec::with_capacity(texts.len());
    let mut since_running = 100_u32;
    let mut until_running = vec![100_u32; texts.len() + 1];
    for (at, block) in page.all.all.iter().enumerate().rev() {
        let next = until_running.get(at + 1).copied().unwrap_or(100);
        let distance = if is_running(block) && in_roots(block.first as usize) {
            0
        } else {
            next.saturating_add(1).min(100)
        };
        if let Some(slot) = until_running.get_mut(at) {
            *slot = distance;
        }
    }
    for (at, (block, text)) in page.all.all.iter().zip(&texts).enumerate() {
        let node = block.first as usize;
        let holder = block.holder as usize;
        let counts = block.counts;
        let inside = in_roots(node);
        let mut row = Row { numbers: [0.0; COUNT], next: 0 };
        row.flag(inside);
        row.flag(dropped.get(node).copied().unwrap_or(false));
        row.flag(cleaned.get(node).copied().unwrap_or(false));
        row.flag(within(dense, node));
        row.flag(within(body, node));
        row.flag(within(article, node));
        row.flag(within(content, node));
        let above = names.get(node).copied().unwrap_or(0);
        for bit in 0..19 {
            row.flag((above >> bit) & 1 == 1);
        }
        // What the two innermost boxes are called, and nothing further out.
        let near = page.marks.hints(holder).bits() | page.marks.hints(tree.parent(holder)).bits();
        for bit in 5..19 {
            row.flag((near >> bit) & 1 == 1);
        }
        row.push(log(counts.bytes));
        row.push(log(counts.words));
        row.push(counts.link_density());
        row.push(log(counts.marks));
        row.flag(is_running(block));
        let element = tree.element(holder);
        row.push(kind(element));
        row.push(f32::from(element.heading().unwrap_or(0)));
        for step in [1_usize, 2] {
            let previous = block_at(at.checked_sub(step));
            let next = block_at(Some(at + step));
            row.push(log(previous.counts.bytes));
            row.push(previous.counts.link_density());
            row.push(log(next.counts.bytes));
            row.push(next.counts.link_density());
        }
        row.push(share(at as u32, count));
        let before = page.all.sum(0..at);
        row.push(share(before.running, total.running));
        let before_in_root = page.all.sum(root_range.start.min(at)..at);
        row.push(share(before_in_root.running, root_counts.running).min(2.0));
        row.push(since_running as f32);
        row.push(until_running.get(at).copied().unwrap_or(100) as f32);
        since_running =
            if is_running(block) && inside { 0 } else { since_running.saturating_add(1).min(100) };
        row.push(f32::from(depth.get(holder).copied().unwrap_or(0)));
        let around = page.all.within(tree, tree.parent(holder));
        row.push(around.link_density());
        row.push(share(around.running, around.bytes));
        row.push(share(around.running, total.running));
        row.flag(phrases::is_boilerplate(text, counts.link_density()));
        // A longer text says more than the title does.
        row.flag(
            page.title.is_some_and(|title| text.len() < title.len() * 2 + 20 && clean::is_alike(title, text)),
        );
        row.flag(text.ends_with(['.', '!', '?', '"', '”', '»', '。', '…', '؟', '।', '’']));
        row.push(repeated.get(text.as_str()).copied().unwrap_or(1) as f32);
        row.push(log(total.running));
        row.push(log(left.running));
        row.push(share(root_counts.running, left.running));
        row.push(shingles.as_ref().map_or(-1.0, |shingles| shingles.share_of(text)));
        rows.push(row.numbers);
    }
    rows
}

/// Whether a block stands in what the rules take for the main text.
pub(crate) fn is_left_by_rules(row: &Features) -> bool {
    let [is_in_root, _, is_cleaned_away, ..] = row;
    *is_in_root > 0.0 && *is_cleaned_away == 0.0
}

/// Whether a block stands in a box that asks for consent or a subscription, and that the rules dropped.
pub(crate) fn is_intrusion(row: &Features) -> bool {
    const INTRUSION: usize = 7 + Hints::INTRUSION.bits().trailing_zeros() as usize;
    let [_, is_dropped, ..] = row;
    *is_dropped > 0.0 && row.get(INTRUSION).is_some_and(|flag| *flag > 0.0)
}

fn is_running(block: &Block) -> bool {
    block.counts.running > 0
}

fn kind(element: Element) -> f32 {
    use Element::*;
    match element {
        P => 0.0,
        Pre | Blockquote => 1.0,
        H1 | H2 | H3 | H4 | H5 | H6 => 2.0,
        Li => 3.0,
        Dt | Dd => 4.0,
        Td | Th => 5.0,
        Figcaption | Caption => 7.0,
        Section | Article | Main | Body => 8.0,
        _ => 6.0,
    }
}

/// The text of a block, white space collapsed.
pub(crate) fn text_of(tree: &Tree<'_>, dropped: &[bool], block: &Block, longest: usize) -> String {
    let mut text = String::new();
    let mut number = block.first as usize;
    while number < block.end as usize && text.len() < longest {
        if dropped.get(number).copied().unwrap_or(false) {
            number = tree.end(number);
            continue;
        }
        for word in tree.text(number).split_whitespace() {
            if text.len() >= longest {
                break;
            }
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
        }
        number += 1;
    }
    text
}

/// The triples of words of a text, by their hashes.
struct Shingles(std::collections::HashSet<u64>);

impl Shingles {
    fn of(text: &str) -> Shingles {
        Shingles(triples(text).collect())
    }

    fn share_of(&self, text: &str) -> f32 {
        let (mut known, mut all) = (0, 0);
        for triple in triples(text) {
            all += 1;
            known += u32::from(self.0.contains(&triple));
        }
        share(known, all)
    }
}

fn triples(text: &str) -> impl Iterator<Item = u64> {
    let mut window = [0_u64; 3];
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.chars().flat_map(char::to_lowercase).fold(0xcbf2_9ce4_8422_2325_u64, |hash, c| {
                (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3)
            })
        })
        .map(move |hash| {
            window.rotate_left(1);
            if let Some(last) = window.last_mut() {
                *last = hash;
            }
            window.iter().fold(0_u64, |sum, hash| sum.rotate_left(21) ^ hash)
        })
}
