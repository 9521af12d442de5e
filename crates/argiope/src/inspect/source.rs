//! What `inspect` looks at: a file, standard input, or a URL that is fetched the way a crawl fetches.

use crate::cli::InspectFetch;
use argiope_config::{
    Failure, GlobalOptions, LoadedConfig, NetworkOptions, ProcessSettings, add_authorities, addresses_of,
    apply_network, chain, load_config, load_config_to_read, merge_job, profile_of,
};
use argiope_fetch::{
    DecodeScratch, Fetch, FetchFailure, FetchRequest, Fetched, FetcherOptions, HttpFetcher, Proxies,
    RequestProfile, Resolver, SendPermit, Start, Tls, TruncationCause, decode,
};
use argiope_model::{Base, JobSpec, Millis, NormalRules, Url};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

/// Nothing that a crawl would take is longer, whatever it is.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_REDIRECTS: usize = 5;

/// What is read, for a crawl does not take as much of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Up to `max_body`; what is longer is cut there, and that is said.
    Page,
    /// With limits of their own, that those who read them know.
    Other,
}

/// Bytes, and how they were come by.
pub(super) struct Document {
    pub(super) body: Bytes,
    /// Why the body is not all of it.
    pub(super) error: Option<String>,
    /// What a server said; `None` for a file.
    pub(super) answer: Option<Answer>,
}

pub(super) struct Answer {
    pub(super) asked: Url,
    /// Where redirects ended.
    pub(super) url: Url,
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) x_robots_tags: Vec<String>,
    pub(super) started: Millis,
    pub(super) fetch_ms: u32,
}

impl Document {
    pub(super) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    pub(super) fn content_type(&self) -> Option<&str> {
        self.answer.as_ref().and_then(|answer| answer.content_type.as_deref())
    }

    pub(super) fn final_url(&self) -> Option<&Url> {
        self.answer.as_ref().map(|answer| &answer.url)
    }

    pub(super) fn x_robots_tags(&self) -> Vec<&str> {
        self.answer.iter().flat_map(|answer| answer.x_robots_tags.iter().map(String::as_str)).collect()
    }

    /// For what makes sense only if it was found.
    pub(super) fn require_success(&self) -> Result<(), Failure> {
        match &self.answer {
            Some(answer) if !(200..300).contains(&answer.status) => {
                Err(Failure::failed(format!("{} answered {}", answer.url, answer.status)))
            }
            _ => Ok(()),
        }
    }
}

/// `source` is a URL if it begins like one, `-` for standard input, else a file.
pub(super) fn read(
    global: &GlobalOptions,
    source: &str,
    what: What,
    fetch: &InspectFetch,
) -> Result<Document, Failure> {
    let scheme = source.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_fetched = matches!(scheme.as_deref(), Some("http" | "https"));
    let config = if is_fetched { load_config(global)? } else { load_config_to_read(global)? };
    let mut spec = merge_job(JobSpec::default(), &config.file.crawl.job).map_err(Failure::usage)?;
    apply_network(&mut spec, &NetworkOptions::from(&fetch.network))?;
    let limit = if what == What::Page { spec.max_body } else { MAX_BYTES };
    match scheme.as_deref() {
        Some("http" | "https") => fetched(global, &config, &spec, source, limit, fetch),
        Some(other) => Err(Failure::usage(format!("scheme '{other}' of '{source}' is unknown"))
            .hint("give a file, - for stdin, or an http or https URL")),
        None if source == "-" => limited(io::stdin().lock(), "stdin", what, limit),
        None => {
            let file = File::open(source).map_err(|error| {
                Failure::usage(format!("cannot read {source}: {error}"))
                    .hint("give a file, - for stdin, or an http or https URL")
            })?;
            limited(file, source, what, limit)
        }
    }
}

fn limited(from: impl Read, name: &str, what: What, limit: u64) -> Result<Document, Failure> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let is_cut = bytes.len() as u64 > limit;
    if is_cut && what == What::Other {
        let limit = argiope_model::display::bytes(limit);
        return Err(Failure::usage(format!("{name} is longer than {limit}")));
    }
    bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let error = is_cut.then(|| TruncationCause::TooLarge { limit }.to_string());
    Ok(Document { body: Bytes::from(bytes), error, answer: None })
}

