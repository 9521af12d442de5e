//! The schema of a file: tables of keys with the kind of their values. Checking a tree against a table reports all errors
//! with their positions, and gives plain JSON with aliases, units and single-item lists resolved, ready for the typed
//! structures. The tables themselves are in `keys`.

use crate::error::{ConfigError, Position};
use crate::nearest::nearest;
use crate::value;
use crate::yaml::{Entry, Node, NodeValue};
use serde_json::{Map, Value};

/// A text that a function of its own can read, such as an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) expected: &'static str,
    pub(crate) fits: fn(&str) -> bool,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Flag,
    /// A whole number within bounds.
    Whole {
        least: u64,
        most: u64,
    },
    /// A number that may have a fraction, within bounds.
    Number {
        least: f64,
        most: f64,
    },
    /// With a unit; a bare number is seconds.
    Duration,
    /// Between two requests to a host: a [`Kind::Duration`] of no more than a day.
    Delay,
    /// A duration that is not 0.
    SomeTime,
    /// Bytes, with a unit.
    Size,
    /// A regular expression.
    Pattern,
    /// One of these words.
    Word(&'static [&'static str]),
    Parsed(Form),
    /// One of these words, or a value of this kind.
    WordOr(&'static [&'static str], &'static Kind),
    /// A list; a single value is taken as a list of one.
    List(&'static Kind),
    /// Exactly this many.
    Fixed(usize, &'static Kind),
    /// Names of this form chosen by the user, each with a value of this kind.
    Named(Form, &'static Kind),
    Section(&'static [Key]),
    /// `true`, `false`, or a section that sets it in detail.
    Switch(&'static [Key]),
    /// Anything: the crate that uses it defines the form.
    Free,
}

/// How a value under an alias with the unit in its name is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Another name for the same thing.
    Same,
    Milliseconds,
    Seconds,
    Hours,
    Bytes,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) aliases: &'static [(&'static str, Unit)],
    /// Whether `null` is a value: no limit, nothing set.
    pub(crate) nullable: bool,
    /// Whether its section is invalid without it.
    pub(crate) required: bool,
    /// Description for the reference.
    pub(crate) about: &'static str,
    /// What a number counts.
    pub(crate) unit: Option<&'static str>,
    /// A value as people write it in YAML.
    pub(crate) example: Option<&'static str>,
    /// Description of the default, if the value does not show it.
    pub(crate) otherwise: Option<&'static str>,
    /// It is read and checked, and nothing uses it yet: a start that has it warns.
    pub(crate) not_in_effect: bool,
}

impl Key {
    pub(crate) const fn new(name: &'static str, kind: Kind) -> Key {
        Key {
            name,
            kind,
            aliases: &[],
            nullable: false,
            required: false,
            about: "",
            unit: None,
            example: None,
            otherwise: None,
            not_in_effect: false,
        }
    }

    /// One or two sentences for `docs/configuration.md`.
    pub(crate) const fn about(mut self, about: &'static str) -> Key {
        self.about = about;
        self
    }

    pub(crate) const fn unit(mut self, unit: &'static str) -> Key {
        self.unit = Some(unit);
        self
    }

    pub(crate) const fn example(mut self, example: &'static str) -> Key {
        self.example = Some(example);
        self
    }

    pub(crate) const fn otherwise(mut self, otherwise: &'static str) -> Key {
        self.otherwise = Some(otherwise);
        self
    }

    /// Nothing uses the key yet. `scripts/check_house` fails when a key without this mark is read nowhere.
    pub(crate) const fn not_in_effect(mut self) -> Key {
        self.not_in_effect = true;
        self
    }

    pub(crate) const fn or_null(mut self) -> Key {
        self.nullable = true;
        self
    }

    pub(crate) const fn required(mut self) -> Key {
        self.required = true;
        self
    }

    pub(crate) const fn alias(mut self, aliases: &'static [(&'static str, Unit)]) -> Key {
        self.aliases = aliases;
        self
    }

    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().map(|(alias, _)| *alias))
    }
}

