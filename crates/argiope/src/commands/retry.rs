//! `retry`: puts what has failed back into the queue of a job. The process that runs the job does it at once, and so do the
//! workers of a cluster; where nobody runs it, it is put back in the data directory, and the next `crawl` of the job goes on
//! with it.

use super::selection::{self, print};
use crate::cli::RetryArgs;
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{send, set_job_state};
use argiope_config::{Failure, GlobalOptions, ProcessSettings, addresses_of, load_config, parse_typed};
use argiope_engine::{Engine, JobStart, Ports, failures_after, visit_of};
use argiope_fetch::{ProfileOptions, RequestProfile};
use argiope_model::display::counted;
use argiope_model::{JobSpec, SkipReason, Url};
use argiope_service::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use argiope_service::control::{self, Control, Owner, OwnerClient, RetryRequest};
use argiope_service::directory::{self, DataDirectory};
use argiope_service::engine_settings::{engine_config, failure_of};
use argiope_service::place::Place;
use argiope_service::shell::{command, shell_word};
use argiope_store::archive::Archive;
use argiope_store::catalogue::{Batch, Catalogue, CatalogueReader, Job, JobState, StoredPage};
use argiope_store::clock::now;
use std::path::Path;
use std::sync::Arc;

/// What is to be asked for again.
struct Wanted {
    failed: bool,
    blocked: bool,
    named: Vec<StoredPage>,
}

/// What came of it.
struct Retried {
    queued: u64,
    is_running: bool,
}

pub(crate) fn run(global: &GlobalOptions, args: &RetryArgs) -> Result<(), Failure> {
    let stores = Place::of(global)?;
    let reader = stores.reader()?;
    let (job, urls) = job_and_urls(reader.as_ref(), &args.words)?;
    let spec = selection::spec(&job)?;
    latest_of_its_name(reader.as_ref(), &job)?;
    let either = args.failed || args.blocked || !urls.is_empty();
    let wanted = Wanted {
        failed: args.failed || !either,
        blocked: args.blocked || !either,
        named: named_pages(reader.as_ref(), &job, &spec, urls)?,
    };
    let counts = reader.counts(job.id).map_err(|e| directory::store_failure(&e))?;
    let blocked = match wanted.blocked {
        true => counts.by_skip.get(&SkipReason::RobotsUnreachable).copied().unwrap_or(0),
        false => 0,
    };
    let retried = match &stores {
        Place::Directory(directory) => {
            drop(reader);
            put_back(global, directory, &job, &spec, &wanted)?
        }
        Place::Cluster(place) => {
            let queued = in_cluster(place, reader.as_ref(), &job, wanted.failed, &wanted.named)?;
            Retried { queued, is_running: true }
        }
    };
    print(&told(global, &job, &retried, blocked))
}

/// The first word may name a job.
fn job_and_urls<'w>(
    reader: &dyn CatalogueReader,
    words: &'w [String],
) -> Result<(Job, &'w [String]), Failure> {
    let Some((first, rest)) = words.split_first() else { return Ok((selection::job(reader, None)?, words)) };
    let is_number = first.parse::<u32>().is_ok();
    let is_name =
        || reader.find_job(first).map(|found| found.is_some()).map_err(|e| directory::store_failure(&e));
    if is_number || is_name()? {
        return Ok((selection::job(reader, Some(first))?, rest));
    }
    if !first.contains(['.', '/', ':']) {
        // It looks like the name of a job, and like no URL.
        return Err(selection::job(reader, Some(first))
            .err()
            .unwrap_or_else(|| Failure::failed("no such job")));
    }
    Ok((selection::job(reader, None)?, words))
}

/// Only the latest job of a name, or of the same seeds, can go on.
fn latest_of_its_name(reader: &dyn CatalogueReader, job: &Job) -> Result<(), Failure> {
    let key = job.name.as_ref().unwrap_or(&job.seeds_hash);
    let latest = reader.find_job(key).map_err(|e| directory::store_failure(&e))?;
    match latest.filter(|latest| latest.id != job.id) {
        None => Ok(()),
        Some(latest) => {
            let text = format!("job {} was followed by job {}: only the latest can go on", job.id, latest.id);
            Err(Failure::failed(text).hint(format!("retry job {} instead", latest.id)))
        }
    }
}

