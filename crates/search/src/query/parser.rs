//! The query language:
//!
//! ```text
//! any   = all { OR all }
//! all   = part { [AND] part }
//! part  = [ - | NOT ] ( word | "phrase" | field | ( any ) )
//! field = title: | site: | lang: | job: | status: | after: | before:   and a value, in quotes where it has blanks
//! ```
//!
//! Words without a letter or digit are left out, as the index leaves them out.

use super::lexer::{Lexer, Placed, Sign, Value};
use super::{DEEPEST, Day, LONGEST_QUERY, MOST_TERMS, Node, Query, QueryError, Scope, Statuses, Text};
use crate::words;

/// Reads a query, or says where it is wrong and what was expected there.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    if text.len() > LONGEST_QUERY {
        let message = format!("the query has {} bytes; at most {LONGEST_QUERY} are read", text.len());
        return Err(QueryError { column: 1, message });
    }
    let mut parser = Parser { lexer: Lexer::new(text), ahead: None, terms: 0, depth: 0 };
    let root = parser.any()?;
    match (parser.next()?, root) {
        (Some(placed), _) => {
            Err(parser.wrong(&placed, "this ) closes nothing; expected the end or more words"))
        }
        (None, Some(root)) => Ok(Query { root }),
        (None, None) => {
            let message =
                String::from("nothing to search for; expected a word, a \"phrase\" or a field like site:");
            Err(QueryError { column: 1, message })
        }
    }
}

struct Parser {
    lexer: Lexer,
    /// Read and given back.
    ahead: Option<Placed>,
    terms: usize,
    depth: usize,
}

impl Parser {
    fn next(&mut self) -> Result<Option<Placed>, QueryError> {
        match self.ahead.take() {
            Some(placed) => Ok(Some(placed)),
            None => self.lexer.next(),
        }
    }

    fn wrong(&self, placed: &Placed, message: &str) -> QueryError {
        QueryError { column: placed.column, message: message.to_owned() }
    }

    /// None where there is nothing but punctuation.
    fn any(&mut self) -> Result<Option<Node>, QueryError> {
        let mut any = Vec::new();
        loop {
            let (node, is_empty) = self.all()?;
            any.extend(node);
            match self.next()? {
                Some(Placed { sign: Sign::Or, column }) => {
                    if is_empty {
                        return Err(expected_operand("OR", "before", column));
                    }
                    self.expect_operand("OR", column)?;
                }
                other => {
                    self.ahead = other;
                    return Ok((!any.is_empty()).then(|| Node::any_of(any)));
                }
            }
        }
    }

    /// The node, and whether nothing stood there at all.
    fn all(&mut self) -> Result<(Option<Node>, bool), QueryError> {
        let mut all = Vec::new();
        let mut is_empty = true;
        while let Some(placed) = self.next()? {
            match &placed.sign {
                Sign::Or | Sign::Close => {
                    self.ahead = Some(placed);
                    break;
                }
                Sign::And => {
                    if is_empty {
                        return Err(expected_operand("AND", "before", placed.column));
                    }
                    self.expect_operand("AND", placed.column)?;
                }
                Sign::Minus => {
                    let next = self.next()?;
                    let Some(next) = next.filter(|next| {
                        !matches!(next.sign, Sign::Or | Sign::And | Sign::Close | Sign::Minus)
                    }) else {
                        return Err(expected_operand("-", "after", placed.column));
                    };
                    all.extend(self.part(next)?.map(|node| Node::Not(Box::new(node))));
                }
                _ => all.extend(self.part(placed)?),
            }
            is_empty = false;
        }
        Ok(((!all.is_empty()).then(|| Node::all(all)), is_empty))
    }

    /// Something has to stand behind an operator.
    fn expect_operand(&mut self, operator: &str, column: usize) -> Result<(), QueryError> {
        match self.next()? {
            Some(placed) if !matches!(placed.sign, Sign::Or | Sign::And | Sign::Close) => {
                self.ahead = Some(placed);
                Ok(())
            }
            _ => Err(expected_operand(operator, "after", column)),
        }
    }

