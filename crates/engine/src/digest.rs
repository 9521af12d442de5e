//! A body becomes what is stored of it: the page's row, its links, and what they lead to. No I/O: a page that is
//! recovered from the archive takes the same way.

use crate::classify::is_seed;
use crate::graph::{self, GraphRules};
use crate::job::JobContext;
use crate::recent::Recent;
use argiope_extract::{
    ContentHash, Extracted, Input, Limits, Link, Media, Scratch, SitemapKind, SitemapUrl, Wants, extract,
    hash_without_numbers, parse_sitemap, resolve,
};
use argiope_frontier::admission::{JobRules, PageText, SeenPage, SitemapHints, pattern_of, priority};
use argiope_frontier::{Discovery, Found};
use argiope_model::{
    Base, FingerprintKey, LinkKind, LongUrl, Millis, Page, Rel, RequestKind, Resources, Skip, SkipReason,
    Truncation, Url, UrlError, Visit, plural,
};
use argiope_store::catalogue::{OpenGraph, PageRow, SkippedRow, url_key};
use argiope_store::links::{self as stored, LinkBatch};

/// Sitemaps that name sitemaps are followed this deep.
const SITEMAP_DEPTH: u32 = 3;

/// Entries of a feed beyond the limit on links that are kept by their URL.
const FEED_SAMPLE: usize = 1000;

/// URLs of a sitemap or feed that are too long and are recorded one by one.
const LONG_SAMPLE: usize = 20;

/// What one thread keeps from page to page.
pub(crate) struct Buffers {
    pub(crate) scratch: Scratch,
    pub(crate) recent: Recent,
}

impl Buffers {
    pub(crate) fn new() -> Buffers {
        Buffers { scratch: Scratch::new(), recent: Recent::new() }
    }
}

/// A body and what is needed to read it.
pub(crate) struct Body<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) x_robots_tag: &'a [&'a str],
    /// After content decoding.
    pub(crate) bytes: &'a [u8],
    /// Before it, if that is to be hashed, too.
    pub(crate) payload: Option<&'a [u8]>,
    pub(crate) now: Millis,
}

/// What a page is made of, but for how it was fetched.
pub(crate) struct Digested {
    pub(crate) row: PageRow,
    pub(crate) links: Option<LinkBatch>,
    pub(crate) discovery: Option<Discovery>,
    /// What the page is shown with, where that is asked for.
    pub(crate) resources: Option<Discovery>,
    pub(crate) skipped: Vec<SkippedRow>,
    /// Of a page with content.
    pub(crate) note: Option<SeenPage>,
    pub(crate) charset: Option<&'static str>,
    pub(crate) payload_hash: Option<ContentHash>,
}

pub(crate) fn page(
    job: &JobContext,
    visit: &Visit,
    body: &Body<'_>,
    key: &FingerprintKey,
    buffers: &mut Buffers,
) -> Digested {
    let Buffers { scratch, recent } = buffers;
    let pages = job.graph.is_none();
    let input = Input {
        body: body.bytes,
        payload: body.payload,
        content_type: body.content_type,
        url: &visit.url,
        x_robots_tag: body.x_robots_tag,
        agent: &job.agent,
        limits: Limits { max_links: job.spec.max_links_per_page as usize },
        wants: Wants {
            text: false,
            headings: false,
            open_graph: pages,
            anchors: pages,
            resources: pages && job.spec.resources != Resources::Off,
        },
    };
    let extracted = extract(&input, scratch);
    if let Some(rules) = &job.graph {
        return node(job, rules, visit, body, &extracted, key, scratch);
    }
    let mut found = links_of(job, visit, &extracted, body, key, scratch, recent);
    if extracted.media == Media::Other && body.status < 300 && may_be_feed(body.content_type) {
        found = feed(job, visit, body, key);
    }
    let mut row = row_of(visit, body, &extracted);
    row.page.canonical = found.canonical.take();
    row.page.links = match extracted.media.is_markup() {
        true => Some(extracted.links.seen),
        false => found.of_feed,
    };
    Digested {
        row,
        links: found.batch,
        discovery: found.discovery,
        resources: found.resources,
        skipped: found.skipped,
        note: (body.status < 300).then(|| SeenPage { text: text_of(&extracted), leads_on: found.leads_on }),
        charset: extracted.charset,
        payload_hash: extracted.payload_hash,
    }
}

