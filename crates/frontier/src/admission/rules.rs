//! The rules of one job: scope, filters, limits and static traps. Compiled once, then used for every link; the same
//! checks, in the same order, decide ([`JobRules::judge`]) and explain ([`JobRules::explain`]).

use super::AdmissionError;
use super::bans::Bans;
use super::domain_policy::DomainPolicy;
use super::domains::{DomainTable, NameSet, suffixes};
use super::pattern::pattern_text;
use super::traps::{PathShape, calendar_year_outside, repeated_segment, session_id};
use argiope_model::{
    JobSpec, Millis, PublicSuffixes, Scope, Skip, SkipReason, TrapRule, TrapRules, TrapSkip, Url, plural,
};
use regex::{Regex, RegexSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The longest extension that can be configured: longer endings are part of the name.
const LONGEST_EXTENSION: usize = 15;

#[derive(Clone, Debug)]
pub struct JobRules {
    scope: ScopeRule,
    max_depth: Option<u32>,
    bans: Bans,
    include: RegexSet,
    exclude: RegexSet,
    /// Lower case, sorted.
    skip_extensions: Vec<Box<[u8]>>,
    max_url_length: u32,
    max_path_depth: u32,
    max_query_parameters: u32,
    traps: Traps,
    /// For domains with their own.
    domain_traps: DomainTable<Traps>,
    authority: DomainTable<u8>,
    respect_nofollow: bool,
    respect_noindex: bool,
    domain_policy: Arc<DomainPolicy>,
}

/// The trap rules, as they apply now.
#[derive(Clone, Debug)]
struct Traps {
    rules: TrapRules,
    calendar_years: RangeInclusive<u16>,
}

impl Traps {
    fn of(rules: &TrapRules, now: Millis) -> Traps {
        let latest_year = year_of(now).saturating_add(rules.years_ahead);
        Traps { calendar_years: rules.earliest_year..=latest_year, rules: rules.clone() }
    }
}

/// One step of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub name: &'static str,
    pub passed: bool,
    pub detail: String,
}

/// A rule that can decide on a URL and say what it examined.
struct Check {
    name: &'static str,
    judge: fn(&JobRules, &Url, u32) -> Result<(), Skip>,
    /// The explanation if the URL passed.
    passes: fn(&JobRules, &Url, u32) -> String,
}

/// Scope is first: it skips most links.
const CHECKS: [Check; 11] = [
    Check { name: "scope", judge: JobRules::check_scope, passes: JobRules::tell_scope },
    Check { name: "depth", judge: JobRules::check_depth, passes: JobRules::tell_depth },
    Check { name: "blacklist", judge: JobRules::check_blacklist, passes: JobRules::tell_blacklist },
    Check { name: "exclude_domains", judge: JobRules::check_domains, passes: JobRules::tell_domains },
    Check { name: "include", judge: JobRules::check_include, passes: JobRules::tell_include },
    Check { name: "exclude", judge: JobRules::check_exclude, passes: JobRules::tell_exclude },
    Check {
        name: "domain_filters",
        judge: JobRules::check_domain_filters,
        passes: JobRules::tell_domain_filters,
    },
    Check { name: "extension", judge: JobRules::check_extension, passes: JobRules::tell_extension },
    Check { name: "length", judge: JobRules::check_length, passes: JobRules::tell_length },
    Check { name: "parameters", judge: JobRules::check_parameters, passes: JobRules::tell_parameters },
    Check { name: "traps", judge: JobRules::check_traps, passes: JobRules::tell_traps },
];

