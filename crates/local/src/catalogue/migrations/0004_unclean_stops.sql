-- Runs that did not end by themselves, as the next start found them: requests that were in flight then are not known.
CREATE TABLE unclean_stops (
    id               INTEGER PRIMARY KEY,
    job              INTEGER,  -- null where no job was running
    found_at         INTEGER NOT NULL,
    recovered_visits INTEGER NOT NULL
);
