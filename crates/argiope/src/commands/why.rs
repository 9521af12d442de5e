//! `why`: the reasoned path of the decision on a URL, from whoever knows it: the catalogue what was attempted or
//! refused, the frontier what waits and what its rules would say.
//!
//! `duplicate` is the word for a URL that is not fetched because, without the parameters that the normal form drops, it is
//! the same as one that is. Any other spelling of a URL is that URL. A page whose content equals that of another one was
//! fetched, and the steps name the other.

mod frontier;
mod known;

use super::selection::{self, print, print_json};
use crate::cli::WhyArgs;
use argiope_config::{Failure, GlobalOptions, LoadedConfig, load_config_to_read, parse_typed};
use argiope_engine::WhyStep;
use argiope_model::display::printable;
use argiope_model::{Decision, JobSpec, LongUrl, SkipReason, Url};
use argiope_service::directory;
use argiope_service::place::Place;
use argiope_store::catalogue::{CatalogueReader, Job};
use serde::Serialize;
use std::fmt::Write;
use std::ops::ControlFlow;

/// Its fields in this order.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    url: String,
    pub(crate) decision: Decision,
    job: u32,
    /// The URL that this one is the same as.
    duplicate_of: Option<String>,
    steps: Vec<WhyStep>,
    notes: Vec<String>,
}

pub(crate) fn run(global: &GlobalOptions, args: &WhyArgs) -> Result<(), Failure> {
    let stores = Place::of(global)?;
    let reader = stores.reader()?;
    let job = selection::job(reader.as_ref(), args.job.as_deref())?;
    let answer = explain(global, &stores, reader.as_ref(), &job, &args.url)?;
    if args.json { print_json(&answer) } else { print(&answer.text()) }
}

/// The configuration as it is now, as far as URLs are judged by it.
fn rules_in_force(global: &GlobalOptions) -> Result<LoadedConfig, Failure> {
    let config = load_config_to_read(global)?;
    config.needs_rules()?;
    Ok(config)
}

pub(crate) fn explain(
    global: &GlobalOptions,
    stores: &Place,
    reader: &dyn CatalogueReader,
    job: &Job,
    typed: &str,
) -> Result<Answer, Failure> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Err(Failure::usage("no URL was given"));
    }
    let spec = selection::spec(job)?;
    let asked = Asked { global, stores, reader, job, spec: &spec };
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

/// A question about a URL in a job, and those who may know.
struct Asked<'q> {
    global: &'q GlobalOptions,
    stores: &'q Place,
    reader: &'q dyn CatalogueReader,
    job: &'q Job,
    spec: &'q JobSpec,
}

impl Asked<'_> {
    fn about(&self, typed: &str, spellings: &[Url]) -> Result<Answer, Failure> {
        let texts = spellings.iter().map(Url::normal).chain(std::iter::once(typed));
        for text in texts {
            if let Some((url, decision, steps)) = known::of(self, text)? {
                return self.unless_it_waits(self.answer(&url, decision, steps));
            }
        }
        let mut best: Option<Answer> = None;
        for url in spellings {
            let mut answer = frontier::ask(self, url)?;
            known::host_step(self.reader, url.host(), &mut answer.steps)?;
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
            && let Some((url, decision, steps)) = known::as_hop(self.reader, self.job.id, &best.url)?
        {
            return Ok(self.answer(&url, decision, steps));
        }
        Ok(best)
    }

    /// What was too deep, or over the link limit of a page, may have been found again elsewhere, and wait.
    fn unless_it_waits(&self, refused: Answer) -> Result<Answer, Failure> {
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

    fn answer(&self, url: &str, decision: Decision, steps: Vec<WhyStep>) -> Answer {
        Answer {
            url: url.to_owned(),
            decision,
            job: self.job.id.0,
            duplicate_of: None,
            steps,
            notes: Vec::new(),
        }
    }

    /// Links to what is no web page are refused by that alone.
    fn about_no_url(&self, typed: &str, problem: &str) -> Result<Answer, Failure> {
        // One that is too long is kept by its beginning.
        for text in [typed, &LongUrl::of(typed).shortened] {
            if let Some((url, decision, steps)) = known::of(self, text)? {
                return Ok(self.answer(&url, decision, steps));
            }
        }
        Ok(self.answer(typed, Decision::Filtered, vec![WhyStep::new("normal_form", false, problem)]))
    }

    /// A URL that was never seen may be one of the many links over the limit of a page, of which only a sample is kept.
    fn note_link_limit(&self, answer: &mut Answer) -> Result<(), Failure> {
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
                "pages of this job have more links than are taken from one (the first is {}: {}); not every link beyond the \
                 limit is kept, and this URL may be one of them",
                page.url, page.detail
            ));
        }
        Ok(())
    }

    /// A URL that this job does not know may be another one's.
    fn note_other_jobs(&self, answer: &mut Answer) -> Result<(), Failure> {
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
            answer.notes.push(format!("job {other} has asked for it; see 'argiope why --job {other} URL'"));
        }
        Ok(())
    }
}

/// The URL that is meant; without a scheme it may be either.
fn spellings(typed: &str, spec: &JobSpec) -> Result<Vec<Url>, String> {
    let rules = spec.normal_form.compile();
    let url = parse_typed(typed, &rules).map_err(|problem| problem.message().to_owned())?;
    let mut all = vec![url];
    if !typed.contains("://")
        && let Ok(other) = parse_typed(&format!("http://{}", typed.trim_start_matches('/')), &rules)
    {
        all.push(other);
    }
    Ok(all)
}

impl Answer {
    /// A URL with parameters that the normal form drops may be one that was never sent: the one that was is named, with the
    /// parameters that made them one.
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
            "{which} no difference; to fetch it apart, list it under normal_form.keep_parameters, in the job file or under \
             crawl: in argiope.yaml"
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

    /// The decision's word is alone on the first line.
    pub(crate) fn text(&self) -> String {
        let mut text =
            format!("{}\n  {} in job {}\n", self.decision.as_str(), printable(&self.url), self.job);
        let widest = self.steps.iter().map(|step| step.step.len()).max().unwrap_or(0);
        for step in &self.steps {
            let mark = if step.passed { "ok" } else { "no" };
            let _ = writeln!(text, "  {mark}  {:widest$}  {}", step.step, printable(&step.detail));
        }
        for note in &self.notes {
            let _ = writeln!(text, "  note: {note}");
        }
        text
    }
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    quoted.join(", ")
}
