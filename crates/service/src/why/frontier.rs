//! The decision of rules and frontier on a URL that the catalogue does not know: from the process that runs the job or,
//! if there is none, from the stored frontier.

use super::{Asked, Explanation, catalogue};
use crate::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use crate::control::{self, Control, Owner, OwnerClient};
use crate::directory::{self, DataDirectory, Fixed};
use crate::engine_settings::engine_config;
use crate::place::Place;
use crate::robots_history;
use argiope_cluster::members::{Epochs, MessageSender};
use argiope_cluster::state::PostgresState;
use argiope_config::{Failure, JobIdentity, ProcessSettings, addresses_of, check_address, politeness_of};
use argiope_engine::{JobStart, Session, Why, WhyStep, why_at_rest};
use argiope_frontier::state::ShardState;
use argiope_model::{Decision, Url};
use argiope_politeness::PolitenessRules;
use argiope_store::catalogue::{JobState, PageQuery};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Hosts that a list of URLs added, at most: beyond that, a scope of single hosts makes no sense.
const LISTED_SEEDS: usize = 100_000;

pub(super) fn ask(asked: &Asked<'_>, url: &Url) -> Result<Explanation, Failure> {
    let why = match &asked.access.place {
        Place::Directory(path) => ask_owner(asked, path, url)?,
        Place::Cluster(place) => in_cluster(asked, place, url)?,
    };
    let mut answer = asked.answer(url.as_str(), why.decision, catalogue::forms(url.as_str(), url.normal()));
    let closed = address_step(asked, url)?;
    let is_closed = closed.is_some();
    answer.steps.extend(closed);
    answer.steps.extend(why.steps);
    add_robots(asked, url, &mut answer)?;
    let made = match answer.decision {
        Decision::Pending => catalogue::requests(asked.reader, asked.job.id, url)?,
        Decision::RobotsUnreachable => catalogue::robots_request(asked.reader, url)?.into_iter().collect(),
        _ => Vec::new(),
    };
    let is_plan = |step: &WhyStep| matches!(&*step.step, "retry" | "schedule");
    let at = answer.steps.iter().position(is_plan).unwrap_or(answer.steps.len());
    answer.steps.splice(at..at, made);
    if answer.decision == Decision::Pending
        && asked.job.state == JobState::Completed
        && let Some(most) = asked.spec.max_pages
    {
        let detail =
            format!("the job has ended at its limit of {most} pages; a higher --max-pages resumes it");
        answer.steps.push(WhyStep::new("max_pages", false, detail));
    }
    // Only its address is forbidden: it would be refused when it is connected to.
    if is_closed && answer.decision == Decision::Unknown {
        answer.decision = Decision::Filtered;
    }
    Ok(answer)
}

/// Queries the process that owns the directory, or else the directory itself.
fn ask_owner(asked: &Asked<'_>, directory: &Path, url: &Url) -> Result<Why, Failure> {
    let owner = Owner::of(directory);
    if owner.runs(asked.job.id).is_some() {
        return running(asked, directory, url);
    }
    match owner {
        Owner::Running(status) => {
            let (owner, named) = (directory::owning_process(directory), control::named(&status));
            let text = format!("{owner} runs {named} now; job {} is known when that has ended", asked.job.id);
            Err(Failure::failed(text).hint("try again when it has ended"))
        }
        Owner::Silent(error) => Err(silent(directory, &error)),
        Owner::Nobody => at_rest(asked, directory, url),
    }
}

/// The frontier drops the robots.txt of a host that has nothing to do; the catalogue keeps the last one.
fn add_robots(asked: &Asked<'_>, url: &Url, answer: &mut Explanation) -> Result<(), Failure> {
    if !asked.spec.respect_robots || answer.steps.iter().any(|step| step.step == "robots") {
        return Ok(());
    }
    let versions = asked.reader.robots(url.origin()).map_err(|e| directory::store_failure(&e))?;
    let Some(version) = versions.last() else { return Ok(()) };
    let config = asked.access.rules()?;
    let rules = PolitenessRules::compile(&politeness_of(&config.file)).map_err(Failure::usage_all)?;
    let robots = robots_history::read(&rules, version, &robots_history::agent_of(asked.spec)?);
    let verdict = robots.check(url.path_and_query());
    let detail = match &verdict.rule {
        None => String::from("no rule matches"),
        Some(rule) => match rule.line() {
            Some(line) => format!("line {line}: {rule}"),
            None => rule.to_string(),
        },
    };
    let detail = format!("{detail}, as of {}", version.fetched_at.rfc3339());
    let at = answer.steps.iter().position(|step| step.step == "seen").unwrap_or(answer.steps.len());
    answer.steps.insert(at, WhyStep::new("robots", verdict.allowed, detail));
    if !verdict.allowed && matches!(answer.decision, Decision::Unknown | Decision::Pending) {
        let is_there = version.status.is_some_and(|status| status < 500);
        answer.decision = if is_there { Decision::RobotsDisallowed } else { Decision::RobotsUnreachable };
    }
    Ok(())
}

