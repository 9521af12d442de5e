//! What surely is no part of the main text, judged by names alone, before anybody looks for the main text.
//!
//! Names lie: the box with all of the text may be called `with-sidebar`. So nothing is dropped that holds much of the
//! running text of the page, or the box of a text.

use crate::blocks::{Blocks, Counts};
use crate::element::Element;
use crate::hints::{self, Hints};
use crate::tree::Tree;
use std::collections::HashMap;

/// With less running text than this what is left is no text of its own, and the comments may be it.
const LEAST_WITHOUT_COMMENTS: u32 = 250;

/// What is known of each node before the choice.
#[derive(Clone)]
pub(crate) struct Marks {
    pub(crate) hints: Vec<Hints>,
    pub(crate) dropped: Vec<bool>,
}

impl Marks {
    pub(crate) fn of(tree: &Tree<'_>) -> Marks {
        let hints: Vec<Hints> = (0..tree.len())
            .map(|number| {
                if tree.element(number) == Element::Text { Hints::default() } else { hints::of(tree, number) }
            })
            .collect();
        let mut marks = Marks { hints, dropped: vec![false; tree.len()] };
        let all = Blocks::of(tree, &marks.dropped);
        let bodies: Vec<usize> =
            (0..tree.len()).filter(|number| marks.hints(*number).has(Hints::BODY)).collect();
        let mut comments = Vec::new();
        let mut dropped = Vec::new();
        let mut number = 0;
        while number < tree.len() {
            let hints = marks.hints(number);
            if !hints.is_empty() && marks.is_boilerplate(tree, &all, &bodies, number) {
                marks.drop(number);
                dropped.push(number);
            } else if hints.has(Hints::COMMENT) && !hints.has(Hints::BODY) && is_box(tree.element(number)) {
                comments.push(number);
            } else {
                number += 1;
                continue;
            }
            number = tree.end(number);
        }
        marks.take_back(tree, &all, &dropped);
        marks.drop_comments(tree, &comments);
        marks
    }

    pub(crate) fn hints(&self, number: usize) -> Hints {
        self.hints.get(number).copied().unwrap_or_default()
    }

    pub(crate) fn is_dropped(&self, number: usize) -> bool {
        self.dropped.get(number).copied().unwrap_or(true)
    }

    pub(crate) fn drop(&mut self, number: usize) {
        if let Some(dropped) = self.dropped.get_mut(number) {
            *dropped = true;
        }
    }

    /// What is little in each of many boxes of one name may be the text: `<p class="paywall">`.
    fn take_back(&mut self, tree: &Tree<'_>, all: &Blocks, dropped: &[usize]) {
        let mut sums: HashMap<(Element, Hints), (u32, Counts)> = HashMap::new();
        let kinds = |number: usize| (tree.element(number), self.hints(number));
        for number in dropped {
            let (count, sum) = sums.entry(kinds(*number)).or_default();
            *count += 1;
            *sum = sum.plus(all.within(tree, *number));
        }
        let total = all.total().running;
        let back: Vec<usize> = dropped
            .iter()
            .copied()
            .filter(|number| {
                let (element, hints) = kinds(*number);
                let (count, sum) = sums.get(&(element, hints)).copied().unwrap_or_default();
                !matches!(element, Element::Nav | Element::Aside | Element::Footer | Element::Li)
                    && !hints
                        .has(Hints::FOOTER.with(Hints::SIDEBAR).with(Hints::CAPTION).with(Hints::RELATED))
                    && count > 2
                    && sum.running * 3 > total
                    && sum.running * 4 > sum.bytes * 3
                    && sum.link_density() < 0.15
            })
            .collect();
        for number in back {
            if let Some(dropped) = self.dropped.get_mut(number) {
                *dropped = false;
            }
        }
    }

    fn drop_comments(&mut self, tree: &Tree<'_>, comments: &[usize]) {
        let with = Blocks::of(tree, &self.dropped).total().running;
        comments.iter().for_each(|number| self.drop(*number));
        let without = Blocks::of(tree, &self.dropped).total().running;
        if without < LEAST_WITHOUT_COMMENTS && with > without * 3 {
            for number in comments {
                if let Some(dropped) = self.dropped.get_mut(*number) {
                    *dropped = false;
                }
            }
        }
    }

    fn is_boilerplate(&self, tree: &Tree<'_>, all: &Blocks, bodies: &[usize], number: usize) -> bool {
        let hints = self.hints(number);
        if !hints.has(Hints::BOILERPLATE.with(Hints::CAPTION)) || hints.has(Hints::BODY) {
            return false;
        }
        let element = tree.element(number);
        if matches!(element, Element::Html | Element::Body | Element::Main) || element.heading().is_some() {
            return hints.has(Hints::HIDDEN) && element.heading().is_some();
        }
        // A word in a sentence is part of the sentence, whatever it is called.
        if !element.is_block()
            && !hints.has(Hints::HIDDEN)
            && all.around(number).is_some_and(|block| {
                block.counts.running > 0
                    && ((block.first as usize) < number || block.end as usize > tree.end(number))
            })
        {
            return false;
        }
        let total = all.total().running.max(1);
        let inside = all.within(tree, number).running;
        let share = inside as f32 / total as f32;
        let counts = all.within(tree, number);
        let is_rich =
            counts.running >= 300 && counts.running * 4 >= counts.bytes * 3 && counts.link_density() < 0.1;
        if is_rich
            && share > 0.05
            && !matches!(element, Element::Nav | Element::Aside | Element::Footer | Element::Dialog)
            && !hints.has(
                Hints::HIDDEN
                    .with(Hints::INTRUSION)
                    .with(Hints::FOOTER)
                    .with(Hints::SIDEBAR)
                    .with(Hints::COMMENT),
            )
        {
            return false;
        }
        let most = if hints.has(Hints::HIDDEN) {
            0.8
        } else if hints.has(Hints::INTRUSION) {
            0.6
        } else if matches!(element, Element::Article) {
            0.1
        } else if hints.has(Hints::BYLINE.with(Hints::WIDGET).with(Hints::SHARE).with(Hints::CAPTION)) {
            0.2
        } else {
            0.35
        };
        if share > most {
            return false;
        }
        // A box around the box of a text.
        let from = bodies.partition_point(|body| *body < number);
        let holds_body = bodies
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|body| **body < tree.end(number))
            .any(|body| all.within(tree, *body).running * 2 > inside && inside > 200);
        !holds_body
    }
}

/// An element that comments are put in as a whole.
fn is_box(element: Element) -> bool {
    use Element::*;
    matches!(
        element,
        Div | Section
            | Ol
            | Ul
            | Dl
            | Article
            | Aside
            | Details
            | Table
            | Li
            | P
            | Form
            | H2
            | H3
            | H4
            | Other
    )
}