impl Kind {
    pub(crate) fn expected(&self) -> String {
        match self {
            Kind::Text => String::from("text"),
            Kind::Flag => String::from("true or false"),
            Kind::Whole { least, most: u64::MAX } => format!("a whole number, {least} or more"),
            Kind::Whole { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Number { least, most } => format!("a number from {least} to {most}"),
            Kind::Delay => String::from("a duration of at most 24h, such as 250ms, 2s or 5m"),
            Kind::Duration => String::from("a duration such as 250ms, 2s, 5m, 24h or 7d"),
            Kind::SomeTime => String::from("a duration longer than 0 such as 250ms, 2s or 5m"),
            Kind::Size => String::from("a size such as 500KB, 10MB or 1GiB"),
            Kind::Pattern => String::from("a regular expression"),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Parsed(form) => String::from(form.expected),
            Kind::WordOr(words, other) => format!("one of {}, or {}", words.join(", "), other.expected()),
            Kind::List(item) => format!("a list, each item {}", item.expected()),
            Kind::Fixed(count, item) => format!("a list of {count}, each item {}", item.expected()),
            Kind::Named(_, value) => format!("names, each with {}", value.expected()),
            Kind::Section(_) => String::from("a section with keys"),
            Kind::Switch(_) => String::from("true, false or a section with keys"),
            Kind::Free => String::from("any value"),
        }
    }
}

/// Checks one file's tree.
pub(crate) struct Checker<'f> {
    pub(crate) file: &'f str,
    /// The tables of the whole file, to find the section that a misplaced key belongs to.
    pub(crate) root: &'static [Key],
    pub(crate) errors: Vec<ConfigError>,
    /// Positions of values whose variable is not set; they are left out.
    pub(crate) unset: &'f [(Position, String)],
    /// The paths of the values that were left out.
    pub(crate) left_out: Vec<Unset>,
    /// Keys that are given and that nothing uses yet.
    pub(crate) not_in_effect: Vec<ConfigError>,
}

/// Removes the keys that are not in effect from the values of a section.
pub(crate) fn retain_in_effect(keys: &[Key], values: &mut Map<String, Value>) {
    for key in keys {
        if key.not_in_effect {
            values.remove(key.name);
            continue;
        }
        match (key.kind, values.get_mut(key.name)) {
            (Kind::Section(inner), Some(Value::Object(values))) => retain_in_effect(inner, values),
            (Kind::Named(_, Kind::Section(inner)), Some(Value::Object(named))) => {
                named
                    .values_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|one| retain_in_effect(inner, one));
            }
            _ => {}
        }
    }
}

/// A value that is given, by a variable that is not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset {
    /// `storage.metadata_db_url`, whichever of its names was written.
    pub path: String,
    /// Says what is missing and where.
    pub error: ConfigError,
}