impl JobRules {
    /// `now` determines the years that calendars may show.
    pub fn compile(
        spec: &JobSpec,
        seeds: &[Url],
        suffixes: &Arc<PublicSuffixes>,
        now: Millis,
    ) -> Result<JobRules, AdmissionError> {
        let most = u64::try_from(Url::MAX_LENGTH).unwrap_or(u64::MAX);
        if u64::from(spec.max_url_length) > most {
            let given = u64::from(spec.max_url_length);
            return Err(AdmissionError::Limit { limit: "max_url_length", given, most });
        }
        let authority = spec.authority.iter().map(|(entry, bonus)| (entry.as_str(), *bonus));
        let domains = spec.traps.domains.keys();
        let domain_traps = domains.map(|name| {
            let name = name.as_str();
            (name, Traps::of(&spec.traps.of_host(&bare_domain(name).to_ascii_lowercase()), now))
        });
        Ok(JobRules {
            scope: ScopeRule::new(spec.scope, seeds, suffixes),
            max_depth: spec.max_depth,
            bans: Bans::compile(spec)?,
            include: patterns("include", &spec.include)?,
            exclude: patterns("exclude", &spec.exclude)?,
            skip_extensions: extensions(&spec.skip_extensions)?,
            max_url_length: spec.max_url_length,
            max_path_depth: spec.max_path_depth,
            max_query_parameters: spec.query_parameter_limit(),
            traps: Traps::of(&spec.traps, now),
            domain_traps: DomainTable::compile("traps.domains", domain_traps)?,
            authority: DomainTable::compile("authority", authority)?,
            respect_nofollow: spec.respect_nofollow,
            respect_noindex: spec.respect_noindex,
            domain_policy: Arc::default(),
        })
    }

    /// Adds the settings of single domains.
    pub fn with_domain_policy(mut self, policy: Arc<DomainPolicy>) -> JobRules {
        self.domain_policy = policy;
        self
    }

    pub fn domain_policy(&self) -> &Arc<DomainPolicy> {
        &self.domain_policy
    }

    /// Whether `nofollow` on this page, and on links of it, is respected: by the job and for the page's host.
    pub fn respects_nofollow(&self, page: &Url) -> bool {
        self.respect_nofollow && self.domain_policy.respects_nofollow(page)
    }

    /// Whether `noindex` on this page is respected: by the job and for the page's host.
    pub fn respects_noindex(&self, page: &Url) -> bool {
        self.respect_noindex && self.domain_policy.respects_noindex(page)
    }

    /// Whether a URL found at this depth may be fetched. The first rule against it is the reason.
    pub fn judge(&self, url: &Url, depth: u32) -> Result<(), Skip> {
        CHECKS.iter().try_for_each(|check| (check.judge)(self, url, depth))
    }

    /// Whether this host may be requested at all. For seeds and their redirects, to which the other rules do not apply.
    pub fn judge_host(&self, url: &Url) -> Result<(), Skip> {
        self.bans.check(url)
    }

    /// Whether a resource of a crawled page may be requested. It may be on any host, have any name and be any number of
    /// links away, because the page needs it there. But hosts and URLs that are excluded from the job are excluded here
    /// too.
    pub fn judge_resource(&self, url: &Url) -> Result<(), Skip> {
        self.bans.check(url)?;
        self.check_exclude(url, 0)?;
        self.domain_policy.check_exclude(url)?;
        self.check_length(url, 0)
    }

    /// The verdict of every rule on a URL, also after the first refusal.
    pub fn explain(&self, url: &Url, depth: u32) -> Vec<Step> {
        let explain = |check: &Check| match (check.judge)(self, url, depth) {
            Ok(()) => Step { name: check.name, passed: true, detail: (check.passes)(self, url, depth) },
            Err(skip) => {
                Step { name: check.name, passed: false, detail: format!("{}: {}", skip.reason, skip.detail) }
            }
        };
        CHECKS.iter().map(explain).collect()
    }

    /// A seed redirected to this URL: its host is in a scope of hosts from now on. False if nothing changed.
    pub fn add_scope_host(&mut self, url: &Url) -> bool {
        self.scope.scope == Scope::Host && self.scope.names.insert(url.host().into())
    }

    /// By how much the job lowers the priority number of this URL's host.
    pub fn authority(&self, url: &Url) -> u8 {
        self.authority.find(url).map_or(0, |(_, bonus)| *bonus)
    }

