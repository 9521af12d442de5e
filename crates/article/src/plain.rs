//! The main text without markup: a line for each paragraph, item, cell row and heading.

use crate::discard::Marks;
use crate::element::Element;
use crate::tree::Tree;

/// Cells of a row stand in one line.
const BETWEEN_CELLS: char = '\t';

pub(crate) fn text(tree: &Tree<'_>, marks: &Marks, roots: &[usize]) -> String {
    let mut lines = Lines::default();
    for root in roots {
        lines.part(tree, marks, *root);
    }
    lines.end_line();
    lines.text.trim().to_owned()
}

#[derive(Default)]
struct Lines {
    text: String,
    /// A blank or a cell boundary that is due before the next word.
    pending: Option<char>,
    /// Ends of open elements that end lines or cells, and of preformatted ones.
    open: Vec<(usize, Element)>,
    preformatted: u32,
}

impl Lines {
    fn part(&mut self, tree: &Tree<'_>, marks: &Marks, root: usize) {
        let mut number = root;
        while number < tree.end(root) {
            self.leave(number);
            let element = tree.element(number);
            if marks.is_dropped(number) || (element != Element::Text && element.is_no_text()) {
                if element.is_block() {
                    self.end_line();
                }
                number = tree.end(number);
                continue;
            }
            match element {
                Element::Text if self.preformatted > 0 => self.preformatted(tree.text(number)),
                Element::Text => self.words(tree.text(number)),
                Element::Br => self.end_line(),
                element if element.is_block() => {
                    if !matches!(element, Element::Td | Element::Th) {
                        self.end_line();
                    }
                    self.preformatted += u32::from(element == Element::Pre);
                    self.open.push((tree.end(number), element));
                }
                _ => {}
            }
            number += 1;
        }
        self.leave(number);
        self.end_line();
    }

    fn leave(&mut self, number: usize) {
        while let Some((end, element)) = self.open.last().copied()
            && end <= number
        {
            self.open.pop();
            match element {
                Element::Td | Element::Th => self.pending = Some(BETWEEN_CELLS),
                Element::Pre => {
                    self.preformatted = self.preformatted.saturating_sub(1);
                    self.end_line();
                }
                _ => self.end_line(),
            }
        }
    }

    fn end_line(&mut self) {
        self.pending = None;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn words(&mut self, text: &str) {
        let blank = |pending: &mut Option<char>| *pending = Some(pending.unwrap_or(' '));
        if text.starts_with(char::is_whitespace) {
            blank(&mut self.pending);
        }
        let mut is_first = true;
        for word in text.split_whitespace() {
            if !is_first {
                blank(&mut self.pending);
            }
            is_first = false;
            if let Some(pending) = self.pending.take()
                && !self.text.is_empty()
                && !self.text.ends_with('\n')
            {
                self.text.push(pending);
            }
            self.text.push_str(word);
        }
        if !is_first && text.ends_with(char::is_whitespace) {
            blank(&mut self.pending);
        }
    }

    fn preformatted(&mut self, text: &str) {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.end_line();
            }
            self.text.push_str(line.trim_end());
        }
    }
}
