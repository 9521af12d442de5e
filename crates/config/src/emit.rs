//! Plain JSON values -> YAML as a person would write it, with secrets masked. `yaml` can read the output back.

use serde_json::Value;
use std::fmt::Write;

/// The replacement for a secret.
const MASK: &str = "***";
/// Where to break a list in brackets.
const LINE: usize = 80;
/// Keys whose values are secrets, wherever they occur.
const SECRET_KEYS: [&str; 4] = ["password", "secret", "token", "kafka_sasl_password"];
/// Sections whose values may all be secrets: what is sent to sites.
const SECRET_SECTIONS: [&str; 2] = ["headers", "cookies"];

/// Replaces passwords, cookies, header values and the passwords of URLs.
pub fn mask_secrets(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(text) if SECRET_KEYS.contains(&key.as_str()) => *text = String::from(MASK),
                    Value::Object(values) if SECRET_SECTIONS.contains(&key.as_str()) => {
                        values.values_mut().for_each(|value| *value = Value::from(MASK));
                    }
                    _ => mask_secrets(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_secrets),
        Value::String(text) => {
            if let Some(masked) = mask_url(text) {
                *text = masked;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `scheme://user:password@host` without the password; `None` if there is none.
pub fn mask_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(authority_end);
    let (user, host) = authority.rsplit_once('@')?;
    let (name, _) = user.split_once(':')?;
    Some(format!("{scheme}://{name}:{MASK}@{host}{tail}"))
}

/// Block style, two spaces a level.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(_) | Value::Array(_) => block(value, 0, &mut out),
        scalar => {
            out.push_str(&inline(scalar));
            out.push('\n');
        }
    }
    out
}

fn block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let key = text(key);
                if nests(inner) {
                    let _ = writeln!(out, "{indent}{key}:");
                    block(inner, depth + 1, out);
                } else if let Value::Array(items) = inner {
                    let _ = writeln!(out, "{indent}{key}: {}", flow(items, &indent));
                } else {
                    let _ = writeln!(out, "{indent}{key}: {}", inline(inner));
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                if nests(item) {
                    let mut inner = String::new();
                    block(item, depth + 1, &mut inner);
                    let _ = write!(out, "{indent}- {}", inner.trim_start());
                } else {
                    let _ = writeln!(out, "{indent}- {}", inline(item));
                }
            }
        }
        scalar => {
            let _ = writeln!(out, "{indent}{}", inline(scalar));
        }
    }
}

/// A list of plain values in brackets, broken where a line gets long.
fn flow(items: &[Value], indent: &str) -> String {
    let mut text = String::from("[");
    let mut line = 0;
    for (at, item) in items.iter().enumerate() {
        let item = inline(item);
        if at > 0 {
            text.push(',');
            if line + item.len() > LINE {
                let _ = write!(text, "\n{indent}  ");
                line = 0;
            } else {
                text.push(' ');
            }
        }
        line += item.len() + 2;
        text.push_str(&item);
    }
    text.push(']');
    text
}

/// Whether a value needs lines of its own.
fn nests(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        _ => false,
    }
}

pub(crate) fn inline(value: &Value) -> String {
    match value {
        Value::Null => String::from("null"),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(word) => text(word),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(_) => String::from("{}"),
    }
}

/// Unquoted if no reader could misread it, else quoted; a JSON string is a YAML string.
fn text(word: &str) -> String {
    let first = |c: char| c.is_ascii_alphanumeric() || "/._".contains(c);
    let rest = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    let plain = word.starts_with(first)
        && word.chars().all(rest)
        && word.parse::<f64>().is_err()
        && !reserved.contains(&word.to_ascii_lowercase().as_str());
    if plain { word.to_owned() } else { Value::from(word).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Node, NodeValue, parse};
    use serde_json::json;

    #[test]
    fn values_are_written_the_way_people_write_them() {
        let value = json!({
            "crawl": {"delay": "2s", "include": [], "scope": "host", "max_pages": null, "agent": "x (+y)"},
            "overrides": {"a.test": {"per_host": 2}},
            "windows": [{"from": "08:00", "pace": 2}, {"from": "20:00"}],
            "empty": {},
        });
        let expected = "\
crawl:
  agent: \"x (+y)\"
  delay: 2s
  include: []
  max_pages: null
  scope: host
empty: {}
overrides:
  a.test:
    per_host: 2
windows:
  - from: \"08:00\"
    pace: 2
  - from: \"20:00\"
";
        assert_eq!(to_yaml(&value), expected);
    }

    fn to_text(node: &Node) -> Value {
        match &node.value {
            NodeValue::Scalar { text, .. } => Value::from(text.as_str()),
            NodeValue::List(items) => items.iter().map(to_text).collect(),
            NodeValue::Map(entries) => {
                Value::Object(entries.iter().map(|e| (e.key.clone(), to_text(&e.value))).collect())
            }
        }
    }

    #[test]
    fn every_text_is_read_back() {
        let words = [
            "",
            "null",
            "~",
            "5",
            "1e3",
            "a: b",
            "# x",
            "- a",
            "\u{e9}\n\"'",
            "*.html",
            "yes",
            "${X}",
            " a ",
            "/x",
        ];
        let value = json!({ "words": words, "nested": {"- odd: key": "x"} });
        let node = parse("f", &to_yaml(&value)).unwrap().unwrap();
        assert_eq!(to_text(&node), value);
    }

    #[test]
    fn secrets_are_masked() {
        let mut value = json!({
            "metadata_db_url": "postgres://crawler:hunter2@127.0.0.1:5432/crawler?x=a@b",
            "cache_url": "redis://127.0.0.1:6379/0",
            "plain_user": "postgres://crawler@h/db",
            "basic_auth": {"username": "u", "password": "hunter2"},
            "headers": {"Authorization": "Bearer hunter2"},
        });
        mask_secrets(&mut value);
        assert!(!value.to_string().contains("hunter2"), "{value}");
        assert_eq!(value["metadata_db_url"], "postgres://crawler:***@127.0.0.1:5432/crawler?x=a@b");
        assert_eq!(value["cache_url"], "redis://127.0.0.1:6379/0");
        assert_eq!(value["plain_user"], "postgres://crawler@h/db");
    }
}
