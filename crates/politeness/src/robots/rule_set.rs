//! The Allow and Disallow rules of one group, laid out for many checks: one text, plain prefixes sorted for a binary
//! search, patterns with `*` or `$` by falling length, so that the first match is the longest.

use super::normal_form;
use super::pattern::{Octets, collapse_stars, matches};

/// Patterns are tried one by one, so their number bounds the work of a check. Prefixes need no such bound: the file
/// size is enough.
const MAX_PATTERNS: usize = 10_000;

/// A slice of the set's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u32,
    length: u16,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The comparison form, without the final `$`.
    pattern: Span,
    /// The value as written in the file.
    value: Span,
    line: u32,
    /// How specific the rule is: the length of its comparison form with all its stars and the `$`.
    octets: u16,
    allow: bool,
    to_end: bool,
}

impl Rule {
    /// The longer rule wins; of two with the same length, the one that allows.
    fn rank(&self) -> (u16, bool) {
        (self.octets, self.allow)
    }
}

#[derive(Clone, Debug)]
struct Prefix {
    rule: Rule,
    /// The longest other prefix that is a beginning of this one, by position.
    shorter: Option<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct RuleSet {
    text: Box<str>,
    prefixes: Box<[Prefix]>,
    patterns: Box<[Rule]>,
    dropped: u32,
}

pub(super) struct Matched<'r> {
    pub(super) allow: bool,
    pub(super) value: &'r str,
    pub(super) line: u32,
}

impl RuleSet {
    /// The rule that decides for `path`, which is in comparison form.
    pub(super) fn decide(&self, path: &[u8], looked_at: &mut Octets) -> Option<Matched<'_>> {
        let mut best = self.longest_prefix(path, looked_at);
        for rule in &self.patterns {
            if best.is_some_and(|best| rule.rank() <= best.rank()) {
                break;
            }
            if matches(slice(&self.text, rule.pattern).as_bytes(), rule.to_end, path, looked_at) {
                best = Some(rule);
            }
        }
        best.map(|rule| Matched { allow: rule.allow, value: slice(&self.text, rule.value), line: rule.line })
    }

    /// Whatever sorts between a prefix of `path` and `path` itself begins with that prefix: so the longest one is the
    /// last that does not sort behind `path`, or one of the ever shorter ones it begins with.
    fn longest_prefix(&self, path: &[u8], looked_at: &mut Octets) -> Option<&Rule> {
        let end = self.prefixes.partition_point(|prefix| {
            looked_at.0 += usize::from(prefix.rule.pattern.length);
            slice(&self.text, prefix.rule.pattern).as_bytes() <= path
        });
        let mut at = end.checked_sub(1);
        loop {
            let prefix = self.prefixes.get(at?)?;
            looked_at.0 += usize::from(prefix.rule.pattern.length);
            if path.starts_with(slice(&self.text, prefix.rule.pattern).as_bytes()) {
                return Some(&prefix.rule);
            }
            at = prefix.shorter.and_then(|position| usize::try_from(position).ok());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.prefixes.len() + self.patterns.len()
    }

    /// Rules beyond the limit on patterns, which are ignored.
    pub(super) fn dropped(&self) -> u32 {
        self.dropped
    }
}

fn slice(text: &str, span: Span) -> &str {
    let start = usize::try_from(span.start).unwrap_or(usize::MAX);
    text.get(start..start.saturating_add(usize::from(span.length))).unwrap_or("")
}

/// Collects the rules of a group, or of several for the same agent.
#[derive(Debug, Default)]
pub(super) struct RuleSetBuilder {
    text: String,
    prefixes: Vec<Rule>,
    patterns: Vec<Rule>,
    dropped: u32,
}

impl RuleSetBuilder {
    pub(super) fn add(&mut self, allow: bool, raw: &[u8], line: u32) {
        // A value that begins with anything else matches no path; an empty one has no effect.
        if !matches!(raw.first(), Some(b'/' | b'*')) {
            return;
        }
        let (body, to_end) = raw.strip_suffix(b"$").map_or((raw, false), |body| (body, true));
        let body = normal_form::pattern(body);
        let Some(value) = self.append(&String::from_utf8_lossy(raw)) else { return self.drop_one() };
        self.add_form(allow, &body, to_end, value, line);
        // Allowing the index page of a directory also allows the directory.
        if allow
            && let Some(slash) = memchr::memrchr(b'/', &body)
            && body.get(slash..).is_some_and(|name| name.starts_with(b"/index.htm"))
        {
            self.add_form(allow, body.get(..=slash).unwrap_or(&body), true, value, line);
        }
    }

