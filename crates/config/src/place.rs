//! A path in the names of the types -> its position in the file, with any alias.

use crate::error::Position;
use crate::schema::{Key, Kind};
use crate::yaml::{Entry, Node, NodeValue};

/// A position in a file, and the node there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place<'n> {
    pub(crate) at: Position,
    pub(crate) value: &'n Node,
}

impl Place<'_> {
    /// Whether this position is the place itself or within its value.
    pub(crate) fn holds(&self, position: Position) -> bool {
        self.at == position || holds(self.value, position)
    }
}

fn holds(node: &Node, position: Position) -> bool {
    node.at == position
        || match &node.value {
            NodeValue::Scalar { .. } => false,
            NodeValue::List(items) => items.iter().any(|item| holds(item, position)),
            NodeValue::Map(entries) => {
                entries.iter().any(|entry| entry.at == position || holds(&entry.value, position))
            }
        }
}

/// The place of a path such as `politeness.domain_overrides.a.test.windows[0].from`, or of the closest existing parent.
/// A name chosen by the user may itself contain dots.
pub(crate) fn locate<'n>(root: &'n Node, keys: &'static [Key], path: &str) -> Place<'n> {
    find(Place { at: root.at, value: root }, Some(Kind::Section(keys)), path)
}

fn find<'n>(place: Place<'n>, kind: Option<Kind>, path: &str) -> Place<'n> {
    let below = match &place.value.value {
        NodeValue::Map(entries) => entry_of(entries, kind, path),
        NodeValue::List(items) => within_list(items, kind, path),
        NodeValue::Scalar { .. } => None,
    };
    match below {
        Some((place, kind, rest)) if !rest.is_empty() => find(place, kind, rest),
        Some((place, ..)) => place,
        None => place,
    }
}

type Below<'n, 'p> = Option<(Place<'n>, Option<Kind>, &'p str)>;

/// The entry with the longest name that the path begins with.
fn entry_of<'n, 'p>(entries: &'n [Entry], kind: Option<Kind>, path: &'p str) -> Below<'n, 'p> {
    let named = entries.iter().filter_map(|entry| {
        let (name, kind) = name_and_kind(entry, kind);
        let rest = path.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))?;
        Some((name.len(), (Place { at: entry.at, value: &entry.value }, kind, rest.trim_start_matches('.'))))
    });
    named.max_by_key(|(length, _)| *length).map(|(_, below)| below)
}

fn name_and_kind(entry: &Entry, kind: Option<Kind>) -> (&str, Option<Kind>) {
    match kind {
        Some(Kind::Section(keys) | Kind::Switch(keys)) => {
            match keys.iter().find(|key| key.is_called(&entry.key)) {
                Some(key) => (key.name, Some(key.kind)),
                None => (&entry.key, None),
            }
        }
        Some(Kind::Named(_, value)) => (&entry.key, Some(*value)),
        Some(Kind::WordOr(_, other)) => name_and_kind(entry, Some(*other)),
        _ => (&entry.key, None),
    }
}

fn within_list<'n, 'p>(items: &'n [Node], kind: Option<Kind>, path: &'p str) -> Below<'n, 'p> {
    let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
    let item = items.get(index.parse::<usize>().ok()?)?;
    let kind = match kind {
        Some(Kind::List(item) | Kind::Fixed(_, item)) => Some(*item),
        _ => None,
    };
    Some((Place { at: item.at, value: item }, kind, rest.trim_start_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::CONFIG;
    use crate::yaml::parse;

    fn at(text: &str, path: &str) -> (u32, u32) {
        let root = parse("f", text).unwrap().unwrap();
        let at = locate(&root, CONFIG, path).at;
        (at.line, at.column)
    }

    #[test]
    fn a_path_leads_to_its_place_or_near_it() {
        let text = "politeness:\n  domain_overrides:\n    a.test:\n      windows:\n        - {from: 1, to: 2}\n    \
                    a.test.x:\n      delay: 1\n";
        assert_eq!(at(text, "politeness.domain_overrides.a.test.windows[0].to"), (5, 21));
        assert_eq!(at(text, "politeness.domain_overrides.a.test.x.delay"), (7, 7));
        assert_eq!(at(text, "politeness.domain_overrides.a.test.windows[7].to").0, 4);
        assert_eq!(at(text, "dns.min_ttl"), (1, 1));
    }

    #[test]
    fn other_names_of_a_key_lead_to_the_same_place() {
        let text = "dns:\n  max_ttl: 1s\n  min_ttl_seconds: 5\npoliteness:\n  domains:\n    a.test:\n      \
                    crawl_delay: 5s\n      windows: [{from: a, to: b,\n        timezone: Mars}]\n";
        assert_eq!(at(text, "dns.min_ttl"), (3, 3));
        assert_eq!(at(text, "politeness.domain_overrides.a.test.delay"), (7, 7));
        assert_eq!(at(text, "politeness.domain_overrides.a.test.windows[0].zone"), (9, 9));
    }
}
