//! `cluster init`, `status`, `lost` and `accept-loss`.

use super::output::{print, print_json};
use crate::cli::ClusterCommand;
use argiope_config::{Failure, GlobalOptions, load_config, load_config_to_read};
use argiope_model::display::{bytes, count, counted, elapsed, fit, printable};
use argiope_service::cluster::ClusterPlace;
use argiope_service::cluster_admin::{
    self, ClusterStatus, ClusterView, LostDisk, ReceivedUrls, WorkerFigures,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Characters of a URL in a line of the table.
const WIDEST_URL: usize = 80;

pub(crate) fn run(global: &GlobalOptions, command: &ClusterCommand) -> Result<(), Failure> {
    let config = match command {
        ClusterCommand::Status { .. } => {
            let config = load_config_to_read(global)?;
            ClusterPlace::needs(&config)?;
            config
        }
        _ => load_config(global)?,
    };
    match command {
        ClusterCommand::Init => {
            let place = ClusterPlace::init(&config.file)?;
            print(&format!(
                "the cluster is ready: {} on {}, links are transported by {}\nstart workers with 'argiope \
                 worker', crawl with 'argiope crawl URL', each with this --config\n",
                counted(u64::from(place.cluster.shards), "shard", "shards"),
                place.database.place(),
                place.cluster.transport.as_str(),
            ))
        }
        ClusterCommand::AcceptLoss => {
            let logs = cluster_admin::accept_loss(&ClusterPlace::open(&config.file)?)?;
            print(&format!("{} will be read from the beginning\n", counted(logs, "log", "logs")))
        }
        ClusterCommand::Status { json } => {
            let view = cluster_admin::view(&ClusterPlace::open(&config.file)?, &config.file)?;
            if *json {
                print_json(&view)
            } else {
                let ClusterView { status, live } = &view;
                print(&text(status, live))
            }
        }
        ClusterCommand::Lost { worker } => {
            let place = ClusterPlace::open(&config.file)?;
            let lost = cluster_admin::declare_lost(&place, &config.file, worker)?;
            let LostDisk { archive_files, pages, link_segments } = lost;
            print(&format!(
                "marked as lost: {} with the content of {}, {}\n",
                counted(archive_files, "archive file", "archive files"),
                counted(pages, "page", "pages"),
                counted(link_segments, "segment of links", "segments of links")
            ))
        }
    }
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
        "queue {}, in transit to other shards {}, on the workers' disks {} and {}",
        counted(status.queue, "URL", "URLs"),
        status.lag.map_or_else(|| String::from("not known"), |lag| counted(lag, "message", "messages")),
        counted(status.archive_files_on_disks, "archive file", "archive files"),
        counted(status.link_segments_on_disks, "segment of links", "segments of links")
    );
    if status.archive_files_lost + status.link_segments_lost > 0 {
        let _ = writeln!(
            text,
            "lost with the disks of workers: {} with the content of {}, {}",
            counted(status.archive_files_lost, "archive file", "archive files"),
            counted(status.pages_lost, "page", "pages"),
            counted(status.link_segments_lost, "segment of links", "segments of links")
        );
    }
    for (worker, files) in &status.absent {
        let files = counted(*files, "file", "files");
        let _ = writeln!(
            text,
            "{files} on the disk of {worker}, which is not running; if that disk is lost: 'argiope cluster lost \
             {worker}'"
        );
    }
    if let Some(pages) = status.unpublished {
        let _ = writeln!(text, "{} not published yet", counted(pages, "page", "pages"));
    }
    if let Some(received) = &status.url_ingest {
        text.push_str(&url_ingest(received));
    }
    if let Some(loss) = status.log_losses.first() {
        let _ = writeln!(
            text,
            "{} lost links and is not read since {}: {}\n'argiope cluster accept-loss' continues without them",
            counted(status.log_losses.len() as u64, "log has", "logs have"),
            loss.at,
            loss.what,
        );
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
        let figures = figures.map(live_figures).unwrap_or_default();
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
        text.push_str("no worker is running; start one with 'argiope worker'\n");
    }
    text
}

/// Nothing where nothing ever came.
fn url_ingest(received: &ReceivedUrls) -> String {
    let ReceivedUrls { taken, left_out, bad, lost, waiting, examples } = received;
    if taken + left_out + bad + lost + waiting.unwrap_or(0) == 0 {
        return String::new();
    }
    let waiting = waiting.map_or_else(|| String::from("unknown"), count);
    let mut text = format!(
        "url_ingest: {} accepted, {} skipped, {} invalid, {} lost, {waiting} not read yet\n",
        counted(*taken, "URL", "URLs"),
        count(*left_out),
        count(*bad),
        count(*lost),
    );
    if let Some(last) = examples.first() {
        let place = format!("record {} of partition {}", last.offset, last.partition);
        let _ = writeln!(text, " the latest rejected one, {place}: {}", printable(&last.why));
    }
    text
}

fn live_figures(live: &WorkerFigures) -> String {
    let (cpu, memory) = (live.cpu_percent, bytes(live.memory_bytes));
    let up = elapsed(Duration::from_secs(live.uptime_seconds));
    let at =
        live.current_url.as_ref().map(|url| format!(", at {}", fit(url, WIDEST_URL))).unwrap_or_default();
    format!(", {:.1} pages/s, {cpu:.0} % of a core, {memory}, up {up}{at}", live.pages_per_second)
}
