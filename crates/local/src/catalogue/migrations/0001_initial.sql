-- The catalogue of one data directory. Times are milliseconds since the Unix epoch, keys of URLs are the first eight
-- bytes of their SHA-256 as a signed integer. Hot tables have one integer index each at most: random indexes are what
-- costs.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What one transaction brought: its pages and requests are those below next_* that the batch before does not have.
CREATE TABLE batches (
    batch      INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    next_page  INTEGER NOT NULL,
    next_fetch INTEGER NOT NULL
);

CREATE TABLE positions (
    store  TEXT NOT NULL,    -- archive, links
    file   TEXT NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (store, file)
) WITHOUT ROWID;

CREATE TABLE outputs (
    job    INTEGER NOT NULL,
    path   TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (job, path)
) WITHOUT ROWID;

CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT,
    seeds_hash  TEXT NOT NULL,
    spec        TEXT NOT NULL,
    state       TEXT NOT NULL,
    message     TEXT,
    created_at  INTEGER NOT NULL,
    started_at  INTEGER,
    finished_at INTEGER,
    user        TEXT,
    -- Where its rows are, so that reading one job does not read the others.
    first_page  INTEGER,
    last_page   INTEGER,
    first_fetch INTEGER,
    last_fetch  INTEGER
);

-- Kept in step with the rows by the transaction that brings them.
CREATE TABLE job_counts (
    job   INTEGER NOT NULL,
    class TEXT NOT NULL,     -- total, status, error, skip
    word  TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (job, class, word)
) WITHOUT ROWID;

CREATE TABLE job_stats (
    job           INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    pages         INTEGER NOT NULL,
    failed        INTEGER NOT NULL,
    skipped       INTEGER NOT NULL,
    bytes         INTEGER NOT NULL,
    pending       INTEGER NOT NULL,
    in_progress   INTEGER NOT NULL,
    hosts_active  INTEGER NOT NULL,
    hosts_waiting INTEGER NOT NULL,
    PRIMARY KEY (job, at)
) WITHOUT ROWID;

CREATE TABLE hosts (
    id                INTEGER PRIMARY KEY,
    host              TEXT NOT NULL UNIQUE,
    root_domain       TEXT NOT NULL DEFAULT '',
    robots_text       TEXT,
    robots_fetched_at INTEGER,
    robots_status     INTEGER,
    crawl_delay_ms    INTEGER,
    delay_ms          INTEGER NOT NULL DEFAULT 0,
    is_allowed        INTEGER NOT NULL DEFAULT 1,
    page_count        INTEGER NOT NULL DEFAULT 0,
    error_count       INTEGER NOT NULL DEFAULT 0,
    bytes             INTEGER NOT NULL DEFAULT 0,
    last_request_at   INTEGER
);

-- robots.txt through time. Many sites share a text, and most do not change theirs: texts are stored once.
CREATE TABLE robots_bodies (
    hash BLOB PRIMARY KEY,
    body BLOB NOT NULL
);

CREATE TABLE robots (
    origin     TEXT NOT NULL,
    fetched_at INTEGER NOT NULL,
    status     INTEGER,
    hash       BLOB NOT NULL,
    PRIMARY KEY (origin, fetched_at)
) WITHOUT ROWID;

CREATE TABLE pages (
    seq            INTEGER PRIMARY KEY,
    url_key        INTEGER NOT NULL,
    job            INTEGER NOT NULL,
    round          INTEGER NOT NULL,
    batch          INTEGER NOT NULL,
    repeated       INTEGER NOT NULL,
    noindex        INTEGER NOT NULL,
    nofollow       INTEGER NOT NULL,
    host           INTEGER NOT NULL,
    status         INTEGER,
    fetch_ms       INTEGER,
    bytes          INTEGER,
    depth          INTEGER NOT NULL,
    url            TEXT NOT NULL,
    final_url      TEXT,
    error          TEXT,
    duplicate_of   TEXT,
    source         TEXT,
    title          TEXT,
    description    TEXT,
    keywords       TEXT,
    author         TEXT,
    language       TEXT,
    canonical      TEXT,
    content_type   TEXT,
    content_hash   BLOB,
    simhash        BLOB,     -- an integer; BLOB keeps SQLite from converting
    word_count     INTEGER,
    topics         TEXT,     -- JSON array
    links          INTEGER,
    crawled_at     BLOB,     -- an integer, likewise
    archive        TEXT,     -- FILE:OFFSET
    redirects      TEXT,     -- JSON array of {url, status}
    retry_count    INTEGER NOT NULL,
    priority       INTEGER NOT NULL,
    scheduled_at   INTEGER NOT NULL,
    next_crawl_at  INTEGER,
    crawl_count    INTEGER NOT NULL,
    error_count    INTEGER NOT NULL,
    started        INTEGER NOT NULL,
    duration_ms    INTEGER NOT NULL,
    dns_us         INTEGER NOT NULL,
    connect_us     INTEGER NOT NULL,
    tls_us         INTEGER NOT NULL,
    first_byte_us  INTEGER NOT NULL,
    download_us    INTEGER NOT NULL,
    og_title       TEXT,
    og_description TEXT,
    og_image       TEXT,
    og_type        TEXT,
    headings       TEXT,     -- JSON array
    etag           TEXT,
    last_modified  TEXT,
    worker_id      TEXT
);

