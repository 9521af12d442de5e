//! How a job gets and keeps cookies: what becomes of those that sites set, and a form to log in with.

use crate::Url;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What becomes of the cookies that sites set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CookieJar {
    /// None is taken.
    Off,
    /// They are sent along a chain of redirects and forgotten at its end.
    Redirects,
    /// They are kept in memory while the job runs.
    Session,
    /// They are kept with the job, and are there when it goes on.
    On,
}

impl CookieJar {
    pub const ALL: [CookieJar; 4] = [CookieJar::Off, CookieJar::Redirects, CookieJar::Session, CookieJar::On];
    pub const WORDS: [&'static str; 4] = ["off", "redirects", "session", "on"];

    pub fn as_str(self) -> &'static str {
        match self {
            CookieJar::Off => "off",
            CookieJar::Redirects => "redirects",
            CookieJar::Session => "session",
            CookieJar::On => "on",
        }
    }
}

impl fmt::Display for CookieJar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CookieJar {
    type Err = String;

    fn from_str(word: &str) -> Result<CookieJar, String> {
        CookieJar::ALL
            .into_iter()
            .find(|jar| jar.as_str() == word)
            .ok_or_else(|| format!("'{word}' is none of {}", CookieJar::WORDS.join(", ")))
    }
}

/// A form that is sent before the crawl begins. The values of its fields are as they were written: `${VAR}` is replaced
/// when the form is sent, so that no password is stored with the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Login {
    /// Where the form is posted to.
    pub url: String,
    /// The page that has the form: asked for first, so that its hidden fields are sent along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    pub fields: BTreeMap<String, String>,
    /// The answer of a login that worked has this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_text: Option<String>,
    /// A login that worked sets this cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_cookie: Option<String>,
}

/// A login form with the values of its variables, as it is sent.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginForm {
    pub url: Url,
    /// The page that has the form. It is requested first, for its cookies and hidden fields.
    pub page: Option<Url>,
    pub fields: Vec<(String, String)>,
    pub success_text: Option<String>,
    pub success_cookie: Option<String>,
}

impl fmt::Debug for LoginForm {
    /// Values do not go to a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginForm").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jars_are_read_from_their_words() {
        for (jar, word) in CookieJar::ALL.into_iter().zip(CookieJar::WORDS) {
            assert_eq!((jar.as_str(), word.parse()), (word, Ok(jar)));
            assert_eq!(serde_json::to_value(jar).unwrap(), word);
        }
        assert!("sometimes".parse::<CookieJar>().is_err());
    }
}