/// The pages of the URLs that are named. Nothing is done if one of them cannot be asked for again.
fn named_pages(
    reader: &dyn CatalogueReader,
    job: &Job,
    spec: &JobSpec,
    urls: &[String],
) -> Result<Vec<StoredPage>, Failure> {
    let mut pages: Vec<StoredPage> = Vec::new();
    let mut problems = Vec::new();
    for typed in urls {
        match named_page(reader, job, spec, typed)? {
            Ok(page) if pages.iter().any(|known| known.seq == page.seq) => {}
            Ok(page) => pages.push(page),
            Err(problem) => problems.push(format!("{typed} {problem}")),
        }
    }
    if problems.is_empty() {
        return Ok(pages);
    }
    let mut failure =
        Failure::failed("").hint("nothing was queued again; 'argiope why URL' tells more of each");
    failure.messages = problems;
    Err(failure)
}

fn named_page(
    reader: &dyn CatalogueReader,
    job: &Job,
    spec: &JobSpec,
    typed: &str,
) -> Result<Result<StoredPage, String>, Failure> {
    let rules = spec.normal_form.compile();
    let mut spellings = Vec::new();
    match parse_typed(typed, &rules) {
        Ok(url) => spellings.push(url),
        Err(problem) => return Ok(Err(format!("is no URL: {}", problem.message()))),
    }
    if !typed.contains("://") {
        spellings.extend(parse_typed(&format!("http://{}", typed.trim_start_matches('/')), &rules).ok());
    }
    for url in &spellings {
        if let Some(page) =
            reader.page(Some(job.id), url.normal()).map_err(|e| directory::store_failure(&e))?
        {
            let status = page.row.page.status;
            return Ok(match page.row.has_failed() || status.is_some_and(|status| status >= 400) {
                true => Ok(page),
                false => Err(format!("was fetched ({}): there is nothing to retry", status.unwrap_or(0))),
            });
        }
    }
    for url in &spellings {
        let refused =
            reader.skipped_url(Some(job.id), url.normal()).map_err(|e| directory::store_failure(&e))?;
        if let Some(row) = refused {
            return Ok(Err(match row.reason {
                SkipReason::RobotsUnreachable => {
                    String::from("is queued and waits for its robots.txt: use --blocked")
                }
                reason => format!("was refused ({reason}: {})", row.detail),
            }));
        }
    }
    Ok(Err(format!("is no page of job {}: it was never asked for, or is queued still", job.id)))
}

fn put_back(
    global: &GlobalOptions,
    directory: &Path,
    job: &Job,
    spec: &JobSpec,
    wanted: &Wanted,
) -> Result<Retried, Failure> {
    let owner = Owner::of(directory);
    if owner.runs(job.id).is_some() {
        return in_running(directory, job, spec, wanted);
    }
    match owner {
        Owner::Running(status) => {
            let text = format!("{} is in use by a crawl of {}", directory.display(), control::named(&status));
            Err(Failure::failed(text).hint("retry when it has ended, or stop it with Ctrl-C first"))
        }
        Owner::Silent(error) => {
            let text = format!("the process that has {} does not answer: {error}", directory.display());
            Err(Failure::failed(text).hint("retry when it has ended"))
        }
        Owner::Nobody => at_rest(global, directory, job, spec, wanted),
    }
}

fn in_running(directory: &Path, job: &Job, spec: &JobSpec, wanted: &Wanted) -> Result<Retried, Failure> {
    let rules = spec.normal_form.compile();
    let normal = |page: &StoredPage| {
        let url = Url::from_stored(&page.row.page.url).and_then(|url| url.under(&rules));
        url.map_or_else(|_| page.row.page.url.clone(), |url| url.normal().to_owned())
    };
    let request = RetryRequest {
        failed: wanted.failed,
        blocked: wanted.blocked,
        urls: wanted.named.iter().map(normal).collect(),
    };
    let Some(owner) = OwnerClient::connect(directory) else {
        return Err(Failure::failed("the crawl has just ended").hint("run the same command again"));
    };
    let retried = owner.retry(job.id, request).map_err(|error| {
        Failure::failed(format!("the running crawl did not accept it: {error}"))
            .hint("retry when it has ended")
    })?;
    Ok(Retried { queued: retried.queued, is_running: true })
}