    fn check_scope(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        if self.scope.contains(url) {
            return Ok(());
        }
        let detail = format!("{} is outside the scope '{}'", url.host(), self.scope.scope);
        Err(Skip::new(SkipReason::OutOfScope, detail))
    }

    fn tell_scope(&self, url: &Url, _depth: u32) -> String {
        format!("{} is within the scope '{}'", url.host(), self.scope.scope)
    }

    fn check_depth(&self, _url: &Url, depth: u32) -> Result<(), Skip> {
        match self.max_depth {
            Some(most) if depth > most => {
                Err(Skip::new(SkipReason::TooDeep, format!("depth {depth} is over max_depth {most}")))
            }
            _ => Ok(()),
        }
    }

    fn tell_depth(&self, _url: &Url, depth: u32) -> String {
        match self.max_depth {
            Some(most) => format!("depth {depth} of at most {most}"),
            None => format!("depth {depth}, without a limit"),
        }
    }

    fn check_blacklist(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        self.bans.check_blacklist(url)
    }

    fn tell_blacklist(&self, _url: &Url, _depth: u32) -> String {
        format!("not among {}", plural(self.bans.blacklist.len() as u64, "entry", "entries"))
    }

    fn check_domains(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        self.bans.check_domains(url)
    }

    fn tell_domains(&self, _url: &Url, _depth: u32) -> String {
        format!("the host matches none of {}", patterns_of(&self.bans.domains))
    }

    fn check_include(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        if self.include.is_empty() || self.include.is_match(url.as_str()) {
            return Ok(());
        }
        let detail = format!(
            "matches none of {}",
            plural(self.include.len() as u64, "include pattern", "include patterns")
        );
        Err(Skip::new(SkipReason::Filtered, detail))
    }

    fn tell_include(&self, url: &Url, _depth: u32) -> String {
        match first_match(&self.include, url.as_str()) {
            Some(pattern) => format!("matches '{pattern}'"),
            None => String::from("no include patterns"),
        }
    }

    fn check_exclude(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        match first_match(&self.exclude, url.as_str()) {
            Some(pattern) => Err(Skip::new(SkipReason::Filtered, format!("matches exclude '{pattern}'"))),
            None => Ok(()),
        }
    }

    fn tell_exclude(&self, _url: &Url, _depth: u32) -> String {
        format!("matches none of {}", patterns_of(&self.exclude))
    }

    fn check_domain_filters(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        self.domain_policy.check(url)
    }

    fn tell_domain_filters(&self, url: &Url, _depth: u32) -> String {
        self.domain_policy.explain(url)
    }

    fn check_extension(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        match extension(url) {
            Some(extension) if self.skips_extension(extension) => {
                Err(Skip::new(SkipReason::Filtered, format!("files of type .{extension} are skipped")))
            }
            _ => Ok(()),
        }
    }

    fn skips_extension(&self, extension: &str) -> bool {
        let mut buffer = [0; LONGEST_EXTENSION];
        let Some(lower) = buffer.get_mut(..extension.len()) else { return false };
        lower.copy_from_slice(extension.as_bytes());
        lower.make_ascii_lowercase();
        let lower = &*lower;
        self.skip_extensions.binary_search_by(|known| (**known).cmp(lower)).is_ok()
    }

    fn tell_extension(&self, url: &Url, _depth: u32) -> String {
        match extension(url) {
            Some(extension) => format!("files of type .{extension} are not skipped"),
            None => String::from("no file extension"),
        }
    }

    fn check_length(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        let length = url.as_str().len();
        if within(length, self.max_url_length) {
            return Ok(());
        }
        let detail = format!("{length} characters, over max_url_length {}", self.max_url_length);
        Err(Skip::new(SkipReason::UrlTooLong, detail))
    }

    fn tell_length(&self, url: &Url, _depth: u32) -> String {
        format!("{} characters of at most {}", url.as_str().len(), self.max_url_length)
    }

