//! robots.txt by RFC 9309, as lenient as Google's open-source parser. [`Robots::parse`] reads a file once per origin
//! and keeps only what concerns one crawler; [`Robots::check`] returns for each path the verdict and the rule that
//! decided. [`RobotsPolicy`] interprets the response to the request for robots.txt.

mod agent;
mod charset;
mod line;
mod normal_form;
mod pattern;
mod policy;
mod rule_set;

pub use agent::{is_product_token, product_token};
pub use charset::text_of;
pub use normal_form::path_and_query_of;
pub use policy::{RobotsAnswer, RobotsNext, RobotsPolicy, RobotsUse, WhenUnavailable};

use agent::Addressee;
use line::Key;
use normal_form::NonAscii;
use pattern::Octets;
use rule_set::{RuleSet, RuleSetBuilder};
use std::fmt;
use std::time::Duration;

/// A longer Crawl-delay is cut to this: a day between two requests already means "hardly ever".
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Sitemap lines kept per file.
const MAX_SITEMAPS: usize = 1000;

/// What one robots.txt, or its absence, means for one crawler.
#[derive(Clone, Debug)]
pub struct Robots {
    kind: Kind,
    crawl_delay: Option<Duration>,
    sitemaps: Box<[Box<str>]>,
}

#[derive(Clone, Debug)]
enum Kind {
    Rules(RuleSet),
    AllowAll(Box<str>),
    DisallowAll(Box<str>),
}

/// The verdict for one path, with the rule that decided. Without a rule, nothing in the file matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<'r> {
    pub allowed: bool,
    pub rule: Option<RuleRef<'r>>,
}

/// Where a verdict comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleRef<'r> {
    Allow {
        value: &'r str,
        line: u32,
    },
    Disallow {
        value: &'r str,
        line: u32,
    },
    /// There are no rules: the text says why, as in `robots.txt returned 404`.
    WholeFile {
        why: &'r str,
    },
}

impl RuleRef<'_> {
    /// Counted from 1; none if no line led to the verdict.
    pub fn line(&self) -> Option<u32> {
        match self {
            RuleRef::Allow { line, .. } | RuleRef::Disallow { line, .. } => Some(*line),
            RuleRef::WholeFile { .. } => None,
        }
    }

    /// `Disallow: /private`.
    pub fn text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for RuleRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleRef::Allow { value, .. } => write!(f, "Allow: {value}"),
            RuleRef::Disallow { value, .. } => write!(f, "Disallow: {value}"),
            RuleRef::WholeFile { why } => f.write_str(why),
        }
    }
}

impl Robots {
    /// Keeps the rules of all groups that name this crawler, or else of those for `*`. `user_agent` is a product
    /// token or a whole User-Agent header (see [`product_token`]).
    pub fn parse(file: &[u8], user_agent: &str) -> Robots {
        let token = product_token(user_agent);
        let text = text_of(file);
        let mut reader = GroupReader::default();
        for directive in line::directives(&text) {
            reader.take(directive, token);
        }
        reader.finish()
    }

    /// Everything is allowed, because of `why`.
    pub fn allow_all(why: &str) -> Robots {
        Robots { kind: Kind::AllowAll(why.into()), crawl_delay: None, sitemaps: Box::default() }
    }

    /// Everything but /robots.txt is forbidden, because of `why`.
    pub fn disallow_all(why: &str) -> Robots {
        Robots { kind: Kind::DisallowAll(why.into()), crawl_delay: None, sitemaps: Box::default() }
    }

