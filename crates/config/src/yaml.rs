//! YAML text -> a tree in which every key and value knows its line and column, so that errors can point at it. The
//! grammar is saphyr-parser's; the tree is ours because positions must outlive parsing. Values are still text here:
//! `schema` gives them types.

use crate::error::{ConfigError, Position};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle};
use std::collections::BTreeMap;

/// Deeper nesting than any configuration needs.
const MAX_DEPTH: usize = 64;
/// Nodes of a whole file, with aliases expanded: a bound on what an alias bomb can cost.
const MAX_NODES: usize = 1_000_000;
/// Text of this many bytes counts as another node, because a long text can be repeated as well as a large tree.
const NODE_BYTES: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: NodeValue,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NodeValue {
    /// `plain` is an unquoted scalar: the only kind that can mean null.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
}

impl Node {
    /// The value of a key, if this is a map.
    pub(crate) fn entry(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.value {
            NodeValue::Map(entries) => {
                entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
            }
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, NodeValue::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// The kind of value that the user wrote, for "expected ..., found ...".
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            _ if self.is_null() => String::from("nothing"),
            NodeValue::Scalar { text, .. } => {
                format!("'{}'", super::value::shown(text))
            }
            NodeValue::List(_) => String::from("a list"),
            NodeValue::Map(_) => String::from("a section with keys"),
        }
    }

    fn size(&self) -> usize {
        match &self.value {
            NodeValue::Scalar { text, .. } => 1 + text.len() / NODE_BYTES,
            NodeValue::List(items) => 1 + items.iter().map(Node::size).sum::<usize>(),
            NodeValue::Map(entries) => 1 + entries.iter().map(|e| 1 + e.value.size()).sum::<usize>(),
        }
    }
}

/// Parses one document. `None` is a file without content. `file` is its name in errors.
pub(crate) fn parse(file: &str, text: &str) -> Result<Option<Node>, ConfigError> {
    let mut tree = Tree { file, open: Vec::new(), anchors: BTreeMap::new(), root: None, nodes: 0 };
    let mut parser = Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|e| {
            ConfigError::new(file, Some(position(*e.marker())), format!("this is not YAML: {}", e.info()))
        })?;
        tree.take(event, position(span.start))?;
    }
    Ok(tree.root)
}

fn position(marker: Marker) -> Position {
    let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position { line: small(marker.line()), column: small(marker.col()).saturating_add(1) }
}

/// A collection that is not complete yet.
struct Open {
    at: Position,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    /// With the key whose value is next.
    Map(Vec<Entry>, Option<(String, Position)>),
}

struct Tree<'f> {
    file: &'f str,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    root: Option<Node>,
    nodes: usize,
}

impl Tree<'_> {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), ConfigError> {
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                Err(self.error(at, "a second document starts here; a file must hold one document"))
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), at)?;
                let plain = matches!(style, ScalarStyle::Plain);
                let value = NodeValue::Scalar { text: text.into_owned(), plain };
                self.add(Node { at, value }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), at)?;
                self.begin(Open { at, anchor, kind: OpenKind::List(Vec::new()) })
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), at)?;
                self.begin(Open { at, anchor, kind: OpenKind::Map(Vec::new(), None) })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(node) => {
                    let copy = node.clone();
                    self.count(copy.size(), at)?;
                    self.add(copy, 0)
                }
                None => Err(self.error(at, "an alias must not be inside the value it refers to")),
            },
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, open: Open) -> Result<(), ConfigError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.error(open.at, "nested too deeply"));
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self) -> Result<(), ConfigError> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.kind {
            OpenKind::List(items) => NodeValue::List(items),
            OpenKind::Map(entries, _) => NodeValue::Map(entries),
        };
        self.add(Node { at: open.at, value }, open.anchor)
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), ConfigError> {
        self.count(1, node.at)?;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(OpenKind::List(items)) => items.push(node),
            Some(OpenKind::Map(entries, waiting)) => match waiting.take() {
                Some((key, at)) => entries.push(Entry { key, at, value: node }),
                None => match node.value {
                    NodeValue::Scalar { text, .. } => *waiting = Some((text, node.at)),
                    _ => return Err(self.error(node.at, "a key must be a single word")),
                },
            },
        }
        Ok(())
    }

    fn count(&mut self, nodes: usize, at: Position) -> Result<(), ConfigError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES { Err(self.error(at, "the file has too many values")) } else { Ok(()) }
    }

    fn refuse_tag(&self, tagged: bool, at: Position) -> Result<(), ConfigError> {
        if tagged { Err(self.error(at, "tags (words with '!') are not supported")) } else { Ok(()) }
    }

    fn error(&self, at: Position, message: &str) -> ConfigError {
        ConfigError::new(self.file, Some(at), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> Vec<Entry> {
        match parse("f.yaml", text).unwrap().unwrap().value {
            NodeValue::Map(entries) => entries,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn keys_and_values_know_where_they_stand() {
        let entries = map("# a comment\ncrawl:\n  user_agent: \"x\"\n  list: [1,\n    2]\n");
        assert_eq!(entries[0].at, Position { line: 2, column: 1 });
        let NodeValue::Map(inner) = &entries[0].value.value else { panic!() };
        assert_eq!(inner[0].at, Position { line: 3, column: 3 });
        assert_eq!(inner[0].value.at, Position { line: 3, column: 15 });
        let NodeValue::List(items) = &inner[1].value.value else { panic!() };
        assert_eq!(items[1].at, Position { line: 5, column: 5 });
    }

    #[test]
    fn json_is_yaml() {
        let entries = map("{\"seeds\": [\"https://a.test/\"], \"scope\": \"any\", \"max_pages\": 3}");
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn an_empty_file_has_no_root() {
        assert_eq!(parse("f", "").unwrap(), None);
        assert_eq!(parse("f", "# nothing\n").unwrap(), None);
    }

    #[test]
    fn bad_grammar_is_pointed_at() {
        let error = parse("f.yaml", "a: 1\nb: [1, 2\nc: 3\n").unwrap_err().to_string();
        assert!(error.starts_with("f.yaml:3:"), "{error}");
        let error = parse("f.yaml", "a: 1\n---\nb: 2\n").unwrap_err().to_string();
        assert!(error.contains("second document"), "{error}");
    }

    #[test]
    fn aliases_are_expanded_within_bounds() {
        let entries = map("a: &x [1, 2]\nb: *x\n");
        let NodeValue::List(items) = &entries[1].value.value else { panic!() };
        assert_eq!(items.len(), 2);
        let mut bomb = String::from("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
        for n in 1..12 {
            let refs = vec![format!("*a{}", n - 1); 10].join(",");
            bomb.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
        }
        assert!(parse("f", &bomb).is_err());
        assert!(parse("f", &"[".repeat(100_000)).is_err());
        let text = "x".repeat(1 << 20);
        assert!(parse("f", &format!("a: &a {text}\nb: [{}*a]\n", "*a, ".repeat(200))).is_err());
    }
}
