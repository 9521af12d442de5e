//! Properties of any file: it is read, or refused at a place within it, and output can be read back.

use super::yaml::{Node, NodeValue};
use super::*;
use crate::to_yaml;
use proptest::prelude::*;
use serde_json::json;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
}

/// Pieces of YAML, in any order, mixed with arbitrary text.
fn piece() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "crawl:",
        "politeness:",
        "seeds:",
        "scope: host",
        "max_pages: 3",
        "delay: 2s",
        "user_agent: \"x\"",
        "domain_overrides:",
        "windows:",
        "from: 08:00",
        "headers:",
        "\n",
        "\n  ",
        "\n    ",
        "\n- ",
        "  - ",
        ": ",
        ", ",
        "[",
        "]",
        "{",
        "}",
        "&a ",
        "*a",
        "!tag ",
        "---\n",
        "...\n",
        "# note\n",
        "|\n",
        ">-\n",
        "'",
        "\"",
        "\\u00e9",
        "${HOME}",
        "$${",
        "${",
        "null",
        "~",
        "true",
        "-1",
        "1e400",
        "\t",
        "\r",
        "? ",
        "%YAML 1.2\n",
        "https://a.test/",
        "<<: ",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "\u{0}",
    ])
    .prop_map(str::to_owned);
    prop_oneof![8 => known, 2 => "[ -~]{0,6}", 1 => any::<char>().prop_map(String::from)]
}

fn file() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..30).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        piece().prop_map(Value::from),
        any::<i32>().prop_map(Value::from)
    ];
    scalar.prop_recursive(4, 30, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("\\PC{0,8}", inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// All scalars as text, before they get types.
fn as_text(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(as_text).collect(),
        Value::Object(map) if map.is_empty() => json!({}),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, inner)| (key.clone(), as_text(inner))).collect())
        }
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    }
}

fn tree(node: &Node) -> Value {
    match &node.value {
        NodeValue::Scalar { text, .. } => json!(text),
        NodeValue::List(items) => items.iter().map(tree).collect(),
        NodeValue::Map(entries) => {
            Value::Object(entries.iter().map(|e| (e.key.clone(), tree(&e.value))).collect())
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_file_is_read_or_refused_at_a_place_in_it(text in file()) {
        let lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count() as u32;
        for kind in [None, Some(FileKind::Config), Some(FileKind::Job)] {
            let read = checked("f", &text, kind, &|_| Some(String::from("${x}: [")));
            let problems = match read {
                Ok(checked) if checked.kind == FileKind::Job => checked.job().err().unwrap_or_default(),
                Ok(checked) => checked.config().err().unwrap_or_default(),
                Err(problems) => {
                    prop_assert!(!problems.is_empty());
                    problems
                }
            };
            for problem in problems {
                prop_assert!(!problem.message.is_empty());
                prop_assert!(problem.at.is_none_or(|at| at.line >= 1 && at.line <= lines + 1), "{problem} of {lines}");
            }
        }
    }

    #[test]
    fn any_value_is_read_back_as_it_was_written(value in value()) {
        let value = json!({ "root": value });
        let text = to_yaml(&value);
        let node = yaml::parse("f", &text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(tree(&node.unwrap()), as_text(&value), "{}", text);
    }
}
