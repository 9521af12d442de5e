//! A batch on its way to the server: rows of each kind for the temporary tables, and the script that merges them.

use super::counts::PageCounts;
use super::page::url_hash;
use super::{fetch, page, resource};
use crate::database::{Copy, Rows, Staged, month_of};
use argiope_model::{JobId, Millis};
use argiope_store::catalogue::{Batch, JobState, KEPT_BATCHES, PageRow, limit_of_cuts};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};

const FORGOTTEN: &str = "job, round, url_hash, started";
const SKIPPED: &str = "job, url_hash, reason, url, detail, source, amount";
const HOSTS: &str = "host, root_domain, robots_text, robots_fetched_at, robots_status, crawl_delay_ms, delay_ms, \
    is_allowed, page_count, error_count, bytes, last_request_at";
const ROBOTS: &str = "origin, fetched_at, status, hash, body";
const ERRORS: &str = "job, url_hash, round, attempt, host, url, kind, message, status, at, dead_letter";
const JOBS: &str = "job, state, message, spec, started_at, finished_at";
const STATS: &str =
    "job, at, pages, failed, skipped, bytes, pending, in_progress, hosts_active, hosts_waiting";
const POSITIONS: &str = "worker, store, file, length";
const OUTPUTS: &str = "worker, job, path, seq, length";

/// Creates the temporary tables of a connection.
pub(super) fn setup() -> String {
    include_str!("sql/staging.sql")
        .replace("{pages}", page::COLUMNS)
        .replace("{fetches}", fetch::COLUMNS)
        .replace("{resources}", resource::COLUMNS)
        .replace("{skipped}", SKIPPED)
        .replace("{hosts}", HOSTS)
        .replace("{errors}", ERRORS)
        .replace("{stats}", STATS)
}

#[derive(Default)]
pub(super) struct StagedBatch {
    pub(super) staged: Staged,
    /// The result for each page of the batch: its stored row, and whether that replaced an earlier one.
    pub(super) places: Vec<(u32, bool)>,
    pub(super) months: BTreeSet<String>,
}

impl StagedBatch {
    pub(super) fn of(batch: &Batch, worker: &str, skipped_limit: u64) -> StagedBatch {
        let mut staged = StagedBatch::default();
        staged.add(include_str!("sql/lock.sql"));
        staged.forgotten(batch);
        staged.pages(&batch.pages);
        staged.skipped(batch, skipped_limit);
        staged.fetches(batch);
        staged.resources(batch);
        staged.hosts(batch);
        staged.robots(batch);
        staged.errors(batch);
        staged.jobs(batch);
        staged.stats(batch);
        staged.positions(batch, worker);
        staged.finish(batch);
        staged
    }

    fn add(&mut self, sql: &str) {
        self.staged.script.push_str(sql);
    }

    /// False if there are no rows of this kind.
    fn copy(&mut self, table: &str, columns: &str, rows: Rows) -> bool {
        if rows.is_empty() {
            return false;
        }
        let sql = format!("COPY staged_{table} ({columns}) FROM STDIN (FORMAT binary)");
        self.staged.copies.push(Copy { sql, rows: rows.finish().into() });
        true
    }

    fn placed(&mut self, table: &str, columns: &str, rows: Rows) -> bool {
        self.copy(table, &format!("ord, {columns}"), rows)
    }

    fn forgotten(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for key in &batch.forgotten {
            rows.row(4);
            rows.small(key.job.0);
            rows.small(key.round);
            rows.text(&url_hash(key.url_key));
            rows.time(key.started);
        }
        if self.copy("forgotten", FORGOTTEN, rows) {
            self.add(include_str!("sql/pages_forget.sql"));
        }
    }