/// A page of a job that maps hosts: its edges, and no other links.
fn node(
    job: &JobContext,
    rules: &GraphRules,
    visit: &Visit,
    body: &Body<'_>,
    extracted: &Extracted,
    key: &FingerprintKey,
    scratch: &mut Scratch,
) -> Digested {
    let found = match body.status {
        400.. => graph::Outbound::default(),
        _ => graph::outbound(job, rules, visit, extracted, key, scratch),
    };
    let mut row = row_of(visit, body, extracted);
    row.page.links = Some(found.count);
    Digested {
        row,
        links: Some(found.edges).filter(|edges| !edges.is_empty()),
        discovery: found.discovery,
        resources: None,
        skipped: Vec::new(),
        note: None,
        charset: extracted.charset,
        payload_hash: extracted.payload_hash,
    }
}

/// What tells a page from others of its pattern.
fn text_of(extracted: &Extracted) -> PageText {
    let words = match extracted.media {
        // What is no text is the same only where all of it is.
        Media::Other => {
            extracted.content_hash.0.iter().take(8).fold(0, |hash, b| (hash << 8) | u64::from(*b))
        }
        _ => extracted.simhash_without_numbers.map_or(0, |hash| hash.0),
    };
    PageText { words, title: extracted.title.as_deref().map_or(0, hash_without_numbers) }
}

fn row_of(visit: &Visit, body: &Body<'_>, extracted: &Extracted) -> PageRow {
    let scheduled = visit.scheduled_url();
    let property = |name: &str| extracted.open_graph.iter().find(|(p, _)| p == name).map(|(_, v)| v.clone());
    let page = Page {
        url: scheduled.as_str().to_owned(),
        final_url: Some(visit.url.as_str().to_owned()),
        status: Some(body.status),
        depth: visit.depth,
        title: extracted.title.clone(),
        description: extracted.description.clone(),
        keywords: extracted.keywords.clone(),
        author: extracted.author.clone(),
        language: extracted.language.clone(),
        content_type: body.content_type.map(str::to_owned),
        bytes: Some(body.bytes.len() as u64),
        content_hash: Some(extracted.content_hash.hex()),
        simhash: extracted.simhash.map(|hash| hash.hex()),
        word_count: extracted.word_count,
        ..Page::default()
    };
    let mut row = PageRow::new(visit.job, scheduled.identity().key_u64(), scheduled.host(), page);
    row.open_graph = OpenGraph {
        title: property("og:title"),
        description: property("og:description"),
        image: property("og:image"),
        kind: property("og:type"),
    };
    row.noindex = extracted.robots.noindex;
    row.nofollow = extracted.robots.nofollow;
    row
}

#[derive(Default)]
struct FoundLinks {
    canonical: Option<String>,
    batch: Option<LinkBatch>,
    discovery: Option<Discovery>,
    resources: Option<Discovery>,
    skipped: Vec<SkippedRow>,
    /// To something new of its own pattern.
    leads_on: bool,
    /// How many a feed has, as far as they were taken.
    of_feed: Option<u32>,
}

