//! A job on a cluster: handed to the workers, then followed to its end.

mod following;

pub use following::{ClusterProgress, Following, Look};

use crate::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use crate::job_request::{FoundJob, JobRequest, find_or_create};
use crate::outage::Outages;
use crate::seeds::all_seeds;
use crate::{directory, retry};
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{MessageSender, send, set_budget, set_job_seeds, set_job_state};
use argiope_config::{CrawlSettings, Failure, read_cookies_file};
use argiope_model::display::{count, counted};
use argiope_model::{CookieJar, JobSpec, Scope, Url};
use argiope_store::catalogue::{Catalogue, Job, JobState};
use argiope_store::clock::now;
use std::collections::BTreeSet;
use std::path::Path;

/// Seeds that are sent in one transaction.
const CHUNK: usize = 100_000;
/// Scopes of single hosts are built from the hosts of the seeds: every worker can hold this many.
const MOST_SCOPE_HOSTS: usize = 200_000;

/// A job that can be submitted: all its seeds are read, and the servers answer.
pub struct Submission<'p> {
    place: &'p ClusterPlace,
    pub settings: CrawlSettings,
    seeds: Vec<Url>,
    session: Session,
    sender: MessageSender,
    catalogue: PostgresCatalogue,
}

impl<'p> Submission<'p> {
    /// `notice` gets what the user should know.
    pub fn prepare(
        place: &'p ClusterPlace,
        mut settings: CrawlSettings,
        notice: &dyn Fn(&str),
    ) -> Result<Submission<'p>, Failure> {
        prepare(&mut settings)?;
        settings.notices.iter().for_each(|text| notice(text));
        let session = place.session()?;
        let sender = place.sender(CLIENT)?;
        let catalogue =
            PostgresCatalogue::open(&place.database, CLIENT).map_err(|e| directory::store_failure(&e))?;
        let seeds = all_seeds(&mut settings, notice)?;
        Ok(Submission { place, settings, seeds, session, sender, catalogue })
    }

    /// Creates the job, or finds the unfinished one that is meant, and lets the workers begin.
    pub fn submit(&mut self, outages: Outages<'_>, notice: &dyn Fn(&str)) -> Result<Job, Failure> {
        let Submission { place, settings, seeds, session, sender, catalogue } = self;
        let request = JobRequest::of(settings);
        let FoundJob { job, is_new } = outages.outlast(|| find_or_create(catalogue, &request))?;
        if !is_new && job.started_at.is_some() {
            let name = job.name.clone().unwrap_or_else(|| job.id.to_string());
            notice(&format!("resuming job {name}"));
        }
        let old: Option<JobSpec> = serde_json::from_str(&job.spec).ok().filter(|_| !is_new);
        if settings.retry_failed && !is_new {
            let reader = catalogue.reader().map_err(|e| directory::store_failure(&e))?;
            let queued = retry::put_back_in_cluster(place, reader.as_ref(), &job, true, &[])?;
            if queued > 0 {
                notice(&format!("{} queued again", counted(queued, "failed URL is", "failed URLs are")));
            }
        }
        outages.outlast(|| hand_in((session, sender), place, settings, &job, old.as_ref(), seeds))?;
        Ok(job)
    }

    /// To its end. Pages go to the output of its settings meanwhile.
    pub fn follow(self, job: &Job, outages: Outages<'_>) -> Result<Following<'p>, Failure> {
        let Submission { place, settings, session, catalogue, .. } = self;
        Following::open(place, settings, job.id, session, catalogue, outages)
    }
}

/// Checks what workers cannot do, and passes on the files that they cannot read.
fn prepare(settings: &mut CrawlSettings) -> Result<(), Failure> {
    if settings.login.is_some() {
        return Err(Failure::usage("a job of a cluster cannot log in: its workers do not share a session")
            .hint("log in with a browser or curl, and pass the cookies with --cookies FILE"));
    }
    if settings.job.cookie_jar() == CookieJar::On {
        return Err(Failure::usage("a cluster does not store cookies with a job")
            .hint("'session' keeps them in the memory of each worker while the job runs"));
    }
    if settings.has_ca_file {
        return Err(Failure::usage(
            "--ca-file works only for requests of this machine, but the workers send them",
        )
        .hint("name the file in crawl.extra_authorities of the workers' configuration"));
    }
    if let Some(path) = settings.job.cookies_file.take() {
        settings.job.cookies_text = Some(read_cookies_file(Path::new(&path))?);
    }
    Ok(())
}

/// The job's settings, budget and seeds, in this order; then it runs. Each step may be repeated.
fn hand_in(
    (session, sender): (&mut Session, &mut MessageSender),
    place: &ClusterPlace,
    settings: &CrawlSettings,
    job: &Job,
    old: Option<&JobSpec>,
    seeds: &[Url],
) -> Result<(), Failure> {
    let failed = |e| database_failure(&e);
    if settings.job.scope == Scope::Host && settings.list.is_some() {
        let mut hosts = BTreeSet::new();
        let one_a_host: Vec<&Url> = seeds.iter().filter(|url| hosts.insert(url.host())).collect();
        if one_a_host.len() > MOST_SCOPE_HOSTS {
            return Err(Failure::usage(format!(
                "the list names {} hosts, too many for a scope of single hosts",
                count(one_a_host.len() as u64)
            ))
            .hint("use --scope any --depth 0 to fetch only the list, or --scope any to follow all links"));
        }
        set_job_seeds(session, job.id, &one_a_host).map_err(failed)?;
    }
    if let Some(max) = settings.job.max_pages {
        set_budget(session, job.id, old.and_then(|old| old.max_pages), max).map_err(failed)?;
    }
    let addressing = place.addressing();
    for chunk in seeds.chunks(CHUNK) {
        let prepared =
            sender.prepare(addressing.seeds(job.id, chunk, now())).map_err(|e| kafka_failure(&e))?;
        send(session, &prepared).map_err(failed)?;
    }
    let prepared = sender.prepare(addressing.begin(job.id, settings.fresh)).map_err(|e| kafka_failure(&e))?;
    send(session, &prepared).map_err(failed)?;
    let spec = serde_json::to_string(&settings.job).map_err(|e| Failure::failed(e.to_string()))?;
    set_job_state(session, job.id, JobState::Running.as_str(), Some(&spec), None).map_err(failed)
}
