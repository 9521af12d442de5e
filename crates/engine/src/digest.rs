//! A body becomes what is stored of it: the page's row, its links, and what they lead to. No I/O: a page that is
//! recovered from the archive takes the same way.

use crate::classify::is_seed;
use crate::graph::{self, GraphRules};
use crate::job::JobContext;
use crate::recent::Recent;
use argiope_extract::{
    ContentHash, Extracted, Input, Limits, LinkKind, Media, Rel, Scratch, SitemapKind, SitemapUrl, Wants,
    extract, parse_sitemap, resolve,
};
use argiope_frontier::admission::{JobRules, SeenPage, SitemapHints, leads_elsewhere, pattern_of, priority};
use argiope_frontier::{Discovery, Found};
use argiope_model::{FingerprintKey, Millis, Page, RequestKind, Skip, SkipReason, Url, Visit, plural};
use argiope_store::catalogue::{OpenGraph, PageRow, SkippedRow};
use argiope_store::links::{self as stored, LinkBatch};

/// Sitemaps that name sitemaps are followed this deep.
const SITEMAP_DEPTH: u32 = 3;

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
    pub(crate) skipped: Vec<SkippedRow>,
    pub(crate) note: SeenPage,
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
        wants: Wants { text: false, headings: false, open_graph: pages, anchors: pages },
    };
    let extracted = extract(&input, scratch);
    if let Some(rules) = &job.graph {
        return node(job, rules, visit, body, &extracted, key, scratch);
    }
    let mut found = links_of(job, visit, &extracted, body, key, scratch, recent);
    if extracted.media == Media::Other && body.status < 300 && may_be_feed(body.content_type) {
        (found.discovery, found.skipped) = feed(job, visit, body, key);
    }
    let mut row = row_of(visit, body, &extracted);
    row.page.canonical = found.canonical.take();
    row.page.links = extracted.media.is_markup().then_some(extracted.links.seen);
    Digested {
        row,
        links: found.batch,
        discovery: found.discovery,
        skipped: found.skipped,
        note: SeenPage {
            duplicate: false,
            leads_elsewhere: found.leads_elsewhere,
            text: extracted.simhash.filter(|_| found.leads_on).map(|hash| hash.0),
        },
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
        skipped: Vec::new(),
        note: SeenPage { duplicate: false, leads_elsewhere: true, text: None },
        charset: extracted.charset,
        payload_hash: extracted.payload_hash,
    }
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
    skipped: Vec<SkippedRow>,
    leads_elsewhere: bool,
    /// To something new of its own pattern.
    leads_on: bool,
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
    if !resolved.links.is_empty() {
        let mut batch = LinkBatch::with_room_for(resolved.links.len());
        let links = resolved.links.iter().map(|link| stored::Link {
            target: link.url.as_str(),
            anchor: link.anchor,
            rel: stored_rel(link.rel, link.kind),
            kind: stored_kind(link.kind),
        });
        batch.push(visit.job, visit.url.as_str(), links);
        found.batch = Some(batch);
    }
    let host = visit.url.host();
    let own = pattern_of(&visit.url);
    let patterns = resolved.links.iter().map(|link| {
        // A link to another host leads elsewhere, whatever its pattern.
        if link.url.host() == host { pattern_of(&link.url) } else { own.wrapping_add(1) }
    });
    found.leads_elsewhere = leads_elsewhere(own, patterns);
    if body.status >= 400 {
        return found;
    }
    let rules = job.rules();
    let depth = visit.depth + 1;
    let page_nofollow = extracted.robots.nofollow && job.spec.respect_nofollow;
    let version = job.rules_version();
    let mut urls = Vec::new();
    for link in resolved.links {
        let fingerprint = key.of(link.url.as_str(), visit.round);
        if recent.check(job.id, version, fingerprint) {
            continue;
        }
        let nofollow = page_nofollow || (link.rel.nofollow && job.spec.respect_nofollow);
        match judge(&rules, &link.url, depth, nofollow) {
            Ok(()) => {
                recent.put(job.id, version, fingerprint);
                urls.push((link.url, fingerprint));
            }
            Err((skip, by)) => {
                if by == Judge::Rules && skip.reason != SkipReason::TooDeep {
                    recent.put(job.id, version, fingerprint);
                }
                found.skipped.push(skipped_row(visit, &link.url, skip));
            }
        }
    }
    if extracted.links.over_limit > 0 {
        let links = plural(extracted.links.over_limit.into(), "link", "links");
        let detail = format!("{links} beyond the first {}", job.spec.max_links_per_page);
        let skip = Skip::new(SkipReason::TooManyLinks, detail);
        found.skipped.push(skipped_row(visit, &visit.url, skip));
    }
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

