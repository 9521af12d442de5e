//! The figures of a worker under the names that dashboards and alerts know.

use super::domains::Counts;
use super::exposition::{Exposition, Kind, Labels};
use super::histogram::Reading;
use argiope_cluster::objects::UploadStatus;

/// What is `None` is not known, and not shown. Counts are since the process started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// By domain; `None` are all other domains.
    pub(crate) processed: Vec<(Option<Box<str>>, Counts)>,
    /// Final answers by status, or class of it.
    pub(crate) responses: Vec<(String, u64)>,
    pub(crate) robots_blocked: u64,
    /// By reason.
    pub(crate) retries: Vec<(String, u64)>,
    pub(crate) timeouts: u64,
    pub(crate) bytes: u64,
    pub(crate) active_fetches: u64,
    /// Of the shards that this worker owns: the sum over all workers is the queue.
    pub(crate) queued: u64,
    /// The share of the latest fetches that failed.
    pub(crate) error_rate: Option<f64>,
    pub(crate) crawl_duration: Option<Reading>,
    pub(crate) database_write_duration: Option<Reading>,
    pub(crate) object_write_duration: Option<Reading>,
    pub(crate) shards_owned: u64,
    /// Of the whole cluster, the same from every worker.
    pub(crate) workers_desired: Option<u64>,
    /// Where the archive goes to an object store.
    pub(crate) uploads: Option<UploadStatus>,
}

impl Figures {
    /// As Prometheus reads them.
    pub(crate) fn exposed<'d>(&self, dependencies: impl IntoIterator<Item = (&'d str, bool)>) -> String {
        let mut text = Exposition::default();
        self.expose_progress(&mut text);
        self.expose_fetching(&mut text);
        self.expose_cluster(&mut text);
        let up = dependencies.into_iter().map(|(name, up)| (Labels(vec![("name", name)]), u64::from(up)));
        text.metric(
            "argiope_dependency_up",
            Kind::Gauge,
            "Whether a server that the worker needs is there.",
            up,
        );
        text.into_text()
    }

    fn expose_progress(&self, text: &mut Exposition) {
        let processed = self.processed.iter().flat_map(|(domain, counts)| {
            let domain = domain.as_deref().unwrap_or("other");
            [("success", counts.success), ("failed", counts.failed), ("skipped", counts.skipped)]
                .map(|(status, count)| (Labels(vec![("domain", domain), ("status", status)]), count))
        });
        text.metric(
            "crawler_urls_processed_total",
            Kind::Counter,
            "URLs that were dealt with, by domain and outcome; most domains are 'other'.",
            processed,
        );
        text.single(
            "crawler_urls_queued_total",
            Kind::Gauge,
            "URLs that wait in the shards of this worker.",
            self.queued,
        );
        if let Some(reading) = &self.crawl_duration {
            text.histogram("crawler_crawl_duration_seconds", "From dispatch of a URL to its end.", reading);
        }
    }

    fn expose_fetching(&self, text: &mut Exposition) {
        text.metric(
            "crawler_http_response_total",
            Kind::Counter,
            "Final answers by status.",
            self.responses.iter().map(|(status, count)| (Labels(vec![("status_code", status)]), *count)),
        );
        text.single(
            "crawler_robots_blocked_total",
            Kind::Counter,
            "URLs that robots.txt forbids.",
            self.robots_blocked,
        );
        text.metric(
            "crawler_retries_total",
            Kind::Counter,
            "Requests to be tried again, by reason.",
            self.retries.iter().map(|(reason, count)| (Labels(vec![("reason", reason)]), *count)),
        );
        text.single(
            "crawler_fetch_timeout_total",
            Kind::Counter,
            "Fetches that took too long.",
            self.timeouts,
        );
        text.single("crawler_bytes_total", Kind::Counter, "Bytes received.", self.bytes);
        text.single(
            "crawler_worker_active_fetches",
            Kind::Gauge,
            "Fetches that are under way.",
            self.active_fetches,
        );
        if let Some(rate) = self.error_rate {
            let help = "The share of the latest fetches that failed.";
            text.single("crawler_worker_error_rate", Kind::Gauge, help, rate);
        }
    }

    fn expose_cluster(&self, text: &mut Exposition) {
        if let Some(reading) = &self.database_write_duration {
            text.histogram("crawler_db_write_duration_seconds", "Batches written to PostgreSQL.", reading);
        }
        if let Some(reading) = &self.object_write_duration {
            text.histogram("crawler_s3_write_duration_seconds", "Objects written to the store.", reading);
        }
        text.single("argiope_shards_owned", Kind::Gauge, "Shards that this worker owns.", self.shards_owned);
        if let Some(workers) = self.workers_desired {
            let help = "Workers that the cluster should have to work its queue off in an hour.";
            text.single("argiope_workers_desired", Kind::Gauge, help, workers);
        }
        if let Some(uploads) = &self.uploads {
            expose_uploads(uploads, text);
        }
    }
}

fn expose_uploads(uploads: &UploadStatus, text: &mut Exposition) {
    let rows = [
        (
            "argiope_archive_files_waiting",
            Kind::Gauge,
            "Finished archive files that are not in the object store yet.",
            uploads.waiting_files,
        ),
        ("argiope_archive_bytes_waiting", Kind::Gauge, "Their bytes.", uploads.waiting_bytes),
        (
            "argiope_archive_files_uploaded_total",
            Kind::Counter,
            "Archive files that were taken to the object store.",
            uploads.uploaded_files,
        ),
        ("argiope_archive_bytes_uploaded_total", Kind::Counter, "Their bytes.", uploads.uploaded_bytes),
    ];
    for (name, kind, help, number) in rows {
        text.single(name, kind, help, number);
    }
}