fn at_rest(
    global: &GlobalOptions,
    path: &Path,
    job: &Job,
    spec: &JobSpec,
    wanted: &Wanted,
) -> Result<Retried, Failure> {
    let directory = DataDirectory::open_existing(path)?;
    let config = load_config(global)?;
    let process = ProcessSettings::new(global, &config)?;
    let addresses = addresses_of(&config.file, spec.allow_private)?;
    let engine = engine_config(&process, &addresses, &directory.fixed);
    let archive = match spec.archive {
        true => {
            let options = ProfileOptions { user_agent: spec.user_agent.clone(), ..ProfileOptions::default() };
            let profile = RequestProfile::new(&options).map_err(Failure::usage)?;
            let rotate_bytes = process.archive_file_size;
            Some(directory.archive(profile.user_agent(), spec.respect_robots, rotate_bytes)?)
        }
        false => None,
    };
    let ports = Ports {
        state: directory.state()?,
        catalogue: directory.catalogue()?,
        archive: archive.map(|archive| Arc::new(archive) as Arc<dyn Archive>),
        links: Box::new(directory.links()?),
    };
    let seeds = spec.seed_urls().collect();
    let session = argiope_engine::Session::default();
    let start = JobStart { id: job.id, spec: spec.clone(), seeds, graph: None, session };
    let queued = Engine::retry_at_rest(&engine, ports, start, wanted.failed, &wanted.named)
        .map_err(|error| failure_of(&error))?;
    Ok(Retried { queued, is_running: false })
}

/// Sends what is to be asked for again to its shards; the job runs then. It does not end before all of that is sent.
pub(crate) fn in_cluster(
    place: &ClusterPlace,
    reader: &dyn CatalogueReader,
    job: &Job,
    all_failed: bool,
    named: &[StoredPage],
) -> Result<u64, Failure> {
    let store = |e| directory::store_failure(&e);
    let rules = selection::spec(job)?.normal_form.compile();
    let mut session = place.session()?;
    let mut sender = place.sender(CLIENT)?;
    let mut catalogue = PostgresCatalogue::open(&place.database, CLIENT).map_err(store)?;
    let set_state = |session: &mut Session, state: JobState| {
        set_job_state(session, job.id, state.as_str(), None, None).map_err(|e| database_failure(&e))
    };
    set_state(&mut session, JobState::Pending)?;
    let mut queued = 0;
    let mut put_back = |session: &mut Session, pages: &[StoredPage]| -> Result<(), Failure> {
        let visits: Vec<_> = pages.iter().filter_map(|page| visit_of(&page.row, &rules)).collect();
        queued += visits.len() as u64;
        let prepared = sender.prepare(place.addressing().again(visits)).map_err(|e| kafka_failure(&e))?;
        send(session, &prepared).map_err(|e| database_failure(&e))?;
        let forgotten = pages.iter().map(|page| page.row.key()).collect();
        catalogue.commit(&Batch { at: now(), forgotten, ..Batch::default() }).map_err(store)?;
        Ok(())
    };
    if !named.is_empty() {
        put_back(&mut session, named)?;
    }
    let mut after = 0;
    if all_failed {
        loop {
            let failed = failures_after(reader, job.id, after).map_err(store)?;
            let Some(last) = failed.last() else { break };
            after = last.seq;
            put_back(&mut session, &failed)?;
        }
    }
    let prepared = sender.prepare(place.addressing().begin(job.id, false)).map_err(|e| kafka_failure(&e))?;
    send(&mut session, &prepared).map_err(|e| database_failure(&e))?;
    set_state(&mut session, JobState::Running)?;
    Ok(queued)
}

fn told(global: &GlobalOptions, job: &Job, retried: &Retried, blocked: u64) -> String {
    let name = job.name.clone().unwrap_or_else(|| job.id.to_string());
    if retried.queued == 0 && blocked == 0 {
        return format!("Job {name} has nothing to retry.\n");
    }
    let mut text = String::new();
    if retried.queued > 0 {
        let are = if retried.queued == 1 { "is" } else { "are" };
        let urls = counted(retried.queued, "URL", "URLs");
        text.push_str(&format!("{urls} of job {name} {are} queued again.\n"));
    }
    if blocked > 0 {
        let when = if retried.is_running { "now" } else { "by the next crawl" };
        let urls = counted(blocked, "URL waits", "URLs wait");
        text.push_str(&format!(
            "{urls} for a robots.txt that was unreachable; it is asked for again {when}.\n"
        ));
    }
    if !retried.is_running {
        text.push_str(&match &job.name {
            Some(name) => {
                let again = command(&global.data, &format!("crawl --name {}", shell_word(name)));
                format!("To go on, repeat the command that started the job, or type: {again}\n")
            }
            None => String::from("To go on, repeat the command that started the job.\n"),
        });
    }
    text
}
