//! Turns the body of a response into what is stored of it: the page's row, its links, and the URLs it discovers. No
//! I/O: a page recovered from the archive is processed in the same way.

mod links;
mod refusals;
mod sitemap;

pub(crate) use refusals::{TRUNCATED, truncated};
pub(crate) use sitemap::{of_job, sitemap_found};

use crate::classify::is_seed;
use crate::graph::{self, GraphRules};
use crate::job::JobContext;
use crate::recent::Recent;
use argiope_extract::{
    Extracted, Input, Limits, Media, Scratch, Wants, extract, hash_without_numbers, resolve,
};
use argiope_frontier::admission::{PageText, SeenPage};
use argiope_frontier::{Discovery, Found};
use argiope_model::{ContentHash, FingerprintKey, Millis, Page, Resources, Url, Visit};
use argiope_store::catalogue::{OpenGraph, PageRow, SkippedRow};
use argiope_store::links::LinkBatch;

/// The buffers of one thread, reused from page to page.
pub(crate) struct Buffers {
    pub(crate) scratch: Scratch,
    pub(crate) recent: Recent,
}

impl Buffers {
    pub(crate) fn new() -> Buffers {
        Buffers { scratch: Scratch::new(), recent: Recent::new() }
    }
}

/// The body of a response, with the headers that say how to read it.
pub(crate) struct ResponseBody<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) x_robots_tag: &'a [&'a str],
    /// After content decoding.
    pub(crate) bytes: &'a [u8],
    /// Before content decoding, if that is to be hashed as well.
    pub(crate) payload: Option<&'a [u8]>,
    pub(crate) now: Millis,
}

/// The result of processing the body of a page. Its row still lacks the fields of the request.
pub(crate) struct PageContent {
    pub(crate) row: PageRow,
    pub(crate) links: Option<LinkBatch>,
    pub(crate) discoveries: Vec<Discovery>,
    pub(crate) skipped: Vec<SkippedRow>,
    /// For trap detection; only for pages that are not errors.
    pub(crate) note: Option<SeenPage>,
    pub(crate) charset: Option<&'static str>,
    pub(crate) payload_hash: Option<ContentHash>,
}

/// Reads the bodies of a visit.
pub(crate) struct ContentReader<'p> {
    pub(crate) job: &'p JobContext,
    pub(crate) visit: &'p Visit,
    pub(crate) key: &'p FingerprintKey,
}

impl ContentReader<'_> {
    pub(crate) fn page(&self, body: &ResponseBody<'_>, buffers: &mut Buffers) -> PageContent {
        let (job, visit) = (self.job, self.visit);
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
        let mut content = PageContent {
            row: row_of(job, visit, body, &extracted),
            links: None,
            discoveries: Vec::new(),
            skipped: Vec::new(),
            note: None,
            charset: extracted.charset,
            payload_hash: extracted.payload_hash,
        };
        if let Some(rules) = &job.graph {
            self.add_edges(rules, body.status, &extracted, scratch, &mut content);
            return content;
        }
        content.row.page.links = extracted.media.is_markup().then_some(extracted.links.seen);
        let mut leads_on = false;
        if extracted.media == Media::Other && body.status < 300 && may_be_feed(body.content_type) {
            self.add_feed(body, &mut content);
        } else {
            let resolved = resolve(&extracted, &visit.url, &job.normal, scratch);
            content.row.page.canonical = resolved.canonical.as_ref().map(|url| url.as_str().to_owned());
            content.links = self.link_batch(&resolved);
            if body.status < 400 {
                leads_on = self.add_links(&extracted, resolved, body.now, recent, &mut content);
            }
        }
        content.note = (body.status < 300).then(|| SeenPage { text: text_of(&extracted), leads_on });
        content
    }

    /// The edges of a page of a job that maps hosts; its other links are not stored.
    fn add_edges(
        &self,
        rules: &GraphRules,
        status: u16,
        extracted: &Extracted,
        scratch: &mut Scratch,
        content: &mut PageContent,
    ) {
        let found = match status {
            400.. => graph::Outbound::default(),
            _ => graph::outbound(self.job, rules, self.visit, extracted, self.key, scratch),
        };
        content.row.page.links = Some(found.count);
        content.links = Some(found.edges).filter(|edges| !edges.is_empty());
        content.discoveries.extend(found.discovery);
    }

    fn discovery(&self, depth: u32, found: Vec<Found>) -> Discovery {
        let visit = self.visit;
        let source = Some(visit.scheduled_url().clone());
        Discovery { job: visit.job, round: visit.round, depth, source, found, not_before: None }
    }
}

/// What distinguishes a page from others of its URL pattern.
fn text_of(extracted: &Extracted) -> PageText {
    let words = match extracted.media {
        // Content other than text is a duplicate only if every byte is the same.
        Media::Other => {
            extracted.content_hash.0.iter().take(8).fold(0, |hash, b| (hash << 8) | u64::from(*b))
        }
        _ => extracted.simhash_without_numbers.map_or(0, |hash| hash.0),
    };
    PageText { words, title: extracted.title.as_deref().map_or(0, hash_without_numbers) }
}

fn row_of(job: &JobContext, visit: &Visit, body: &ResponseBody<'_>, extracted: &Extracted) -> PageRow {
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
        content_hash: Some(extracted.content_hash),
        simhash: extracted.simhash,
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
    row.noindex = extracted.robots.noindex && job.rules().respects_noindex(&visit.url);
    row.nofollow = extracted.robots.nofollow;
    row
}

/// Decided by the content type alone; the parser decides the rest.
fn may_be_feed(content_type: Option<&str>) -> bool {
    let essence = content_type.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    // A text/html body gets here only if it is no HTML.
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

/// The host that the redirects of a seed led to.
pub(crate) fn scope_host(job: &JobContext, visit: &Visit) -> Option<Url> {
    // A job that maps hosts has no scope to extend.
    (job.graph.is_none() && is_seed(visit) && !visit.hops.is_empty()).then(|| visit.url.clone())
}
