//! Which part of a page is its main text. Two ways to find it are asked, the names that authors give to the box of a
//! text, and where the running text is; where they differ, the amount of running text decides.

use crate::blocks::Blocks;
use crate::discard::Marks;
use crate::element::Element;
use crate::hints::Hints;
use crate::tree::Tree;
use std::collections::HashMap;

/// With less running text than this a box is not believed to be that of the text.
const LEAST_RUNNING: u32 = 200;
/// The part of what the densest place has that a named box must have.
const LEAST_SHARE: f32 = 0.5;
/// A text may be in several boxes of one name; a box with less of it is no such part.
const LEAST_PART: f32 = 0.1;

/// The nodes that hold the main text, none in another, in the order of the page.
pub(crate) fn roots(tree: &Tree<'_>, blocks: &Blocks, marks: &Marks) -> Vec<usize> {
    let dense = densest(tree, blocks, marks);
    let running = |number: usize| blocks.within(tree, number).running;
    let goal = dense.map_or(0, running);
    for level in 0..4 {
        let named: Vec<usize> = named(tree, marks, level).filter(|number| running(*number) >= LEAST_RUNNING).collect();
        let Some(best) = named.iter().copied().max_by_key(|number| (running(*number), std::cmp::Reverse(*number))) else {
            continue;
        };
        // The innermost that has as much.
        let best = named
            .iter()
            .copied()
            .filter(|number| tree.contains(best, *number) && running(*number) * 10 >= running(best) * 9)
            .max()
            .unwrap_or(best);
        let parts = parts_like(tree, marks, &named, best, running);
        let sum: u32 = parts.iter().map(|part| running(*part)).sum();
        if sum as f32 >= goal as f32 * LEAST_SHARE {
            return parts;
        }
    }
    dense.map(|dense| with_siblings(tree, blocks, marks, dense)).unwrap_or_default()
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
            let is_box = matches!(
                element,
                Element::Div | Element::Section | Element::Article | Element::Main | Element::Td | Element::Other | Element::Center
            );
            let fits = is_box
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

/// A named box together with the others under the same parent, or of the same name, that hold parts of the text.
fn parts_like(
    tree: &Tree<'_>,
    marks: &Marks,
    named: &[usize],
    best: usize,
    running: impl Fn(usize) -> u32,
) -> Vec<usize> {
    let least = running(best) as f32 * LEAST_PART;
    let mut parts = vec![best];
    for number in named.iter().copied() {
        let is_apart = parts.iter().all(|part| !tree.contains(*part, number) && !tree.contains(number, *part));
        if is_apart
            && tree.parent(number) == tree.parent(best)
            && tree.element(number) == tree.element(best)
            && marks.hints(number) == marks.hints(best)
            && running(number) as f32 >= least
        {
            parts.push(number);
        }
    }
    parts.sort_unstable();
    parts
}

/// The node that running text gathers in: each block counts for the elements around it, the less the further out.
fn densest(tree: &Tree<'_>, blocks: &Blocks, marks: &Marks) -> Option<usize> {
    let mut scores: HashMap<usize, f32> = HashMap::new();
    for block in &blocks.all {
        if block.counts.running == 0 {
            continue;
        }
        let score = 1.0 + block.counts.marks as f32 + (block.counts.running as f32 / 100.0).min(3.0);
        let mut node = block.holder as usize;
        // A paragraph holds itself, a box its own text.
        if !matches!(tree.element(node), Element::Div | Element::Section | Element::Article | Element::Td | Element::Body | Element::Other) {
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
        ranked.binary_search_by_key(&node, |(node, _)| *node).ok().and_then(|at| ranked.get(at)).map(|(_, score)| *score)
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
        if around.running > inner.running && around.running * 2 < inner.running * 3 && around.link_density() < 0.25 {
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
fn with_siblings(tree: &Tree<'_>, blocks: &Blocks, marks: &Marks, root: usize) -> Vec<usize> {
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
        let is_text = matches!(tree.element(number), Element::P | Element::Div | Element::Blockquote | Element::Section)
            && counts.running > 80
            && counts.running * 10 >= counts.bytes * 7
            && counts.link_density() < 0.25;
        if number == root || (!marks.is_dropped(number) && (is_alike || is_text)) {
            roots.push(number);
        }
        number = tree.end(number);
    }
    roots
}
