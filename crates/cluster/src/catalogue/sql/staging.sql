-- Where a batch waits on the server, in this connection alone, until all of it goes in at once.
CREATE TEMP TABLE staged_pages ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, {pages} FROM crawl_metadata WITH NO DATA;
CREATE TEMP TABLE staged_forgotten ON COMMIT DELETE ROWS AS
SELECT job, round, url_hash, started FROM crawl_metadata WITH NO DATA;
CREATE TEMP TABLE staged_fetches ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, {fetches} FROM fetches WITH NO DATA;
CREATE TEMP TABLE staged_resources ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, {resources} FROM resources WITH NO DATA;
CREATE TEMP TABLE staged_skipped ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, {skipped}, url_hash AS identity FROM skipped WITH NO DATA;
CREATE TEMP TABLE staged_hosts ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, {hosts} FROM hosts WITH NO DATA;
CREATE TEMP TABLE staged_robots ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, origin, fetched_at, status, hash, body FROM robots JOIN robots_bodies USING (hash) WITH NO DATA;
CREATE TEMP TABLE staged_errors ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, {errors} FROM errors WITH NO DATA;
CREATE TEMP TABLE staged_jobs ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, id AS job, state, message, spec, started_at, finished_at FROM jobs WITH NO DATA;
CREATE TEMP TABLE staged_stats ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, {stats} FROM job_stats WITH NO DATA;
CREATE TEMP TABLE staged_positions ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, worker, store, file, length FROM positions WITH NO DATA;
CREATE TEMP TABLE staged_outputs ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, worker, job, path, seq, length FROM outputs WITH NO DATA;
CREATE TEMP TABLE staged_counts ON COMMIT DELETE ROWS AS
SELECT job, class, word, count FROM job_counts WITH NO DATA;
-- Pages that are stored already, where, and as what they were counted.
CREATE TEMP TABLE staged_known ON COMMIT DELETE ROWS AS
SELECT 0 AS ord, id, job, bytes, status_code, error_kind, noindex, true AS duplicate, true AS redirected
FROM crawl_metadata WITH NO DATA;
-- Refusals that are new.
CREATE TEMP TABLE staged_fresh (
    ord INTEGER NOT NULL, job INTEGER NOT NULL, reason TEXT NOT NULL, number BIGINT NOT NULL
) ON COMMIT DELETE ROWS;
