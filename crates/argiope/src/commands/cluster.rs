//! `cluster init` and `cluster status`.

use super::crawl::now;
use super::selection::{print, print_json};
use crate::cli::{ClusterCommand, GlobalOptions};
use crate::cluster::{ClusterPlace, database_failure, kafka_failure};
use crate::exit::Failure;
use crate::progress::numbers::{bytes, count, counted};
use crate::settings::load_config;
use argiope_cluster::members::{ClusterStatus, cluster_status, log_lag};
use argiope_cluster::publishing::unpublished_pages;
use argiope_cluster::redis::WorkerFigures;
use argiope_cluster::transport::Log;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

pub(crate) fn run(global: &GlobalOptions, command: &ClusterCommand) -> Result<(), Failure> {
    let config = load_config(global)?;
    match command {
        ClusterCommand::Init => {
            let place = ClusterPlace::init(&config.file)?;
            print(&format!(
                "the cluster is ready: {} on {}, links travel by {}\n\
                 start workers with 'argiope worker', crawl with 'argiope crawl URL', each with this --config\n",
                counted(u64::from(place.cluster.shards), "shard", "shards"),
                place.database.place(),
                place.cluster.transport.as_str(),
            ))
        }
        ClusterCommand::Status { json } => {
            let place = ClusterPlace::open(&config.file)?;
            let status = status(&place)?;
            let live = place.live_figures(&config.file, now());
            if *json {
                print_json(&Shown { status: &status, live: &live })
            } else {
                print(&text(&status, &live))
            }
        }
    }
}

/// What is in Kafka's logs is asked of Kafka. Whatever else there is to say is said without it.
fn status(place: &ClusterPlace) -> Result<ClusterStatus, Failure> {
    let failed = |e| database_failure(&e);
    let mut session = place.session()?;
    let mut status = cluster_status(&mut session).map_err(failed)?;
    let Some(mut log) = place.carrier.log().map_err(|e| kafka_failure(&e))? else { return Ok(status) };
    status.unpublished = Some(unpublished_pages(&mut session).map_err(failed)?);
    let shards: Vec<u16> = (0..place.cluster.shards).collect();
    status.lag = match log.ends(&shards) {
        Ok(ends) => Some(log_lag(&mut session, &ends).map_err(failed)?),
        Err(error) => {
            tracing::warn!(%error, "what is on its way to other shards is not known");
            None
        }
    };
    Ok(status)
}

/// What the database knows, and what workers tell through Redis.
#[derive(Serialize)]
struct Shown<'s> {
    #[serde(flatten)]
    status: &'s ClusterStatus,
    live: &'s BTreeMap<String, WorkerFigures>,
}

fn text(status: &ClusterStatus, live: &BTreeMap<String, WorkerFigures>) -> String {
    let mut text = String::new();
    let alive = status.workers.iter().filter(|worker| worker.state == "working").count() as u64;
    let _ = writeln!(
        text,
        "{} of {} working, {} ({} without an owner), {} running",
        count(alive),
        counted(status.workers.len() as u64, "worker", "workers"),
        counted(status.shards, "shard", "shards"),
        count(status.shards_free),
        counted(status.jobs_running, "job", "jobs"),
    );
    let _ = writeln!(
        text,
        "queue {}, on its way to other shards {}, on the workers' disks {}",
        counted(status.queue, "URL", "URLs"),
        status.lag.map_or_else(|| String::from("not known"), |lag| counted(lag, "message", "messages")),
        counted(status.archive_files_on_disks, "archive file", "archive files")
    );
    if let Some(pages) = status.unpublished {
        let _ = writeln!(text, "{} not published yet", counted(pages, "page", "pages"));
    }
    let widest = status.workers.iter().map(|worker| worker.name.chars().count()).max().unwrap_or(0).max(6);
    if !status.workers.is_empty() {
        let _ = writeln!(
            text,
            "\n{:widest$}  {:8}  {:>6}  {:>12}  {:>7}  seen",
            "worker", "state", "shards", "pages", "active"
        );
    }
    for worker in &status.workers {
        let leads = if status.leader.as_ref() == Some(&worker.name) { ", leads" } else { "" };
        let figures = live.get(&worker.name).filter(|_| worker.state == "working");
        let figures = figures.map(|live| {
            let (cpu, memory) = (live.cpu_percent, bytes(live.memory_bytes));
            format!(", {:.1} pages/s, {cpu:.0} % of a core, {memory}", live.pages_per_second)
        });
        let figures = figures.unwrap_or_default();
        let note = worker.note.as_ref().map(|note| format!(", {note}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:widest$}  {:8}  {:>6}  {:>12}  {:>7}  {} s ago{leads}{figures}{note}",
            worker.name,
            worker.state,
            worker.shards,
            count(worker.pages),
            worker.active,
            worker.seen_seconds_ago
        );
    }
    if alive == 0 {
        text.push_str("no worker is up; start one with 'argiope worker'\n");
    }
    text
}
