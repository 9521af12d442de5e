//! What an operator does with a cluster: looks at it, accepts what Kafka has lost, and declares the disk of a worker lost.

use crate::bucket;
use crate::cluster::{ClusterPlace, database_failure, kafka_failure};
use crate::directory::store_failure;
use argiope_cluster::catalogue::{FileLocations, mark_all};
use argiope_cluster::members::{accept_losses, cluster_status, log_lag};
use argiope_cluster::publishing::unpublished_pages;
use argiope_cluster::receiving::{self, received_urls};
use argiope_cluster::transport::Log;
use argiope_config::{ConfigFile, Failure};
use argiope_store::clock::now;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

pub use argiope_cluster::members::ClusterStatus;
pub use argiope_cluster::receiving::ReceivedUrls;
pub use argiope_cluster::redis::WorkerFigures;

/// What the database knows, and what workers report through Redis.
#[derive(Serialize)]
pub struct ClusterView {
    #[serde(flatten)]
    pub status: ClusterStatus,
    /// By the name of the worker.
    pub live: BTreeMap<String, WorkerFigures>,
}

pub fn view(place: &ClusterPlace, file: &ConfigFile) -> Result<ClusterView, Failure> {
    Ok(ClusterView { status: status(place)?, live: place.live_figures(file, now()) })
}

/// Kafka is queried for the ends of logs; everything else is known without it.
fn status(place: &ClusterPlace) -> Result<ClusterStatus, Failure> {
    let failed = |e| database_failure(&e);
    let mut session = place.session()?;
    let mut status = cluster_status(&mut session).map_err(failed)?;
    let Some(mut log) = place.transport.log().map_err(|e| kafka_failure(&e))? else { return Ok(status) };
    let Some((mut kafka, topics)) = place.transport.client().map_err(|e| kafka_failure(&e))? else {
        return Ok(status);
    };
    status.unpublished = Some(unpublished_pages(&mut session).map_err(failed)?);
    let shards: Vec<u16> = (0..place.cluster.shards).collect();
    status.lag = match log.ends(&shards) {
        Ok(ends) => Some(log_lag(&mut session, &ends).map_err(failed)?),
        Err(error) => {
            tracing::warn!(%error, "the number of links in transit is unknown");
            None
        }
    };
    // Once is enough to find that it does not answer.
    let ends = status.lag.and_then(|_| receiving::ends(&mut kafka, &topics).ok());
    status.url_ingest = Some(received_urls(&mut session, ends.as_deref()).map_err(failed)?);
    Ok(status)
}

/// Continues without the links that Kafka has lost. Gives the number of logs that are read from their beginning.
pub fn accept_loss(place: &ClusterPlace) -> Result<u64, Failure> {
    let failed = |e| kafka_failure(&e);
    let Some(mut log) = place.transport.log().map_err(failed)? else {
        return Err(Failure::usage("this cluster does not use Kafka for links, so none can be lost"));
    };
    place.transport.verify().map_err(failed)?;
    let shards: Vec<u16> = (0..place.cluster.shards).collect();
    let (ranges, identity) = (log.ranges(&shards).map_err(failed)?, log.identity().map_err(failed)?);
    let accepted = accept_losses(&mut place.session()?, &ranges, identity.as_deref());
    Ok(accepted.map_err(|e| database_failure(&e))?.len() as u64)
}

/// What was only on the disk of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LostDisk {
    pub archive_files: u64,
    pub pages: u64,
    pub link_segments: u64,
}

/// Marks what a worker had on its disk as lost.
pub fn declare_lost(place: &ClusterPlace, file: &ConfigFile, worker: &str) -> Result<LostDisk, Failure> {
    let objects = bucket::open(file)?;
    let status = cluster_status(&mut place.session()?).map_err(|e| database_failure(&e))?;
    if status.workers.iter().any(|here| here.name == worker && here.state != "dead") {
        return Err(Failure::failed(format!("the worker {worker} is up, and so is its disk"))
            .hint("stop it first; at its next start it detects by itself which files are lost"));
    }
    if !status.absent.contains_key(worker) {
        return Err(Failure::failed(format!("no worker {worker} has files on its disk"))
            .hint("'argiope cluster status' lists those that have"));
    }
    if let Some(objects) = &objects {
        objects.check().map_err(|e| bucket::failure(&e))?;
    }
    let failed = |e| store_failure(&e);
    let mut kept = FileLocations::open(&place.database, worker, objects).map_err(failed)?;
    let checked = kept.check_files(&|_| false).map_err(failed)?;
    let pages = mark_all(&mut kept, &checked, &AtomicBool::new(false)).map_err(failed)?;
    Ok(LostDisk { archive_files: checked.lost.len() as u64, pages, link_segments: checked.lost_links })
}