fn skipped_row(visit: &Visit, url: &Url, skip: Skip) -> SkippedRow {
    SkippedRow {
        job: visit.job,
        url: url.as_str().to_owned(),
        reason: skip.reason,
        detail: skip.detail,
        source: Some(visit.scheduled_url().as_str().to_owned()),
    }
}

fn stored_kind(kind: LinkKind) -> stored::LinkKind {
    match kind {
        LinkKind::Anchor | LinkKind::Area => stored::LinkKind::Anchor,
        LinkKind::Canonical | LinkKind::Alternate | LinkKind::Next | LinkKind::Refresh => {
            stored::LinkKind::Meta
        }
        LinkKind::Frame => stored::LinkKind::Frame,
    }
}

fn stored_rel(rel: Rel, kind: LinkKind) -> stored::Rel {
    let mut flags = stored::Rel::default();
    for (set, flag) in [
        (rel.nofollow, stored::Rel::NOFOLLOW),
        (rel.ugc, stored::Rel::UGC),
        (rel.sponsored, stored::Rel::SPONSORED),
        (kind == LinkKind::Next, stored::Rel::NEXT),
        (kind == LinkKind::Canonical, stored::Rel::CANONICAL),
        (kind == LinkKind::Alternate, stored::Rel::ALTERNATE),
    ] {
        if set {
            flags = flags.and(flag);
        }
    }
    flags
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
        skipped.push(skipped_row(visit, &visit.url, Skip::new(SkipReason::TooManyLinks, detail)));
    }
    let source = visit.scheduled_url();
    let discoveries = [(depth, pages), (visit.depth + 1, sitemaps)].into_iter().map(|(depth, found)| {
        Discovery { job: visit.job, round: visit.round, depth, source: Some(source.clone()), found }
    });
    (discoveries.filter(|discovery| !discovery.found.is_empty()).collect(), skipped)
}

/// What a feed that was fetched as a page names, judged like the links of a page.
fn feed(
    job: &JobContext,
    visit: &Visit,
    body: &Body<'_>,
    key: &FingerprintKey,
) -> (Option<Discovery>, Vec<SkippedRow>) {
    let contents = match parse_sitemap(body.bytes, body.content_type) {
        Ok(contents) if matches!(contents.kind, SitemapKind::Rss | SitemapKind::Atom) => contents,
        Ok(_) | Err(_) => return (None, Vec::new()),
    };
    let depth = visit.depth + 1;
    let most = contents.urls.len().min(job.spec.max_links_per_page as usize);
    let (found, skipped) =
        judged(job, visit, contents.urls.get(..most).unwrap_or_default(), depth, body.now, key);
    let source = Some(visit.scheduled_url().clone());
    let discovery = Discovery { job: visit.job, round: visit.round, depth, source, found };
    (Some(discovery).filter(|discovery| !discovery.found.is_empty()), skipped)
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
    let mut found = Vec::new();
    let mut skipped = Vec::new();
    for entry in entries {
        let Ok(url) = Url::parse(&entry.loc, &job.normal) else { continue };
        match rules.judge(&url, depth) {
            Ok(()) => {
                let hints = SitemapHints { priority: entry.priority, last_modified: entry.modified_at };
                found.push(Found {
                    fingerprint: key.of(url.as_str(), visit.round),
                    priority: priority(&url, depth, false, hints, rules.authority(&url), now),
                    url,
                    kind: RequestKind::Page,
                });
            }
            Err(skip) => skipped.push(skipped_row(visit, &url, skip)),
        }
    }
    (found, skipped)
}

/// By its type; what is in it tells the rest.
fn may_be_feed(content_type: Option<&str>) -> bool {
    let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    ["application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/xml", "text/xml"]
        .iter()
        .any(|known| essence.eq_ignore_ascii_case(known))
}

/// A sitemap may have an extension that pages must not have, so that only its host is judged.
pub(crate) fn of_job(rules: &JobRules, url: &Url) -> Result<(), Skip> {
    rules.judge(url, 0).or_else(|skip| match skip.reason {
        SkipReason::OutOfScope | SkipReason::Blacklisted => Err(skip),
        _ => Ok(()),
    })
}

pub(crate) fn sitemap_found(url: Url, round: u32, key: &FingerprintKey) -> Found {
    Found { fingerprint: key.of(url.as_str(), round), url, priority: 5, kind: RequestKind::Sitemap }
}

/// The host that a seed's redirects have led to.
pub(crate) fn scope_host(job: &JobContext, visit: &Visit) -> Option<Url> {
    // A graph of hosts has no scope that could grow.
    (job.graph.is_none() && is_seed(visit) && !visit.hops.is_empty()).then(|| visit.url.clone())
}
