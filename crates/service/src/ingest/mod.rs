//! A list of URLs, however long, into a job of a cluster. A chunk at a time is in memory; what was sent is stored with it,
//! so that the same request continues after whatever stopped it.

mod list;

pub use list::UrlList;

use crate::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use crate::directory;
use crate::outage::Outages;
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{
    MessageSender, ingest_chunk, ingest_progress, keep_job_open, recently_fetched, set_job_state,
};
use argiope_config::{
    ConfigFile, Failure, SeedProblem, SeedRules, addresses_of, check_name, merge_job, parse_seed,
};
use argiope_model::display::count;
use argiope_model::{JobId, JobSpec, Scope, Url};
use argiope_store::catalogue::{Catalogue, JobState, NewJob, url_key};
use argiope_store::clock::now;
use std::time::{Duration, Instant};

pub use argiope_cluster::members::IngestProgress;

const CHUNK: usize = 100_000;
/// Problems that are shown; the rest is counted.
const SHOWN: u64 = 10;
const SAY_EVERY: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestRequest {
    /// The job that the URLs belong to; created if it does not exist.
    pub name: String,
    /// Links are followed up to this many steps; none without it.
    pub depth: Option<u32>,
    /// Leave out URLs that any job has fetched within so many days.
    pub skip_recent: Option<u32>,
    /// The job does not end when everything is crawled.
    pub keep_open: bool,
    /// The opposite, for a job that was kept open.
    pub let_end: bool,
    pub allow_private: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Ingested {
    pub job: JobId,
    /// None without a list.
    pub list: Option<IngestProgress>,
}

/// Sends the list, if there is one, and lets the job run. `notice` gets what the user should know.
pub fn ingest(
    place: &ClusterPlace,
    file: &ConfigFile,
    request: &IngestRequest,
    list: Option<UrlList>,
    outages: Outages<'_>,
    notice: &dyn Fn(&str),
) -> Result<Ingested, Failure> {
    let spec = spec_of(file, request)?;
    let rules = SeedRules::of(&spec, addresses_of(file, spec.allow_private)?).map_err(Failure::usage)?;
    let mut session = place.session()?;
    let sender = place.sender(CLIENT)?;
    let (job, is_new) = job_of(place, &spec, request)?;
    if request.keep_open || request.let_end {
        keep_job_open(&mut session, job, request.keep_open).map_err(|e| database_failure(&e))?;
    }
    let set_state = |session: &mut Session, state: JobState| {
        let set =
            || set_job_state(session, job, state.as_str(), None, None).map_err(|e| database_failure(&e));
        outages.outlast(set)
    };
    let Some(list) = list else {
        if is_new {
            set_state(&mut session, JobState::Running)?;
        }
        return Ok(Ingested { job, list: None });
    };
    // It does not end before the whole list is sent.
    set_state(&mut session, JobState::Pending)?;
    let skip_recent = request.skip_recent;
    let mut ingest =
        Ingest { session, sender, place, rules, job, list, skip_recent, problems: 0, notice, outages };
    let reached = ingest.run()?;
    set_state(&mut ingest.session, JobState::Running)?;
    Ok(Ingested { job, list: Some(reached) })
}

fn spec_of(file: &ConfigFile, request: &IngestRequest) -> Result<JobSpec, Failure> {
    check_name(&request.name)?;
    let mut spec = merge_job(JobSpec::default(), &file.crawl.job).map_err(Failure::usage)?;
    spec.name = Some(request.name.clone());
    spec.scope = Scope::Any;
    spec.max_depth = Some(request.depth.unwrap_or(0));
    spec.allow_private |= request.allow_private;
    Ok(spec)
}

/// The job of that name, unless it is finished: then a new one, and true. One that is to end has to be there.
fn job_of(place: &ClusterPlace, spec: &JobSpec, request: &IngestRequest) -> Result<(JobId, bool), Failure> {
    let store = |e| directory::store_failure(&e);
    let name = &request.name;
    let mut catalogue = PostgresCatalogue::open(&place.database, CLIENT).map_err(store)?;
    let known = catalogue.reader().and_then(|reader| reader.find_job(name)).map_err(store)?;
    if let Some(job) = known.filter(|job| !job.state.is_finished()) {
        return Ok((job.id, false));
    }
    if request.let_end {
        return Err(Failure::usage(format!("there is no unfinished job '{name}'")));
    }
    let new = NewJob {
        name: Some(name.clone()),
        seeds_hash: name.clone(),
        spec: serde_json::to_string(spec).map_err(|e| Failure::failed(e.to_string()))?,
        created_at: now(),
        user: None,
    };
    Ok((catalogue.create_job(&new).map_err(store)?.id, true))
}

struct Ingest<'i> {
    session: Session,
    sender: MessageSender,
    place: &'i ClusterPlace,
    rules: SeedRules,
    job: JobId,
    list: UrlList,
    skip_recent: Option<u32>,
    problems: u64,
    notice: &'i dyn Fn(&str),
    outages: Outages<'i>,
}