fn fetched(
    global: &GlobalOptions,
    config: &LoadedConfig,
    spec: &JobSpec,
    source: &str,
    limit: u64,
    fetch: &InspectFetch,
) -> Result<Document, Failure> {
    let mut process = ProcessSettings::new(global, config)?;
    add_authorities(&mut process.tls, fetch.network.ca_file.as_deref())?;
    if spec.insecure {
        eprintln!("WARNING: certificates are NOT CHECKED");
    }
    let addresses = addresses_of(&config.file, fetch.allow_private || spec.allow_private)?;
    let rules = NormalRules::default();
    let asked = Url::parse(source, &rules).map_err(|error| Failure::usage(format!("'{source}': {error}")))?;
    let profile = RequestProfile::new(&profile_of(spec)).map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start the network: {error}")))?;
    let resolver = Resolver::new(process.resolver, runtime.handle().clone())
        .map_err(|error| Failure::failed(format!("cannot look up names: {error}")))?;
    let tls = Tls::load(&process.tls).map_err(|error| Failure::usage(chain(&error)))?;
    let proxied = ProxiedHosts {
        usual: Arc::clone(&process.proxies),
        all: spec.proxy.as_ref().map(|p| p != Proxies::NONE),
    };
    let options = FetcherOptions { addresses, proxies: process.proxies, ..FetcherOptions::default() };
    let fetcher = HttpFetcher::new(options, tls, resolver.clone());
    let local = tokio::task::LocalSet::new();
    let asking = Asking {
        fetcher: &fetcher,
        resolver: &resolver,
        profile: &profile,
        proxied,
        timeout: spec.timeout,
        max_body_bytes: usize::try_from(limit).unwrap_or(usize::MAX),
    };
    local.block_on(&runtime, asking.follow(asked, &rules))
}

/// Who is asked by way of a proxy.
struct ProxiedHosts {
    usual: Arc<Proxies>,
    all: Option<bool>,
}

impl ProxiedHosts {
    fn has(&self, url: &Url) -> bool {
        self.all.unwrap_or_else(|| self.usual.of(url).is_some())
    }
}

/// How a URL is asked for.
struct Asking<'a> {
    fetcher: &'a HttpFetcher,
    resolver: &'a Resolver,
    profile: &'a RequestProfile,
    proxied: ProxiedHosts,
    timeout: Duration,
    max_body_bytes: usize,
}

impl Asking<'_> {
    /// Redirects are followed as a crawl would, without asking robots.txt: a person asks for this one page.
    async fn follow(&self, asked: Url, rules: &NormalRules) -> Result<Document, Failure> {
        let mut url = asked.clone();
        let mut fetch_ms = 0;
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.ask(&url).await?;
            fetch_ms += u32::try_from(answer.timings.total_us() / 1000).unwrap_or(u32::MAX);
            match answer.redirect() {
                Some(target) => {
                    url = Base::new(&url).join(&target, rules).map_err(|error| {
                        Failure::failed(format!(
                            "{url} redirects to '{target}', which cannot be fetched: {error}"
                        ))
                    })?;
                }
                None => return Ok(self.document(answer, asked, url, fetch_ms)),
            }
        }
        Err(Failure::failed(format!("{asked} redirects more than {MAX_REDIRECTS} times")))
    }

    async fn ask(&self, url: &Url) -> Result<Fetched, Failure> {
        // A proxy looks names up by itself.
        let (addresses, dns_us) = match self.resolver.resolve(url.host_name()).await {
            Ok(resolved) => (resolved.addresses, resolved.dns_us),
            Err(_) if self.proxied.has(url) => (Arc::from([]), 0),
            Err(error) => {
                return Err(Failure::failed(format!("cannot find {}: {error}", url.host_name())));
            }
        };
        let request = FetchRequest {
            url,
            start: Start::now(),
            addresses: &addresses,
            dns_us,
            profile: self.profile,
            validators: None,
            cookie: None,
            form: None,
            head_only: false,
            timeout: self.timeout,
            max_body_bytes: self.max_body_bytes,
            permit: SendPermit::default(),
        };
        self.fetcher.fetch(request).await.map_err(|error| match &error.kind {
            FetchFailure::PrivateAddress(refused) if refused.class.opened_by_allow_private() => {
                Failure::usage(format!("{url} is refused: {refused}"))
                    .hint("add --allow-private if this machine is yours to ask")
            }
            FetchFailure::PrivateAddress(refused) => Failure::usage(format!("{url} is refused: {refused}"))
                .hint("name the address in crawl.allow_addresses of argiope.yaml if it is meant to be asked"),
            _ => Failure::failed(format!("cannot fetch {url}: {}", chain(error.as_ref()))),
        })
    }

    fn document(&self, answer: Fetched, asked: Url, url: Url, fetch_ms: u32) -> Document {
        let limit = self.max_body_bytes;
        let decoded = decode(&answer.headers, &answer.body, limit, &mut DecodeScratch::new());
        let error = answer.truncated.map(|why| why.to_string()).or_else(|| decoded.problem(limit));
        let tags = answer.headers.get_all("x-robots-tag").iter();
        let answer = Answer {
            asked,
            url,
            status: answer.status.as_u16(),
            content_type: answer.content_type().map(|text| text.into_owned()),
            x_robots_tags: tags.map(|tag| String::from_utf8_lossy(tag.as_bytes()).into_owned()).collect(),
            started: answer.timings.started,
            fetch_ms,
        };
        Document { body: decoded.bytes, error, answer: Some(answer) }
    }
}
