//! Extraction rules of a job: CSS selectors that fill the `fields` of a page.
//!
//! ```yaml
//! fields:
//!   title: h1                                    # the text of the first match
//!   image: { selector: "img.main", attribute: src }
//!   price: { selector: .price, regex: "([0-9.]+)" }   # the first group, or the whole match
//!   tags: { selector: ".tags a", list: true }
//!   body: { selector: article, html: true }
//!   offers:                                      # an object for each match
//!     selector: .offer
//!     list: true
//!     fields: { seller: .seller, price: { selector: .price } }
//! ```
//!
//! A field that nothing matches is null, a list then is empty. Rules are compiled once, with errors that name the field and
//! the place in its selector. They run on a bounded tree, with a bound on the steps of matching.

mod selector;
mod tree;

use regex::Regex;
use selector::{Selector, Steps};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;
use tree::{Id, Tree};
use url::Url;

/// The fields of a page by name.
pub type RuleSet = BTreeMap<String, Rule>;

/// How a field is found. In a file, a selector alone stands for its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Among `fields`, relative to the element that they are fields of; `:scope` is that element.
    pub selector: String,
    /// The value of this attribute instead of the text. References are made absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// What is in the element, as HTML, instead of the text.
    #[serde(skip_serializing_if = "is_false")]
    pub html: bool,
    /// Of the value, the first group, or all that matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// All matches instead of the first.
    #[serde(skip_serializing_if = "is_false")]
    pub list: bool,
    /// An object for the match instead of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<RuleSet>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !value
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            selector: String,
            attribute: Option<String>,
            #[serde(default)]
            html: bool,
            regex: Option<String>,
            #[serde(default)]
            list: bool,
            fields: Option<RuleSet>,
        }

        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Rule;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a CSS selector, or a rule with the key 'selector'")
            }

            fn visit_str<E: serde::de::Error>(self, selector: &str) -> Result<Rule, E> {
                Ok(Rule { selector: selector.to_owned(), ..Rule::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Rule, A::Error> {
                let Written { selector, attribute, html, regex, list, fields } =
                    Written::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Rule { selector, attribute, html, regex, list, fields })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Why a set of rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RuleError {
    #[error("field '{field}': selector '{selector}', character {place}: {what}")]
    Selector { field: String, selector: String, place: usize, what: String },
    #[error("field '{field}': regex '{regex}': {what}")]
    Regex { field: String, regex: String, what: String },
    #[error("field '{field}': {what}")]
    Rule { field: String, what: &'static str },
}

const MOST_FIELDS: usize = 500;
/// Fields of fields.
const DEEPEST: usize = 8;
const MOST_IN_LIST: usize = 1_000;
const LONGEST_VALUE: usize = 64 * 1024;
/// Of all values of a page together.
const MOST_BYTES: usize = 2 << 20;
/// Of matching, for a page.
const MOST_STEPS: u64 = 10_000_000;
const REGEX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug)]
enum Taken {
    Text,
    Html,
    Attribute(String),
    Fields(Vec<(String, Compiled)>),
}

#[derive(Clone, Debug)]
struct Compiled {
    selector: Selector,
    taken: Taken,
    regex: Option<Regex>,
    is_list: bool,
}

/// Rules that are ready to run.
#[derive(Clone, Debug)]
pub struct Rules {
    fields: Vec<(String, Compiled)>,
}

/// The fields of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    pub fields: Map<String, Value>,
    /// Page or values were larger than the limits, and some may be missing.
    pub truncated: bool,
}

impl Rules {
    pub fn compile(rules: &RuleSet) -> Result<Rules, RuleError> {
        let mut count = 0;
        compile(rules, "", 0, &mut count).map(|fields| Rules { fields })
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Runs the rules on a page that came from `url`.
    pub fn run(&self, html: &str, url: Option<&str>) -> Fields {
        if self.is_empty() {
            return Fields::default();
        }
        let tree = Tree::of(html);
        let base = url.and_then(|url| Url::parse(url).ok());
        let run =
            Run { tree: &tree, base, steps: Steps::new(MOST_STEPS), bytes: std::cell::Cell::new(MOST_BYTES) };
        let fields = run.fields(&self.fields, tree.root());
        let truncated = tree.is_truncated || run.steps.are_used_up() || run.bytes.get() == 0;
        Fields { fields, truncated }
    }
}

fn compile(
    rules: &RuleSet,
    path: &str,
    depth: usize,
    count: &mut usize,
) -> Result<Vec<(String, Compiled)>, RuleError> {
    let compile_one = |(name, rule): (&String, &Rule)| {
        let field = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let fault = |what| RuleError::Rule { field: field.clone(), what };
        *count += 1;
        if *count > MOST_FIELDS {
            return Err(fault("there are more than 500 fields"));
        }
        if depth >= DEEPEST {
            return Err(fault("fields are nested more than eight deep"));
        }
        if name.is_empty() {
            return Err(fault("a field needs a name"));
        }
        let selector = Selector::parse(&rule.selector).map_err(|found| RuleError::Selector {
            field: field.clone(),
            selector: rule.selector.clone(),
            place: found.place,
            what: found.what,
        })?;
        let taken = match (&rule.attribute, rule.html, &rule.fields) {
            (None, false, None) => Taken::Text,
            (Some(attribute), false, None) => Taken::Attribute(attribute.to_ascii_lowercase()),
            (None, true, None) => Taken::Html,
            (None, false, Some(_)) if rule.regex.is_some() => {
                return Err(fault("'regex' is for texts, and this one has 'fields'"));
            }
            (None, false, Some(fields)) => Taken::Fields(compile(fields, &field, depth + 1, count)?),
            _ => return Err(fault("only one of 'attribute', 'html' and 'fields' can be given")),
        };
        let compiled = rule.regex.as_ref().map(|regex| {
            let builder = regex::RegexBuilder::new(regex).size_limit(REGEX_BYTES).build();
            builder.map_err(|error| RuleError::Regex {
                field: field.clone(),
                regex: regex.clone(),
                what: error.to_string(),
            })
        });
        let regex = compiled.transpose()?;
        Ok((name.clone(), Compiled { selector, taken, regex, is_list: rule.list }))
    };
    rules.iter().map(compile_one).collect()
}

struct Run<'t> {
    tree: &'t Tree,
    base: Option<Url>,
    steps: Steps,
    /// That values may still have.
    bytes: std::cell::Cell<usize>,
}

impl Run<'_> {
    fn fields(&self, rules: &[(String, Compiled)], scope: Id) -> Map<String, Value> {
        rules.iter().map(|(name, rule)| (name.clone(), self.field(rule, scope))).collect()
    }

    fn field(&self, rule: &Compiled, scope: Id) -> Value {
        let mut list = Vec::new();
        let mut at = if rule.selector.is_scope() { Some(scope) } else { self.tree.after(scope, scope) };
        while let Some(id) = at {
            if self.steps.are_used_up() || list.len() >= MOST_IN_LIST {
                break;
            }
            if rule.selector.matches(self.tree, id, scope, &self.steps)
                && let Some(value) = self.value(rule, id)
            {
                if !rule.is_list {
                    return value;
                }
                list.push(value);
            }
            at = self.tree.after(id, scope);
        }
        if rule.is_list { Value::Array(list) } else { Value::Null }
    }

    /// None where there is nothing to be taken: no such attribute, no match of the regex.
    fn value(&self, rule: &Compiled, id: Id) -> Option<Value> {
        let most = LONGEST_VALUE.min(self.bytes.get());
        let value = match &rule.taken {
            Taken::Fields(fields) => return Some(Value::Object(self.fields(fields, id))),
            Taken::Text => self.tree.text(id, most),
            Taken::Html => cut(self.tree.html(id, most), most),
            Taken::Attribute(name) => cut(self.attribute(id, name)?, most),
        };
        let value = match &rule.regex {
            None => value,
            Some(regex) => {
                let groups = regex.captures(&value)?;
                groups.get(1).or_else(|| groups.get(0))?.as_str().to_owned()
            }
        };
        self.bytes.set(self.bytes.get().saturating_sub(value.len()));
        Some(Value::String(value))
    }

    fn attribute(&self, id: Id, name: &str) -> Option<String> {
        let value = self.tree.attribute(id, name)?;
        let is_reference =
            matches!(name, "href" | "src" | "action" | "data" | "poster" | "cite" | "formaction");
        match &self.base {
            Some(base) if is_reference => {
                Some(base.join(value.trim()).map_or_else(|_| value.to_owned(), String::from))
            }
            _ => Some(value.to_owned()),
        }
    }
}

fn cut(mut value: String, most: usize) -> String {
    value.truncate(value.floor_char_boundary(most));
    value
}

#[cfg(test)]
mod tests;