fn silent(directory: &Path, error: &str) -> Failure {
    let owner = directory::owning_process(directory);
    let text = format!("{owner} owns {} and does not respond: {error}", directory.display());
    Failure::failed(text).hint("try again later, or when it has ended")
}

fn running(asked: &Asked<'_>, directory: &Path, url: &Url) -> Result<Why, Failure> {
    match OwnerClient::connect(directory) {
        Some(owner) => {
            let why = owner.why(asked.job.id, &url.to_stored());
            why.map_err(|error| silent(directory, &error.to_string()))
        }
        None => at_rest(asked, directory, url),
    }
}

fn at_rest(asked: &Asked<'_>, directory: &Path, url: &Url) -> Result<Why, Failure> {
    let directory = DataDirectory::open_existing(directory)?;
    let state = directory.state()?;
    of_state(asked, url, &directory.fixed, state.as_ref(), false)
}

/// The database has all of it, whoever owns the shard.
fn in_cluster(asked: &Asked<'_>, place: &ClusterPlace, url: &Url) -> Result<Why, Failure> {
    let nothing_owned = Arc::new(Epochs::default());
    // Nothing is sent, so Kafka need not respond.
    let sender = MessageSender::new(&place.transport, CLIENT, "a sender").map_err(|e| kafka_failure(&e))?;
    let state = PostgresState::open(&place.database, CLIENT, nothing_owned, sender, None)
        .map_err(|e| database_failure(&e))?;
    of_state(asked, url, &place.fixed, &state, true)
}

fn of_state(
    asked: &Asked<'_>,
    url: &Url,
    fixed: &Fixed,
    state: &dyn ShardState,
    leased: bool,
) -> Result<Why, Failure> {
    let config = asked.access.rules()?;
    let process = ProcessSettings::new(&asked.access.options, config)?;
    let addresses = addresses_of(&config.file, asked.spec.allow_private)?;
    let engine = engine_config(&process, &addresses, fixed);
    let seeds: Vec<Url> = asked.spec.seed_urls().collect();
    let mut start = JobStart {
        id: asked.job.id,
        spec: asked.spec.clone(),
        seeds,
        graph: None,
        session: Session::default(),
    };
    let ask = |start: &JobStart| {
        why_at_rest(&engine, state, start, url, leased)
            .map_err(|e| Failure::failed(e).hint(directory::CORRUPT))
    };
    let why = ask(&start)?;
    if why.decision != Decision::OutOfScope || !may_have_list(asked, &start.seeds) {
        return Ok(why);
    }
    // A list is not part of the job's specification: the pages it led to show what it added to the scope.
    start.seeds.extend(listed_seeds(asked)?);
    ask(&start)
}

/// The job's hash covers more than its seeds and its name.
fn may_have_list(asked: &Asked<'_>, seeds: &[Url]) -> bool {
    let hash = &asked.job.seeds_hash;
    asked.job.name.as_ref() != Some(hash) && JobIdentity::new(None, seeds, None, None).key != *hash
}

fn listed_seeds(asked: &Asked<'_>) -> Result<Vec<Url>, Failure> {
    let mut seeds = Vec::new();
    let query = PageQuery { include_noindex: true, ..PageQuery::of(asked.job.id) };
    let each = &mut |stored: argiope_store::catalogue::StoredPage| {
        if stored.row.page.depth == 0 {
            seeds.extend(Url::from_stored(&stored.row.page.url).ok());
        }
        Ok(if seeds.len() < LISTED_SEEDS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    };
    asked.reader.pages(&query, each).map_err(|e| directory::store_failure(&e))?;
    Ok(seeds)
}

/// The address, if the job may not connect to it.
fn address_step(asked: &Asked<'_>, url: &Url) -> Result<Option<WhyStep>, Failure> {
    let config = asked.access.rules()?;
    let policy = addresses_of(&config.file, asked.spec.allow_private)?;
    Ok(check_address(url, &policy).err().map(|problem| WhyStep::new("address", false, problem.message())))
}
