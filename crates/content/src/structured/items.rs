//! Items of microdata and RDFa while a page is read: a tree of properties, kept flat.

use serde_json::{Map, Value};

/// So many items of a page are kept, and so many properties of all of them.
const MOST_ITEMS: usize = 1_000;
const MOST_PROPERTIES: usize = 10_000;
/// Items within items.
const DEEPEST: usize = 24;
pub(super) const LONGEST_TEXT: usize = 8 * 1024;

enum Held {
    Text(String),
    Item(usize),
}

struct Item {
    types: Vec<String>,
    id: Option<String>,
    depth: usize,
    is_nested: bool,
    properties: Vec<(String, Held)>,
}

/// Where a property's text goes while it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    item: usize,
    property: usize,
}

#[derive(Default)]
pub(super) struct Items {
    items: Vec<Item>,
    properties: usize,
    pub(super) is_truncated: bool,
}

impl Items {
    /// A new item: the value of the properties `names` of the item `parent`, or one by itself.
    pub(super) fn begin(
        &mut self,
        types: Vec<String>,
        id: Option<String>,
        parent: Option<(usize, &[String])>,
    ) -> Option<usize> {
        let parent = parent.filter(|(_, names)| !names.is_empty());
        let depth = parent.and_then(|(parent, _)| self.items.get(parent)).map_or(0, |item| item.depth + 1);
        if self.items.len() >= MOST_ITEMS || depth > DEEPEST {
            self.is_truncated = true;
            return None;
        }
        let number = self.items.len();
        self.items.push(Item { types, id, depth, is_nested: parent.is_some(), properties: Vec::new() });
        if let Some((parent, names)) = parent {
            // Of several names, the first: an item is in one place.
            if let Some(name) = names.first() {
                self.hold(parent, name, Held::Item(number));
            }
        }
        Some(number)
    }

    fn hold(&mut self, item: usize, name: &str, held: Held) -> Option<Place> {
        if self.properties >= MOST_PROPERTIES {
            self.is_truncated = true;
            return None;
        }
        let properties = &mut self.items.get_mut(item)?.properties;
        self.properties += 1;
        properties.push((name.to_owned(), held));
        Some(Place { item, property: properties.len() - 1 })
    }

    pub(super) fn property(&mut self, item: usize, name: &str, value: String) -> Option<Place> {
        self.hold(item, name, Held::Text(value))
    }

    /// The text of a property, to be added to.
    pub(super) fn text_at(&mut self, place: Place) -> Option<&mut String> {
        match self.items.get_mut(place.item)?.properties.get_mut(place.property)? {
            (_, Held::Text(text)) => Some(text),
            (_, Held::Item(_)) => None,
        }
    }

    /// As JSON: `@type`, `@id` and the properties; those that occur more than once are lists.
    pub(super) fn into_json(self) -> Vec<Value> {
        let mut done: Vec<Option<Value>> = self.items.iter().map(|_| None).collect();
        let mut roots = Vec::new();
        // An item is made after the one that holds it.
        for (number, item) in self.items.into_iter().enumerate().rev() {
            let mut object = Map::new();
            let mut types: Vec<Value> = item.types.into_iter().map(Value::String).collect();
            match types.len() {
                0 => {}
                1 => drop(object.insert("@type".to_owned(), types.pop().unwrap_or_default())),
                _ => drop(object.insert("@type".to_owned(), Value::Array(types))),
            }
            if let Some(id) = item.id {
                object.insert("@id".to_owned(), Value::String(id));
            }
            for (name, held) in item.properties {
                let value = match held {
                    Held::Text(text) => Value::String(text.trim_end().to_owned()),
                    Held::Item(inner) => done.get_mut(inner).and_then(Option::take).unwrap_or_default(),
                };
                match object.get_mut(&name) {
                    None => drop(object.insert(name, value)),
                    Some(Value::Array(values)) => values.push(value),
                    Some(known) => {
                        let first = known.take();
                        *known = Value::Array(vec![first, value]);
                    }
                }
            }
            if item.is_nested {
                if let Some(place) = done.get_mut(number) {
                    *place = Some(Value::Object(object));
                }
            } else {
                roots.push(Value::Object(object));
            }
        }
        roots.reverse();
        roots
    }
}