/// Resolves the links of a page and judges each by the job's rules.
fn links_of(
    job: &JobContext,
    visit: &Visit,
    extracted: &Extracted,
    body: &Body<'_>,
    key: &FingerprintKey,
    scratch: &mut Scratch,
    recent: &mut Recent,
) -> FoundLinks {
    let resolved = resolve(extracted, &visit.url, &job.normal, scratch);
    let mut found = FoundLinks {
        canonical: resolved.canonical.as_ref().map(|url| url.as_str().to_owned()),
        ..FoundLinks::default()
    };
    let count = resolved.links.len() + resolved.resources.len();
    if count > 0 {
        let mut batch = LinkBatch::with_room_for(count);
        let links = resolved.links.iter().map(stored_link);
        if resolved.resources.is_empty() {
            batch.push(visit.job, visit.url.as_str(), links);
        } else {
            let all: Vec<stored::Link<'_>> =
                links.chain(resolved.resources.iter().map(stored_link)).collect();
            batch.push(visit.job, visit.url.as_str(), all.into_iter());
        }
        found.batch = Some(batch);
    }
    if body.status >= 400 {
        return found;
    }
    let rules = job.rules();
    let depth = visit.depth + 1;
    add_resources(job, visit, &resolved.resources, &rules, key, recent, &mut found);
    let page_nofollow = extracted.robots.nofollow && job.spec.respect_nofollow;
    let version = job.rules_version();
    let mut urls = Vec::new();
    let nofollow: Vec<bool> = match resolved.respelled.is_empty() {
        true => Vec::new(),
        false => resolved.links.iter().map(|link| link.rel.has(Rel::NOFOLLOW)).collect(),
    };
    let respelled = resolved.respelled.into_iter();
    let respelled = respelled.map(|(at, url)| (url, nofollow.get(at).copied().unwrap_or_default()));
    let links = resolved.links.into_iter().map(|link| (link.url, link.rel.has(Rel::NOFOLLOW)));
    // Other spellings of a link come after it: they count where it is refused, and the frontier knows the rest as merged.
    for (url, nofollow) in links.chain(respelled) {
        let fingerprint = key.of(url.normal(), visit.round);
        let spelling = if url.is_normal() { fingerprint } else { key.of(url.as_str(), visit.round) };
        if recent.check(job.id, version, spelling) {
            continue;
        }
        let nofollow = page_nofollow || (nofollow && job.spec.respect_nofollow);
        match judge(&rules, &url, depth, nofollow) {
            Ok(()) => {
                recent.put(job.id, version, spelling);
                urls.push((url, fingerprint));
            }
            Err((skip, by)) => {
                if by == Judge::Rules && skip.reason != SkipReason::TooDeep {
                    recent.put(job.id, version, spelling);
                }
                found.skipped.push(skipped_row(visit, &url, skip));
            }
        }
    }
    let over_limit = extracted.links.over_limit.saturating_add(extracted.resources.over_limit);
    if over_limit > 0 {
        let beyond = resolved.beyond.iter().filter(|url| {
            !recent.check(job.id, version, key.of(url.normal(), visit.round))
                && rules.judge(url, depth).is_ok()
        });
        found.skipped.extend(over_link_limit(job, visit, over_limit.into(), beyond));
    }
    let mut left = resolved.too_long.len();
    for long in resolved.too_long {
        left -= 1;
        // The last one that is kept stands for the others.
        let more = if left == 0 { resolved.more_too_long } else { 0 };
        found.skipped.push(too_long(job, visit, long, more.into()));
    }
    let (host, own) = (visit.url.host(), pattern_of(&visit.url));
    found.leads_on = urls.iter().any(|(url, _)| url.host() == host && pattern_of(url) == own);
    if !urls.is_empty() {
        let found_urls = urls
            .into_iter()
            .map(|(url, fingerprint)| Found {
                fingerprint,
                priority: priority(
                    &url,
                    depth,
                    false,
                    SitemapHints::default(),
                    rules.authority(&url),
                    body.now,
                ),
                url,
                kind: RequestKind::Page,
            })
            .collect();
        found.discovery = Some(Discovery {
            job: visit.job,
            round: visit.round,
            depth,
            source: Some(visit.scheduled_url().clone()),
            found: found_urls,
        });
    }
    found
}

