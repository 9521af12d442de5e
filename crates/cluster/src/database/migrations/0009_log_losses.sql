-- Where the logs of shards are in Kafka: which topic they are in, as Kafka tells it from others of its name. NULL where that
-- is not known.
ALTER TABLE argiope_cluster ADD COLUMN log_identity TEXT;

-- Logs that have lost what was not applied: they are not read on, and no job ends, until an operator has said that it may.
CREATE TABLE log_losses (
    shard INTEGER PRIMARY KEY,
    what  TEXT NOT NULL,
    at    TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
