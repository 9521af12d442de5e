//! CSS selectors: types, classes, ids, attributes, `:not()`, `:is()`, places among siblings, and the four combinators.
//! Compiled with errors that name the place; matched from right to left with a bound on the steps.

use super::tree::{Content, Id, NONE, Tree};
use std::cell::Cell;

/// Steps of matching for all rules of a page together.
pub(super) struct Steps(Cell<u64>);

impl Steps {
    pub(super) fn new(most: u64) -> Steps {
        Steps(Cell::new(most))
    }

    pub(super) fn are_used_up(&self) -> bool {
        self.0.get() == 0
    }

    fn take(&self) -> bool {
        let left = self.0.get().saturating_sub(1);
        self.0.set(left);
        left > 0
    }
}

/// Compounds of one selector.
const MOST_COMPOUNDS: usize = 16;
const MOST_ALTERNATIVES: usize = 32;
/// `:not(:not(...))`
const DEEPEST: usize = 4;

/// Where in a selector something is wrong, as a count of characters from 1, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: usize,
    pub(super) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combinator {
    Descendant,
    Child,
    Next,
    Later,
}

#[derive(Clone, Debug)]
enum Test {
    Name(String),
    Id(String),
    Class(String),
    Attribute {
        name: String,
        test: AttributeTest,
        ignores_case: bool,
    },
    Not(Vec<Compound>),
    Is(Vec<Compound>),
    /// `a * n + b`, counted from the end or not, among elements of the same name or not.
    Nth {
        a: i64,
        b: i64,
        from_end: bool,
        of_type: bool,
    },
    Empty,
    Root,
    Scope,
}

#[derive(Clone, Debug)]
enum AttributeTest {
    Exists,
    Is(String),
    HasWord(String),
    IsOrDash(String),
    Begins(String),
    Ends(String),
    Contains(String),
}

#[derive(Clone, Debug, Default)]
struct Compound {
    tests: Vec<Test>,
}

/// Compounds from right to left, each with what is between it and the one to its left.
#[derive(Clone, Debug)]
struct Complex {
    last: Compound,
    before: Vec<(Combinator, Compound)>,
}

#[derive(Clone, Debug)]
pub(super) struct Selector {
    alternatives: Vec<Complex>,
}

impl Selector {
    pub(super) fn parse(text: &str) -> Result<Selector, Fault> {
        let mut parser = Parser { characters: text.chars().collect(), at: 0 };
        let mut alternatives = vec![parser.complex()?];
        loop {
            match parser.peek() {
                None => return Ok(Selector { alternatives }),
                Some(',') if alternatives.len() < MOST_ALTERNATIVES => {
                    parser.at += 1;
                    parser.spaces();
                    alternatives.push(parser.complex()?);
                }
                Some(',') => return Err(parser.fault("too many alternatives")),
                Some(other) => return Err(parser.fault(format!("unexpected '{other}'"))),
            }
        }
    }

    /// Whether an element matches; `scope` is the element that `:scope` means.
    pub(super) fn matches(&self, tree: &Tree, id: Id, scope: Id, steps: &Steps) -> bool {
        let matcher = Matcher { tree, scope, steps };
        self.alternatives.iter().any(|complex| matcher.complex(complex, id))
    }

    /// Whether only the scope itself can match.
    pub(super) fn is_scope(&self) -> bool {
        self.alternatives.iter().all(|complex| {
            complex.before.is_empty() && complex.last.tests.iter().any(|test| matches!(test, Test::Scope))
        })
    }
}

struct Matcher<'t> {
    tree: &'t Tree,
    scope: Id,
    steps: &'t Steps,
}