/// Asks for what a page is shown with: once in a job, wherever it is.
fn add_resources(
    job: &JobContext,
    visit: &Visit,
    resources: &[Link<'_>],
    rules: &JobRules,
    key: &FingerprintKey,
    recent: &mut Recent,
    found: &mut FoundLinks,
) {
    let version = job.rules_version();
    let mut urls = Vec::new();
    for link in resources {
        let fingerprint = key.of(link.url.normal(), visit.round).for_kind(RequestKind::Resource);
        if recent.check(job.id, version, fingerprint) {
            continue;
        }
        recent.put(job.id, version, fingerprint);
        match rules.judge_resource(&link.url) {
            Ok(()) => {
                let (url, kind) = (link.url.clone(), RequestKind::Resource);
                urls.push(Found { fingerprint, priority: 0, url, kind });
            }
            Err(skip) => found.skipped.push(skipped_row(visit, &link.url, skip)),
        }
    }
    if !urls.is_empty() {
        let source = Some(visit.scheduled_url().clone());
        let depth = visit.depth + 1;
        found.resources = Some(Discovery { job: visit.job, round: visit.round, depth, source, found: urls });
    }
}

/// Who refused a link: the job's rules do so wherever it stands, but for its depth; the page it stands on only there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judge {
    Rules,
    Page,
}

fn judge(rules: &JobRules, url: &Url, depth: u32, nofollow: bool) -> Result<(), (Skip, Judge)> {
    rules.judge(url, depth).map_err(|skip| (skip, Judge::Rules))?;
    if nofollow {
        return Err((Skip::new(SkipReason::Filtered, "nofollow"), Judge::Page));
    }
    Ok(())
}

/// A page with more links than are taken from one, and a sample of those beyond.
fn over_link_limit<'u>(
    job: &JobContext,
    visit: &Visit,
    links: u64,
    beyond: impl Iterator<Item = &'u Url>,
) -> Vec<SkippedRow> {
    let page = visit.scheduled_url();
    let limit = job.spec.max_links_per_page;
    let count = plural(links, "link", "links");
    let detail = format!("{count} over the limit of {limit} (--max-links, max_links_per_page)");
    let about = skipped_row(visit, page, Skip::new(SkipReason::TooManyLinks, detail));
    let detail = format!("over the link limit of {page}: {limit} (--max-links, max_links_per_page)");
    let each = |url| skipped_row(visit, url, Skip::new(SkipReason::OverLinkLimit, detail.clone()));
    [SkippedRow { amount: links, ..about }].into_iter().chain(beyond.map(each)).collect()
}

/// `more` are not kept.
fn too_long(job: &JobContext, visit: &Visit, long: LongUrl, more: u64) -> SkippedRow {
    let limit = job.spec.max_url_length;
    let mut detail = format!("{} characters, over max_url_length {limit}", long.length);
    if more > 0 {
        detail.push_str(&format!("; {} of this page are not listed", plural(more, "other", "others")));
    }
    SkippedRow {
        job: visit.job,
        url_key: url_key(&long.shortened),
        url: long.shortened,
        reason: SkipReason::UrlTooLong,
        detail,
        source: Some(visit.scheduled_url().as_str().to_owned()),
        amount: more,
    }
}

/// A body that is not all of it: what it links to beyond is not known. `announced` is the length that the server told.
pub(crate) fn truncated(visit: &Visit, error: &str, received: u64, announced: Option<u64>) -> SkippedRow {
    let cut = announced.map_or(0, |announced| announced.saturating_sub(received));
    let what = error.strip_prefix(TRUNCATED).unwrap_or(error);
    let missing = match cut {
        0 => String::from("how much is missing is not known"),
        cut => format!("{} missing", plural(cut, "byte is", "bytes are")),
    };
    let advice = match Truncation::of_detail(what) {
        Truncation::Length if visit.kind == RequestKind::Sitemap => " (no more is taken of a sitemap)",
        Truncation::Length => " (--max-body SIZE, max_body)",
        Truncation::Time => " (--timeout DURATION, timeout)",
        Truncation::Disconnect => "; 'argiope retry' asks again",
    };
    let detail = format!("{what}; {missing}; links beyond the cut are not followed{advice}");
    let row = skipped_row(visit, visit.scheduled_url(), Skip::new(SkipReason::BodyTruncated, detail));
    SkippedRow { amount: cut, ..row }
}

