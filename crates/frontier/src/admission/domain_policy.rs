//! Settings for URLs and pages of single domains: filters in addition to those of the job, and whether `nofollow` and
//! `noindex` are respected there.

use super::AdmissionError;
use super::domains::DomainTable;
use super::rules::{first_match, patterns};
use argiope_model::{Skip, SkipReason, Url, plural};
use argiope_politeness::PolitenessRules;
use regex::RegexSet;

/// The part of the section `politeness` that admission and extraction need. Immutable; a reload compiles a new one.
#[derive(Debug, Default)]
pub struct DomainPolicy {
    politeness: PolitenessRules,
    /// Every domain with an entry, since the most specific entry applies as a whole. Empty where none has filters.
    filters: DomainTable<Option<Filters>>,
}

#[derive(Debug)]
struct Filters {
    include: RegexSet,
    exclude: RegexSet,
}

impl DomainPolicy {
    pub fn compile(politeness: &PolitenessRules) -> Result<DomainPolicy, AdmissionError> {
        let mut filters = Vec::new();
        let mut is_filtered = false;
        for domain in politeness.domains() {
            let compiled = match &domain.filters {
                Some(given) => Some(Filters {
                    include: patterns("domain_overrides filters.include", &given.include)?,
                    exclude: patterns("domain_overrides filters.exclude", &given.exclude)?,
                }),
                None => None,
            };
            is_filtered |= compiled.is_some();
            filters.push((domain.name.as_str(), compiled));
        }
        let filters = match is_filtered {
            true => DomainTable::compile("domain_overrides", filters)?,
            false => DomainTable::default(),
        };
        Ok(DomainPolicy { politeness: politeness.clone(), filters })
    }

    /// Whether `nofollow` is respected on pages of this host.
    pub(super) fn respects_nofollow(&self, page: &Url) -> bool {
        self.politeness.for_host(page.host()).respect_nofollow()
    }

    /// Whether `noindex` is respected on pages of this host.
    pub(super) fn respects_noindex(&self, page: &Url) -> bool {
        self.politeness.for_host(page.host()).respect_noindex()
    }

    fn find(&self, url: &Url) -> Option<(&str, &Filters)> {
        let (domain, filters) = self.filters.find(url)?;
        Some((domain, filters.as_ref()?))
    }

    pub(super) fn check(&self, url: &Url) -> Result<(), Skip> {
        let Some((domain, filters)) = self.find(url) else { return Ok(()) };
        if !filters.include.is_empty() && !filters.include.is_match(url.as_str()) {
            let count = plural(filters.include.len() as u64, "include pattern", "include patterns");
            let detail = format!("matches none of {count} of domain_overrides '{domain}'");
            return Err(Skip::new(SkipReason::Filtered, detail));
        }
        self.check_exclude(url)
    }

    pub(super) fn check_exclude(&self, url: &Url) -> Result<(), Skip> {
        let Some((domain, filters)) = self.find(url) else { return Ok(()) };
        match first_match(&filters.exclude, url.as_str()) {
            Some(pattern) => {
                let detail = format!("matches exclude '{pattern}' of domain_overrides '{domain}'");
                Err(Skip::new(SkipReason::Filtered, detail))
            }
            None => Ok(()),
        }
    }

    pub(super) fn explain(&self, url: &Url) -> String {
        match self.find(url) {
            Some((domain, _)) => format!("passes the filters of domain_overrides '{domain}'"),
            None => format!("no filters for {}", url.host()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argiope_model::NormalRules;

    fn policy(domains: &str) -> DomainPolicy {
        let settings = serde_json::from_str(&format!(r#"{{"domain_overrides": {domains}}}"#)).unwrap();
        DomainPolicy::compile(&PolitenessRules::compile(&settings).unwrap()).unwrap()
    }

    fn reason(policy: &DomainPolicy, url: &str) -> Option<String> {
        let url = Url::parse(url, &NormalRules::default()).unwrap();
        policy.check(&url).err().map(|skip| skip.detail)
    }

    #[test]
    fn a_domain_filters_its_own_urls_and_no_others() {
        let policy = policy(
            r#"{"shop.test": {"filters": {"include": ["/p/", "/c/"], "exclude": ["sort="]}},
                "open.shop.test": {"delay": "1s"}}"#,
        );
        assert_eq!(reason(&policy, "https://shop.test/p/1"), None);
        assert_eq!(reason(&policy, "https://www.shop.test/c/1"), None);
        assert_eq!(
            reason(&policy, "https://shop.test/about").as_deref(),
            Some("matches none of 2 include patterns of domain_overrides 'shop.test'")
        );
        assert_eq!(
            reason(&policy, "https://shop.test/p/1?sort=up").as_deref(),
            Some("matches exclude 'sort=' of domain_overrides 'shop.test'")
        );
        assert_eq!(reason(&policy, "https://other.test/about?sort=up"), None);
        // The most specific entry applies as a whole, and it has no filters.
        assert_eq!(reason(&policy, "https://open.shop.test/about"), None);
    }

    #[test]
    fn directives_are_ignored_for_the_domains_that_say_so() {
        let policy = policy(r#"{"mine.test": {"respect_nofollow": false, "respect_noindex": false}}"#);
        let url = |text: &str| Url::parse(text, &NormalRules::default()).unwrap();
        let (mine, other) = (url("https://www.mine.test/a"), url("https://other.test/a"));
        assert_eq!((policy.respects_nofollow(&mine), policy.respects_noindex(&mine)), (false, false));
        assert_eq!((policy.respects_nofollow(&other), policy.respects_noindex(&other)), (true, true));
    }
}
