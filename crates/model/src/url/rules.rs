//! The configurable rules of the normal form: as configured ([`NormalForm`]), and compiled for lookups for every query
//! parameter of every link ([`NormalRules`]).

use super::Url;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The configurable part of the normal form. The rest is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormalForm {
    /// Remove the slash at the end of a path other than `/`.
    pub strip_trailing_slash: bool,
    /// Query parameters that are dropped. A `*` at the end of a name matches any ending.
    pub tracking_parameters: Vec<String>,
    /// Query and path parameters that carry a session, in upper or lower case; `*` as above. They are dropped if their
    /// value looks like a session.
    pub session_parameters: Vec<String>,
    /// Parameters that are kept, whatever the lists above say; `*` as above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_parameters: Vec<String>,
    /// Additional parameters that are dropped; `*` as above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop_parameters: Vec<String>,
    /// Rules for a domain and its subdomains; they take precedence over the general ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub domains: BTreeMap<String, DomainParameters>,
}

/// The parameters of one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DomainParameters {
    /// As [`NormalForm::keep_parameters`].
    pub keep_parameters: Vec<String>,
    /// As [`NormalForm::drop_parameters`].
    pub drop_parameters: Vec<String>,
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
            keep_parameters: Vec::new(),
            drop_parameters: Vec::new(),
            domains: BTreeMap::new(),
        }
    }
}

impl NormalForm {
    pub fn compile(&self) -> NormalRules {
        let domains = self.domains.iter().map(|(domain, own)| {
            let name = domain.trim_matches('.').to_ascii_lowercase();
            (name.into_bytes().into_boxed_slice(), self.parameters(Some(own)))
        });
        NormalRules {
            strip_trailing_slash: self.strip_trailing_slash,
            usual: self.parameters(None),
            domains: domains.collect(),
        }
    }

    /// The first match decides: the domain's rules, then parameters to keep, to drop, and the default lists.
    fn parameters(&self, domain: Option<&DomainParameters>) -> Parameters {
        let none: &[String] = &[];
        let lists = [
            (domain.map_or(none, |own| &own.keep_parameters), Case::Ignored, Verdict::Keep),
            (domain.map_or(none, |own| &own.drop_parameters), Case::Exact, Verdict::Drop),
            (&self.keep_parameters, Case::Ignored, Verdict::Keep),
            (&self.drop_parameters, Case::Exact, Verdict::Drop),
            (&self.tracking_parameters, Case::Exact, Verdict::Drop),
            (&self.session_parameters, Case::Ignored, Verdict::DropSession),
        ];
        let mut parameters = Parameters { names: Vec::new(), first_letters: Letters::default() };
        for (name, case, verdict) in
            lists.into_iter().flat_map(|(names, case, verdict)| names.iter().map(move |n| (n, case, verdict)))
        {
            let name = ParameterName::new(name, case);
            match name.text.first() {
                Some(letter) => parameters.first_letters.insert(*letter),
                None if name.any_ending => parameters.first_letters = Letters::all(),
                None => {}
            }
            parameters.names.push((name, verdict));
        }
        parameters
    }
}

/// [`NormalForm`] compiled for the hot path.
#[derive(Clone, Debug)]
pub struct NormalRules {
    pub(super) strip_trailing_slash: bool,
    usual: Parameters,
    /// By domain, in lower case.
    domains: BTreeMap<Box<[u8]>, Parameters>,
}

impl Default for NormalRules {
    fn default() -> NormalRules {
        NormalForm::default().compile()
    }
}

impl NormalRules {
    /// The rules for the parameters of an origin, `https://example.com:8443`: those of its most specific domain.
    pub(super) fn parameters(&self, origin: &[u8]) -> &Parameters {
        if self.domains.is_empty() {
            return &self.usual;
        }
        let host = origin.splitn(3, |b| *b == b'/').nth(2).unwrap_or_default();
        // An entry may include a port, like the hosts in a report.
        if let Some(own) = self.domains.get(host) {
            return own;
        }
        let end = host.iter().rposition(|b| *b == b':').filter(|_| !host.ends_with(b"]"));
        let mut name = host.get(..end.unwrap_or(host.len())).unwrap_or(host);
        loop {
            if let Some(own) = self.domains.get(name) {
                return own;
            }
            match name.iter().position(|b| *b == b'.') {
                Some(dot) => name = name.get(dot + 1..).unwrap_or_default(),
                None => return &self.usual,
            }
        }
    }

