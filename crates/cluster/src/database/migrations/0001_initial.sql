-- The schema of a cluster. Texts are as they were found, but for the character zero (see database/cells.rs); times are
-- timestamptz; url_hash is the first eight bytes of the SHA-256 of a URL in hex, the same in every table.

-- One row: what was fixed when the cluster was made.
CREATE TABLE argiope_cluster (
    only_row        BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    schema_version  INTEGER NOT NULL,
    id              UUID NOT NULL,
    name            TEXT NOT NULL,
    shards          INTEGER NOT NULL,
    transport       TEXT NOT NULL,       -- postgres, kafka
    fingerprint_key BYTEA NOT NULL,
    public_suffixes TEXT NOT NULL,
    created_at      TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- Who writes, and the last transaction of each: one that is repeated is carried out once.
CREATE TABLE writers (
    writer TEXT PRIMARY KEY,
    number BIGINT NOT NULL DEFAULT 0,
    digest TEXT NOT NULL DEFAULT '',
    answer TEXT NOT NULL DEFAULT '',
    at     TIMESTAMPTZ NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- ------------------------------------------------------------------------------------------------ catalogue

-- One row. Whoever commits a batch holds it to the end, so that numbers are visible in the order they are given.
CREATE TABLE catalogue_clock (
    only_row   BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_row),
    next_batch BIGINT NOT NULL,
    next_page  BIGINT NOT NULL,
    next_fetch BIGINT NOT NULL
);

INSERT INTO catalogue_clock VALUES (true, 1, 1, 1);

-- What one transaction brought: its pages and requests are those below next_* that the batch before does not have.
CREATE TABLE batches (
    batch      BIGINT PRIMARY KEY,
    at         TIMESTAMPTZ NOT NULL,
    next_page  BIGINT NOT NULL,
    next_fetch BIGINT NOT NULL
);

-- How far the files of a worker belong to what is committed.
CREATE TABLE positions (
    worker TEXT NOT NULL,
    store  TEXT NOT NULL,    -- archive, links
    file   TEXT NOT NULL,
    length BIGINT NOT NULL,
    PRIMARY KEY (worker, store, file)
);

CREATE TABLE outputs (
    worker TEXT NOT NULL,
    job    INTEGER NOT NULL,
    path   TEXT NOT NULL,
    seq    BIGINT NOT NULL,
    length BIGINT NOT NULL,
    PRIMARY KEY (worker, job, path)
);

CREATE TABLE jobs (
    id          INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        TEXT,
    seeds_hash  TEXT NOT NULL,
    spec        TEXT NOT NULL,
    state       TEXT NOT NULL,
    message     TEXT,
    created_at  TIMESTAMPTZ NOT NULL,
    started_at  TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    "user"      TEXT
);

CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_seeds ON jobs (seeds_hash);

-- Kept in step with the rows by the transaction that brings them.
CREATE TABLE job_counts (
    job   INTEGER NOT NULL,
    class TEXT NOT NULL,     -- total, status, error, skip, stored
    word  TEXT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (job, class, word)
) WITH (fillfactor = 50);

CREATE TABLE job_stats (
    job           INTEGER NOT NULL,
    at            TIMESTAMPTZ NOT NULL,
    pages         BIGINT NOT NULL,
    failed        BIGINT NOT NULL,
    skipped       BIGINT NOT NULL,
    bytes         BIGINT NOT NULL,
    pending       BIGINT NOT NULL,
    in_progress   BIGINT NOT NULL,
    hosts_active  BIGINT NOT NULL,
    hosts_waiting BIGINT NOT NULL,
    PRIMARY KEY (job, at)
);

CREATE TABLE hosts (
    host              TEXT PRIMARY KEY,
    root_domain       TEXT NOT NULL,
    robots_text       TEXT,
    robots_fetched_at TIMESTAMPTZ,
    robots_status     SMALLINT,
    crawl_delay_ms    BIGINT,
    delay_ms          BIGINT NOT NULL,
    is_allowed        BOOLEAN NOT NULL,
    page_count        BIGINT NOT NULL,
    error_count       BIGINT NOT NULL,
    bytes             BIGINT NOT NULL,
    last_request_at   TIMESTAMPTZ
);

-- robots.txt through time. Many sites share a text, and most do not change theirs: texts are stored once.
CREATE TABLE robots_bodies (
    hash BYTEA PRIMARY KEY,
    body BYTEA NOT NULL
);

CREATE TABLE robots (
    origin     TEXT NOT NULL,
    fetched_at TIMESTAMPTZ NOT NULL,
    status     SMALLINT,
    hash       BYTEA NOT NULL,
    PRIMARY KEY (origin, fetched_at)
);

-- The pages. year_month is that of the schedule, so that a visit that is recorded again meets itself.
CREATE TABLE crawl_metadata (
    id             BIGINT NOT NULL,      -- grows in commit order
    batch          BIGINT NOT NULL,
    repeated       BOOLEAN NOT NULL,     -- overwritten since it was first stored
    job            INTEGER NOT NULL,
    round          INTEGER NOT NULL,
    year_month     CHAR(7) NOT NULL,
    url_hash       CHAR(16) COLLATE "C" NOT NULL,
    url            TEXT NOT NULL,
    domain         TEXT NOT NULL,
    final_url      TEXT,
    status_code    SMALLINT,
    crawled_at     TIMESTAMPTZ,
    crawled_text   TEXT,                 -- in place of the above where it has another form
    title          TEXT,
    description    TEXT,
    keywords       TEXT,
    author         TEXT,
    language       TEXT,
    canonical_url  TEXT,
    og_title       TEXT,
    og_description TEXT,
    og_image       TEXT,
    og_type        TEXT,
    topics         TEXT[],
    word_count     INTEGER,
    raw_html_path  TEXT,
    error_message  TEXT,
    error_kind     TEXT,
    retry_count    SMALLINT NOT NULL,
    depth          INTEGER NOT NULL,
    content_type   TEXT,
    bytes          BIGINT,
    content_hash   TEXT,
    simhash        TEXT,
    duplicate_of   TEXT,
    links          INTEGER,
    fetch_ms       INTEGER,
    redirects      JSONB,
    headings       TEXT[],
    noindex        BOOLEAN NOT NULL,
    nofollow       BOOLEAN NOT NULL,
    priority       SMALLINT NOT NULL,
    source         TEXT,
    scheduled_at   TIMESTAMPTZ NOT NULL,
    next_crawl_at  TIMESTAMPTZ,
    crawl_count    INTEGER NOT NULL,
    error_count    INTEGER NOT NULL,
    started        TIMESTAMPTZ NOT NULL,
    duration_ms    BIGINT NOT NULL,
    dns_us         INTEGER NOT NULL,
    connect_us     INTEGER NOT NULL,
    tls_us         INTEGER NOT NULL,
    first_byte_us  INTEGER NOT NULL,
    download_us    INTEGER NOT NULL,
    etag           TEXT,
    last_modified  TEXT,
    worker_id      TEXT,
    PRIMARY KEY (id, year_month),
    -- The hash first: it alone decides almost every comparison, and finds a URL in all jobs.
    UNIQUE (url_hash, job, round, year_month)
) PARTITION BY LIST (year_month);

CREATE INDEX crawl_metadata_by_job ON crawl_metadata (job, id);
CREATE INDEX crawl_metadata_by_domain ON crawl_metadata (domain, crawled_at);
CREATE INDEX crawl_metadata_by_topic ON crawl_metadata USING GIN (topics);
-- Holds only what recovery has overwritten.
CREATE INDEX crawl_metadata_repeated ON crawl_metadata (batch) WHERE repeated;

-- Every request. Append only. year_month is that of its start.
CREATE TABLE fetches (
    id                BIGINT NOT NULL,      -- grows in commit order
    job               INTEGER NOT NULL,
    year_month        CHAR(7) NOT NULL,
    url_hash          CHAR(16) COLLATE "C" NOT NULL,
    host              TEXT NOT NULL,
    started           TIMESTAMPTZ NOT NULL,
    duration_ms       BIGINT NOT NULL,
    kind              SMALLINT NOT NULL,    -- 0 page, 1 robots, 2 sitemap
    round             INTEGER NOT NULL,
    attempt           SMALLINT NOT NULL,
    hop               SMALLINT NOT NULL,
    outcome           SMALLINT NOT NULL,    -- 0 final, 1 retry, 2 redirect
    status            SMALLINT,
    error             TEXT,
    bytes             BIGINT NOT NULL,
    url               TEXT NOT NULL,
    scheduled_url     TEXT,
    address           TEXT,
    rule              TEXT,
    rule_line         INTEGER,
    required_delay_ms BIGINT NOT NULL,
    per_host          INTEGER NOT NULL,
    dns_us            INTEGER NOT NULL,
    connect_us        INTEGER NOT NULL,
    tls_us            INTEGER NOT NULL,
    first_byte_us     INTEGER NOT NULL,
    download_us       INTEGER NOT NULL,
    worker_id         TEXT,
    PRIMARY KEY (id, year_month)
) PARTITION BY LIST (year_month);

CREATE INDEX fetches_by_url ON fetches (url_hash);
CREATE INDEX fetches_by_job ON fetches (job, id);

CREATE TABLE skipped (
    id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job      INTEGER NOT NULL,
    url_hash CHAR(16) COLLATE "C" NOT NULL,
    reason   TEXT NOT NULL,
    url      TEXT NOT NULL,
    detail   TEXT NOT NULL,
    source   TEXT,
    UNIQUE (url_hash, job)
);

CREATE INDEX skipped_by_job ON skipped (job, id);

CREATE TABLE errors (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job         INTEGER NOT NULL,
    url_hash    CHAR(16) COLLATE "C" NOT NULL,
    round       INTEGER NOT NULL,
    attempt     SMALLINT NOT NULL,
    host        TEXT NOT NULL,
    url         TEXT NOT NULL,
    kind        TEXT NOT NULL,
    message     TEXT NOT NULL,
    status      SMALLINT,
    at          TIMESTAMPTZ NOT NULL,
    dead_letter BOOLEAN NOT NULL,
    UNIQUE (url_hash, job, round, attempt)
);

CREATE INDEX errors_by_job ON errors (job, id);

CREATE TABLE users (
    id            INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    username      TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role          TEXT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    last_login_at TIMESTAMPTZ
);

-- For people with an SQL prompt.
CREATE VIEW domains AS
SELECT
    host AS domain,
    robots_text AS robots_txt,
    robots_fetched_at,
    coalesce(crawl_delay_ms, delay_ms) / 1000.0 AS crawl_delay,
    page_count,
    error_count,
    is_allowed
FROM hosts;

-- ------------------------------------------------------------------------------------------------ ownership

-- A row for each shard, made with the cluster. Raising the epoch is what takes a shard from its owner.
CREATE TABLE shards (
    shard       INTEGER PRIMARY KEY,
    owner       TEXT,
    epoch       BIGINT NOT NULL DEFAULT 0,
    lease_until TIMESTAMPTZ,
    -- How far its inbox is applied.
    applied     BIGINT NOT NULL DEFAULT 0,
    -- The last owner has stored when each host may be asked next.
    clean       BOOLEAN NOT NULL DEFAULT true
) WITH (fillfactor = 50);