    fn pages(&mut self, pages: &[PageRow]) {
        // A page that comes twice is stored as it was last.
        let mut last: HashMap<(JobId, u64, u32), u32> = HashMap::with_capacity(pages.len());
        let key = |row: &PageRow| (row.job, row.url_key, row.round);
        for (place, row) in (0u32..).zip(pages) {
            last.insert(key(row), place);
        }
        let (mut rows, mut counts) = (Rows::new(), PageCounts::default());
        let mut first = HashMap::new();
        for (place, row) in (0u32..).zip(pages) {
            let stored = last.get(&key(row)).copied().unwrap_or(place);
            let repeats = *first.entry(stored).or_insert(place) != place;
            self.places.push((stored, repeats));
            if stored == place {
                page::encode(&mut rows, place, row);
                counts.add(row);
                self.months.insert(month_of(row.scheduled_at));
            }
        }
        if self.placed("pages", page::COLUMNS, rows) {
            self.copy("counts", "job, class, word, count", counts.rows());
            let staged = |column: &str| match column.trim() {
                // It was granted to another member, and is counted there if that is declared dead.
                "worker_id" => String::from("coalesce(stored.worker_id, staged.worker_id)"),
                column => format!("staged.{column}"),
            };
            let staged: Vec<String> = page::COLUMNS.split(", ").map(staged).collect();
            self.add(include_str!("sql/pages_known.sql"));
            self.add(&include_str!("sql/pages_insert.sql").replace("{columns}", page::COLUMNS));
            let update = include_str!("sql/pages_update.sql")
                .replace("{columns}", page::COLUMNS)
                .replace("{staged}", &staged.join(", "));
            self.add(&update);
            self.add(include_str!("sql/skipped_forget.sql"));
        }
    }

    fn skipped(&mut self, batch: &Batch, limit: u64) {
        let mut rows = Rows::new();
        for (place, row) in (0u32..).zip(&batch.skipped) {
            rows.row(9);
            rows.small(place);
            rows.small(row.job.0);
            rows.text(&url_hash(row.stored_key()));
            rows.text(row.reason.as_str());
            rows.text(&row.url);
            rows.text(&row.detail);
            rows.optional_text(row.source.as_deref());
            rows.number(row.amount);
            rows.text(&url_hash(row.url_key));
        }
        if self.placed("skipped", &format!("{SKIPPED}, identity"), rows) {
            let insert = include_str!("sql/skipped_insert.sql")
                .replace("{limit}", &limit.to_string())
                .replace("{limit_of_cuts}", &limit_of_cuts(limit).to_string());
            self.add(&insert);
        }
    }

    fn fetches(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for (place, row) in (0u32..).zip(&batch.fetches) {
            fetch::encode(&mut rows, place, row);
            self.months.insert(month_of(row.timings.started));
        }
        if self.placed("fetches", fetch::COLUMNS, rows) {
            if batch.recovered {
                self.add(include_str!("sql/fetches_known.sql"));
            }
            self.add(&include_str!("sql/fetches_insert.sql").replace("{columns}", fetch::COLUMNS));
        }
    }

    fn resources(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for (place, row) in (0u32..).zip(&batch.resources) {
            resource::encode(&mut rows, place, row);
        }
        if self.placed("resources", resource::COLUMNS, rows) {
            self.add(&include_str!("sql/resources_upsert.sql").replace("{columns}", resource::COLUMNS));
        }
    }

    fn hosts(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for (place, row) in (0u32..).zip(&batch.hosts) {
            rows.row(13);
            rows.small(place);
            rows.text(&row.host);
            rows.text(&row.root_domain);
            rows.optional_text(row.robots_text.as_deref());
            rows.optional(row.robots_fetched_at, Rows::time);
            rows.optional(row.robots_status, Rows::short);
            rows.optional(row.crawl_delay_ms, Rows::number);
            rows.number(row.delay_ms);
            rows.boolean(row.is_allowed);
            rows.number(row.page_count);
            rows.number(row.error_count);
            rows.number(row.bytes);
            rows.optional(row.last_request_at, Rows::time);
        }
        if self.placed("hosts", HOSTS, rows) {
            self.add(&include_str!("sql/hosts_upsert.sql").replace("{columns}", HOSTS));
        }
    }

    fn robots(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for (place, row) in (0u32..).zip(&batch.robots) {
            rows.row(6);
            rows.small(place);
            rows.text(&row.origin);
            rows.time(row.fetched_at);
            rows.optional(row.status, Rows::short);
            rows.bytes(&Sha256::digest(&row.body));
            rows.bytes(&row.body);
        }
        if self.placed("robots", ROBOTS, rows) {
            self.add(include_str!("sql/robots_insert.sql"));
        }
    }

