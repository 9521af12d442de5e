//! A query's text as signs with their columns. Quotes may be straight or typographic.

use super::QueryError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// A word as it stands there.
    Word(String),
    Phrase(String),
    /// `name:` with a value behind it.
    Field {
        name: String,
        value: Value,
    },
    Minus,
    And,
    Or,
    Open,
    Close,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) is_quoted: bool,
    pub(super) column: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) sign: Sign,
    pub(super) column: usize,
}

pub(super) const FIELDS: [&str; 7] = ["title", "site", "lang", "job", "status", "after", "before"];

pub(super) struct Lexer {
    letters: Vec<char>,
    at: usize,
}

impl Lexer {
    pub(super) fn new(text: &str) -> Lexer {
        Lexer { letters: text.chars().collect(), at: 0 }
    }

    /// From 1.
    pub(super) fn column(&self) -> usize {
        self.at + 1
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Result<Option<Placed>, QueryError> {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        let column = self.column();
        let Some(first) = self.peek(0) else { return Ok(None) };
        let sign = match first {
            '(' => self.step(Sign::Open),
            ')' => self.step(Sign::Close),
            _ if is_quote(first) => Sign::Phrase(self.quoted()?),
            // Two of them are an option that somebody looks for.
            '-' if self.peek(1).is_some_and(|next| !next.is_whitespace() && next != '-' && next != ')') => {
                self.step(Sign::Minus)
            }
            _ => self.word(column)?,
        };
        Ok(Some(Placed { sign, column }))
    }

    fn step(&mut self, sign: Sign) -> Sign {
        self.at += 1;
        sign
    }

    /// What stands between quotes.
    fn quoted(&mut self) -> Result<String, QueryError> {
        let column = self.column();
        self.at += 1;
        let mut text = String::new();
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            if is_quote(letter) {
                return Ok(text);
            }
            text.push(letter);
        }
        Err(QueryError { column, message: String::from("this quote is not closed; expected another \"") })
    }

    fn word(&mut self, column: usize) -> Result<Sign, QueryError> {
        let text = self.unquoted();
        if let Some((name, value)) = text.split_once(':')
            && looks_like_field(name, value)
        {
            let name = name.to_ascii_lowercase();
            let value_column = column + name.len() + 1;
            if !FIELDS.contains(&name.as_str()) {
                return Err(unknown_field(&name, column));
            }
            let next_is_quote = self.peek(0).is_some_and(is_quote);
            let value = match (value.is_empty(), next_is_quote) {
                (true, true) => Value { text: self.quoted()?, is_quoted: true, column: value_column },
                (true, false) => {
                    let message = format!("expected a value right after '{name}:'");
                    return Err(QueryError { column: value_column, message });
                }
                _ => Value { text: value.to_owned(), is_quoted: false, column: value_column },
            };
            return Ok(Sign::Field { name, value });
        }
        Ok(match text.as_str() {
            "OR" => Sign::Or,
            "AND" => Sign::And,
            "NOT" => Sign::Minus,
            _ => Sign::Word(text),
        })
    }

    /// To the next blank, quote or parenthesis.
    fn unquoted(&mut self) -> String {
        let mut text = String::new();
        while let Some(letter) = self.peek(0) {
            if letter.is_whitespace() || matches!(letter, '(' | ')') || is_quote(letter) {
                break;
            }
            text.push(letter);
            self.at += 1;
        }
        text
    }
}

fn is_quote(letter: char) -> bool {
    matches!(letter, '"' | '“' | '”' | '„' | '«' | '»')
}

/// `name:value`, and not the beginning of a URL (`http://`), a path (`std::vec`) or a time (`10:30`).
fn looks_like_field(name: &str, value: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()) && !value.starts_with([':', '/'])
}

fn unknown_field(name: &str, column: usize) -> QueryError {
    let distance = |field: &str| strsim::damerau_levenshtein(field, name);
    let near = FIELDS.iter().min_by_key(|field| distance(field)).filter(|field| distance(field) <= 2);
    let hint = match near {
        Some(field) => format!("did you mean '{field}:'?"),
        None => format!("fields are {}.", FIELDS.join(", ")),
    };
    let message =
        format!("there is no field '{name}:'; {hint} Put it in quotes to search for the text itself");
    QueryError { column, message }
}
