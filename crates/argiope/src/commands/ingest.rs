//! `ingest`: a list of URLs, however long, into a job of a cluster. A chunk at a time is in memory; what was sent is noted
//! with it, so that the same command goes on after whatever stopped it.

use crate::cli::IngestArgs;
use crate::commands::selection::print;
use crate::outage::{Doing, Outages};
use crate::progress::Display;
use argiope_cluster::catalogue::PostgresCatalogue;
use argiope_cluster::database::Session;
use argiope_cluster::members::{
    IngestProgress, MessageSender, ingest_chunk, ingest_progress, keep_job_open, recently_fetched,
    set_job_state,
};
use argiope_config::{
    ConfigFile, Failure, GlobalOptions, SeedProblem, SeedRules, addresses_of, check_name, hex, load_config,
    merge_job, parse_seed,
};
use argiope_model::display::{count, counted};
use argiope_model::{JobId, JobSpec, Scope, Url};
use argiope_service::bucket;
use argiope_service::cluster::{CLIENT, ClusterPlace, database_failure, kafka_failure};
use argiope_service::directory;
use argiope_store::catalogue::{Catalogue, JobState, NewJob, url_key};
use argiope_store::clock::now;
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::{Duration, Instant};

const CHUNK: usize = 100_000;
/// A line longer than any URL that could be crawled is no URL.
const MAX_LINE: u64 = 65_536;
/// Problems that are shown; the rest is counted.
const SHOWN: u64 = 10;
const SAY_EVERY: Duration = Duration::from_secs(2);

pub(crate) fn run(global: &GlobalOptions, args: &IngestArgs, display: &Display) -> Result<(), Failure> {
    check_name(&args.name)?;
    let config = load_config(global)?;
    let place = ClusterPlace::open(&config.file)?;
    let mut spec = merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?;
    spec.name = Some(args.name.clone());
    spec.scope = Scope::Any;
    spec.max_depth = Some(args.depth.unwrap_or(0));
    spec.allow_private |= args.allow_private;
    let addresses = addresses_of(&config.file, spec.allow_private)?;
    let rules = SeedRules::of(&spec, addresses).map_err(Failure::usage)?;
    let list = args.source.as_deref().map(|source| List::open(&config.file, source)).transpose()?;
    let mut session = place.session()?;
    let sender = place.sender(CLIENT)?;
    let (job, is_new) = job_of(&place, &spec, args)?;
    if args.keep_open || args.let_end {
        keep_job_open(&mut session, job, args.keep_open).map_err(|e| database_failure(&e))?;
    }
    let outages = Outages::of(&place, display, None, Doing::Ingesting);
    let set_state = |session: &mut Session, state: JobState| {
        let set =
            || set_job_state(session, job, state.as_str(), None, None).map_err(|e| database_failure(&e));
        outages.outlast(set)
    };
    let Some(list) = list else {
        if is_new {
            set_state(&mut session, JobState::Running)?;
        }
        let how = if args.keep_open { "is kept open" } else { "ends when all is crawled" };
        return print(&format!("job {job} {how}\n"));
    };
    // It does not end before the whole list is sent.
    set_state(&mut session, JobState::Pending)?;
    let mut ingest = Ingest {
        session,
        sender,
        place: &place,
        rules,
        job,
        source: list.name,
        skip_recent: args.skip_recent,
        problems: 0,
        beginning: None,
        display,
        outages,
    };
    let reached = ingest.run(list.lines)?;
    set_state(&mut ingest.session, JobState::Running)?;
    print(&format!(
        "{} sent to job {job}, {} left out; 'argiope status {}' tells how far the crawl is\n",
        counted(reached.sent, "URL", "URLs"),
        count(reached.skipped),
        args.name
    ))
}

