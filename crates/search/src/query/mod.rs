//! A query as a tree, and as text: what [`parse`] reads, `Display` writes, and reading it again gives the same tree.
//! Adapters turn the tree into what their index understands. No I/O.

mod lexer;
mod parser;
mod terms;

pub use parser::parse;
pub use terms::Term;

use argiope_model::{JobId, Millis};
use std::fmt;

/// Longer queries are refused, in bytes.
pub const LONGEST_QUERY: usize = 4096;
/// Words, phrases and fields of a query.
pub const MOST_TERMS: usize = 64;
/// Parentheses within parentheses.
pub const DEEPEST: usize = 32;

/// What is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Text(Text),
    /// A host or domain: pages of it and of everything below it.
    Site(String),
    /// A language tag: `en` finds `en-GB`, too.
    Language(String),
    /// A number or a name, as the user wrote it. Names become numbers by [`Query::resolve_jobs`].
    Job(String),
    /// The jobs of a name that was looked up.
    JobId(JobId),
    Status(Statuses),
    /// Fetched on this day or later.
    After(Day),
    /// Fetched before this day began.
    Before(Day),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
}

/// A word or phrase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// As written, without quotes. Has at least one word.
    pub text: String,
    /// It was in quotes.
    pub is_phrase: bool,
    pub scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Anywhere,
    Title,
}

/// From the first status to the last one, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses {
    pub first: u16,
    pub last: u16,
}

/// A day of the calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(jiff::civil::Date);

impl Day {
    /// `2026`, `2026-05` and `2026-05-17`; a year or month means its first day.
    pub fn parse(text: &str) -> Option<Day> {
        let mut parts = text.split('-');
        let year = number(parts.next()?, 4)?;
        let month = parts.next().map_or(Some(1), |part| number(part, 2))?;
        let day = parts.next().map_or(Some(1), |part| number(part, 2))?;
        if parts.next().is_some() {
            return None;
        }
        let date = jiff::civil::Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        date.ok().map(Day)
    }

    /// When it begins.
    pub fn begins(self) -> Millis {
        let begins = self.0.to_zoned(jiff::tz::TimeZone::UTC);
        // Years of four digits begin after the epoch or, before 1970, are all the same to a crawler.
        let since = begins.map_or(0, |begins| begins.timestamp().as_millisecond());
        Millis(u64::try_from(since).unwrap_or(0))
    }
}

/// Digits only, and exactly so many.
fn number(text: &str, digits: usize) -> Option<i16> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// Where a query is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct QueryError {
    /// In characters, from 1.
    pub column: usize,
    /// What was expected, and what stands there.
    pub message: String,
}

impl Query {
    pub fn new(root: Node) -> Query {
        Query { root }
    }

    /// Everything that is indexed.
    pub fn everything() -> Query {
        Query { root: Node::And(Vec::new()) }
    }

    /// Narrows the query.
    #[must_use]
    pub fn and(self, node: Node) -> Query {
        Query { root: Node::all([self.root, node]) }
    }

    /// Puts numbers in the place of names. `find` gives the number of a name; where it knows none, that is the error.
    pub fn resolve_jobs<E>(&mut self, find: &mut dyn FnMut(&str) -> Result<JobId, E>) -> Result<(), E> {
        self.root.resolve_jobs(find)
    }

    /// Whether it says which statuses are meant.
    pub fn names_statuses(&self) -> bool {
        self.root.any(&|node| matches!(node, Node::Status(_)))
    }

    /// Words and phrases that a result has, for snippets and hints: what is excluded is none of them.
    pub fn terms(&self) -> Vec<Term> {
        terms::of(&self.root)
    }

    /// The same query with other text in the place of words that `replace` knows better. None if it knows none.
    pub fn with_words(&self, replace: &mut dyn FnMut(&Text) -> Option<String>) -> Option<Query> {
        let mut changed = false;
        let mut root = self.root.clone();
        root.each_text(&mut |text| {
            if let Some(better) = replace(text) {
                text.text = better;
                changed = true;
            }
        });
        changed.then_some(Query { root })
    }
}

