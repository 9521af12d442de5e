//! Which part of a page is its main text. Two ways to find it are asked, the names that authors give to the box of a
//! text, and where the running text is; where they differ, the amount of running text decides.

use crate::blocks::{Blocks, Counts};
use crate::discard::Marks;
use crate::element::Element;
use crate::hints::Hints;
use crate::tree::Tree;
use std::collections::HashMap;

/// A text may be in several boxes of one name; a box with less of it is no such part.
const LEAST_PART: f32 = 0.1;

/// The nodes that hold the main text, none in another, in the order of the page.
pub(crate) fn roots(tree: &Tree<'_>, blocks: &Blocks, marks: &Marks) -> Vec<usize> {
    let total = mass(blocks.total());
    if total <= 0.0 {
        return Vec::new();
    }
    let mut best: (f32, Vec<usize>) = (0.0, Vec::new());
    let mut offer = |bonus: f32, parts: Vec<usize>| {
        let sum = parts.iter().map(|part| blocks.within(tree, *part)).fold(Counts::default(), Counts::plus);
        // As if all running text were wanted and nothing else: the harmonic mean of how much of it is in there, and
        // of how much of what is in there it is.
        let score = bonus * 2.0 * mass(sum) / (sum.bytes as f32 + total);
        if score > best.0 {
            best = (score, parts);
        }
    };
    for level in 0..4 {
        let bonus = BONUS.get(usize::from(level)).copied().unwrap_or(1.0);
        let named: Vec<usize> =
            named(tree, marks, level).filter(|number| blocks.within(tree, *number).bytes > 0).collect();
        // Boxes of one name side by side hold parts of one text.
        let mut groups: HashMap<(usize, Element, Hints), Vec<usize>> = HashMap::new();
        for number in &named {
            let key = (tree.parent(*number), tree.element(*number), marks.hints(*number));
            groups.entry(key).or_default().push(*number);
            offer(bonus, vec![*number]);
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
        groups.sort_unstable();
        for group in groups {
            let most = group.iter().map(|part| blocks.within(tree, *part).running).max().unwrap_or(0);
            let parts = group
                .into_iter()
                .filter(|part| blocks.within(tree, *part).running as f32 >= most as f32 * LEAST_PART)
                .collect();
            offer(bonus, parts);
        }
    }
    if let Some(dense) = densest(tree, blocks, marks) {
        offer(DENSE_BONUS, with_siblings(tree, blocks, marks, dense));
    }
    let mut number = 0;
    while number < tree.len() {
        if marks.is_dropped(number) {
            number = tree.end(number);
            continue;
        }
        if is_box(tree.element(number)) {
            offer(1.0, vec![number]);
        }
        number += 1;
    }
    best.1
}

/// How much a name is worth, the surest first.
const BONUS: [f32; 4] = [1.4, 1.25, 1.15, 1.1];
const DENSE_BONUS: f32 = 1.15;

/// Text that may be wanted: running text, and a part of what is no link.
fn mass(counts: Counts) -> f32 {
    let plain = counts.bytes.saturating_sub(counts.linked);
    counts.running as f32 + 0.25 * plain.saturating_sub(counts.running) as f32
}

fn is_box(element: Element) -> bool {
    use Element::*;
    matches!(
        element,
        Div | Section
            | Article
            | Main
            | Td
            | Other
            | Center
            | Body
            | Table
            | Tbody
            | Form
            | Blockquote
            | Pre
            | Dl
            | Ol
            | Ul
    )
}

/// Undropped nodes that are named as holders of text, the surest names first.
fn named<'a>(tree: &'a Tree<'_>, marks: &'a Marks, level: u8) -> impl Iterator<Item = usize> + 'a {
    let mut number = 0;
    std::iter::from_fn(move || {
        while number < tree.len() {
            let current = number;
            if marks.is_dropped(current) {
                number = tree.end(current);
                continue;
            }
            number += 1;
            let element = tree.element(current);
            if matches!(element, Element::Text | Element::Html | Element::Body) {
                continue;
            }
            let hints = marks.hints(current);
            let fits = is_box(element)
                && match level {
                    0 => hints.has(Hints::BODY),
                    1 => element == Element::Article,
                    2 => hints.has(Hints::ARTICLE),
                    _ => hints.has(Hints::CONTENT),
                };
            if fits {
                return Some(current);
            }
        }
        None
    })
}

