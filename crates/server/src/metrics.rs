//! `/metrics`: a status as Prometheus reads it (OpenMetrics text). Counters are named `..._total` by the encoder.

use argiope_engine::{Distribution, Status};
use argiope_model::SkipReason;
use argiope_service::health::{Vitals, WorkerVitals};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use std::fmt;

pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) fn exposition(vitals: Vitals) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot(vitals)));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Snapshot(Vitals);

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut families = Families(encoder);
        let Snapshot(Vitals { status, dependencies, worker, .. }) = self;
        urls(&mut families, status)?;
        requests(&mut families, status)?;
        latencies(&mut families, status)?;
        process(&mut families, status)?;
        if let Some(worker) = worker {
            cluster(&mut families, worker)?;
        }
        let up = dependencies.iter().map(|it| ([("name", it.name)], u64::from(it.up)));
        families.gauges(
            "argiope_dependency_up",
            "Whether a server, or the disk, that the process needs is available",
            up,
        )
    }
}

fn urls(families: &mut Families<'_>, status: &Status) -> fmt::Result {
    let processed = status.domains.iter().flat_map(|figures| {
        let domain = figures.domain.as_deref().unwrap_or("other");
        [("success", figures.success), ("failed", figures.failed), ("skipped", figures.skipped)]
            .map(|(outcome, count)| ([("domain", domain), ("status", outcome)], count))
    });
    families.counters(
        "crawler_urls_processed",
        "URLs by outcome; all but the busiest domains are 'other'",
        processed,
    )?;
    families.gauge("crawler_urls_queued", "URLs in the queues of this process", status.queued())?;
    let blocked = status.totals.skipped.get(&SkipReason::RobotsDisallowed).copied().unwrap_or(0);
    families.counter("crawler_robots_blocked", "URLs that robots.txt disallows", blocked)
}

fn requests(families: &mut Families<'_>, status: &Status) -> fmt::Result {
    let totals = &status.totals;
    families.counter("crawler_requests", "Requests of every kind", totals.requests)?;
    let responses: Vec<(String, u64)> =
        totals.statuses.iter().map(|(code, count)| (code.to_string(), *count)).collect();
    families.counters(
        "crawler_http_response",
        "Final responses by status code",
        responses.iter().map(|(code, count)| ([("status_code", code.as_str())], *count)),
    )?;
    let retries = totals.retries.iter().map(|(reason, count)| ([("reason", reason.as_str())], *count));
    families.counters("crawler_retries", "Retries by reason", retries)?;
    families.counter("crawler_fetch_timeout", "Requests that took too long", totals.timeouts)?;
    families.counter("crawler_bytes", "Bytes of response bodies as received", totals.bytes)?;
    families.gauge("crawler_worker_active_fetches", "Requests in flight", status.requests.in_flight)?;
    families.gauge_f64(
        "crawler_worker_error_rate",
        "Share of the URLs of the last seconds that failed",
        status.rates.failed_share,
    )?;
    families.gauge_f64("crawler_pages_per_second", "Pages per second over the last seconds", status.rates.now)
}

fn latencies(families: &mut Families<'_>, status: &Status) -> fmt::Result {
    let latency = &status.latency;
    families.histogram(
        "crawler_crawl_duration_seconds",
        "From the request for a URL to the end of its processing",
        &latency.crawl,
    )?;
    families.histogram("crawler_db_write_duration_seconds", "Commits to the catalogue", &latency.commit)?;
    let phases = [
        ("dns", &latency.dns),
        ("connect", &latency.connect),
        ("tls", &latency.tls),
        ("first_byte", &latency.first_byte),
        ("download", &latency.download),
    ];
    families.histograms("crawler_fetch_phase_seconds", "Phases of a fetch", "phase", &phases)
}

fn process(families: &mut Families<'_>, status: &Status) -> fmt::Result {
    families.gauge("argiope_hosts_active", "Hosts with requests in flight", status.hosts.active)?;
    families.gauge(
        "argiope_hosts_waiting",
        "Hosts that wait for their time",
        status.hosts.waiting_count(),
    )?;
    families.gauge("argiope_memory_bytes", "Resident memory", status.process.memory_bytes)?;
    families.gauge_f64("argiope_cpu_percent", "CPU use, 100 is one core", status.process.cpu_percent)
}

fn cluster(families: &mut Families<'_>, worker: &WorkerVitals) -> fmt::Result {
    families.gauge("argiope_shards_owned", "Shards that this worker owns", worker.shards_owned)?;
    families.gauge(
        "argiope_workers_desired",
        "Workers that the cluster should have to work its queue off in an hour",
        worker.workers_desired,
    )?;
    let Some(uploads) = &worker.uploads else { return Ok(()) };
    families.gauge(
        "argiope_archive_files_waiting",
        "Finished archive files that are not in the object store yet",
        uploads.waiting_files,
    )?;
    families.gauge("argiope_archive_bytes_waiting", "Their bytes", uploads.waiting_bytes)?;
    families.counter(
        "argiope_archive_files_uploaded",
        "Archive files that were uploaded to the object store",
        uploads.uploaded_files,
    )?;
    families.counter("argiope_archive_bytes_uploaded", "Their bytes", uploads.uploaded_bytes)
}

/// Writes families of metrics.
struct Families<'e>(DescriptorEncoder<'e>);

impl Families<'_> {
    fn family<'f>(
        &'f mut self,
        name: &'f str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'f>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Counter)?
            .encode_counter::<[(&str, &str); 0], u64, u64>(&value, None)
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn gauge_f64(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.family(name, help, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn counters<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = ([(&'l str, &'l str); N], u64)>,
    ) -> fmt::Result {
        let mut family = self.family(name, help, MetricType::Counter)?;
        for (labels, value) in values {
            family.encode_family(&labels)?.encode_counter::<[(&str, &str); 0], u64, u64>(&value, None)?;
        }
        Ok(())
    }

    fn gauges<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl Iterator<Item = ([(&'l str, &'l str); N], u64)>,
    ) -> fmt::Result {
        let mut family = self.family(name, help, MetricType::Gauge)?;
        for (labels, value) in values {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, help: &str, values: &Distribution) -> fmt::Result {
        let family = self.family(name, help, MetricType::Histogram)?;
        encode_histogram(family, values)
    }

    fn histograms(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&str, &Distribution)],
    ) -> fmt::Result {
        let mut family = self.family(name, help, MetricType::Histogram)?;
        for (value, distribution) in values {
            encode_histogram(family.encode_family(&[(label, *value)])?, distribution)?;
        }
        Ok(())
    }
}

fn encode_histogram(mut to: MetricEncoder<'_>, values: &Distribution) -> fmt::Result {
    let buckets: Vec<(f64, u64)> = values.buckets().collect();
    to.encode_histogram::<[(&str, &str); 0]>(values.sum().as_secs_f64(), values.count(), &buckets, None)
}
