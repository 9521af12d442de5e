//! What may be configured about the normal form, as it is written down ([`NormalForm`]) and as it is asked for every
//! query parameter of every link ([`NormalRules`]).

use serde::{Deserialize, Serialize};

/// What may be configured about the normal form. The rest is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormalForm {
    /// Remove the slash at the end of a path other than `/`.
    pub strip_trailing_slash: bool,
    /// Query parameters that are dropped; a `*` at the end of a name stands for any ending.
    pub tracking_parameters: Vec<String>,
    /// Query and path parameters that carry a session and are dropped, in upper or lower case; `*` as above.
    pub session_parameters: Vec<String>,
}

impl Default for NormalForm {
    fn default() -> NormalForm {
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        NormalForm {
            strip_trailing_slash: false,
            tracking_parameters: list(&[
                "utm_*",
                "ref",
                "source",
                "fbclid",
                "gclid",
                "gclsrc",
                "dclid",
                "gbraid",
                "wbraid",
                "msclkid",
                "yclid",
                "twclid",
                "ttclid",
                "igshid",
                "mc_cid",
                "mc_eid",
                "_ga",
                "_gl",
                "_hsenc",
                "_hsmi",
                "mkt_tok",
                "vero_id",
                "oly_anon_id",
                "oly_enc_id",
            ]),
            session_parameters: list(&[
                "jsessionid",
                "phpsessid",
                "aspsessionid*",
                "sessionid",
                "session_id",
                "sid",
                "oscsid",
                "zenid",
                "cfid",
                "cftoken",
            ]),
        }
    }
}

impl NormalForm {
    pub fn compile(&self) -> NormalRules {
        let names =
            |given: &[String], case| given.iter().map(|name| ParameterName::new(name, case)).collect();
        let tracking: Vec<ParameterName> = names(&self.tracking_parameters, Case::Exact);
        let session: Vec<ParameterName> = names(&self.session_parameters, Case::Ignored);
        let mut first_letters = Letters::default();
        for name in tracking.iter().chain(&session) {
            match name.text.first() {
                Some(letter) => first_letters.insert(*letter),
                None if name.any_ending => first_letters = Letters::all(),
                None => {}
            }
        }
        NormalRules { strip_trailing_slash: self.strip_trailing_slash, tracking, session, first_letters }
    }
}

/// [`NormalForm`] made ready for the hot path.
#[derive(Clone, Debug)]
pub struct NormalRules {
    pub(super) strip_trailing_slash: bool,
    tracking: Vec<ParameterName>,
    session: Vec<ParameterName>,
    /// The first letters of all names, in both cases: almost every parameter is passed by this alone.
    first_letters: Letters,
}

impl Default for NormalRules {
    fn default() -> NormalRules {
        NormalForm::default().compile()
    }
}

impl NormalRules {
    /// Is a query parameter of this name left out of the normal form?
    pub(super) fn drops_query_parameter(&self, name: &[u8]) -> bool {
        self.may_match(name) && (matches_any(&self.tracking, name) || matches_any(&self.session, name))
    }

    /// Is `;name=value` left out of a path?
    pub(super) fn drops_path_parameter(&self, name: &[u8]) -> bool {
        self.may_match(name) && matches_any(&self.session, name)
    }

    fn may_match(&self, name: &[u8]) -> bool {
        name.first().is_some_and(|letter| self.first_letters.contains(*letter))
    }
}

fn matches_any(names: &[ParameterName], name: &[u8]) -> bool {
    names.iter().any(|known| known.matches(name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Exact,
    Ignored,
}

#[derive(Clone, Debug)]
struct ParameterName {
    text: Box<[u8]>,
    any_ending: bool,
    case: Case,
}

impl ParameterName {
    fn new(name: &str, case: Case) -> ParameterName {
        let (text, any_ending) = match name.strip_suffix('*') {
            Some(beginning) => (beginning, true),
            None => (name, false),
        };
        ParameterName { text: text.as_bytes().into(), any_ending, case }
    }

    fn matches(&self, name: &[u8]) -> bool {
        let Some((beginning, ending)) = name.split_at_checked(self.text.len()) else { return false };
        if !self.any_ending && !ending.is_empty() {
            return false;
        }
        match self.case {
            Case::Exact => beginning == &*self.text,
            Case::Ignored => beginning.eq_ignore_ascii_case(&self.text),
        }
    }
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Letters(u128, u128);

impl Letters {
    fn all() -> Letters {
        Letters(u128::MAX, u128::MAX)
    }

    fn insert(&mut self, letter: u8) {
        for letter in [letter.to_ascii_lowercase(), letter.to_ascii_uppercase()] {
            let half = if letter < 128 { &mut self.0 } else { &mut self.1 };
            *half |= 1 << (letter & 127);
        }
    }

    fn contains(self, letter: u8) -> bool {
        let half = if letter < 128 { self.0 } else { self.1 };
        half & (1 << (letter & 127)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_whole_or_by_their_beginning() {
        let rules = NormalRules::default();
        for dropped in ["utm_source", "utm_", "ref", "fbclid", "PHPSESSID", "sid", "SID", "ASPSESSIONIDQX"] {
            assert!(rules.drops_query_parameter(dropped.as_bytes()), "{dropped}");
        }
        for kept in ["utm", "refer", "reference", "q", "page", "side", "Ref", "", "resource"] {
            assert!(!rules.drops_query_parameter(kept.as_bytes()), "{kept}");
        }
    }

    #[test]
    fn paths_lose_sessions_but_not_tracking_names() {
        let rules = NormalRules::default();
        assert!(rules.drops_path_parameter(b"JSESSIONID"));
        assert!(!rules.drops_path_parameter(b"ref"));
    }

    #[test]
    fn lists_are_configurable() {
        let form = NormalForm {
            tracking_parameters: vec!["from".into(), "x-*".into()],
            session_parameters: vec![],
            ..NormalForm::default()
        };
        let rules = form.compile();
        assert!(rules.drops_query_parameter(b"from"));
        assert!(rules.drops_query_parameter(b"x-ray"));
        assert!(!rules.drops_query_parameter(b"utm_source"));
        let all = NormalForm { tracking_parameters: vec!["*".into()], ..form }.compile();
        assert!(all.drops_query_parameter(b"anything"));
    }
}