impl<'f> Checker<'f> {
    pub(crate) fn new(file: &'f str, root: &'static [Key], unset: &'f [(Position, String)]) -> Checker<'f> {
        Checker { file, root, errors: Vec::new(), unset, left_out: Vec::new(), not_in_effect: Vec::new() }
    }

    /// Whether the variable of a scalar is not set; if so, it is recorded.
    fn is_unset(&mut self, node: &Node, path: &str) -> bool {
        let Some((at, name)) = self.unset.iter().find(|(at, _)| node.at == *at && is_scalar(node)) else {
            return false;
        };
        let error = ConfigError::unset(self.file, *at, name);
        self.left_out.push(Unset { path: path.to_owned(), error });
        true
    }

    pub(crate) fn error(&mut self, at: Position, message: impl Into<String>) {
        self.errors.push(ConfigError::new(self.file, Some(at), message));
    }

    /// Checks a section. `path` is how errors name it, empty for the file itself.
    pub(crate) fn section(&mut self, node: &Node, keys: &'static [Key], path: &str) -> Map<String, Value> {
        let mut found: Map<String, Value> = Map::new();
        let mut lines: Vec<(&'static str, Position)> = Vec::new();
        let NodeValue::Map(entries) = &node.value else {
            if !node.is_null() {
                let place = if path.is_empty() { String::from("a file") } else { format!("'{path}'") };
                self.error(node.at, format!("{place} holds keys with values, found {}", node.describe()));
            }
            return found;
        };
        for entry in entries {
            let known = keys.iter().find_map(|key| {
                if key.name == entry.key {
                    return Some((key, Unit::Same));
                }
                key.aliases.iter().find(|(alias, _)| *alias == entry.key).map(|(_, unit)| (key, *unit))
            });
            let Some((key, unit)) = known else {
                let message = self.unknown(entry, keys, path);
                self.error(entry.at, message);
                continue;
            };
            if let Some((_, first)) = lines.iter().find(|(name, _)| *name == key.name) {
                self.error(entry.at, format!("'{}' is already given in line {}", entry.key, first.line));
                continue;
            }
            lines.push((key.name, entry.at));
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let (written, proper) = (below(&entry.key), below(key.name));
            if key.not_in_effect {
                let message = format!("'{proper}' is not in effect yet");
                self.not_in_effect.push(ConfigError::new(self.file, Some(entry.at), message));
            }
            let already = self.left_out.len();
            if let Some(value) = self.keyed(entry, key, unit, &written) {
                found.insert(key.name.to_owned(), value);
            }
            for unset in self.left_out.iter_mut().skip(already) {
                if let Some(rest) = unset.path.strip_prefix(&written) {
                    unset.path = format!("{proper}{rest}");
                }
            }
        }
        for key in keys.iter().filter(|key| key.required) {
            if !lines.iter().any(|(name, _)| *name == key.name) {
                self.error(node.at, format!("'{path}' lacks '{}'", key.name));
            }
        }
        found
    }

    /// `None` if a required key is missing.
    fn whole_section(&mut self, node: &Node, keys: &'static [Key], path: &str) -> Option<Value> {
        let found = self.section(node, keys, path);
        let is_whole = keys.iter().all(|key| !key.required || found.contains_key(key.name));
        is_whole.then_some(Value::Object(found))
    }

    fn keyed(&mut self, entry: &Entry, key: &Key, unit: Unit, path: &str) -> Option<Value> {
        if entry.value.is_null() {
            // A section whose keys are all commented out says nothing.
            if matches!(key.kind, Kind::Section(_) | Kind::Named(..) | Kind::Switch(_)) {
                return None;
            }
            if key.nullable {
                return Some(Value::Null);
            }
        }
        if unit != Unit::Same {
            return self.in_unit(&entry.value, unit, &key.kind, path);
        }
        self.value(&entry.value, &key.kind, path)
    }

    /// Checks a value; `None` if it is invalid, and then the error is recorded.
    pub(crate) fn value(&mut self, node: &Node, kind: &Kind, path: &str) -> Option<Value> {
        if self.is_unset(node, path) {
            return None;
        }
        match (kind, &node.value) {
            (Kind::Free, _) => {
                let mut whole = true;
                each_scalar(node, &mut |scalar| whole &= !self.is_unset(scalar, path));
                whole.then(|| free(node))
            }
            (Kind::WordOr(_, kind), NodeValue::Map(_)) => self.value(node, kind, path),
            (Kind::Switch(keys), NodeValue::Map(_)) | (Kind::Section(keys), _) => {
                self.whole_section(node, keys, path)
            }
            (Kind::Named(names, kind), NodeValue::Map(entries)) => {
                Some(self.named(entries, *names, kind, path))
            }
            (Kind::List(kind), NodeValue::List(items)) => self.items(items, kind, path),
            (Kind::Fixed(count, kind), NodeValue::List(items)) if items.len() == *count => {
                self.items(items, kind, path)
            }
            // One item need not be written as a list, but `key:` with nothing after it is no item.
            (Kind::List(item), _) if !node.is_null() && !matches!(item, Kind::List(_)) => {
                Some(Value::Array(vec![self.value(node, item, path)?]))
            }
            (_, NodeValue::Scalar { text, .. }) if !node.is_null() || matches!(kind, Kind::Text) => {
                match value::read(text, kind) {
                    Ok(value) => Some(value),
                    Err(reason) => {
                        self.error(node.at, format!("'{path}' expects {}, {reason}", kind.expected()));
                        None
                    }
                }
            }
            _ => {
                let message = format!("'{path}' expects {}, found {}", kind.expected(), node.describe());
                self.error(node.at, message);
                None
            }
        }
    }

    /// A list with an invalid item is left out as a whole, since later errors name items by number.
    fn items(&mut self, items: &[Node], kind: &Kind, path: &str) -> Option<Value> {
        let values: Vec<Value> = items.iter().filter_map(|item| self.value(item, kind, path)).collect();
        (values.len() == items.len()).then_some(Value::Array(values))
    }

    fn named(&mut self, entries: &[Entry], names: Form, kind: &Kind, path: &str) -> Value {
        let mut found = Map::new();
        for entry in entries {
            if !(names.fits)(&entry.key) {
                let shown = value::shown(&entry.key);
                self.error(entry.at, format!("'{shown}' in '{path}' is not {}", names.expected));
                continue;
            }
            let path = format!("{path}.{}", entry.key);
            let Some(value) = self.value(&entry.value, kind, &path) else { continue };
            if found.insert(entry.key.clone(), value).is_some() {
                self.error(entry.at, format!("'{}' is given twice", entry.key));
            }
        }
        Value::Object(found)
    }

    fn in_unit(&mut self, node: &Node, unit: Unit, kind: &Kind, path: &str) -> Option<Value> {
        if self.is_unset(node, path) {
            return None;
        }
        let NodeValue::Scalar { text, .. } = &node.value else {
            self.error(node.at, format!("'{path}' expects a number, found {}", node.describe()));
            return None;
        };
        let expected = match value::read_in_unit(text, unit) {
            Ok(value) if matches!(kind, Kind::SomeTime) && value == "0" => String::from("more than 0"),
            Ok(value)
                if matches!(kind, Kind::Delay)
                    && value.as_str().is_none_or(|v| value::read(v, kind).is_err()) =>
            {
                String::from("at most 24h")
            }
            Ok(value) => return Some(value),
            Err(expected) => expected,
        };
        self.error(node.at, format!("'{path}' expects {expected}, found {}", node.describe()));
        None
    }

    fn unknown(&self, entry: &Entry, keys: &'static [Key], path: &str) -> String {
        let place = if path.is_empty() { String::new() } else { format!(" in '{path}'") };
        let start = format!("unknown key '{}'{place}", entry.key);
        let best = nearest(&entry.key, keys.iter().flat_map(Key::names));
        if let Some(best) = best.filter(|best| best.near) {
            return format!("{start}; did you mean '{}'?", best.word);
        }
        if let Some(home) = home_of(&entry.key, self.root) {
            return format!("{start}; it belongs in '{home}'");
        }
        match keys.len() {
            0 => format!("{start}; this section has no keys yet"),
            1..=16 => {
                let all: Vec<&str> = keys.iter().map(|key| key.name).collect();
                format!("{start}; known are {}", all.join(", "))
            }
            _ => start,
        }
    }
}

fn is_scalar(node: &Node) -> bool {
    matches!(node.value, NodeValue::Scalar { .. })
}

fn each_scalar(node: &Node, look: &mut dyn FnMut(&Node)) {
    match &node.value {
        NodeValue::Scalar { .. } => look(node),
        NodeValue::List(items) => items.iter().for_each(|item| each_scalar(item, look)),
        NodeValue::Map(entries) => entries.iter().for_each(|entry| each_scalar(&entry.value, look)),
    }
}

/// A value as it stands, with the types its text has in YAML.
fn free(node: &Node) -> Value {
    match &node.value {
        _ if node.is_null() => Value::Null,
        NodeValue::Scalar { text, plain: true } => {
            serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        NodeValue::Scalar { text, .. } => Value::from(text.as_str()),
        NodeValue::List(items) => items.iter().map(free).collect(),
        NodeValue::Map(entries) => {
            Value::Object(entries.iter().map(|e| (e.key.clone(), free(&e.value))).collect())
        }
    }
}

/// The top-level section that knows this key.
fn home_of(key: &str, root: &'static [Key]) -> Option<&'static str> {
    root.iter().find_map(|section| match section.kind {
        Kind::Section(keys) if keys.iter().any(|k| k.is_called(key)) => Some(section.name),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;

    const ANY: Form = Form { expected: "a word", fits: |_| true };
    const ENTRY: &[Key] = &[
        Key::new("crawl_delay", Kind::Duration).alias(&[("crawl_delay_seconds", Unit::Seconds)]),
        Key::new("per_host", Kind::Whole { least: 1, most: 1000 }),
    ];
    const ROOT: &[Key] = &[
        Key::new(
            "politeness",
            Kind::Section(&[Key::new("overrides", Kind::Named(ANY, &Kind::Section(ENTRY)))]),
        ),
        Key::new(
            "crawl",
            Kind::Section(&[
                Key::new("max_body", Kind::Size).alias(&[("max_body_bytes", Unit::Bytes)]),
                Key::new("include", Kind::List(&Kind::Pattern)),
                Key::new("depth", Kind::Whole { least: 0, most: u64::MAX }).or_null(),
                Key::new("range", Kind::Fixed(2, &Kind::Whole { least: 1, most: 5 })),
                Key::new("scope", Kind::Word(&["host", "any"])),
                Key::new(
                    "login",
                    Kind::Switch(&[
                        Key::new("user", Kind::Text),
                        Key::new("password", Kind::Text).required(),
                    ]),
                ),
            ]),
        ),
    ];

    fn check(text: &str) -> Result<Value, Vec<String>> {
        let node = parse("f.yaml", text).unwrap().unwrap();
        let mut checker = Checker::new("f.yaml", ROOT, &[]);
        let value = checker.section(&node, ROOT, "");
        if checker.errors.is_empty() {
            Ok(Value::Object(value))
        } else {
            Err(checker.errors.iter().map(ToString::to_string).collect())
        }
    }

    #[test]
    fn aliases_units_and_single_items_become_plain_values() {
        let text = "crawl:\n  max_body_bytes: 5242880\n  include: ^a\n  depth: null\n  range: [1, 2]\n\
                    politeness:\n  overrides:\n    a.test: {crawl_delay_seconds: 2.5}\n    b.test: {crawl_delay: 5m}\n";
        let expected = serde_json::json!({
            "crawl": {"max_body": 5_242_880, "include": ["^a"], "depth": null, "range": [1, 2]},
            "politeness": {"overrides": {"a.test": {"crawl_delay": "2500ms"}, "b.test": {"crawl_delay": "5m"}}},
        });
        assert_eq!(check(text), Ok(expected));
    }

    #[test]
    fn every_error_of_a_file_is_found_with_its_place() {
        let text = "crawl:\n  max_bodi: 1\n  include: ['(']\n  depth: -1\n  scope: galaxy\n\
                    politeness:\n  overrides:\n    a.test:\n      crawl_dealy: 2s\n      per_host: 0\nworkers: 3\n";
        let errors = check(text).unwrap_err();
        assert_eq!(errors.len(), 7, "{errors:#?}");
        assert_eq!(errors[0], "f.yaml:2:3: unknown key 'max_bodi' in 'crawl'; did you mean 'max_body'?");
        assert!(
            errors[1].starts_with("f.yaml:3:13: 'crawl.include' expects a regular expression"),
            "{errors:#?}"
        );
        assert_eq!(errors[2], "f.yaml:4:10: 'crawl.depth' expects a whole number, 0 or more, found '-1'");
        assert_eq!(errors[3], "f.yaml:5:10: 'crawl.scope' expects one of host, any, found 'galaxy'");
        assert_eq!(
            errors[4],
            "f.yaml:9:7: unknown key 'crawl_dealy' in 'politeness.overrides.a.test'; did you mean 'crawl_delay'?"
        );
        assert!(
            errors[5].starts_with("f.yaml:10:17: 'politeness.overrides.a.test.per_host' expects"),
            "{errors:#?}"
        );
        assert!(errors[6].starts_with("f.yaml:11:1: unknown key 'workers'"), "{errors:#?}");
    }

    #[test]
    fn a_key_in_the_wrong_section_is_told_where_it_belongs() {
        let errors = check("politeness:\n  max_body: 3\n").unwrap_err();
        assert_eq!(errors, ["f.yaml:2:3: unknown key 'max_body' in 'politeness'; it belongs in 'crawl'"]);
    }

    #[test]
    fn a_key_given_twice_under_any_name_is_an_error() {
        let errors = check("crawl:\n  max_body: 1MB\n  max_body_bytes: 5\n").unwrap_err();
        assert_eq!(errors, ["f.yaml:3:3: 'max_body_bytes' is already given in line 2"]);
    }

    #[test]
    fn a_wrong_shape_says_what_was_expected() {
        let errors = check("crawl:\n  range: [1]\n  depth: [1]\n  max_body:\npoliteness: 3\n").unwrap_err();
        assert_eq!(
            errors[0],
            "f.yaml:2:10: 'crawl.range' expects a list of 2, each item a whole number from 1 to 5, found a list"
        );
        assert_eq!(errors[1], "f.yaml:3:10: 'crawl.depth' expects a whole number, 0 or more, found a list");
        assert!(errors[2].contains("'crawl.max_body' expects a size such as"), "{errors:#?}");
        assert_eq!(errors[3], "f.yaml:5:13: 'politeness' holds keys with values, found '3'");
    }

    #[test]
    fn a_missing_required_key_is_reported() {
        let errors = check("crawl:\n  login:\n    user: a\n").unwrap_err();
        assert_eq!(errors, ["f.yaml:3:5: 'crawl.login' lacks 'password'"]);
    }

    #[test]
    fn a_switch_is_a_word_or_a_section() {
        assert!(check("crawl:\n  login: false\n").is_ok());
        assert!(check("crawl:\n  login: {password: x}\n").is_ok());
        let errors = check("crawl:\n  login: sometimes\n").unwrap_err();
        assert_eq!(
            errors,
            ["f.yaml:2:10: 'crawl.login' expects true, false or a section with keys, found 'sometimes'"]
        );
    }

    #[test]
    fn a_section_with_everything_commented_out_says_nothing() {
        assert_eq!(check("crawl:\n  # depth: 3\npoliteness:\n"), Ok(serde_json::json!({})));
    }
}