impl Matcher<'_> {
    fn complex(&self, complex: &Complex, id: Id) -> bool {
        self.compound(&complex.last, id) && self.rest(&complex.before, id)
    }

    /// Goes as deep as the selector has compounds.
    fn rest(&self, before: &[(Combinator, Compound)], id: Id) -> bool {
        let Some(((combinator, compound), rest)) = before.split_first() else { return true };
        let step = |id: Id| match combinator {
            Combinator::Descendant | Combinator::Child => self.tree.get(id).map_or(NONE, |node| node.parent),
            Combinator::Next | Combinator::Later => self.sibling(id, true),
        };
        let mut at = step(id);
        while at != NONE && self.steps.take() {
            if self.compound(compound, at) && self.rest(rest, at) {
                return true;
            }
            if matches!(combinator, Combinator::Child | Combinator::Next) {
                return false;
            }
            at = step(at);
        }
        false
    }

    /// The element before or behind.
    fn sibling(&self, id: Id, is_before: bool) -> Id {
        let step =
            |id| self.tree.get(id).map_or(NONE, |node| if is_before { node.previous } else { node.next });
        let mut at = step(id);
        while at != NONE && self.tree.element(at).is_none() {
            at = step(at);
        }
        at
    }

    fn compound(&self, compound: &Compound, id: Id) -> bool {
        let Some((name, attributes)) = self.tree.element(id) else { return false };
        compound.tests.iter().all(|test| self.test(test, id, name, attributes))
    }

    fn test(&self, test: &Test, id: Id, name: &str, attributes: &[(String, String)]) -> bool {
        if !self.steps.take() {
            return false;
        }
        let value = |wanted: &str| {
            attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        match test {
            Test::Name(wanted) => name == wanted,
            Test::Id(wanted) => value("id") == Some(wanted),
            Test::Class(wanted) => value("class")
                .is_some_and(|classes| classes.split_ascii_whitespace().any(|class| class == wanted)),
            Test::Attribute { name, test, ignores_case } => {
                value(name).is_some_and(|value| test.holds(value, *ignores_case))
            }
            Test::Not(compounds) => !compounds.iter().any(|compound| self.compound(compound, id)),
            Test::Is(compounds) => compounds.iter().any(|compound| self.compound(compound, id)),
            Test::Nth { a, b, from_end, of_type } => {
                let place = self.place(id, *from_end, of_type.then_some(name));
                let beyond = place - b;
                if *a == 0 { beyond == 0 } else { beyond % a == 0 && beyond / a >= 0 }
            }
            Test::Empty => {
                let mut child = self.tree.get(id).map_or(NONE, |node| node.first_child);
                while let Some(node) = self.tree.get(child) {
                    match &node.content {
                        Content::Text(text) if text.trim().is_empty() => child = node.next,
                        _ => return false,
                    }
                }
                true
            }
            Test::Root => self.tree.get(id).is_some_and(|node| node.parent == self.tree.root()),
            Test::Scope => id == self.scope,
        }
    }

    /// Counted from 1; beyond the bound on steps, from wherever that ends.
    fn place(&self, id: Id, from_end: bool, of_type: Option<&str>) -> i64 {
        let mut place = 1;
        let mut at = self.sibling(id, !from_end);
        while at != NONE && self.steps.take() {
            let counts =
                of_type.is_none_or(|name| self.tree.element(at).is_some_and(|(other, _)| other == name));
            place += i64::from(counts);
            at = self.sibling(at, !from_end);
        }
        place
    }
}

impl AttributeTest {
    fn holds(&self, value: &str, ignores_case: bool) -> bool {
        if ignores_case {
            return self.lower().holds(&value.to_lowercase(), false);
        }
        match self {
            AttributeTest::Exists => true,
            AttributeTest::Is(wanted) => value == wanted,
            AttributeTest::HasWord(wanted) => value.split_ascii_whitespace().any(|word| word == wanted),
            AttributeTest::IsOrDash(wanted) => value
                .strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
            AttributeTest::Begins(wanted) => !wanted.is_empty() && value.starts_with(wanted.as_str()),
            AttributeTest::Ends(wanted) => !wanted.is_empty() && value.ends_with(wanted.as_str()),
            AttributeTest::Contains(wanted) => !wanted.is_empty() && value.contains(wanted.as_str()),
        }
    }

