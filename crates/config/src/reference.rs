//! `docs/configuration.md`: every key with its type, default, example and description, generated from the tables of
//! `keys`. `argiope config docs` prints it, and a test compares the file with that.

use crate::emit::inline;
use crate::graph_file::GraphFile;
use crate::keys;
use crate::schema::{Key, Kind, Unit};
use argiope_model::JobSpec;
use serde_json::{Map, Value};
use std::fmt::Write;

const HEAD: &str = "\
# Configuration

<!-- Written by `argiope config docs > docs/configuration.md`; change the tables in crates/config/src instead. -->

Every key of [`argiope.yaml`](#argiopeyaml), of [job files](#job-files) and of [the graph's `config.json`](#configjson).
YAML and JSON are both accepted. `argiope config check FILE...` finds every error, `argiope config show` prints the
effective configuration. Unknown keys are errors.

| written as | means |
|---|---|
| duration | `250ms`, `2s`, `5m`, `24h`, `7d`; a bare number is seconds |
| size | `500KB`, `10MB`, `1GB` (powers of 1000), `10MiB` (powers of 1024); a bare number is bytes |
| pattern | a regular expression; it matches anywhere unless it has `^` or `$` |
| list | `[a, b]`; a single value is a list of one |
| `${NAME}` | the environment variable NAME, anywhere in a value; `$${` is a plain `${` |

A key that ends in a unit, such as `timeout_seconds`, takes a bare number of that unit.
";

/// How many items of a default are written out.
const ITEMS: usize = 8;

/// The whole document. `defaults` has the sections of `argiope.yaml` with every default spelled out.
pub fn reference(defaults: &Map<String, Value>) -> String {
    let job = serde_json::to_value(JobSpec::default()).unwrap_or_default();
    let graph = serde_json::to_value(GraphFile::default()).unwrap_or_default();
    let mut document = Document { text: String::from(HEAD), written: Vec::new() };
    document.text.push_str("\n## argiope.yaml\n\nRead from the current directory, or named by `--config`.\n");
    for section in keys::CONFIG {
        let Kind::Section(all) = section.kind else { continue };
        let _ = write!(document.text, "\n### {}\n\n{}\n", section.name, section.about);
        let own: Vec<&Key> =
            all.iter().filter(|key| section.name != "crawl" || !is_of(keys::JOB, key)).collect();
        if section.name == "crawl" {
            let alone: Vec<String> = keys::JOB
                .iter()
                .filter(|key| !is_of(all, key))
                .map(|key| format!("`{}`", key.name))
                .collect();
            let _ = writeln!(
                document.text,
                "It takes every key of a [job file](#job-files) except {}, and:",
                alone.join(", ")
            );
        }
        document.table(&own, section.name, defaults.get(section.name));
    }
    document.text.push_str(
        "\n## Job files\n\nGiven to `argiope crawl -c FILE`. Command line options override it, and it overrides \
         the section `crawl`.\n",
    );
    document.table(&keys::JOB.iter().collect::<Vec<_>>(), "", Some(&job));
    document.text.push_str("\n## config.json\n\nGiven to `argiope graph -c FILE`.\n");
    document.table(&keys::GRAPH.iter().collect::<Vec<_>>(), "", Some(&graph));
    document.text
}

fn is_of(table: &[Key], key: &Key) -> bool {
    table.iter().any(|other| other.name == key.name)
}

struct Document {
    text: String,
    /// Sections that several keys share are written once: their keys, their defaults, and where they are used.
    written: Vec<(Vec<&'static str>, Value, String)>,
}

impl Document {
    /// The keys of a section, then the sections among them.
    fn table(&mut self, keys: &[&Key], path: &str, defaults: Option<&Value>) {
        if keys.is_empty() {
            return;
        }
        self.text.push_str("\n| key | takes | default | example | |\n|---|---|---|---|---|\n");
        let mut below: Vec<(&'static [Key], String, Option<&Value>)> = Vec::new();
        for key in keys {
            let default = defaults.and_then(|defaults| defaults.get(key.name));
            let mut about = String::from(key.about);
            if key.not_in_effect {
                about.push_str(" Not in effect yet.");
            }
            let mut takes = takes(&key.kind, key.unit);
            if let Some((inner, place)) = section_of(key, path) {
                let names: Vec<&'static str> = inner.iter().map(|key| key.name).collect();
                let same = |defaults: &Value| default.is_none_or(|default| default == defaults);
                let known =
                    self.written.iter().find(|(known, defaults, _)| *known == names && same(defaults));
                let known = known.map(|(_, _, place)| place.clone());
                let is_new = known.is_none();
                let place = known.unwrap_or(place);
                takes = format!("{takes} [`{place}`](#{})", anchor(&place));
                if is_new {
                    self.written.push((names, default.cloned().unwrap_or_default(), place.clone()));
                    below.push((inner, place, default));
                }
            }
            if !key.aliases.is_empty() {
                let aliases: Vec<String> = key.aliases.iter().map(|alias| spelled(*alias)).collect();
                let _ = write!(about, " Also {}.", aliases.join(", "));
            }
            let row = [
                format!("`{}`", key.name),
                takes,
                default_of(key, default, path),
                example_of(key, default).map(|text| format!("`{text}`")).unwrap_or_default(),
                about,
            ];
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(self.text, "| {} |", cells.join(" | "));
        }
        for (keys, path, defaults) in below {
            let _ = write!(self.text, "\n#### {path}\n");
            self.table(&keys.iter().collect::<Vec<_>>(), &path, defaults);
        }
    }
}

/// The keys below a key, and the name of their section.
fn section_of(key: &Key, path: &str) -> Option<(&'static [Key], String)> {
    let path = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
    match key.kind {
        Kind::Section(keys) | Kind::Switch(keys) => Some((keys, path)),
        Kind::List(Kind::Section(keys)) => Some((*keys, path)),
        Kind::Named(_, Kind::Section(keys)) => Some((*keys, format!("{path}.NAME"))),
        _ => None,
    }
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    heading.to_ascii_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect()
}

fn spelled((alias, unit): (&str, Unit)) -> String {
    match unit {
        Unit::Same => format!("`{alias}`"),
        Unit::Milliseconds => format!("`{alias}` (milliseconds)"),
        Unit::Seconds => format!("`{alias}` (seconds)"),
        Unit::Hours => format!("`{alias}` (hours)"),
        Unit::Bytes => format!("`{alias}` (bytes)"),
    }
}

fn takes(kind: &Kind, unit: Option<&str>) -> String {
    let counted = |text: String| unit.map_or(text.clone(), |unit| format!("{unit}, {text}"));
    match kind {
        Kind::Text => String::from("text"),
        Kind::Flag => String::from("`true` or `false`"),
        Kind::Whole { least, most: u64::MAX } => counted(format!("{least} or more")),
        Kind::Whole { least, most } if *most == u64::from(u32::MAX) => counted(format!("{least} or more")),
        Kind::Whole { least, most } => counted(format!("{least} to {most}")),
        Kind::Number { least, most } if unit.is_some_and(|unit| unit.contains(" to ")) => {
            debug_assert!(least < most);
            unit.unwrap_or_default().to_owned()
        }
        Kind::Number { least, most } => counted(format!("{least} to {most}")),
        Kind::Delay => String::from("duration, at most 24h"),
        Kind::Duration => String::from("duration"),
        Kind::SomeTime => String::from("duration, not 0"),
        Kind::Size => String::from("size"),
        Kind::Pattern => String::from("pattern"),
        Kind::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Kind::Parsed(form) => String::from(form.expected),
        Kind::WordOr(words, other) => {
            format!("{}, or {}", takes(&Kind::Word(words), None), takes(other, unit))
        }
        Kind::List(Kind::Section(_)) => String::from("list of sections"),
        Kind::List(item) => format!("list: {}", takes(item, unit)),
        Kind::Fixed(count, item) => format!("list of {count}: {}", takes(item, unit)),
        Kind::Named(_, Kind::Section(_)) => String::from("names, each with section"),
        Kind::Named(_, value) => format!("names, each with {}", takes(value, unit)),
        Kind::Section(_) => String::from("section"),
        Kind::Switch(_) => String::from("`true`, `false` or section"),
        Kind::Free => String::from("anything"),
    }
}

fn default_of(key: &Key, default: Option<&Value>, path: &str) -> String {
    if key.required {
        return String::from("needed");
    }
    // The defaults of a section are in its own table.
    if section_of(key, path).is_some() && key.otherwise.is_none() {
        return String::new();
    }
    match (default, key.otherwise) {
        (Some(Value::Null) | None, Some(otherwise)) => otherwise.to_owned(),
        (Some(Value::Array(items)), Some(otherwise)) if items.is_empty() => otherwise.to_owned(),
        (None | Some(Value::Null), None)
            if path.ends_with(".NAME") && is_of(crate::politeness_keys::POLITENESS, key) =>
        {
            format!("`politeness.{}`", key.name)
        }
        (None | Some(Value::Null), None) => String::from("none"),
        (Some(Value::Array(items)), _) if items.len() > ITEMS => {
            let first: Vec<String> = items.iter().take(ITEMS).map(inline).collect();
            format!("`{}` and {} more", first.join(", "), items.len() - ITEMS)
        }
        (Some(Value::Object(keys)), _) if keys.is_empty() => String::from("none"),
        (Some(Value::Array(items)), _) if items.is_empty() => String::from("none"),
        (Some(value), _) => format!("`{}`", written(value, &key.kind)),
    }
}

/// In the form people write: sizes with their units.
fn written(value: &Value, kind: &Kind) -> String {
    match (kind, value.as_u64()) {
        (Kind::Size, Some(bytes)) => {
            let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "KB")];
            let unit = units.into_iter().find(|(factor, _)| bytes >= *factor && bytes % factor == 0);
            unit.map_or_else(|| bytes.to_string(), |(factor, unit)| format!("{}{unit}", bytes / factor))
        }
        _ => inline(value),
    }
}

/// The given example, or a value other than the default if there are only a few.
fn example_of(key: &Key, default: Option<&Value>) -> Option<String> {
    let example = match (key.example, key.kind) {
        (Some(example), _) => example.to_owned(),
        (None, Kind::Flag) => (default != Some(&Value::from(true))).to_string(),
        (None, Kind::Word(words)) => {
            let other = words.iter().rev().find(|word| default != Some(&Value::from(**word)));
            (*other?).to_owned()
        }
        (None, Kind::Switch(_)) => String::from("false"),
        (None, Kind::Section(keys)) => {
            let needed: Vec<&Key> = keys.iter().filter(|key| key.required).collect();
            let shown = if needed.is_empty() { keys.iter().take(1).collect() } else { needed };
            let inner: Option<Vec<String>> = shown.into_iter().map(|key| example_of(key, None)).collect();
            format!("{{ {} }}", inner.filter(|inner| !inner.is_empty())?.join(", "))
        }
        (None, _) => return None,
    };
    Some(format!("{}: {example}", key.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Checker;
    use crate::{environment, yaml};

    /// Every key of a table and of the sections below it.
    fn each(table: &'static [Key], path: &str, look: &mut dyn FnMut(&'static Key, &str)) {
        for key in table {
            let name = if path.is_empty() { key.name.to_owned() } else { format!("{path}.{}", key.name) };
            look(key, &name);
            if let Some((inner, place)) = section_of(key, path) {
                each(inner, &place, look);
            }
        }
    }

    fn every_key(mut look: impl FnMut(&'static Key, &str)) {
        for table in [keys::CONFIG, keys::JOB, keys::GRAPH] {
            each(table, "", &mut look);
        }
    }

    fn counts(kind: &Kind) -> bool {
        match kind {
            Kind::Whole { .. } | Kind::Number { .. } => true,
            Kind::List(inner) | Kind::Fixed(_, inner) | Kind::Named(_, inner) => counts(inner),
            _ => false,
        }
    }

    #[test]
    fn every_key_says_what_it_does_what_it_counts_and_how_it_is_written() {
        let mut missing = Vec::new();
        every_key(|key, path| {
            let has_keys = !matches!(key.kind, Kind::Section([]));
            if key.about.is_empty() {
                missing.push(format!("{path}: add .about(\"What it does.\")"));
            }
            if counts(&key.kind) && key.unit.is_none() {
                missing.push(format!("{path}: add .unit(\"what it counts\")"));
            }
            if has_keys && example_of(key, None).is_none() {
                missing.push(format!("{path}: add .example(\"a value in YAML\")"));
            }
        });
        missing.dedup();
        assert!(missing.is_empty(), "in crates/config/src/keys.rs or politeness_keys.rs: {missing:#?}");
    }

    #[test]
    fn every_example_is_taken_by_the_key_it_is_of() {
        every_key(|key, path| {
            let Some(example) = example_of(key, None) else { return };
            let table: &'static [Key] = Box::leak(Box::new([*key]));
            let mut node = yaml::parse("example", &example).unwrap().unwrap();
            let mut left = environment::Unreplaced::default();
            environment::substitute("example", &mut node, &|_| Some(String::from("x")), &mut left);
            assert_eq!(left.errors, [], "{path}: {example}");
            let mut checker = Checker::new("example", table, &[]);
            let found = checker.section(&node, table, "");
            assert!(checker.errors.is_empty(), "{path}: {example}: {:?}", checker.errors);
            assert!(found.contains_key(key.name), "{path}: {example}");
        });
    }

    #[test]
    fn defaults_are_written_as_people_write_them() {
        let key = Key::new("max_body", Kind::Size);
        assert_eq!(default_of(&key, Some(&Value::from(10_000_000)), ""), "`10MB`");
        assert_eq!(default_of(&key, Some(&Value::from(1500)), ""), "`1500`");
        assert_eq!(default_of(&key, Some(&Value::Null), ""), "none");
        assert_eq!(default_of(&key.otherwise("no limit"), Some(&Value::Null), ""), "no limit");
        let long: Value = (0..20).collect();
        assert_eq!(
            default_of(&Key::new("list", Kind::List(&Kind::Text)), Some(&long), ""),
            "`0, 1, 2, 3, 4, 5, 6, 7` and 12 more"
        );
    }
}
