//! Text within XML. Characters that XML 1.0 cannot hold, however written, become U+FFFD.

use crate::ranked::Value;
use std::fmt;

pub(super) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// Correct in attributes and between tags.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plain = 0;
        for (at, character) in self.0.char_indices() {
            let instead = match character {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                // Unescaped, a reader would turn them into spaces.
                '\t' => "&#9;",
                '\n' => "&#10;",
                '\r' => "&#13;",
                '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => "\u{fffd}",
                _ => continue,
            };
            f.write_str(self.0.get(plain..at).unwrap_or_default())?;
            f.write_str(instead)?;
            plain = at + character.len_utf8();
        }
        f.write_str(self.0.get(plain..).unwrap_or_default())
    }
}

pub(super) struct XmlValue<'a>(pub(super) Value<'a>);

impl fmt::Display for XmlValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Text(text) => Escaped(text).fmt(f),
            Value::Integer(number) => number.fmt(f),
            Value::Real(number) => write!(f, "{number:e}"),
            Value::Flag(flag) => flag.fmt(f),
        }
    }
}
