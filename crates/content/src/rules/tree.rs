//! A page as a tree for selectors: an arena of elements and texts with limits on depth, size and attributes, so that no page
//! can overflow a stack or the memory.
//!
//! It is not quite the tree of a browser: what the standard calls adoption and foster parenting is left out. Elements whose
//! end tags may be left out are ended, end tags do not reach out of a table, and rows get the `tbody` that browsers give them, since
//! people take their selectors from browsers.

use crate::tokens::{Tag, ends_open, is_void, lower_name, meant, push_collapsed, raw_of};
use argiope_extract::markup::{Raw, Sink, tokenize};

const DEEPEST: usize = 256;
const MOST_NODES: usize = 400_000;
pub(super) const NONE: u32 = u32::MAX;

pub(super) type Id = u32;

pub(super) enum Content {
    Element { name: String, attributes: Vec<(String, String)> },
    Text(String),
}

pub(super) struct Node {
    pub(super) content: Content,
    pub(super) parent: Id,
    pub(super) first_child: Id,
    pub(super) last_child: Id,
    pub(super) next: Id,
    pub(super) previous: Id,
}

pub(super) struct Tree {
    nodes: Vec<Node>,
    pub(super) is_truncated: bool,
}

impl Tree {
    pub(super) fn of(html: &str) -> Tree {
        let mut tree = Tree { nodes: Vec::new(), is_truncated: false };
        tree.push(NONE, Content::Element { name: String::new(), attributes: Vec::new() });
        let mut builder = Builder { tree, open: vec![(0, String::new())], too_deep: 0, is_script: false };
        tokenize(html.as_bytes(), &mut builder);
        builder.tree
    }

    /// The node above all elements; no selector matches it.
    pub(super) fn root(&self) -> Id {
        0
    }

    pub(super) fn get(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id as usize)
    }

    pub(super) fn element(&self, id: Id) -> Option<(&str, &[(String, String)])> {
        match &self.get(id)?.content {
            Content::Element { name, attributes } if !name.is_empty() => Some((name, attributes)),
            _ => None,
        }
    }

    pub(super) fn attribute(&self, id: Id, wanted: &str) -> Option<&str> {
        let (_, attributes) = self.element(id)?;
        attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    fn push(&mut self, parent: Id, content: Content) -> Option<Id> {
        if self.nodes.len() >= MOST_NODES {
            self.is_truncated = true;
            return None;
        }
        let id = u32::try_from(self.nodes.len()).ok()?;
        let previous = self.get(parent).map_or(NONE, |parent| parent.last_child);
        self.nodes.push(Node { content, parent, first_child: NONE, last_child: NONE, next: NONE, previous });
        if let Some(before) = self.nodes.get_mut(previous as usize) {
            before.next = id;
        }
        if let Some(parent) = self.nodes.get_mut(parent as usize) {
            if parent.first_child == NONE {
                parent.first_child = id;
            }
            parent.last_child = id;
        }
        Some(id)
    }

    /// The next node in the order of the page that is below `top`.
    pub(super) fn after(&self, id: Id, top: Id) -> Option<Id> {
        let node = self.get(id)?;
        if node.first_child != NONE {
            return Some(node.first_child);
        }
        self.after_subtree(id, top)
    }

    fn after_subtree(&self, mut id: Id, top: Id) -> Option<Id> {
        while id != top {
            let node = self.get(id)?;
            if node.next != NONE {
                return Some(node.next);
            }
            id = node.parent;
        }
        None
    }

    /// Visible text below an element, white space collapsed, blanks where blocks meet.
    pub(super) fn text(&self, top: Id, most: usize) -> String {
        let mut out = String::new();
        let mut at = self.after(top, top);
        while let Some(id) = at {
            if out.len() >= most {
                break;
            }
            match self.get(id).map(|node| &node.content) {
                Some(Content::Text(text)) => push_collapsed(&mut out, text, most),
                Some(Content::Element { name, .. })
                    if matches!(name.as_str(), "script" | "style" | "template") =>
                {
                    at = self.after_subtree(id, top);
                    continue;
                }
                Some(Content::Element { name, .. }) if !is_inline(name) => {
                    push_collapsed(&mut out, " ", most)
                }
                _ => {}
            }
            at = self.after(id, top);
        }
        out.trim().to_owned()
    }

    /// What is inside of an element, as HTML.
    pub(super) fn html(&self, top: Id, most: usize) -> String {
        let mut out = String::new();
        let mut id = match self.get(top) {
            Some(node) if node.first_child != NONE => node.first_child,
            _ => return out,
        };
        while let Some(node) = self.get(id) {
            self.open_html(&node.content, &mut out);
            if node.first_child != NONE && out.len() < most {
                id = node.first_child;
                continue;
            }
            self.close_html(id, &mut out);
            // Up to where there is a next one.
            let mut up = id;
            loop {
                let Some(node) = self.get(up) else { return out };
                if node.next != NONE && out.len() < most {
                    id = node.next;
                    break;
                }
                up = node.parent;
                if up == top || up == NONE {
                    return out;
                }
                self.close_html(up, &mut out);
            }
        }
        out
    }

    fn open_html(&self, content: &Content, out: &mut String) {
        match content {
            Content::Text(text) => escape(text, out),
            Content::Element { name, attributes } => {
                out.push('<');
                out.push_str(name);
                for (name, value) in attributes {
                    out.push(' ');
                    out.push_str(name);
                    out.push_str("=\"");
                    escape(value, out);
                    out.push('"');
                }
                out.push('>');
            }
        }
    }

    fn close_html(&self, id: Id, out: &mut String) {
        if let Some((name, _)) = self.element(id)
            && !is_void(name)
        {
            out.push_str("</");
            out.push_str(name);
            out.push('>');
        }
    }
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
}

