//! What of a query has to be in a text: for highlighting and for hints about spelling.

use super::{Node, Scope};
use crate::words;

/// Words that stand next to each other; mostly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// As they are indexed. Not empty.
    pub words: Vec<String>,
    pub scope: Scope,
}

pub(super) fn of(root: &Node) -> Vec<Term> {
    let mut terms = Vec::new();
    collect(root, &mut terms);
    terms
}

fn collect(node: &Node, terms: &mut Vec<Term>) {
    match node {
        Node::Text(text) => {
            let term = Term { words: words::asked(&text.text), scope: text.scope };
            if !term.words.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        }
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().for_each(|node| collect(node, terms)),
        _ => {}
    }
}