/// The node that running text gathers in: each block counts for the elements around it, the less the further out.
pub(crate) fn densest(tree: &Tree<'_>, blocks: &Blocks, marks: &Marks) -> Option<usize> {
    let mut scores: HashMap<usize, f32> = HashMap::new();
    for block in &blocks.all {
        if block.counts.running == 0 {
            continue;
        }
        let score = 1.0 + block.counts.marks as f32 + (block.counts.running as f32 / 100.0).min(3.0);
        let mut node = block.holder as usize;
        // A paragraph holds itself, a box its own text.
        if !matches!(
            tree.element(node),
            Element::Div | Element::Section | Element::Article | Element::Td | Element::Body | Element::Other
        ) {
            node = tree.parent(node);
        }
        for level in 0_u8..5 {
            let share = match level {
                0 => 1.0,
                1 => 0.5,
                level => 1.0 / (f32::from(level) * 3.0),
            };
            *scores.entry(node).or_insert_with(|| initial(tree, marks, node)) += score * share;
            if node == 0 {
                break;
            }
            node = tree.parent(node);
        }
    }
    let mut best: Option<(usize, f32)> = None;
    let mut ranked: Vec<(usize, f32)> = scores
        .into_iter()
        .map(|(node, score)| (node, score * (1.0 - blocks.within(tree, node).link_density())))
        .collect();
    ranked.sort_unstable_by_key(|(node, _)| *node);
    for (node, score) in &ranked {
        if best.is_none_or(|(_, top)| *score > top) {
            best = Some((*node, *score));
        }
    }
    let (mut node, top) = best?;
    // Further out, where the score grows or the text is nearly all of what is there.
    let score_of = |node: usize| {
        ranked
            .binary_search_by_key(&node, |(node, _)| *node)
            .ok()
            .and_then(|at| ranked.get(at))
            .map(|(_, score)| *score)
    };
    let mut last = top;
    let mut outer = node;
    while outer != 0 {
        outer = tree.parent(outer);
        if matches!(tree.element(outer), Element::Body | Element::Html) {
            break;
        }
        let Some(score) = score_of(outer) else { break };
        if score < top / 3.0 {
            break;
        }
        if score > last {
            node = outer;
            break;
        }
        last = score;
    }
    // An only child stands for its parent.
    while node != 0 {
        let parent = tree.parent(node);
        if matches!(tree.element(parent), Element::Body | Element::Html) || parent == 0 {
            break;
        }
        let (inner, around) = (blocks.within(tree, node), blocks.within(tree, parent));
        if around.running > inner.running
            && around.running * 2 < inner.running * 3
            && around.link_density() < 0.25
        {
            node = parent;
        } else {
            break;
        }
    }
    Some(node)
}

fn initial(tree: &Tree<'_>, marks: &Marks, node: usize) -> f32 {
    use Element::*;
    let mut score = match tree.element(node) {
        Div | Article | Section | Main => 5.0,
        Pre | Td | Blockquote => 3.0,
        Address | Ol | Ul | Dl | Dd | Dt | Li | Form => -3.0,
        H1 | H2 | H3 | H4 | H5 | H6 | Th => -5.0,
        _ => 0.0,
    };
    let hints = marks.hints(node);
    if hints.has(Hints::POSITIVE) {
        score += 25.0;
    }
    if hints.has(Hints::NEGATIVE.with(Hints::COMMENT)) {
        score -= 25.0;
    }
    score
}

/// A node with those beside it that look like more of the same text.
pub(crate) fn with_siblings(tree: &Tree<'_>, blocks: &Blocks, marks: &Marks, root: usize) -> Vec<usize> {
    let parent = tree.parent(root);
    if root == 0 {
        return vec![0];
    }
    let label = marks.hints(root);
    let size = blocks.within(tree, root).running;
    let mut roots = Vec::new();
    let mut number = parent + 1;
    while number < tree.end(parent) {
        let counts = blocks.within(tree, number);
        let is_alike = tree.element(number) == tree.element(root)
            && marks.hints(number) == label
            && counts.running * 5 > size
            && counts.link_density() < 0.3;
        let is_text = matches!(
            tree.element(number),
            Element::P | Element::Div | Element::Blockquote | Element::Section
        ) && counts.running > 80
            && counts.running * 10 >= counts.bytes * 7
            && counts.link_density() < 0.25;
        if number == root || (!marks.is_dropped(number) && (is_alike || is_text)) {
            roots.push(number);
        }
        number = tree.end(number);
    }
    roots
}