/// The job of that name, unless it is finished: then a new one, and true. One that is to end has to be there.
fn job_of(place: &ClusterPlace, spec: &JobSpec, args: &IngestArgs) -> Result<(JobId, bool), Failure> {
    let store = |e| directory::store_failure(&e);
    let name = &args.name;
    let mut catalogue = PostgresCatalogue::open(&place.database, CLIENT).map_err(store)?;
    let known = catalogue.reader().and_then(|reader| reader.find_job(name)).map_err(store)?;
    if let Some(job) = known.filter(|job| !job.state.is_finished()) {
        return Ok((job.id, false));
    }
    if args.let_end {
        return Err(Failure::usage(format!("there is no job '{name}' that has not ended")));
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

fn name_of(path: &Path) -> Result<String, Failure> {
    if path == Path::new("-") {
        return Ok(String::from("-"));
    }
    let absolute = std::path::absolute(path).map_err(|e| Failure::usage(e.to_string()))?;
    Ok(absolute.display().to_string())
}

type Lines = BufReader<Box<dyn Read>>;

struct List {
    name: String,
    lines: Lines,
}

impl List {
    fn open(file: &ConfigFile, source: &Path) -> Result<List, Failure> {
        let object = source.to_str().and_then(|source| bucket::list(file, source)).transpose()?;
        let name = if object.is_some() { source.display().to_string() } else { name_of(source)? };
        Ok(List { name, lines: open(source, object)? })
    }
}

/// Plain or gzip, told by how it begins.
fn open(path: &Path, object: Option<Box<dyn Read>>) -> Result<Lines, Failure> {
    let unreadable = |error: &io::Error| {
        Failure::usage(format!("cannot read the list {}: {error}", path.display()))
            .hint("give a file with one URL per line, plain or gzip, s3://BUCKET/KEY, or - for stdin")
    };
    let raw: Box<dyn Read> = match object {
        Some(object) => object,
        None if path == Path::new("-") => Box::new(io::stdin()),
        None => Box::new(File::open(path).map_err(|e| unreadable(&e))?),
    };
    let mut from = BufReader::with_capacity(1 << 18, raw);
    let is_gzip = from.fill_buf().map_err(|e| unreadable(&e))?.starts_with(&[0x1f, 0x8b]);
    let plain: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(from)) } else { Box::new(from) };
    Ok(BufReader::with_capacity(1 << 18, plain))
}

struct Ingest<'i> {
    session: Session,
    sender: MessageSender,
    place: &'i ClusterPlace,
    rules: SeedRules,
    job: JobId,
    source: String,
    skip_recent: Option<u32>,
    problems: u64,
    /// Of what is read, while it is the first chunk: a list is known by where it is and how it begins.
    beginning: Option<Sha256>,
    display: &'i Display,
    outages: Outages<'i>,
}

impl Ingest<'_> {
    fn run(&mut self, mut lines: Lines) -> Result<IngestProgress, Failure> {
        self.beginning = Some(Sha256::new());
        let (mut chunk, mut reached) = self.chunk(&mut lines, IngestProgress::default())?;
        let beginning = self.beginning.take().map(|hash| hex(&hash.finalize())).unwrap_or_default();
        let source = format!("{}#{beginning}", self.source);
        let outages = self.outages;
        let stored = outages.outlast(|| {
            ingest_progress(&mut self.session, self.job, &source).map_err(|e| database_failure(&e))
        })?;
        let mut done = IngestProgress::default();
        if stored.lines > 0 {
            self.skip(&mut lines, stored.lines.saturating_sub(reached.lines))?;
            done = stored;
            (chunk, reached) = self.chunk(&mut lines, done)?;
            if stored.finished && reached.lines == stored.lines {
                self.display.message("the list was sent before, all of it");
                return Ok(stored);
            }
            self.display.message(&format!("going on after line {}", count(stored.lines)));
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
                self.display.message(&format!("{} lines, {rate:.0}/s", count(done.lines)));
            }
            if done.finished {
                return Ok(done);
            }
            (chunk, reached) = self.chunk(&mut lines, done)?;
        }
    }

    /// What was sent before.
    fn skip(&mut self, lines: &mut Lines, count_of: u64) -> Result<(), Failure> {
        for _ in 0..count_of {
            if self.line(lines)?.is_none() {
                return Err(Failure::usage(format!(
                    "{} ends before what was sent of it before",
                    self.source
                ))
                .hint("the same list goes on where it stopped; another one needs another --name"));
            }
        }
        Ok(())
    }

    fn chunk(
        &mut self,
        lines: &mut Lines,
        before: IngestProgress,
    ) -> Result<(Vec<Url>, IngestProgress), Failure> {
        let mut reached = IngestProgress { finished: false, ..before };
        let mut urls = Vec::new();
        while urls.len() < CHUNK {
            let Some(line) = self.line(lines)? else {
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
            self.display.message(&format!(
                "warning: {}:{line}: {}; left out",
                self.source,
                problem.message()
            ));
        }
    }

    /// Without its end; what is too long is cut.
    fn line(&mut self, lines: &mut Lines) -> Result<Option<String>, Failure> {
        let source = &self.source;
        let unreadable = |error: io::Error| Failure::failed(format!("cannot read {source}: {error}"));
        let mut bytes = Vec::new();
        if lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            return Ok(None);
        }
        if let Some(beginning) = &mut self.beginning {
            beginning.update(&bytes);
        }
        if bytes.last() != Some(&b'\n') && bytes.len() as u64 == MAX_LINE {
            lines.skip_until(b'\n').map_err(unreadable)?;
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}
