//! What a frontier of many hosts with a page each takes in memory, and the graph that is written meanwhile: 100,000 hosts
//! are found, ten links each, and a million edges recorded. Prints resident memory after each step.
//!
//!     cargo run --profile quick -p argiope-local --example graph_memory [HOSTS]

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a measurement ends where it fails"
)]

use argiope_frontier::state::ShardState;
use argiope_frontier::transient::TransientState;
use argiope_frontier::{Discovery, Found, Frontier, FrontierConfig, JobLimits};
use argiope_local::graph::GraphStore;
use argiope_model::{
    FingerprintKey, JobId, JobSpec, LinkKind, Millis, Page, PublicSuffixes, Rel, RequestKind, Url,
};
use argiope_politeness::PolitenessRules;
use argiope_store::catalogue::{Batch, Catalogue, PageRow};
use argiope_store::links::{Link, LinkBatch, Links};
use std::sync::Arc;

const JOB: JobId = JobId(1);
const LINKS: u64 = 10;

fn home(number: u64) -> Url {
    Url::from_stored(&format!("https://www.host-number-{number}.example/")).expect("a URL")
}

/// Numbers in no order.
fn scatter(number: u64) -> u64 {
    (number ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

fn say(what: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| {
        let found = status.lines().find_map(|line| line.strip_prefix(name));
        found.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1024
    };
    println!("{what}: {} MB resident, {} MB at the peak", line("VmRSS:"), line("VmHWM:"));
}

fn main() {
    let hosts: u64 = std::env::args().nth(1).map_or(100_000, |text| text.parse().expect("a number"));
    say("at the start");
    let key = FingerprintKey::new([5; 16]);
    let config = FrontierConfig { window: 0, ..FrontierConfig::default() };
    let suffixes = Arc::new(PublicSuffixes::bundled());
    say("with the Public Suffix List");
    let mut frontier =
        Frontier::new(config, suffixes, key.clone(), Arc::new(PolitenessRules::default()), Millis(1));
    let spec = JobSpec { max_subdomains_per_root: Some(3), ..JobSpec::default() };
    let limits = JobLimits { max_visits_per_host: Some(3), ..JobLimits::of(&spec, "Bot") };
    frontier.open_job(JOB, limits);
    let mut state = TransientState::new(2 << 20);
    let directory = tempfile::tempdir().expect("a directory");
    let store = GraphStore::open(&directory.path().join("graph.db")).expect("a graph");
    let (mut catalogue, mut edges) = store.ports(3, |_| {});
    for node in 0..hosts {
        let targets: Vec<Url> = (0..LINKS).map(|n| home(scatter(node * LINKS + n) % hosts)).collect();
        let source = home(node);
        let found = targets.iter().map(|url| Found {
            fingerprint: key.of(url.host(), 1),
            url: url.clone(),
            priority: 1,
            kind: RequestKind::Page,
            previous: None,
        });
        let discovery = Discovery {
            job: JOB,
            round: 0,
            depth: 1,
            source: None,
            found: found.collect(),
            not_before: None,
        };
        frontier.discover(discovery, Millis(2));
        state.apply(frontier.take_changes()).expect("applied");
        let mut links = LinkBatch::new();
        let of = |target: &'_ Url| target.as_str().to_owned();
        let texts: Vec<String> = targets.iter().map(of).collect();
        let link = |target| Link { target, anchor: "", rel: Rel::default(), kind: LinkKind::Anchor };
        links.push(JOB, source.as_str(), texts.iter().map(|text| link(text.as_str())));
        edges.append(&links).expect("staged");
        let page = Page { status: Some(200), title: Some(format!("Host {node}")), ..Page::default() };
        let row = PageRow::new(JOB, node, source.host(), page);
        catalogue.commit(&Batch { pages: vec![row], ..Batch::default() }).expect("recorded");
        if (node + 1) % (hosts / 5).max(1) == 0 {
            say(&format!("{} pages", node + 1));
        }
    }
    store.flush().expect("written");
    let figures = store.figures();
    let queued = frontier.progress(JOB).expect("the job").queued;
    say(&format!("{} nodes, {} edges, {queued} queued", figures.nodes, figures.edges));
}