-- The key first: it alone decides almost every comparison.
CREATE UNIQUE INDEX pages_by_url ON pages (url_key, job, round);

-- Holds only what recovery has overwritten.
CREATE INDEX pages_repeated ON pages (batch) WHERE repeated;

-- Every request. Append only.
CREATE TABLE fetches (
    id                INTEGER PRIMARY KEY,
    url_key           INTEGER NOT NULL,
    job               INTEGER NOT NULL,
    host              INTEGER NOT NULL,
    started           INTEGER NOT NULL,
    duration_ms       INTEGER NOT NULL,
    kind              INTEGER NOT NULL,    -- 0 page, 1 robots, 2 sitemap
    round             INTEGER NOT NULL,
    attempt           INTEGER NOT NULL,
    hop               INTEGER NOT NULL,
    outcome           INTEGER NOT NULL,    -- 0 final, 1 retry, 2 redirect
    status            INTEGER,
    error             TEXT,
    bytes             INTEGER NOT NULL,
    url               TEXT NOT NULL,
    scheduled_url     TEXT,
    address           TEXT,
    rule              TEXT,
    rule_line         INTEGER,
    required_delay_ms INTEGER NOT NULL,
    per_host          INTEGER NOT NULL,
    dns_us            INTEGER NOT NULL,
    connect_us        INTEGER NOT NULL,
    tls_us            INTEGER NOT NULL,
    first_byte_us     INTEGER NOT NULL,
    download_us       INTEGER NOT NULL,
    worker_id         TEXT
);

CREATE TABLE skipped (
    id      INTEGER PRIMARY KEY,
    url_key INTEGER NOT NULL,
    job     INTEGER NOT NULL,
    reason  TEXT NOT NULL,
    url     TEXT NOT NULL,
    detail  TEXT NOT NULL,
    source  TEXT
);

CREATE UNIQUE INDEX skipped_by_url ON skipped (url_key, job);

CREATE TABLE errors (
    id          INTEGER PRIMARY KEY,
    url_key     INTEGER NOT NULL,
    job         INTEGER NOT NULL,
    round       INTEGER NOT NULL,
    attempt     INTEGER NOT NULL,
    host        TEXT NOT NULL,
    url         TEXT NOT NULL,
    kind        TEXT NOT NULL,
    message     TEXT NOT NULL,
    status      INTEGER,
    at          INTEGER NOT NULL,
    dead_letter INTEGER NOT NULL
);

CREATE UNIQUE INDEX errors_by_visit ON errors (url_key, job, round, attempt);

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    username      TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role          TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER
);

-- For people with an SQL prompt.
CREATE VIEW urls AS
SELECT
    printf('%016x', url_key) AS url_hash,
    url,
    hosts.host AS domain,
    job,
    round,
    CASE WHEN status IS NULL THEN 'failed' ELSE 'fetched' END AS status,
    status AS http_status,
    depth,
    priority,
    scheduled_at,
    scheduled_at AS discovered_at,
    crawled_at AS last_crawled_at,
    next_crawl_at,
    crawl_count,
    pages.error_count AS error_count,
    retry_count
FROM pages JOIN hosts ON hosts.id = pages.host;

CREATE VIEW domains AS
SELECT
    id,
    host AS domain,
    robots_text AS robots_txt,
    robots_fetched_at,
    coalesce(crawl_delay_ms, delay_ms) / 1000.0 AS crawl_delay,
    page_count,
    error_count,
    is_allowed
FROM hosts;
