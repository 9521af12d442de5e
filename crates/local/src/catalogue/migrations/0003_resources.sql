-- What crawled pages are shown with, where that is asked for: no pages, and not counted as such.
CREATE TABLE resources (
    id           INTEGER PRIMARY KEY,
    url_key      INTEGER NOT NULL,
    job          INTEGER NOT NULL,
    round        INTEGER NOT NULL,
    status       INTEGER,
    fetched_at   INTEGER NOT NULL,
    fetch_ms     INTEGER NOT NULL,
    bytes        INTEGER,
    url          TEXT NOT NULL,
    final_url    TEXT,
    error        TEXT,
    content_type TEXT,
    source       TEXT,
    archive      TEXT      -- FILE:OFFSET
);

CREATE UNIQUE INDEX resources_by_url ON resources (url_key, job, round);
