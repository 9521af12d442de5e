//! Explains the decision on a URL step by step. The catalogue knows what was attempted or skipped, the frontier what is
//! queued and what its rules say.
//!
//! `duplicate` means that a URL is not fetched because, without the parameters that the normal form drops, it equals a
//! fetched one. Any other spelling of a URL is that URL. A page with the same content as another one was fetched, and
//! the steps name the other.

mod catalogue;
mod frontier;

use crate::access::Access;
use crate::typed_url::spellings;
use crate::{directory, selection};
use argiope_config::Failure;
use argiope_engine::WhyStep;
use argiope_model::{Decision, JobSpec, LongUrl, SkipReason, Url};
use argiope_store::catalogue::{CatalogueReader, Job};
use serde::Serialize;
use std::ops::ControlFlow;

/// Its fields in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    pub url: String,
    pub decision: Decision,
    pub job: u32,
    /// The URL that this one equals.
    pub duplicate_of: Option<String>,
    pub steps: Vec<WhyStep>,
    pub notes: Vec<String>,
}

/// `typed` is a URL as a person types it; `job` a name or number, without one the latest.
pub fn explain(access: &Access, job: Option<&str>, typed: &str) -> Result<Explanation, Failure> {
    let reader = access.reader()?;
    let job = selection::job(reader.as_ref(), job)?;
    explain_in(access, reader.as_ref(), &job, typed)
}

/// The same for a job that is known already.
pub fn explain_in(
    access: &Access,
    reader: &dyn CatalogueReader,
    job: &Job,
    typed: &str,
) -> Result<Explanation, Failure> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Err(Failure::usage("no URL was given"));
    }
    let spec = selection::spec(job)?;
    let asked = Asked { access, reader, job, spec: &spec };
    let spellings = match spellings(typed, &spec) {
        Ok(spellings) => spellings,
        Err(problem) => return asked.about_no_url(typed, &problem),
    };
    let mut answer = asked.about(typed, &spellings)?;
    answer.note_parameters(&spellings, &spec);
    asked.note_other_jobs(&mut answer)?;
    asked.note_link_limit(&mut answer)?;
    Ok(answer)
}

/// A question about a URL in a job, and the sources of the answer.
struct Asked<'q> {
    access: &'q Access,
    reader: &'q dyn CatalogueReader,
    job: &'q Job,
    spec: &'q JobSpec,
}