    fn errors(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for (place, row) in (0u32..).zip(&batch.errors) {
            rows.row(12);
            rows.small(place);
            rows.small(row.job.0);
            rows.text(&url_hash(row.url_key));
            rows.small(row.round);
            rows.short(row.attempt.into());
            rows.text(&row.host);
            rows.text(&row.url);
            rows.text(&row.kind);
            rows.text(&row.message);
            rows.optional(row.status, Rows::short);
            rows.time(row.at);
            rows.boolean(row.dead_letter);
        }
        if self.placed("errors", ERRORS, rows) {
            self.add(&include_str!("sql/errors_insert.sql").replace("{columns}", ERRORS));
        }
    }

    fn jobs(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for (place, change) in (0u32..).zip(&batch.jobs) {
            let starts = change.state == Some(JobState::Running);
            let ends = change.state.is_some_and(JobState::is_finished);
            rows.row(7);
            rows.small(place);
            rows.small(change.job.0);
            rows.optional_text(change.state.map(JobState::as_str));
            rows.optional_text(change.message.as_deref());
            rows.optional_text(change.spec.as_deref());
            rows.optional(starts.then_some(change.at), Rows::time);
            rows.optional(ends.then_some(change.at), Rows::time);
        }
        if self.placed("jobs", JOBS, rows) {
            // One after the other: a batch may change a job twice.
            for place in 0..batch.jobs.len() {
                let update = include_str!("sql/job_update.sql").replace("{ord}", &place.to_string());
                self.add(&update);
            }
        }
    }

    fn stats(&mut self, batch: &Batch) {
        let mut rows = Rows::new();
        for (place, (job, point)) in (0u32..).zip(&batch.stats) {
            rows.row(11);
            rows.small(place);
            rows.small(job.0);
            rows.time(point.at);
            for number in [
                point.pages,
                point.failed,
                point.skipped,
                point.bytes,
                point.pending,
                point.in_progress,
                point.hosts_active,
                point.hosts_waiting,
            ] {
                rows.number(number);
            }
        }
        if self.placed("stats", STATS, rows) {
            let values: Vec<&str> = STATS.split(", ").skip(2).collect();
            let excluded: Vec<String> = values.iter().map(|column| format!("excluded.{column}")).collect();
            let insert = include_str!("sql/stats_insert.sql")
                .replace("{columns}", STATS)
                .replace("{values}", &values.join(", "))
                .replace("{excluded}", &excluded.join(", "));
            self.add(&insert);
        }
    }

    fn positions(&mut self, batch: &Batch, worker: &str) {
        let files = batch.archive.iter().map(|file| ("archive", file.file.clone(), file.length));
        let links = batch.links.iter().map(|links| ("links", links.segment.to_string(), links.length));
        let mut rows = Rows::new();
        for (place, (store, file, length)) in (0u32..).zip(files.chain(links)) {
            rows.row(5);
            rows.small(place);
            rows.text(worker);
            rows.text(store);
            rows.text(&file);
            rows.number(length);
        }
        if self.placed("positions", POSITIONS, rows) {
            self.add(include_str!("sql/positions_upsert.sql"));
        }
        let mut rows = Rows::new();
        for (place, reached) in (0u32..).zip(&batch.outputs) {
            rows.row(6);
            rows.small(place);
            rows.text(worker);
            rows.small(reached.job.0);
            rows.text(&reached.path);
            rows.number(reached.seq);
            rows.number(reached.length);
        }
        if self.placed("outputs", OUTPUTS, rows) {
            self.add(include_str!("sql/outputs_upsert.sql"));
        }
    }

    fn finish(&mut self, batch: &Batch) {
        // The time of a batch shows which requests cannot be in it; a caller's slow clock must not break that.
        let last_end = batch.fetches.iter().map(|row| row.timings.ended).max();
        let Millis(at) = batch.at.max(last_end.unwrap_or_default());
        let finish = include_str!("sql/finish.sql")
            .replace("{at}", &at.to_string())
            .replace("{kept}", &KEPT_BATCHES.to_string());
        self.add(&finish);
    }
}