    /// The names of the parameters that the URL has and its normal form lacks, each once.
    pub fn dropped_parameters<'u>(&self, url: &'u Url) -> Vec<&'u str> {
        let mut dropped: Vec<&str> = Vec::new();
        if url.is_normal() {
            return dropped;
        }
        let parameters = self.parameters(url.origin().as_bytes());
        let query = url.query().into_iter().flat_map(|query| query.split('&'));
        let from_query = query.filter(|given| {
            let mut plain = Vec::with_capacity(given.len());
            super::escape::push_escaped(&mut plain, given.as_bytes(), &super::escape::QUERY);
            parameters.drops_from_query(&plain)
        });
        let path = url.path().split('/').flat_map(|segment| segment.split(';').skip(1));
        let from_path = path.filter(|given| parameters.drops_from_path(given.as_bytes()));
        for parameter in from_query.chain(from_path) {
            let name = parameter.split('=').next().unwrap_or(parameter);
            if !dropped.contains(&name) {
                dropped.push(name);
            }
        }
        dropped
    }
}

/// The rule for the parameters of some URLs.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    names: Vec<(ParameterName, Verdict)>,
    /// The first letters of all names, in both cases: this alone rules out almost every parameter.
    first_letters: Letters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Keep,
    Drop,
    /// Dropped if the value looks like a session.
    DropSession,
}

impl Parameters {
    /// Whether the normal form leaves out this `name=value`.
    pub(super) fn drops_from_query(&self, parameter: &[u8]) -> bool {
        match self.verdict(split(parameter).0) {
            Verdict::Keep => false,
            Verdict::Drop => true,
            Verdict::DropSession => is_session(parameter),
        }
    }

    /// Whether `;name=value` is left out of a path. Only sessions are: tracking parameters occur in queries.
    pub(super) fn drops_from_path(&self, parameter: &[u8]) -> bool {
        self.verdict(split(parameter).0) == Verdict::DropSession && is_session(parameter)
    }

    fn verdict(&self, name: &[u8]) -> Verdict {
        if !name.first().is_some_and(|letter| self.first_letters.contains(*letter)) {
            return Verdict::Keep;
        }
        let known = self.names.iter().find(|(known, _)| known.matches(name));
        known.map_or(Verdict::Keep, |(_, verdict)| *verdict)
    }
}

/// Name and value of `name=value`.
pub(super) fn split(parameter: &[u8]) -> (&[u8], &[u8]) {
    match parameter.iter().position(|b| *b == b'=') {
        Some(at) => (parameter.get(..at).unwrap_or(parameter), parameter.get(at + 1..).unwrap_or_default()),
        None => (parameter, &[]),
    }
}

/// Too short for a session.
const SHORTEST_SESSION: usize = 16;