    /// Whether `path_and_query` is allowed. It is compared with the rules in the same percent-encoding.
    pub fn check(&self, path_and_query: &str) -> Verdict<'_> {
        self.check_form(path_and_query, NonAscii::Encode, &mut Octets::default())
    }

    /// As [`Robots::check`], for a path that a person typed and that is taken by its octets: a character outside ASCII
    /// that is not percent-encoded equals no encoded one.
    pub fn check_as_given(&self, path_and_query: &str) -> Verdict<'_> {
        self.check_form(path_and_query, NonAscii::Keep, &mut Octets::default())
    }

    fn check_form(&self, path_and_query: &str, non_ascii: NonAscii, looked_at: &mut Octets) -> Verdict<'_> {
        if path_and_query == "/robots.txt" {
            return Verdict { allowed: true, rule: None };
        }
        match &self.kind {
            Kind::AllowAll(why) => Verdict { allowed: true, rule: Some(RuleRef::WholeFile { why }) },
            Kind::DisallowAll(why) => Verdict { allowed: false, rule: Some(RuleRef::WholeFile { why }) },
            Kind::Rules(rules) => {
                let path = normal_form::path(path_and_query.as_bytes(), non_ascii);
                match rules.decide(&path, looked_at) {
                    None => Verdict { allowed: true, rule: None },
                    Some(found) => {
                        let (value, line) = (found.value, found.line);
                        let rule = if found.allow {
                            RuleRef::Allow { value, line }
                        } else {
                            RuleRef::Disallow { value, line }
                        };
                        Verdict { allowed: found.allow, rule: Some(rule) }
                    }
                }
            }
        }
    }

    /// The longest of several lines; at most [`MAX_CRAWL_DELAY`].
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// The values of all Sitemap lines, in whatever group.
    pub fn sitemaps(&self) -> &[Box<str>] {
        &self.sitemaps
    }

    /// How many rules are kept.
    pub fn rules(&self) -> usize {
        match &self.kind {
            Kind::Rules(rules) => rules.len(),
            Kind::AllowAll(_) | Kind::DisallowAll(_) => 0,
        }
    }

    /// Rules beyond the limit, which are ignored. A person should know.
    pub fn dropped_rules(&self) -> u32 {
        match &self.kind {
            Kind::Rules(rules) => rules.dropped(),
            Kind::AllowAll(_) | Kind::DisallowAll(_) => 0,
        }
    }
}

#[derive(Debug, Default)]
struct Group {
    rules: RuleSetBuilder,
    crawl_delay: Option<Duration>,
}

/// The agents that the following lines apply to: those named since the last line that ended such a list.
#[derive(Clone, Copy, Debug, Default)]
struct Agents {
    us: bool,
    everyone: bool,
    /// The next User-agent line starts a new list.
    ended: bool,
}

impl Agents {
    fn name(&mut self, addressee: Addressee) {
        if self.ended {
            *self = Agents::default();
        }
        self.us |= addressee == Addressee::Us;
        self.everyone |= addressee == Addressee::Everyone;
    }
}

/// Tracks which agents the lines apply to. Only Allow and Disallow end the list of agents of a group; any other line
/// must not (RFC 9309 §2.2.4). For Crawl-delay, which the RFC does not define, one ends it too: groups with nothing
/// else are common, and each means its own agents.
#[derive(Debug, Default)]
struct GroupReader {
    ours: Group,
    everyone: Group,
    named: bool,
    agents: Agents,
    delay_agents: Agents,
    sitemaps: Vec<Box<str>>,
}

impl GroupReader {
    fn take(&mut self, directive: line::Directive<'_>, token: &str) {
        match directive.key {
            Key::UserAgent => {
                let addressee = agent::addressee(directive.value, token);
                self.named |= addressee == Addressee::Us;
                self.agents.name(addressee);
                self.delay_agents.name(addressee);
            }
            Key::Allow | Key::Disallow => {
                self.agents.ended = true;
                self.delay_agents.ended = true;
                if let Some(group) = self.group(self.agents) {
                    group.rules.add(directive.key == Key::Allow, directive.value, directive.line);
                }
            }
            Key::CrawlDelay => {
                self.delay_agents.ended = true;
                if let Some(delay) = parse_crawl_delay(directive.value)
                    && let Some(group) = self.group(self.delay_agents)
                {
                    group.crawl_delay = group.crawl_delay.max(Some(delay));
                }
            }
            Key::Sitemap => {
                if !directive.value.is_empty() && self.sitemaps.len() < MAX_SITEMAPS {
                    self.sitemaps.push(String::from_utf8_lossy(directive.value).into());
                }
            }
            Key::Unknown => {}
        }
    }

    /// Once a group names us, groups for everyone are ignored; so a group for both may count as ours alone.
    fn group(&mut self, agents: Agents) -> Option<&mut Group> {
        if agents.us {
            Some(&mut self.ours)
        } else if agents.everyone {
            Some(&mut self.everyone)
        } else {
            None
        }
    }

    fn finish(self) -> Robots {
        let group = if self.named { self.ours } else { self.everyone };
        Robots {
            kind: Kind::Rules(group.rules.build()),
            crawl_delay: group.crawl_delay,
            sitemaps: self.sitemaps.into_boxed_slice(),
        }
    }
}

/// The number at the start of the value, including fractions: `0.5`, `10`, `10 s`.
fn parse_crawl_delay(value: &[u8]) -> Option<Duration> {
    let end = value.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').unwrap_or(value.len());
    let seconds: f64 = std::str::from_utf8(value.get(..end)?).ok()?.parse().ok()?;
    // `parse` returns infinity for a number of four hundred digits; the comparison handles that.
    Some(Duration::from_secs_f64(seconds.clamp(0.0, MAX_CRAWL_DELAY.as_secs_f64())))
}

#[cfg(test)]
mod tests;
