//! `${VAR}` in values is replaced from the environment. It happens in the parsed tree, not in the text, so that a
//! variable's content can never change the structure of the file and errors keep their positions. `$${` stands for a
//! plain `${`.

use super::error::ConfigError;
use super::yaml::{Node, NodeValue};

/// Replaces in place; each variable that is missing or misspelt is one error.
pub(crate) fn substitute(
    file: &str,
    node: &mut Node,
    variable: &dyn Fn(&str) -> Option<String>,
    errors: &mut Vec<ConfigError>,
) {
    let at = node.at;
    match &mut node.value {
        NodeValue::Scalar { text, .. } => match expand(text, variable) {
            Ok(Some(expanded)) => *text = expanded,
            Ok(None) => {}
            Err(message) => errors.push(ConfigError::new(file, Some(at), message)),
        },
        NodeValue::List(items) => {
            for item in items {
                substitute(file, item, variable, errors);
            }
        }
        NodeValue::Map(entries) => {
            for entry in entries {
                substitute(file, &mut entry.value, variable, errors);
            }
        }
    }
}

/// `None` where there is nothing to replace.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    if !text.contains("${") {
        return Ok(None);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        let after = from.get(2..).unwrap_or("");
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            return Err(String::from("'${' without '}'; write '$${' for the characters themselves"));
        };
        let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !named {
            return Err(format!("'${{{name}}}' does not name an environment variable"));
        }
        match variable(name) {
            Some(value) => out.push_str(&value),
            None => return Err(format!("environment variable '{name}' is not set")),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml::parse;

    fn variable(name: &str) -> Option<String> {
        (name == "DB").then(|| String::from("postgres://u@h/db: {x}"))
    }

    #[test]
    fn variables_are_replaced_and_cannot_change_the_structure() {
        assert_eq!(expand("${DB}/x", &variable), Ok(Some(String::from("postgres://u@h/db: {x}/x"))));
        assert_eq!(expand("no variable $5 {a}", &variable), Ok(None));
        assert_eq!(expand("a $${DB} b", &variable), Ok(Some(String::from("a ${DB} b"))));
    }

    #[test]
    fn missing_variables_are_named_with_their_lines() {
        let mut node = parse("a.yaml", "x: 1\nlist:\n  - ${NOPE}\n  - \"${ALSO_NOT}\"\n").unwrap().unwrap();
        let mut errors = Vec::new();
        substitute("a.yaml", &mut node, &variable, &mut errors);
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "a.yaml:3:5: environment variable 'NOPE' is not set",
                "a.yaml:4:5: environment variable 'ALSO_NOT' is not set"
            ]
        );
    }

    #[test]
    fn a_broken_reference_is_an_error() {
        assert!(expand("${DB", &variable).is_err());
        assert!(expand("${a b}", &variable).is_err());
        assert!(expand("${}", &variable).is_err());
    }
}
