//! What `inspect` looks at: a file, standard input, or a URL that is fetched the way a crawl fetches.

use crate::cli::{GlobalOptions, InspectFetch};
use crate::exit::{Failure, chain};
use crate::settings::{ProcessSettings, addresses_of, load_config};
use argiope_fetch::{
    DecodeScratch, FailureKind, FetchRequest, Fetched, Fetcher, FetcherOptions, ProfileOptions,
    RequestProfile, Resolver, Start, Tls, decode,
};
use argiope_model::{Base, JobSpec, Millis, NormalRules, Url};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

/// Nothing that a crawl would take is longer.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_REDIRECTS: usize = 5;

/// Bytes, and how they were come by.
pub(super) struct Document {
    pub(super) body: Bytes,
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
    /// Why the body is not all of it.
    pub(super) error: Option<String>,
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
pub(super) fn read(global: &GlobalOptions, source: &str, fetch: &InspectFetch) -> Result<Document, Failure> {
    let scheme = source.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("http" | "https") => fetched(global, source, fetch),
        Some(other) => Err(Failure::usage(format!("scheme '{other}' of '{source}' is unknown"))
            .hint("give a file, - for stdin, or an http or https URL")),
        None if source == "-" => limited(io::stdin().lock(), "stdin"),
        None => {
            let file = File::open(source).map_err(|error| {
                Failure::usage(format!("cannot read {source}: {error}"))
                    .hint("give a file, - for stdin, or an http or https URL")
            })?;
            limited(file, source)
        }
    }
}

fn limited(from: impl Read, name: &str) -> Result<Document, Failure> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        let limit = crate::progress::numbers::bytes(MAX_BYTES);
        return Err(Failure::usage(format!("{name} is longer than {limit}")));
    }
    Ok(Document { body: Bytes::from(bytes), answer: None })
}

fn fetched(global: &GlobalOptions, source: &str, fetch: &InspectFetch) -> Result<Document, Failure> {
    let config = load_config(global)?;
    let process = ProcessSettings::new(global, &config)?;
    let addresses = addresses_of(&config.file, fetch.allow_private)?;
    let rules = NormalRules::default();
    let asked = Url::parse(source, &rules).map_err(|error| Failure::usage(format!("'{source}': {error}")))?;
    let profile = RequestProfile::new(&ProfileOptions::default()).map_err(Failure::failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start the network: {error}")))?;
    let resolver = Resolver::new(process.resolver, runtime.handle().clone())
        .map_err(|error| Failure::failed(format!("cannot look up names: {error}")))?;
    let tls = Tls::load(&process.tls).map_err(|error| Failure::usage(chain(&error)))?;
    let fetcher =
        Fetcher::new(FetcherOptions { addresses, ..FetcherOptions::default() }, tls, resolver.clone());
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, follow(&fetcher, &resolver, &profile, asked, &rules))
}

/// Redirects are followed as a crawl would, without asking robots.txt: a person asks for this one page.
async fn follow(
    fetcher: &Fetcher,
    resolver: &Resolver,
    profile: &RequestProfile,
    asked: Url,
    rules: &NormalRules,
) -> Result<Document, Failure> {
    let mut url = asked.clone();
    let mut fetch_ms = 0;
    for _ in 0..=MAX_REDIRECTS {
        let answer = ask(fetcher, resolver, profile, &url).await?;
        fetch_ms += u32::try_from(answer.timings.total_us() / 1000).unwrap_or(u32::MAX);
        match answer.redirect() {
            Some(target) => {
                let next = Base::new(&url).and_then(|base| base.join(&target, rules)).map_err(|error| {
                    Failure::failed(format!(
                        "{url} redirects to '{target}', which cannot be fetched: {error}"
                    ))
                })?;
                url = next;
            }
            None => return Ok(document(answer, asked, url, fetch_ms)),
        }
    }
    Err(Failure::failed(format!("{asked} redirects more than {MAX_REDIRECTS} times")))
}

async fn ask(
    fetcher: &Fetcher,
    resolver: &Resolver,
    profile: &RequestProfile,
    url: &Url,
) -> Result<Fetched, Failure> {
    let resolved = resolver
        .resolve(url.host_name())
        .await
        .map_err(|error| Failure::failed(format!("cannot find {}: {error}", url.host_name())))?;
    let limits = JobSpec::default();
    let request = FetchRequest {
        url,
        start: Start::now(),
        addresses: &resolved.addresses,
        dns_us: resolved.dns_us,
        profile,
        validators: None,
        timeout: limits.timeout.max(Duration::from_secs(1)),
        max_body_bytes: usize::try_from(MAX_BYTES).unwrap_or(usize::MAX),
    };
    fetcher.fetch(request).await.map_err(|error| match &error.kind {
        FailureKind::PrivateAddress(refused) if refused.class.opened_by_allow_private() => {
            Failure::usage(format!("{url} is refused: {refused}"))
                .hint("add --allow-private if this machine is yours to ask")
        }
        FailureKind::PrivateAddress(refused) => Failure::usage(format!("{url} is refused: {refused}"))
            .hint("name the address in crawl.allow_addresses of argiope.yaml if it is meant to be asked"),
        _ => Failure::failed(format!("cannot fetch {url}: {}", chain(error.as_ref()))),
    })
}

fn document(answer: Fetched, asked: Url, url: Url, fetch_ms: u32) -> Document {
    let limit = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    let decoded = decode(&answer.headers, &answer.body, limit, &mut DecodeScratch::new());
    let cut = decoded.cut.then(|| format!("truncated: body over {MAX_BYTES} bytes"));
    let error = answer.truncated.map(|why| why.to_string()).or(cut).or(decoded.error.map(|e| e.to_string()));
    let tags = answer.headers.get_all("x-robots-tag").iter();
    let answer = Answer {
        asked,
        url,
        status: answer.status.as_u16(),
        content_type: answer.content_type().map(|text| text.into_owned()),
        x_robots_tags: tags.map(|tag| String::from_utf8_lossy(tag.as_bytes()).into_owned()).collect(),
        started: answer.timings.started,
        fetch_ms,
        error,
    };
    Document { body: decoded.bytes, answer: Some(answer) }
}
