-- The frontier. Every admitted URL that has not ended is here, in the queue of its job on its host; job first, so that
-- whether a job has any is asked of one place.
CREATE TABLE urls (
    job      INTEGER NOT NULL,
    shard    INTEGER NOT NULL,
    host     BIGINT NOT NULL,      -- number within its shard
    due      BIGINT NOT NULL,      -- milliseconds since 1970 before which it is not served; 0 if it is in its queue
    rank     SMALLINT NOT NULL,
    depth    SMALLINT NOT NULL,
    sequence BIGINT NOT NULL,
    visit    BYTEA NOT NULL,
    PRIMARY KEY (job, shard, host, due, rank, depth, sequence)
);

CREATE INDEX urls_by_due ON urls (shard, due) WHERE due > 0;

-- Fingerprints of all URLs ever admitted, eight bytes each, as they came: the owner of the shard reads them into memory.
CREATE TABLE seen (
    shard        INTEGER NOT NULL,
    job          INTEGER NOT NULL,
    piece        BIGINT GENERATED ALWAYS AS IDENTITY,
    fingerprints BYTEA NOT NULL,
    PRIMARY KEY (shard, job, piece)
);

-- What is remembered of a host: when it may be asked next, its delay, its breaker.
CREATE TABLE frontier_hosts (
    shard  INTEGER NOT NULL,
    number BIGINT NOT NULL,
    record BYTEA NOT NULL,
    PRIMARY KEY (shard, number)
) WITH (fillfactor = 70);

-- What a job has in a shard: its counts there.
CREATE TABLE frontier_jobs (
    shard  INTEGER NOT NULL,
    job    INTEGER NOT NULL,
    record BYTEA NOT NULL,
    PRIMARY KEY (shard, job)
) WITH (fillfactor = 50);

CREATE TABLE frontier_robots (
    origin     TEXT PRIMARY KEY,
    shard      INTEGER NOT NULL,
    fetched_at BIGINT NOT NULL,
    expires    BIGINT NOT NULL,
    status     INTEGER NOT NULL,
    body       BYTEA NOT NULL
);

CREATE TABLE frontier_marks (
    worker TEXT NOT NULL,
    name   TEXT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (worker, name)
) WITH (fillfactor = 50);