impl Ingest<'_> {
    fn run(&mut self) -> Result<IngestProgress, Failure> {
        let (mut chunk, mut reached) = self.chunk(IngestProgress::default())?;
        // A list is known by its place and how it begins.
        let beginning = self.list.hash_so_far();
        let source = format!("{}#{beginning}", self.list.name);
        let outages = self.outages;
        let stored = outages.outlast(|| {
            ingest_progress(&mut self.session, self.job, &source).map_err(|e| database_failure(&e))
        })?;
        let mut done = IngestProgress::default();
        if stored.lines > 0 {
            self.skip(stored.lines.saturating_sub(reached.lines))?;
            done = stored;
            (chunk, reached) = self.chunk(done)?;
            if stored.finished && reached.lines == stored.lines {
                (self.notice)("the whole list was sent before");
                return Ok(stored);
            }
            (self.notice)(&format!("resuming after line {}", count(stored.lines)));
        }
        let (began, mut said, before) = (Instant::now(), Instant::now(), done.lines);
        loop {
            let outgoing = self.place.addressing().seeds(self.job, &chunk, now());
            let prepared = self.sender.prepare(outgoing).map_err(|e| kafka_failure(&e))?;
            outages.outlast(|| {
                ingest_chunk(&mut self.session, self.job, &source, done, reached, &prepared)
                    .map_err(|e| database_failure(&e))
            })?;
            done = reached;
            if said.elapsed() >= SAY_EVERY {
                said = Instant::now();
                let rate = (done.lines - before) as f64 / began.elapsed().as_secs_f64().max(0.001);
                (self.notice)(&format!("{} lines, {rate:.0}/s", count(done.lines)));
            }
            if done.finished {
                return Ok(done);
            }
            (chunk, reached) = self.chunk(done)?;
        }
    }

    /// What was sent before.
    fn skip(&mut self, lines: u64) -> Result<(), Failure> {
        for _ in 0..lines {
            if self.list.line()?.is_none() {
                return Err(Failure::usage(format!(
                    "{} ends before the position that was reached before",
                    self.list.name
                ))
                .hint("to resume, give the same list; for another list use another --name"));
            }
        }
        Ok(())
    }

    fn chunk(&mut self, before: IngestProgress) -> Result<(Vec<Url>, IngestProgress), Failure> {
        let mut reached = IngestProgress { finished: false, ..before };
        let mut urls = Vec::new();
        while urls.len() < CHUNK {
            let Some(line) = self.list.line()? else {
                reached.finished = true;
                break;
            };
            reached.lines += 1;
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            match parse_seed(text, &self.rules) {
                Ok(url) => urls.push(url),
                Err(problem) => {
                    reached.skipped += 1;
                    self.say_problem(reached.lines, &problem);
                }
            }
        }
        if let Some(days) = self.skip_recent {
            let all = urls.len();
            let keys: Vec<String> =
                urls.iter().map(|url| format!("{:016x}", url_key(url.normal()))).collect();
            let recent = self.outages.outlast(|| {
                recently_fetched(&mut self.session, &keys, days).map_err(|e| database_failure(&e))
            })?;
            let mut keys = keys.iter();
            urls.retain(|_| keys.next().is_none_or(|key| !recent.contains(key)));
            reached.skipped += (all - urls.len()) as u64;
        }
        reached.sent += urls.len() as u64;
        Ok((urls, reached))
    }

    fn say_problem(&mut self, line: u64, problem: &SeedProblem) {
        self.problems += 1;
        if self.problems <= SHOWN {
            (self.notice)(&format!("warning: {}:{line}: {}; skipped", self.list.name, problem.message()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_of_a_list_is_of_the_list_alone_unless_a_depth_is_given() {
        let request = IngestRequest { name: String::from("july"), ..IngestRequest::default() };
        let spec = spec_of(&ConfigFile::default(), &request).unwrap();
        assert_eq!((spec.scope, spec.max_depth, spec.allow_private), (Scope::Any, Some(0), false));
        let request = IngestRequest { depth: Some(2), allow_private: true, ..request };
        let spec = spec_of(&ConfigFile::default(), &request).unwrap();
        assert_eq!((spec.max_depth, spec.allow_private), (Some(2), true));
        let unnamed = IngestRequest::default();
        assert!(spec_of(&ConfigFile::default(), &unnamed).is_err());
    }
}