fn is_inline(name: &str) -> bool {
    matches!(
        name,
        "a" | "abbr"
            | "b"
            | "bdi"
            | "bdo"
            | "big"
            | "cite"
            | "code"
            | "data"
            | "del"
            | "dfn"
            | "em"
            | "font"
            | "i"
            | "ins"
            | "kbd"
            | "mark"
            | "q"
            | "s"
            | "samp"
            | "small"
            | "span"
            | "strike"
            | "strong"
            | "sub"
            | "sup"
            | "time"
            | "tt"
            | "u"
            | "var"
            | "wbr"
    )
}

struct Builder {
    tree: Tree,
    open: Vec<(Id, String)>,
    too_deep: usize,
    is_script: bool,
}

impl Builder {
    fn here(&self) -> Id {
        self.open.last().map_or(0, |(id, _)| *id)
    }

    fn begin(&mut self, name: String, attributes: Vec<(String, String)>, holds: bool) {
        let Some(id) = self.tree.push(self.here(), Content::Element { name: name.clone(), attributes })
        else {
            return;
        };
        if holds {
            self.open.push((id, name));
        }
    }
}

impl<'p> Sink<'p> for Builder {
    type Tag = Tag<'p>;

    fn keeps_text(&self) -> bool {
        true
    }

    fn push_text(&mut self, piece: &[u8]) {
        let piece = String::from_utf8_lossy(piece);
        let here = self.here();
        let last = self.tree.get(here).map_or(NONE, |node| node.last_child);
        if let Some(Node { content: Content::Text(text), .. }) = self.tree.nodes.get_mut(last as usize) {
            text.push_str(&piece);
        } else if !piece.is_empty() {
            self.tree.push(here, Content::Text(piece.into_owned()));
        }
    }

    fn start_tag(&mut self, tag: &Tag<'p>) -> Option<Raw> {
        let name = lower_name(tag.name);
        let raw = raw_of(&name);
        if self.too_deep == 0 {
            while self.open.last().is_some_and(|(_, open)| ends_open(open, &name)) {
                self.open.pop();
            }
            if name == "tr" && self.open.last().is_some_and(|(_, open)| open == "table") {
                self.begin("tbody".to_owned(), Vec::new(), true);
            }
        }
        let holds = !is_void(&name) && !tag.closes_itself;
        if self.too_deep > 0 || self.open.len() >= DEEPEST {
            self.too_deep += usize::from(holds && raw.is_none());
            self.tree.is_truncated = true;
            return raw;
        }
        let mut attributes: Vec<(String, String)> = Vec::with_capacity(tag.attributes.len());
        for (name, value) in &tag.attributes {
            let name = lower_name(name);
            if !attributes.iter().any(|(known, _)| *known == name) {
                attributes.push((name, meant(value).into_owned()));
            }
        }
        self.begin(name, attributes, holds || raw.is_some());
        self.is_script = raw == Some(Raw::Script);
        raw
    }

    fn end_tag(&mut self, name: &'p [u8]) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let name = lower_name(name);
        let is_of_table =
            matches!(name.as_str(), "table" | "tr" | "td" | "th" | "tbody" | "thead" | "tfoot" | "caption");
        for (at, (_, open)) in self.open.iter().enumerate().skip(1).rev() {
            if *open == name {
                self.open.truncate(at);
                return;
            }
            if !is_of_table && matches!(open.as_str(), "table" | "td" | "th" | "caption") {
                return;
            }
        }
    }

    fn end_raw(&mut self) {
        if self.too_deep == 0
            && self.open.len() > 1
            && self.open.last().is_some_and(|(_, name)| raw_of(name).is_some())
        {
            self.open.pop();
        }
    }

    fn script(&mut self, content: &'p [u8]) {
        if self.too_deep == 0 && self.is_script {
            self.push_text(content);
        }
    }

    fn is_in_foreign_content(&self) -> bool {
        false
    }

    fn finish(&mut self) {}
}
