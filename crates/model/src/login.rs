//! Cookies of a job: what happens to those that sites set, and a login form.

use crate::Url;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What happens to cookies that sites set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CookieJar {
    /// None is accepted.
    Off,
    /// Sent along one chain of redirects, then discarded.
    Redirects,
    /// Kept in memory while the job runs.
    Session,
    /// Stored with the job and loaded when it resumes.
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
            .ok_or_else(|| format!("'{word}' is not one of {}", CookieJar::WORDS.join(", ")))
    }
}

/// A form that is posted before the crawl starts. Its field values are stored as written: `${VAR}` is replaced when the
/// form is sent, so no password is stored with the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Login {
    /// The URL that the form is posted to.
    pub url: String,
    /// The page with the form. It is fetched first, so that its hidden fields can be sent along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    pub fields: BTreeMap<String, String>,
    /// The response of a successful login contains this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_text: Option<String>,
    /// A successful login sets this cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_cookie: Option<String>,
}

/// A login form with its variables replaced, ready to be sent.
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
    /// Keeps the values out of logs.
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