    fn check_parameters(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        let url = &*url.in_normal_form();
        let count = parameter_count(url);
        if within(count, self.max_query_parameters) {
            return Ok(());
        }
        let parameters = plural(count as u64, "query parameter", "query parameters");
        let finding = format!("{parameters}, over max_query_parameters {}", self.max_query_parameters);
        let rule = TrapRule::QueryParameters;
        Err(TrapSkip { rule, pattern: &pattern_text(url), finding: &finding }.skip())
    }

    fn tell_parameters(&self, url: &Url, _depth: u32) -> String {
        let parameters =
            plural(parameter_count(&url.in_normal_form()) as u64, "query parameter", "query parameters");
        format!("{parameters} of at most {}", self.max_query_parameters)
    }

    fn traps_at(&self, url: &Url) -> &Traps {
        self.domain_traps.find(url).map_or(&self.traps, |(_, traps)| traps)
    }

    fn check_traps(&self, url: &Url, _depth: u32) -> Result<(), Skip> {
        // The normal form drops or merges these, so they cannot be traps.
        let url = &*url.in_normal_form();
        let trap = |rule, finding: String| {
            Err(TrapSkip { rule, pattern: &pattern_text(url), finding: &finding }.skip())
        };
        // The depth limit applies without the other trap rules too, and comes first: it bounds their cost.
        let shape = PathShape::of(url);
        let depth = shape.depth;
        if !within(depth, self.max_path_depth) {
            let most = self.max_path_depth;
            let finding = format!("the path is {depth} segments deep, over max_path_depth {most}");
            return trap(TrapRule::PathDepth, finding);
        }
        let Traps { rules, calendar_years } = self.traps_at(url);
        if !rules.enabled {
            return Ok(());
        }
        if let Some(segment) = repeated_segment(url, shape, rules.max_repeated_segments) {
            let most = rules.max_repeated_segments;
            let finding =
                format!("'{segment}' is in the path more than {most} times (traps.max_repeated_segments)");
            return trap(TrapRule::RepeatedSegment, finding);
        }
        if let Some(year) = calendar_year_outside(url, shape, calendar_years) {
            let (first, last) = (calendar_years.start(), calendar_years.end());
            let finding = format!(
                "a calendar in the year {year}, outside of {first} to {last} (traps.earliest_year, traps.years_ahead)"
            );
            return trap(TrapRule::Calendar, finding);
        }
        if let Some(session) = session_id(url, shape) {
            return trap(TrapRule::SessionId, format!("'{session}' is a session id (traps.enabled)"));
        }
        Ok(())
    }

    fn tell_traps(&self, url: &Url, _depth: u32) -> String {
        let segments = plural(PathShape::of(url).depth as u64, "segment", "segments");
        let most = self.max_path_depth;
        if self.traps_at(url).rules.enabled {
            format!("{segments} of at most {most}, no repetition, calendar or session id")
        } else {
            format!("{segments} of at most {most}, other trap rules are off")
        }
    }
}

/// Which hosts belong to the job.
#[derive(Clone)]
struct ScopeRule {
    scope: Scope,
    /// Hosts of the seeds, or their root domains.
    names: NameSet,
    /// Hosts of the seeds if `names` are root domains: no lookup in the list is needed.
    seed_hosts: NameSet,
    suffixes: Arc<PublicSuffixes>,
}

