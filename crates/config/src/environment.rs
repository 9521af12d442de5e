//! `${VAR}` in values is replaced from the environment. It happens in the parsed tree, not in the text, so that a
//! variable's content can never change the structure of the file, and errors keep their positions. `$${` stands for a
//! plain `${`. An unset variable is not an error yet: the value is left out, and code that needs it reports it.

use crate::error::{ConfigError, Position};
use crate::yaml::{Node, NodeValue};

/// What could not be replaced.
#[derive(Debug, Default)]
pub(crate) struct Unreplaced {
    /// Invalid references.
    pub(crate) errors: Vec<ConfigError>,
    /// Scalars whose variable is not set, with its name.
    pub(crate) unset: Vec<(Position, String)>,
}

/// Why a text cannot be replaced.
#[derive(Debug, PartialEq, Eq)]
enum Problem {
    Misspelt(String),
    Unset(String),
}

/// Replaces in place.
pub(crate) fn substitute(
    file: &str,
    node: &mut Node,
    variable: &dyn Fn(&str) -> Option<String>,
    left: &mut Unreplaced,
) {
    let at = node.at;
    match &mut node.value {
        NodeValue::Scalar { text, .. } => match expand(text, variable) {
            Ok(Some(expanded)) => *text = expanded,
            Ok(None) => {}
            Err(Problem::Misspelt(message)) => left.errors.push(ConfigError::new(file, Some(at), message)),
            Err(Problem::Unset(name)) => left.unset.push((at, name)),
        },
        NodeValue::List(items) => {
            for item in items {
                substitute(file, item, variable, left);
            }
        }
        NodeValue::Map(entries) => {
            for entry in entries {
                substitute(file, &mut entry.value, variable, left);
            }
        }
    }
}

/// One text with its variables replaced.
pub fn expand_text(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    match expand(text, variable) {
        Ok(expanded) => Ok(expanded.unwrap_or_else(|| text.to_owned())),
        Err(Problem::Misspelt(message)) => Err(message),
        Err(Problem::Unset(name)) => Err(format!("environment variable '{name}' is not set")),
    }
}

/// `None` if there is nothing to replace.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<String>, Problem> {
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
            let message = "'${' without '}'; write '$${' for a literal '${'";
            return Err(Problem::Misspelt(String::from(message)));
        };
        let named = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !named {
            return Err(Problem::Misspelt(format!("'${{{name}}}' does not name an environment variable")));
        }
        match variable(name) {
            Some(value) => out.push_str(&value),
            None => return Err(Problem::Unset(name.to_owned())),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse;

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
        let mut left = Unreplaced::default();
        substitute("a.yaml", &mut node, &variable, &mut left);
        let at = |line| Position { line, column: 5 };
        assert_eq!(left.unset, [(at(3), String::from("NOPE")), (at(4), String::from("ALSO_NOT"))]);
        assert_eq!(left.errors, []);
    }

    #[test]
    fn a_broken_reference_is_an_error() {
        for wrong in ["${DB", "${a b}", "${}"] {
            assert!(matches!(expand(wrong, &variable), Err(Problem::Misspelt(_))), "{wrong}");
        }
    }
}
