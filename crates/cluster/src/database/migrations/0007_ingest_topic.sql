-- Jobs that wait for more when all they have is done.
ALTER TABLE jobs ADD COLUMN kept_open BOOLEAN NOT NULL DEFAULT false;

-- The topic url_ingest: which record of each partition is read next, and what came of those before.
CREATE TABLE ingest_topic (
    partition INTEGER PRIMARY KEY,
    next      BIGINT NOT NULL,
    taken     BIGINT NOT NULL DEFAULT 0,     -- sent to their shards
    left_out  BIGINT NOT NULL DEFAULT 0,     -- fetched lately, or refused by the rules of the job
    bad       BIGINT NOT NULL DEFAULT 0,     -- what nobody can make sense of
    lost      BIGINT NOT NULL DEFAULT 0      -- deleted before they were read
) WITH (fillfactor = 50);

-- The latest records that nothing came of.
CREATE TABLE ingest_examples (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    partition INTEGER NOT NULL,
    record    BIGINT NOT NULL,
    why       TEXT NOT NULL
);