impl fmt::Debug for ScopeRule {
    /// Without the Public Suffix List, which is long and always the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeRule")
            .field("scope", &self.scope)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl ScopeRule {
    fn new(scope: Scope, seeds: &[Url], suffixes: &Arc<PublicSuffixes>) -> ScopeRule {
        let name = |seed: &Url| match scope {
            Scope::Domain => suffixes.root_domain(seed.host()).into(),
            Scope::Host | Scope::Subdomains | Scope::Any => seed.host().into(),
        };
        let names = if scope == Scope::Any { NameSet::default() } else { seeds.iter().map(name).collect() };
        let seed_hosts = match scope {
            Scope::Domain => seeds.iter().map(|seed| seed.host_name().into()).collect(),
            Scope::Host | Scope::Subdomains | Scope::Any => NameSet::default(),
        };
        ScopeRule { scope, names, seed_hosts, suffixes: Arc::clone(suffixes) }
    }

    fn contains(&self, url: &Url) -> bool {
        match self.scope {
            Scope::Any => true,
            Scope::Host => self.names.contains(url.host()),
            Scope::Subdomains => suffixes(url.host()).any(|name| self.names.contains(name)),
            Scope::Domain => {
                // The list is consulted only if the name alone does not decide: below a seed's root domain there may be
                // private suffixes, under which other people have their sites.
                let name = url.host_name();
                self.seed_hosts.contains(name)
                    || (suffixes(name).any(|parent| self.names.contains(parent))
                        && self.names.contains(self.suffixes.root_domain(name)))
            }
        }
    }
}

pub(super) fn patterns(list: &'static str, given: &[String]) -> Result<RegexSet, AdmissionError> {
    for pattern in given {
        // A set does not report which of its patterns is wrong.
        Regex::new(pattern).map_err(|source| AdmissionError::Pattern {
            list,
            pattern: pattern.clone(),
            source: Box::new(source),
        })?;
    }
    RegexSet::new(given).map_err(|source| AdmissionError::Patterns { list, source: Box::new(source) })
}

fn patterns_of(set: &RegexSet) -> String {
    plural(set.len() as u64, "pattern", "patterns")
}

pub(super) fn first_match<'p>(patterns: &'p RegexSet, text: &str) -> Option<&'p str> {
    // Checking for a match is cheap; finding out which one allocates.
    if patterns.is_empty() || !patterns.is_match(text) {
        return None;
    }
    let first = patterns.matches(text).iter().next()?;
    patterns.patterns().get(first).map(String::as_str)
}

fn extensions(given: &[String]) -> Result<Vec<Box<[u8]>>, AdmissionError> {
    let mut extensions = Vec::with_capacity(given.len());
    for entry in given {
        if !is_extension(entry) {
            return Err(AdmissionError::Extension { entry: entry.clone() });
        }
        let name = bare_extension(entry).to_ascii_lowercase();
        extensions.push(name.into_bytes().into_boxed_slice());
    }
    extensions.sort_unstable();
    Ok(extensions)
}

/// A name below the entry `*.example.com`, or the entry itself.
fn bare_domain(entry: &str) -> &str {
    entry.trim().trim_start_matches("*.").trim_start_matches('.')
}

fn bare_extension(entry: &str) -> &str {
    entry.trim().trim_start_matches('.')
}

/// Whether an entry of `skip_extensions` is valid.
pub fn is_extension(entry: &str) -> bool {
    let name = bare_extension(entry);
    (1..=LONGEST_EXTENSION).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// The part after the last dot of the last segment, if it is short enough for a type.
fn extension(url: &Url) -> Option<&str> {
    let path = url.path();
    let mut ending = path.bytes().rev().take(LONGEST_EXTENSION + 1);
    let at = path.len() - 1 - ending.position(|b| matches!(b, b'.' | b'/'))?;
    let (before, extension) = (path.as_bytes().get(..at)?, path.get(at + 1..)?);
    let is_extension =
        path.as_bytes().get(at) == Some(&b'.') && !before.ends_with(b"/") && !extension.is_empty();
    is_extension.then_some(extension)
}

fn parameter_count(url: &Url) -> usize {
    url.query().map_or(0, |query| query.bytes().filter(|b| *b == b'&').count() + 1)
}

fn within(count: usize, most: u32) -> bool {
    u32::try_from(count).is_ok_and(|count| count <= most)
}

fn year_of(now: Millis) -> u16 {
    now.rfc3339().get(..4).and_then(|year| year.parse().ok()).unwrap_or(u16::MAX)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