/// What the error of a page with a part of its body begins with.
pub(crate) const TRUNCATED: &str = "truncated: ";

fn skipped_row(visit: &Visit, url: &Url, skip: Skip) -> SkippedRow {
    SkippedRow::new(visit.job, url, skip, Some(visit.scheduled_url()))
}

fn stored_link<'l>(link: &'l Link<'_>) -> stored::Link<'l> {
    stored::Link { target: link.url.as_str(), anchor: link.anchor, rel: link.rel, kind: link.kind }
}

/// The URLs a sitemap names, judged like links: one link away from a seed, however many indexes lead to the sitemap. The
/// depth of a sitemap counts those.
pub(crate) fn sitemap(
    job: &JobContext,
    visit: &Visit,
    body: &Body<'_>,
    key: &FingerprintKey,
) -> (Vec<Discovery>, Vec<SkippedRow>) {
    let Ok(contents) = parse_sitemap(body.bytes, body.content_type) else { return (Vec::new(), Vec::new()) };
    let rules = job.rules();
    let depth = 1;
    let (pages, mut skipped) = judged(job, visit, &contents.urls, depth, body.now, key);
    let mut sitemaps = Vec::new();
    for entry in contents.sitemaps {
        let Ok(url) = Url::parse(&entry.loc, &job.normal) else { continue };
        let judged = of_job(&rules, &url).and_then(|()| match visit.depth {
            0..SITEMAP_DEPTH => Ok(()),
            _ => Err(Skip::new(SkipReason::TooDeep, format!("a sitemap beyond {SITEMAP_DEPTH} indexes"))),
        });
        match judged {
            Ok(()) => sitemaps.push(sitemap_found(url, visit.round, key)),
            Err(skip) => skipped.push(skipped_row(visit, &url, skip)),
        }
    }
    if contents.truncated {
        let read = plural(contents.urls.len() as u64, "entry", "entries");
        let detail =
            format!("of this sitemap {read} were read: it goes on beyond the limits, or is broken there");
        skipped.push(skipped_row(visit, visit.scheduled_url(), Skip::new(SkipReason::TooManyLinks, detail)));
    }
    let source = visit.scheduled_url();
    let discoveries = [(depth, pages), (visit.depth + 1, sitemaps)].into_iter().map(|(depth, found)| {
        Discovery { job: visit.job, round: visit.round, depth, source: Some(source.clone()), found }
    });
    (discoveries.filter(|discovery| !discovery.found.is_empty()).collect(), skipped)
}

/// What a feed that was fetched as a page names: its entries are links like those of a page.
fn feed(job: &JobContext, visit: &Visit, body: &Body<'_>, key: &FingerprintKey) -> FoundLinks {
    let contents = match parse_sitemap(body.bytes, body.content_type) {
        Ok(contents) if matches!(contents.kind, SitemapKind::Rss | SitemapKind::Atom) => contents,
        Ok(_) | Err(_) => return FoundLinks::default(),
    };
    let depth = visit.depth + 1;
    let most = contents.urls.len().min(job.spec.max_links_per_page as usize);
    let (entries, beyond) = contents.urls.split_at_checked(most).unwrap_or_default();
    let base = Base::new(&visit.url);
    let targets: Vec<Url> =
        entries.iter().filter_map(|entry| base.join(&entry.loc, &job.normal).ok()).collect();
    let of_feed = Some(u32::try_from(targets.len()).unwrap_or(u32::MAX));
    let mut found = FoundLinks { of_feed, ..FoundLinks::default() };
    if !targets.is_empty() {
        let mut batch = LinkBatch::with_room_for(targets.len());
        let links = targets.iter().map(|target| stored::Link {
            target: target.as_str(),
            anchor: "",
            rel: Rel::default(),
            kind: LinkKind::Anchor,
        });
        batch.push(visit.job, visit.url.as_str(), links);
        found.batch = Some(batch);
    }
    let (urls, skipped) = judged(job, visit, entries, depth, body.now, key);
    found.skipped = skipped;
    if !beyond.is_empty() {
        let sample = beyond.iter().take(FEED_SAMPLE);
        let urls: Vec<Url> = sample.filter_map(|entry| base.join(&entry.loc, &job.normal).ok()).collect();
        found.skipped.extend(over_link_limit(job, visit, beyond.len() as u64, urls.iter()));
    }
    let source = Some(visit.scheduled_url().clone());
    let discovery = Discovery { job: visit.job, round: visit.round, depth, source, found: urls };
    found.discovery = Some(discovery).filter(|discovery| !discovery.found.is_empty());
    found
}