    fn lower(&self) -> AttributeTest {
        match self {
            AttributeTest::Exists => AttributeTest::Exists,
            AttributeTest::Is(value) => AttributeTest::Is(value.to_lowercase()),
            AttributeTest::HasWord(value) => AttributeTest::HasWord(value.to_lowercase()),
            AttributeTest::IsOrDash(value) => AttributeTest::IsOrDash(value.to_lowercase()),
            AttributeTest::Begins(value) => AttributeTest::Begins(value.to_lowercase()),
            AttributeTest::Ends(value) => AttributeTest::Ends(value.to_lowercase()),
            AttributeTest::Contains(value) => AttributeTest::Contains(value.to_lowercase()),
        }
    }
}

struct Parser {
    characters: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), Fault> {
        if self.take(wanted) { Ok(()) } else { Err(self.fault(format!("expected '{wanted}'"))) }
    }

    fn spaces(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.at > start
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        let mut what = what.into();
        if self.at >= self.characters.len() {
            what.push_str(" at the end");
        }
        Fault { place: self.at + 1, what }
    }

    fn complex(&mut self) -> Result<Complex, Fault> {
        self.spaces();
        let mut last = self.compound(0)?;
        let mut before = Vec::new();
        loop {
            let spaced = self.spaces();
            let combinator = match self.peek() {
                Some('>') => Combinator::Child,
                Some('+') => Combinator::Next,
                Some('~') => Combinator::Later,
                None | Some(',') => return Ok(Complex { last, before }),
                Some(_) if spaced => Combinator::Descendant,
                Some(other) => return Err(self.fault(format!("unexpected '{other}'"))),
            };
            if combinator != Combinator::Descendant {
                self.at += 1;
                self.spaces();
            }
            if before.len() + 1 >= MOST_COMPOUNDS {
                return Err(self.fault("too many parts"));
            }
            let next = self.compound(0)?;
            before.insert(0, (combinator, std::mem::replace(&mut last, next)));
        }
    }

    fn compound(&mut self, depth: usize) -> Result<Compound, Fault> {
        let mut compound = Compound::default();
        let start = self.at;
        if !self.take('*') && self.peek().is_some_and(begins_name) {
            compound.tests.push(Test::Name(self.name()?.to_ascii_lowercase()));
        }
        loop {
            match self.peek() {
                Some('#') => {
                    self.at += 1;
                    compound.tests.push(Test::Id(self.name()?));
                }
                Some('.') => {
                    self.at += 1;
                    compound.tests.push(Test::Class(self.name()?));
                }
                Some('[') => {
                    self.at += 1;
                    compound.tests.push(self.attribute()?);
                }
                Some(':') => {
                    self.at += 1;
                    compound.tests.push(self.pseudo_class(depth)?);
                }
                _ if self.at > start => return Ok(compound),
                Some(other) => {
                    return Err(self.fault(format!("expected a name, '.', '#', '[' or ':', found '{other}'")));
                }
                None => return Err(self.fault("expected a name, '.', '#', '[' or ':'")),
            }
        }
    }

    /// A name; one that begins with a digit has that escaped.
    fn name(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Some(digit) if digit.is_ascii_digit() => Err(self.fault("expected a name")),
            _ => self.name_or_number(),
        }
    }

    fn name_or_number(&mut self) -> Result<String, Fault> {
        let mut name = String::new();
        while let Some(character) = self.peek() {
            if character == '\\' {
                self.at += 1;
                match self.peek() {
                    Some(escaped) => name.push(escaped),
                    None => return Err(self.fault("a name ends in '\\'")),
                }
            } else if character.is_alphanumeric() || matches!(character, '-' | '_') {
                name.push(character);
            } else {
                break;
            }
            self.at += 1;
        }
        if name.is_empty() { Err(self.fault("expected a name")) } else { Ok(name) }
    }

    fn attribute(&mut self) -> Result<Test, Fault> {
        self.spaces();
        let name = self.name()?.to_ascii_lowercase();
        self.spaces();
        if self.take(']') {
            return Ok(Test::Attribute { name, test: AttributeTest::Exists, ignores_case: false });
        }
        let operator = self.peek();
        if operator != Some('=') {
            if !matches!(operator, Some('~' | '|' | '^' | '$' | '*')) {
                return Err(self.fault("expected '=', '~=', '|=', '^=', '$=', '*=' or ']'"));
            }
            self.at += 1;
        }
        self.expect('=')?;
        self.spaces();
        let value = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            _ => self.name_or_number()?,
        };
        let ignores_case = self.spaces() && (self.take('i') || self.take('I'));
        self.spaces();
        self.expect(']')?;
        let test = match operator {
            Some('~') => AttributeTest::HasWord(value),
            Some('|') => AttributeTest::IsOrDash(value),
            Some('^') => AttributeTest::Begins(value),
            Some('$') => AttributeTest::Ends(value),
            Some('*') => AttributeTest::Contains(value),
            _ => AttributeTest::Is(value),
        };
        Ok(Test::Attribute { name, test, ignores_case })
    }

    fn quoted(&mut self, quote: char) -> Result<String, Fault> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        while let Some(character) = self.peek() {
            self.at += 1;
            match character {
                _ if character == quote => return Ok(value),
                '\\' => {
                    if let Some(escaped) = self.peek() {
                        value.push(escaped);
                        self.at += 1;
                    }
                }
                other => value.push(other),
            }
        }
        Err(Fault { place: start + 1, what: format!("the {quote} has no end") })
    }

    fn pseudo_class(&mut self, depth: usize) -> Result<Test, Fault> {
        let start = self.at;
        if self.peek() == Some(':') {
            return Err(self.fault("pseudo-elements match no element"));
        }
        let name = self.name()?.to_ascii_lowercase();
        let nth = |a, b, from_end, of_type| Ok(Test::Nth { a, b, from_end, of_type });
        match name.as_str() {
            "first-child" => nth(0, 1, false, false),
            "last-child" => nth(0, 1, true, false),
            "first-of-type" => nth(0, 1, false, true),
            "last-of-type" => nth(0, 1, true, true),
            "nth-child" | "nth-last-child" | "nth-of-type" | "nth-last-of-type" => {
                let (a, b) = self.formula()?;
                nth(a, b, name.contains("last"), name.ends_with("type"))
            }
            "empty" => Ok(Test::Empty),
            "root" => Ok(Test::Root),
            "scope" => Ok(Test::Scope),
            "not" | "is" | "where" | "matches" => {
                if depth >= DEEPEST {
                    return Err(self.fault("nested too deep"));
                }
                self.expect('(')?;
                let mut compounds = Vec::new();
                loop {
                    self.spaces();
                    compounds.push(self.compound(depth + 1)?);
                    self.spaces();
                    if !self.take(',') {
                        break;
                    }
                    if compounds.len() >= MOST_ALTERNATIVES {
                        return Err(self.fault("too many alternatives"));
                    }
                }
                self.expect(')')?;
                Ok(if name == "not" { Test::Not(compounds) } else { Test::Is(compounds) })
            }
            _ => Err(Fault { place: start + 1, what: format!("':{name}' is not supported") }),
        }
    }

    /// `(2n+1)`, `(odd)`, `(3)`, `(-n+2)`.
    fn formula(&mut self) -> Result<(i64, i64), Fault> {
        self.expect('(')?;
        let start = self.at;
        let mut text = String::new();
        while let Some(character) = self.peek().filter(|c| *c != ')') {
            if !character.is_whitespace() {
                text.push(character.to_ascii_lowercase());
            }
            self.at += 1;
        }
        self.expect(')')?;
        let fault =
            || Fault { place: start + 1, what: format!("'{text}' is no place: write 3, odd, even or 2n+1") };
        let number = |text: &str| text.parse::<i32>().map(i64::from).map_err(|_| fault());
        match text.as_str() {
            "odd" => return Ok((2, 1)),
            "even" => return Ok((2, 0)),
            _ => {}
        }
        let Some((a, b)) = text.split_once('n') else { return Ok((0, number(&text)?)) };
        let a = match a {
            "" | "+" => 1,
            "-" => -1,
            a => number(a)?,
        };
        Ok((a, if b.is_empty() { 0 } else { number(b)? }))
    }
}

fn begins_name(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '-' | '\\')
}
