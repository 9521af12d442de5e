//! Hosts that are never requested, wherever they come from: links, seeds, lists, redirects.

use super::AdmissionError;
use super::domains::DomainTable;
use super::rules::{first_match, patterns};
use argiope_model::{JobSpec, Skip, SkipReason, Url};
use regex::RegexSet;

/// The blacklist and `exclude_domains` of a job.
#[derive(Clone, Debug)]
pub struct Bans {
    pub(super) blacklist: DomainTable<()>,
    pub(super) domains: RegexSet,
}

impl Bans {
    pub fn compile(spec: &JobSpec) -> Result<Bans, AdmissionError> {
        let blacklist = spec.blacklist.iter().map(|entry| (entry.as_str(), ()));
        Ok(Bans {
            blacklist: DomainTable::compile("blacklist", blacklist)?,
            domains: patterns("exclude_domains", &spec.exclude_domains)?,
        })
    }

    pub fn check(&self, url: &Url) -> Result<(), Skip> {
        self.check_blacklist(url).and_then(|()| self.check_domains(url))
    }

    pub(super) fn check_blacklist(&self, url: &Url) -> Result<(), Skip> {
        match self.blacklist.find(url) {
            Some((entry, ())) => {
                Err(Skip::new(SkipReason::Blacklisted, format!("'{entry}' is on the blacklist")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_domains(&self, url: &Url) -> Result<(), Skip> {
        match first_match(&self.domains, url.host_name()) {
            Some(pattern) => {
                Err(Skip::new(SkipReason::Filtered, format!("the host matches exclude_domains '{pattern}'")))
            }
            None => Ok(()),
        }
    }
}
