-- What crawled pages are shown with, where that is asked for: no pages, and not counted as such.
CREATE TABLE resources (
    id           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job          INTEGER NOT NULL,
    url_hash     CHAR(16) COLLATE "C" NOT NULL,
    round        INTEGER NOT NULL,
    status       SMALLINT,
    fetched_at   TIMESTAMPTZ NOT NULL,
    fetch_ms     INTEGER NOT NULL,
    bytes        BIGINT,
    url          TEXT NOT NULL,
    final_url    TEXT,
    error        TEXT,
    content_type TEXT,
    source       TEXT,
    archive      TEXT,
    UNIQUE (url_hash, job, round)
);

CREATE INDEX resources_by_job ON resources (job, id);