    fn add_form(&mut self, allow: bool, body: &[u8], to_end: bool, value: Span, line: u32) {
        let plain = !to_end && !body.contains(&b'*');
        if !plain && self.patterns.len() >= MAX_PATTERNS {
            return self.drop_one();
        }
        let octets = u16::try_from(body.len() + usize::from(to_end)).unwrap_or(u16::MAX);
        let collapsed = collapse_stars(body);
        let form = String::from_utf8_lossy(&collapsed);
        let pattern = if slice(&self.text, value) == form { Some(value) } else { self.append(&form) };
        let Some(pattern) = pattern else { return self.drop_one() };
        let rule = Rule { pattern, value, line, octets, allow, to_end };
        if plain {
            self.prefixes.push(rule);
        } else {
            self.patterns.push(rule);
        }
    }

    fn drop_one(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
    }

    fn append(&mut self, text: &str) -> Option<Span> {
        let start = u32::try_from(self.text.len()).ok()?;
        let length = u16::try_from(text.len()).ok()?;
        self.text.push_str(text);
        Some(Span { start, length })
    }

    pub(super) fn build(mut self) -> RuleSet {
        let text = std::mem::take(&mut self.text);
        let form = |rule: &Rule| slice(&text, rule.pattern);
        // Stable: of equal rules the first in the file is kept, and an allowing rule comes first.
        self.prefixes.sort_by(|a, b| form(a).cmp(form(b)).then(b.allow.cmp(&a.allow)));
        self.prefixes.dedup_by(|later, kept| form(later) == form(kept));
        self.patterns.sort_by_key(|rule| std::cmp::Reverse(rule.rank()));
        let prefixes = with_shorter_ones(self.prefixes, form);
        RuleSet {
            prefixes: prefixes.into_boxed_slice(),
            patterns: self.patterns.into_boxed_slice(),
            dropped: self.dropped,
            text: text.into_boxed_str(),
        }
    }
}

/// `rules` are sorted, so the prefixes that a rule begins with are on the stack of those still open.
fn with_shorter_ones<'t>(rules: Vec<Rule>, form: impl Fn(&Rule) -> &'t str) -> Vec<Prefix> {
    let mut open: Vec<(u32, Rule)> = Vec::new();
    let mut prefixes = Vec::with_capacity(rules.len());
    for (position, rule) in (0u32..).zip(rules) {
        while open.last().is_some_and(|(_, shorter)| !form(&rule).starts_with(form(shorter))) {
            open.pop();
        }
        prefixes.push(Prefix { rule, shorter: open.last().map(|(position, _)| *position) });
        open.push((position, rule));
    }
    prefixes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(rules: &[(bool, &str)]) -> RuleSet {
        let mut builder = RuleSetBuilder::default();
        for (line, (allow, value)) in (1..).zip(rules) {
            builder.add(*allow, value.as_bytes(), line);
        }
        builder.build()
    }

    fn line(set: &RuleSet, path: &str) -> u32 {
        set.decide(path.as_bytes(), &mut Octets::default()).map_or(0, |matched| matched.line)
    }

    #[test]
    fn the_longest_of_nested_prefixes_decides() {
        let set = set(&[(false, "/a"), (true, "/a/b"), (false, "/a/b/c"), (false, "/b"), (true, "/a/b/d")]);
        assert_eq!(line(&set, "/a/x"), 1);
        assert_eq!(line(&set, "/a/b/"), 2);
        assert_eq!(line(&set, "/a/b/cc"), 3);
        assert_eq!(line(&set, "/a/b/zz"), 2);
        assert_eq!(line(&set, "/c"), 0);
    }

    #[test]
    fn patterns_past_their_bound_are_dropped_and_counted() {
        let mut builder = RuleSetBuilder::default();
        for n in 0..=MAX_PATTERNS {
            builder.add(false, format!("/*{n}").as_bytes(), 1);
            builder.add(false, format!("/{n}").as_bytes(), 1);
        }
        let set = builder.build();
        assert_eq!(set.dropped(), 1);
        assert_eq!(set.len(), 2 * MAX_PATTERNS + 1);
    }

    proptest! {
        #[test]
        fn the_index_agrees_with_trying_every_rule(
            rules in prop::collection::vec((any::<bool>(), "/[ab*]{0,5}\\$?"), 0..12), path in "/[ab]{0,8}",
        ) {
            let rules: Vec<(bool, &str)> = rules.iter().map(|(allow, value)| (*allow, value.as_str())).collect();
            let best = rules
                .iter()
                .filter(|(_, value)| {
                    let (body, to_end) = value.strip_suffix('$').map_or((*value, false), |body| (body, true));
                    matches(body.as_bytes(), to_end, path.as_bytes(), &mut Octets::default())
                })
                .map(|(allow, value)| (value.len(), *allow))
                .max();
            let built = set(&rules);
            let decided = built.decide(path.as_bytes(), &mut Octets::default()).map(|m| (m.value.len(), m.allow));
            prop_assert_eq!(decided, best);
        }
    }
}