/// What a list of URLs adds to the crawl, and what of it the job does not take.
fn judged(
    job: &JobContext,
    visit: &Visit,
    entries: &[SitemapUrl],
    depth: u32,
    now: Millis,
    key: &FingerprintKey,
) -> (Vec<Found>, Vec<SkippedRow>) {
    let rules = job.rules();
    let base = Base::new(&visit.url);
    let mut found = Vec::new();
    let mut skipped: Vec<SkippedRow> = Vec::new();
    let mut long: Vec<SkippedRow> = Vec::new();
    for entry in entries {
        let url = match base.join(&entry.loc, &job.normal) {
            Ok(url) => url,
            Err(UrlError::TooLong) if long.len() < LONG_SAMPLE => {
                long.push(too_long(job, visit, LongUrl::found(&visit.url, None, &entry.loc), 0));
                continue;
            }
            Err(UrlError::TooLong) => {
                if let Some(last) = long.last_mut() {
                    last.amount += 1;
                }
                continue;
            }
            Err(_) => continue,
        };
        match rules.judge(&url, depth) {
            Ok(()) => {
                let hints = SitemapHints { priority: entry.priority, last_modified: entry.modified_at };
                found.push(Found {
                    fingerprint: key.of(url.normal(), visit.round),
                    priority: priority(&url, depth, false, hints, rules.authority(&url), now),
                    url,
                    kind: RequestKind::Page,
                });
            }
            Err(skip) => skipped.push(skipped_row(visit, &url, skip)),
        }
    }
    skipped.append(&mut long);
    (found, skipped)
}

/// By its type; what is in it tells the rest.
fn may_be_feed(content_type: Option<&str>) -> bool {
    let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    // What comes as text/html is looked at only where it is no HTML.
    const TYPES: [&str; 6] = [
        "application/rss+xml",
        "application/atom+xml",
        "application/rdf+xml",
        "application/xml",
        "text/xml",
        "text/html",
    ];
    TYPES.iter().any(|known| essence.eq_ignore_ascii_case(known))
}

/// A sitemap may have an extension that pages must not have, so that only its host is judged.
pub(crate) fn of_job(rules: &JobRules, url: &Url) -> Result<(), Skip> {
    rules.judge(url, 0).or_else(|skip| match skip.reason {
        SkipReason::OutOfScope | SkipReason::Blacklisted => Err(skip),
        _ => Ok(()),
    })
}

pub(crate) fn sitemap_found(url: Url, round: u32, key: &FingerprintKey) -> Found {
    Found { fingerprint: key.of(url.normal(), round), url, priority: 5, kind: RequestKind::Sitemap }
}

/// The host that a seed's redirects have led to.
pub(crate) fn scope_host(job: &JobContext, visit: &Visit) -> Option<Url> {
    // A graph of hosts has no scope that could grow.
    (job.graph.is_none() && is_seed(visit) && !visit.hops.is_empty()).then(|| visit.url.clone())
}