impl Asked<'_> {
    fn about(&self, typed: &str, spellings: &[Url]) -> Result<Explanation, Failure> {
        let texts = spellings.iter().map(Url::normal).chain(std::iter::once(typed));
        for text in texts {
            if let Some((url, decision, steps)) = catalogue::of(self, text)? {
                return self.unless_it_waits(self.answer(&url, decision, steps));
            }
        }
        let mut best: Option<Explanation> = None;
        for url in spellings {
            let mut answer = frontier::ask(self, url)?;
            catalogue::host_step(self.reader, url.host(), &mut answer.steps)?;
            let is_news = !matches!(answer.decision, Decision::Unknown | Decision::OutOfScope);
            if is_news || best.is_none() {
                best = Some(answer);
            }
            if is_news {
                break;
            }
        }
        let best = best.ok_or_else(|| Failure::usage("no URL was given"))?;
        if matches!(best.decision, Decision::Unknown | Decision::OutOfScope)
            && let Some((url, decision, steps)) = catalogue::as_hop(self.reader, self.job.id, &best.url)?
        {
            return Ok(self.answer(&url, decision, steps));
        }
        Ok(best)
    }

    /// A URL that was too deep, or over the link limit of a page, may have been found again elsewhere and be queued.
    fn unless_it_waits(&self, refused: Explanation) -> Result<Explanation, Failure> {
        let may_wait = [SkipReason::TooDeep, SkipReason::OverLinkLimit].map(SkipReason::as_str);
        if refused.steps.iter().any(|step| may_wait.contains(&step.step.as_str()))
            && let Ok(url) = Url::parse(&refused.url, &self.spec.normal_form.compile())
        {
            let answer = frontier::ask(self, &url)?;
            if answer.decision == Decision::Pending {
                return Ok(answer);
            }
        }
        Ok(refused)
    }

    fn answer(&self, url: &str, decision: Decision, steps: Vec<WhyStep>) -> Explanation {
        Explanation {
            url: url.to_owned(),
            decision,
            job: self.job.id.0,
            duplicate_of: None,
            steps,
            notes: Vec::new(),
        }
    }

    /// Links that are not web pages are skipped for that reason alone.
    fn about_no_url(&self, typed: &str, problem: &str) -> Result<Explanation, Failure> {
        // A URL that is too long is stored by its beginning.
        for text in [typed, &LongUrl::of(typed).shortened] {
            if let Some((url, decision, steps)) = catalogue::of(self, text)? {
                return Ok(self.answer(&url, decision, steps));
            }
        }
        Ok(self.answer(typed, Decision::Filtered, vec![WhyStep::new("normal_form", false, problem)]))
    }

    /// A URL that was never seen may be one of the many links over the limit of a page, of which only a sample is
    /// stored.
    fn note_link_limit(&self, answer: &mut Explanation) -> Result<(), Failure> {
        if answer.decision != Decision::Unknown {
            return Ok(());
        }
        let mut first = None;
        self.reader
            .cuts(self.job.id, &mut |row| {
                if row.reason != SkipReason::TooManyLinks {
                    return Ok(ControlFlow::Continue(()));
                }
                first = Some(row);
                Ok(ControlFlow::Break(()))
            })
            .map_err(|e| directory::store_failure(&e))?;
        if let Some(page) = first {
            answer.notes.push(format!(
                "pages of this job have more links than the limit (the first is {}: {}); not every link beyond \
                 it is stored, and this URL may be one of them",
                page.url, page.detail
            ));
        }
        Ok(())
    }

    /// A URL that this job does not know may belong to another one.
    fn note_other_jobs(&self, answer: &mut Explanation) -> Result<(), Failure> {
        if matches!(
            answer.decision,
            Decision::Fetched | Decision::Failed | Decision::Pending | Decision::Duplicate
        ) {
            return Ok(());
        }
        let Ok(url) = Url::parse(&answer.url, &self.spec.normal_form.compile()) else { return Ok(()) };
        let elsewhere = self.reader.page(None, url.normal()).map_err(|e| directory::store_failure(&e))?;
        if let Some(page) = elsewhere.filter(|page| page.row.job != self.job.id) {
            let other = page.row.job;
            answer.notes.push(format!("job {other} has requested it; see 'argiope why --job {other} URL'"));
        }
        Ok(())
    }
}

impl Explanation {
    /// A URL with parameters that the normal form drops may never have been requested: names the one that was, and the
    /// parameters.
    fn note_parameters(&mut self, spellings: &[Url], spec: &JobSpec) {
        let rules = spec.normal_form.compile();
        let Ok(known) = Url::parse(&self.url, &rules) else { return };
        let Some(asked) = spellings.iter().find(|url| **url == known) else { return };
        let mut names = rules.dropped_parameters(asked);
        names.extend(rules.dropped_parameters(&known));
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return;
        }
        let which = match names.as_slice() {
            [name] => format!("parameter '{name}' makes"),
            names => format!("parameters {} make", quoted(names)),
        };
        let detail = format!(
            "{which} no difference; to fetch it separately, list it under normal_form.keep_parameters, in the \
             job file or under crawl: in argiope.yaml"
        );
        let at = self.steps.len().min(1);
        self.steps.insert(at, WhyStep::new("parameters", true, detail));
        if !asked.same_request(&known) && matches!(self.decision, Decision::Fetched | Decision::Failed) {
            let detail = format!("the same as {known}, which is {}", self.decision.as_str());
            self.steps.insert(at + 1, WhyStep::new("duplicate", false, detail));
            self.decision = Decision::Duplicate;
            self.duplicate_of = Some(std::mem::replace(&mut self.url, asked.as_str().to_owned()));
        }
    }
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}
