//! Codes of languages, ISO 639-1.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// All of them, in the order of the alphabet.
const CODES: [&str; 184] = [
    "aa", "ab", "ae", "af", "ak", "am", "an", "ar", "as", "av", "ay", "az", "ba", "be", "bg", "bh", "bi",
    "bm", "bn", "bo", "br", "bs", "ca", "ce", "ch", "co", "cr", "cs", "cu", "cv", "cy", "da", "de", "dv",
    "dz", "ee", "el", "en", "eo", "es", "et", "eu", "fa", "ff", "fi", "fj", "fo", "fr", "fy", "ga", "gd",
    "gl", "gn", "gu", "gv", "ha", "he", "hi", "ho", "hr", "ht", "hu", "hy", "hz", "ia", "id", "ie", "ig",
    "ii", "ik", "io", "is", "it", "iu", "ja", "jv", "ka", "kg", "ki", "kj", "kk", "kl", "km", "kn", "ko",
    "kr", "ks", "ku", "kv", "kw", "ky", "la", "lb", "lg", "li", "ln", "lo", "lt", "lu", "lv", "mg", "mh",
    "mi", "mk", "ml", "mn", "mr", "ms", "mt", "my", "na", "nb", "nd", "ne", "ng", "nl", "nn", "no", "nr",
    "nv", "ny", "oc", "oj", "om", "or", "os", "pa", "pi", "pl", "ps", "pt", "qu", "rm", "rn", "ro", "ru",
    "rw", "sa", "sc", "sd", "se", "sg", "si", "sk", "sl", "sm", "sn", "so", "sq", "sr", "ss", "st", "su",
    "sv", "sw", "ta", "te", "tg", "th", "ti", "tk", "tl", "tn", "to", "tr", "ts", "tt", "tw", "ty", "ug",
    "uk", "ur", "uz", "ve", "vi", "vo", "wa", "wo", "xh", "yi", "yo", "za", "zh", "zu",
];

/// Codes of three letters that pages declare, and codes that were renamed.
const OTHERS: [(&str, &str); 22] = [
    ("ara", "ar"),
    ("cmn", "zh"),
    ("deu", "de"),
    ("eng", "en"),
    ("fil", "tl"),
    ("fra", "fr"),
    ("fre", "fr"),
    ("ger", "de"),
    ("in", "id"),
    ("ita", "it"),
    ("iw", "he"),
    ("ji", "yi"),
    ("jp", "ja"),
    ("jpn", "ja"),
    ("kor", "ko"),
    ("nld", "nl"),
    ("pol", "pl"),
    ("por", "pt"),
    ("rus", "ru"),
    ("spa", "es"),
    ("tur", "tr"),
    ("zho", "zh"),
];

/// A language, as ISO 639-1 names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LanguageCode(u8);

impl LanguageCode {
    /// Of two small letters.
    pub fn of(code: &str) -> Option<LanguageCode> {
        let at = CODES.binary_search(&code).ok()?;
        u8::try_from(at).ok().map(LanguageCode)
    }

    /// Of what `<html lang>` or `Content-Language` says: `en-US`, `pt_BR`, `DE`, `zh-Hans`, the first of `en, fr`.
    pub fn declared(value: &str) -> Option<LanguageCode> {
        let mut buffer = [0; 3];
        let mut length = 0;
        for byte in value.trim_start().bytes().take_while(u8::is_ascii_alphabetic) {
            *buffer.get_mut(length)? = byte.to_ascii_lowercase();
            length += 1;
        }
        let primary = std::str::from_utf8(buffer.get(..length)?).ok()?;
        let renamed = OTHERS.iter().find(|(other, _)| *other == primary).map_or(primary, |(_, code)| *code);
        LanguageCode::of(renamed)
    }

    pub fn as_str(self) -> &'static str {
        CODES.get(usize::from(self.0)).copied().unwrap_or("en")
    }
}

impl fmt::Display for LanguageCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for LanguageCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for LanguageCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for LanguageCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LanguageCode, D::Error> {
        let code = String::deserialize(deserializer)?;
        LanguageCode::of(&code)
            .ok_or_else(|| serde::de::Error::custom(format!("'{code}' is no ISO 639-1 code")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_consistent() {
        assert!(CODES.is_sorted() && OTHERS.is_sorted());
        assert!(CODES.iter().all(|code| LanguageCode::of(code).unwrap().as_str() == *code));
        assert!(OTHERS.iter().all(|(_, code)| LanguageCode::of(code).is_some()));
    }

    #[test]
    fn declarations_are_read_in_every_spelling() {
        let read = |value| LanguageCode::declared(value).map(LanguageCode::as_str);
        assert_eq!(read("en-US"), Some("en"));
        assert_eq!(read(" PT_br"), Some("pt"));
        assert_eq!(read("zh-Hans-CN"), Some("zh"));
        assert_eq!(read("deu"), Some("de"));
        assert_eq!(read("en, fr"), Some("en"));
        for nonsense in ["", "x", "english", "xx", "zxx", "{{lang}}", "-"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
