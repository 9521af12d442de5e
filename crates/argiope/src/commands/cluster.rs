//! `cluster init` and `cluster status`.

use super::selection::{print, print_json};
use crate::cli::{ClusterCommand, GlobalOptions};
use crate::cluster::{ClusterPlace, database_failure};
use crate::exit::Failure;
use crate::progress::numbers::{count, counted};
use crate::settings::load_config;
use argiope_cluster::members::{ClusterStatus, cluster_status};
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
            let status = cluster_status(&mut place.session()?).map_err(|e| database_failure(&e))?;
            if *json { print_json(&status) } else { print(&text(&status)) }
        }
    }
}

fn text(status: &ClusterStatus) -> String {
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
        "queue {}, on its way to other shards {}",
        counted(status.queue, "URL", "URLs"),
        counted(status.lag, "message", "messages")
    );
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
        let note = worker.note.as_ref().map(|note| format!(", {note}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:widest$}  {:8}  {:>6}  {:>12}  {:>7}  {} s ago{leads}{note}",
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