    fn part(&mut self, placed: Placed) -> Result<Option<Node>, QueryError> {
        if placed.sign != Sign::Open {
            self.terms += 1;
            if self.terms > MOST_TERMS {
                return Err(self
                    .wrong(&placed, &format!("a query has at most {MOST_TERMS} words, phrases and fields")));
            }
        }
        match placed.sign {
            Sign::Word(text) => Ok(text_node(text, false, Scope::Anywhere)),
            Sign::Phrase(text) => Ok(text_node(text, true, Scope::Anywhere)),
            Sign::Field { name, value } => field(&name, value).map(Some),
            Sign::Open => self.group(placed.column),
            Sign::Minus | Sign::And | Sign::Or | Sign::Close => {
                Err(QueryError { column: placed.column, message: String::from("expected a word") })
            }
        }
    }

    fn group(&mut self, column: usize) -> Result<Option<Node>, QueryError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(QueryError {
                column,
                message: format!("more than {DEEPEST} parentheses within each other"),
            });
        }
        let inner = self.any()?;
        let end = self.lexer.column();
        match self.next()? {
            Some(Placed { sign: Sign::Close, .. }) => {
                self.depth -= 1;
                Ok(inner)
            }
            _ => {
                let message = format!("expected ) to close the ( of column {column}, found the end");
                Err(QueryError { column: end, message })
            }
        }
    }
}

fn expected_operand(operator: &str, side: &str, column: usize) -> QueryError {
    let message = format!("expected a word, a \"phrase\", a field or ( {side} {operator}");
    QueryError { column, message }
}

/// None where there is no letter or digit in it.
fn text_node(text: String, is_phrase: bool, scope: Scope) -> Option<Node> {
    if words::asked(&text).is_empty() {
        return None;
    }
    Some(Node::Text(Text { text, is_phrase, scope }))
}

fn field(name: &str, value: Value) -> Result<Node, QueryError> {
    let Value { text, is_quoted, column } = value;
    let expected = |what: &str| QueryError {
        column,
        message: format!("expected {what} after '{name}:', found '{text}'"),
    };
    let trimmed = text.trim();
    match name {
        "title" => {
            let node = text_node(text.clone(), is_quoted, Scope::Title);
            node.ok_or_else(|| expected("a word or a \"phrase\""))
        }
        "site" => site(trimmed).map(Node::Site).ok_or_else(|| expected("a host or domain like example.com")),
        "lang" => {
            let language = trimmed.to_ascii_lowercase().replace('_', "-");
            let is_tag = language.split('-').all(|part| {
                (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
            is_tag.then_some(Node::Language(language)).ok_or_else(|| expected("a language like en or pt-br"))
        }
        "job" if !trimmed.is_empty() => Ok(Node::Job(trimmed.to_owned())),
        "job" => Err(expected("the number or name of a job")),
        "status" => statuses(trimmed).map(Node::Status).ok_or_else(|| expected("a status like 404 or 4xx")),
        "after" | "before" => {
            let day =
                Day::parse(trimmed).ok_or_else(|| expected("a date like 2026-05-17, 2026-05 or 2026"))?;
            Ok(if name == "after" { Node::After(day) } else { Node::Before(day) })
        }
        _ => Err(expected("no such field")),
    }
}

/// A host, also where somebody wrote a whole URL.
fn site(text: &str) -> Option<String> {
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = text.split(['/', '?', '#']).next()?.trim_start_matches("*.").trim_matches('.');
    let host = host.to_lowercase();
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':' | '[' | ']');
    (!host.is_empty() && host.len() <= 260 && host.chars().all(fits)).then_some(host)
}

fn statuses(text: &str) -> Option<Statuses> {
    let bytes = text.as_bytes();
    match bytes {
        [class @ b'1'..=b'5', b'x' | b'X', b'x' | b'X'] => {
            let first = u16::from(class - b'0') * 100;
            Some(Statuses { first, last: first + 99 })
        }
        [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
            let status = text.parse().ok()?;
            Some(Statuses { first: status, last: status })
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