impl Node {
    /// All of them; nested ones become one.
    pub fn all(nodes: impl IntoIterator<Item = Node>) -> Node {
        let mut all = Vec::new();
        for node in nodes {
            match node {
                Node::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        Node::single(all).unwrap_or_else(Node::And)
    }

    /// Any of them; nested ones become one.
    pub fn any_of(nodes: impl IntoIterator<Item = Node>) -> Node {
        let mut any = Vec::new();
        for node in nodes {
            match node {
                Node::Or(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        Node::single(any).unwrap_or_else(Node::Or)
    }

    fn single(mut nodes: Vec<Node>) -> Result<Node, Vec<Node>> {
        match nodes.pop() {
            Some(only) if nodes.is_empty() => Ok(only),
            Some(last) => {
                nodes.push(last);
                Err(nodes)
            }
            None => Err(nodes),
        }
    }

    fn resolve_jobs<E>(&mut self, find: &mut dyn FnMut(&str) -> Result<JobId, E>) -> Result<(), E> {
        match self {
            Node::Job(name) => *self = Node::JobId(find(name)?),
            Node::Not(inner) => inner.resolve_jobs(find)?,
            Node::And(nodes) | Node::Or(nodes) => {
                for node in nodes {
                    node.resolve_jobs(find)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn any(&self, is_it: &dyn Fn(&Node) -> bool) -> bool {
        is_it(self)
            || match self {
                Node::Not(inner) => inner.any(is_it),
                Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(|node| node.any(is_it)),
                _ => false,
            }
    }

    fn each_text(&mut self, each: &mut dyn FnMut(&mut Text)) {
        match self {
            Node::Text(text) => each(text),
            // What is not wanted needs no better spelling.
            Node::And(nodes) | Node::Or(nodes) => nodes.iter_mut().for_each(|node| node.each_text(each)),
            _ => {}
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Text(text) => text.fmt(f),
            Node::Site(site) => field(f, "site", site),
            Node::Language(language) => field(f, "lang", language),
            Node::Job(job) => field(f, "job", job),
            Node::JobId(job) => write!(f, "job:{}", job.0),
            Node::Status(statuses) => statuses.fmt(f),
            Node::After(day) => write!(f, "after:{}", day.0),
            Node::Before(day) => write!(f, "before:{}", day.0),
            Node::Not(inner) => {
                f.write_str("-")?;
                operand(f, inner, matches!(**inner, Node::And(_) | Node::Or(_) | Node::Not(_)))
            }
            Node::And(nodes) => joined(f, nodes, " ", |node| matches!(node, Node::Or(_) | Node::And(_))),
            Node::Or(nodes) => joined(f, nodes, " OR ", |node| matches!(node, Node::Or(_))),
        }
    }
}

fn joined(
    f: &mut fmt::Formatter<'_>,
    nodes: &[Node],
    separator: &str,
    needs_parentheses: fn(&Node) -> bool,
) -> fmt::Result {
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        operand(f, node, needs_parentheses(node))?;
    }
    Ok(())
}

fn operand(f: &mut fmt::Formatter<'_>, node: &Node, needs_parentheses: bool) -> fmt::Result {
    if needs_parentheses { write!(f, "({node})") } else { write!(f, "{node}") }
}

/// With quotes where the value would end too early without them. No value has quotes in it.
fn field(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    let ends_early = |letter: char| letter.is_whitespace() || matches!(letter, '(' | ')');
    if value.contains(ends_early) || value.starts_with([':', '/']) {
        write!(f, "{name}:\"{value}\"")
    } else {
        write!(f, "{name}:{value}")
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scope == Scope::Title {
            f.write_str("title:")?;
        }
        if self.is_phrase { write!(f, "\"{}\"", self.text) } else { f.write_str(&self.text) }
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "status:{}", self.first)
        } else {
            write!(f, "status:{}xx", self.first / 100)
        }
    }
}
