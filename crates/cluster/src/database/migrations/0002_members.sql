-- Who works here: a row for each process that has joined, under a name that no other process has ever had. Whoever finds
-- no row of its own has been declared dead: it writes nothing any more, and joins again under a new name.
CREATE TABLE members (
    owner       TEXT PRIMARY KEY,     -- worker#session
    worker      TEXT NOT NULL,
    state       TEXT NOT NULL,        -- working, leaving
    joined_at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    seen_at     TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    lease_until TIMESTAMPTZ NOT NULL,
    pages       BIGINT NOT NULL DEFAULT 0,
    active      INTEGER NOT NULL DEFAULT 0,
    queued      BIGINT NOT NULL DEFAULT 0,
    hosts       BIGINT NOT NULL DEFAULT 0,
    note        TEXT
) WITH (fillfactor = 50);

-- Workers that have gone, for display.
CREATE TABLE former_members (
    owner     TEXT PRIMARY KEY,
    worker    TEXT NOT NULL,
    state     TEXT NOT NULL,          -- left, dead
    joined_at TIMESTAMPTZ NOT NULL,
    gone_at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    pages     BIGINT NOT NULL
);

-- One row: who does what only one may do.
CREATE TABLE leader (
    only_row    BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    owner       TEXT,
    lease_until TIMESTAMPTZ
);

INSERT INTO leader VALUES (true, NULL, NULL);

-- What is left of a job's max_pages, and who has taken how much of it.
CREATE TABLE budgets (
    job  INTEGER PRIMARY KEY,
    left_over BIGINT NOT NULL
);

CREATE TABLE grants (
    job   INTEGER NOT NULL,
    owner TEXT NOT NULL,
    taken BIGINT NOT NULL,
    PRIMARY KEY (job, owner)
);

-- What a job's scope is made from beside its specification, one URL a host.
CREATE TABLE job_seeds (
    job INTEGER NOT NULL,
    url TEXT NOT NULL,
    PRIMARY KEY (job, url)
);

-- What is sent to shards, in the order of its commits: whoever sends raises the shard's counter first and holds its row to
-- the end of the transaction, in ascending order of the shards.
CREATE TABLE inbox (
    shard   INTEGER NOT NULL,
    seq     BIGINT NOT NULL,
    job     INTEGER NOT NULL,     -- 0 for what belongs to none
    message BYTEA NOT NULL,
    PRIMARY KEY (shard, seq)
);

CREATE INDEX inbox_by_job ON inbox (job);

CREATE TABLE inbox_counters (
    shard INTEGER PRIMARY KEY,
    sent  BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- How far a list has been sent: the same command goes on there.
CREATE TABLE ingests (
    job      INTEGER NOT NULL,
    source   TEXT NOT NULL,
    lines    BIGINT NOT NULL,
    sent     BIGINT NOT NULL,
    skipped  BIGINT NOT NULL,
    finished BOOLEAN NOT NULL,
    PRIMARY KEY (job, source)
);