/// Whether a parameter with a session's name carries one. `sid=77` of an old CMS is content, `sid=0f9c41d2...` is not.
/// A session is a token of at least 16 characters. Without digits it must be a plain run of letters, because words with
/// hyphens are a title. The two names of ColdFusion carry short numbers, and nothing else uses these names.
fn is_session(parameter: &[u8]) -> bool {
    let (name, value) = split(parameter);
    if name.eq_ignore_ascii_case(b"cfid") || name.eq_ignore_ascii_case(b"cftoken") {
        return true;
    }
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"-_.,!~*:%".contains(b);
    value.len() >= SHORTEST_SESSION
        && value.iter().all(is_token)
        && (value.iter().any(u8::is_ascii_digit) || value.iter().all(u8::is_ascii_alphabetic))
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

    const ORIGIN: &[u8] = b"https://h.test";
    const TOKEN: &str = "0123456789abcdef";

    fn drops(rules: &NormalRules, parameter: &str) -> bool {
        rules.parameters(ORIGIN).drops_from_query(parameter.as_bytes())
    }

    #[test]
    fn names_match_whole_or_by_their_beginning() {
        let rules = NormalRules::default();
        for dropped in ["utm_source", "utm_", "ref", "fbclid=x", "source=1"] {
            assert!(drops(&rules, dropped), "{dropped}");
        }
        for name in ["PHPSESSID", "sid", "SID", "ASPSESSIONIDQX"] {
            assert!(drops(&rules, &format!("{name}={TOKEN}")), "{name}");
        }
        for kept in ["utm", "refer", "reference", "q", "page", "side", "Ref", "", "resource"] {
            assert!(!drops(&rules, &format!("{kept}={TOKEN}")), "{kept}");
        }
    }

    #[test]
    fn a_session_is_a_token_and_a_number_or_a_title_is_content() {
        let rules = NormalRules::default();
        for session in
            [TOKEN, "abcdefghijklmnop", "6F9619FF-8B86-D011-B42D-00CF4FC964FF", "12345678901234567"]
        {
            assert!(drops(&rules, &format!("sid={session}")), "{session}");
        }
        for content in
            ["", "77", "78", "abc", "the-first-article-of-all", "0123456789abcde", "what is it 0123456789"]
        {
            assert!(!drops(&rules, &format!("sid={content}")), "{content}");
        }
        assert!(drops(&rules, "CFID=4711") && drops(&rules, "CFTOKEN=9"));
    }

    #[test]
    fn paths_lose_sessions_but_not_tracking_names() {
        let rules = NormalRules::default();
        let rules = rules.parameters(ORIGIN);
        assert!(rules.drops_from_path(format!("JSESSIONID={TOKEN}").as_bytes()));
        assert!(!rules.drops_from_path(b"jsessionid=1"));
        assert!(!rules.drops_from_path(b"ref=main"));
    }

    #[test]
    fn lists_are_configurable() {
        let form = NormalForm {
            tracking_parameters: vec!["from".into(), "x-*".into()],
            session_parameters: vec![],
            ..NormalForm::default()
        };
        let rules = form.compile();
        assert!(drops(&rules, "from=1"));
        assert!(drops(&rules, "x-ray=1"));
        assert!(!drops(&rules, "utm_source=1"));
        let all = NormalForm { tracking_parameters: vec!["*".into()], ..form }.compile();
        assert!(drops(&all, "anything=1"));
    }

    #[test]
    fn what_is_kept_wins_over_what_is_dropped_and_a_domain_over_both() {
        let own = DomainParameters { keep_parameters: vec!["ref".into()], drop_parameters: vec!["v".into()] };
        let form = NormalForm {
            keep_parameters: vec!["source".into(), "v".into()],
            drop_parameters: vec!["print".into(), "source".into()],
            domains: BTreeMap::from([("Git.Example.com".to_owned(), own)]),
            ..NormalForm::default()
        };
        let rules = form.compile();
        let on = |origin: &str, parameter: &str| {
            rules.parameters(origin.as_bytes()).drops_from_query(parameter.as_bytes())
        };
        for origin in ["https://example.com", "https://xgit.example.com", "http://127.0.0.1:81"] {
            assert!(on(origin, "ref=main") && on(origin, "print=1"));
            assert!(!on(origin, "source=a") && !on(origin, "v=1"));
        }
        for origin in ["https://git.example.com", "http://git.example.com:8080", "https://a.git.example.com"]
        {
            assert!(!on(origin, "ref=main") && !on(origin, "source=a"));
            assert!(on(origin, "print=1") && on(origin, "v=1") && on(origin, "utm_source=1"));
        }
    }

    #[test]
    fn the_parameters_that_were_dropped_have_names() {
        let rules = NormalRules::default();
        let text = format!("https://h.test/a;jsessionid={TOKEN}?z=1&ref=x&%75tm_source=y&a=2&ref=z&sid=7");
        let url = Url::parse(&text, &rules).unwrap();
        assert_eq!(rules.dropped_parameters(&url), ["ref", "%75tm_source", "jsessionid"]);
        let url = Url::parse("https://h.test//a?z=1&a=2", &rules).unwrap();
        assert!(rules.dropped_parameters(&url).is_empty());
    }

    #[test]
    fn a_domain_may_be_named_with_its_port() {
        let keep =
            DomainParameters { keep_parameters: vec![String::from("ref")], drop_parameters: Vec::new() };
        let domains = BTreeMap::from([(String::from("a.test:8080"), keep)]);
        let rules = NormalForm { domains, ..NormalForm::default() }.compile();
        let normal = |text: &str| Url::parse(text, &rules).unwrap().normal().to_owned();
        assert_eq!(normal("http://a.test:8080/?ref=1"), "http://a.test:8080/?ref=1");
        assert_eq!(normal("http://a.test/?ref=1"), "http://a.test/");
        assert_eq!(normal("http://a.test:8081/?ref=1"), "http://a.test:8081/");
    }
}
