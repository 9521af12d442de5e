//! One URL, fetched the way a crawl fetches.

use super::document::{Answer, Document, InspectOptions};
use argiope_config::{
    Failure, GlobalOptions, LoadedConfig, ProcessSettings, add_authorities, addresses_of, chain, profile_of,
};
use argiope_fetch::{
    DecodeScratch, Fetch, FetchFailure, FetchRequest, Fetched, FetcherOptions, HttpFetcher, Proxies,
    RequestProfile, Resolver, SendPermit, Start, Tls, decode,
};
use argiope_model::{Base, JobSpec, NormalRules, Url};
use std::sync::Arc;
use std::time::Duration;

const MAX_REDIRECTS: usize = 5;

pub(super) fn fetched(
    global: &GlobalOptions,
    config: &LoadedConfig,
    spec: &JobSpec,
    source: &str,
    limit: u64,
    fetch: &InspectOptions,
    notice: &dyn Fn(&str),
) -> Result<Document, Failure> {
    let mut process = ProcessSettings::new(global, config)?;
    add_authorities(&mut process.tls, fetch.network.ca_file.as_deref())?;
    if spec.insecure {
        notice("WARNING: certificates are NOT CHECKED");
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
        .map_err(|error| Failure::failed(format!("cannot resolve names: {error}")))?;
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

/// Which requests go through a proxy.
struct ProxiedHosts {
    usual: Arc<Proxies>,
    all: Option<bool>,
}

impl ProxiedHosts {
    fn has(&self, url: &Url) -> bool {
        self.all.unwrap_or_else(|| self.usual.of(url).is_some())
    }
}

/// How a URL is requested.
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
                return Err(Failure::failed(format!("cannot resolve {}: {error}", url.host_name())));
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
                    .hint("add --allow-private if this machine is yours to crawl")
            }
            FetchFailure::PrivateAddress(refused) => Failure::usage(format!("{url} is refused: {refused}"))
                .hint(
                    "name the address in crawl.allow_addresses of argiope.yaml if it is meant to be crawled",
                ),
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
