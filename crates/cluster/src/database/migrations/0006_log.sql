-- Where the logs of shards are in Kafka: how far the log of a shard has to be applied before all is that a sender has sent
-- for a job. Written in the transaction that ends what it was sent from.
CREATE TABLE log_sent (
    job     INTEGER NOT NULL,
    sender  TEXT NOT NULL,        -- a worker, or whoever brings seeds
    shard   INTEGER NOT NULL,     -- to which it was sent
    reached BIGINT NOT NULL,
    PRIMARY KEY (job, sender, shard)
) WITH (fillfactor = 50);

-- How far the catalogue is published, for each kind of what is.
CREATE TABLE published (
    what     TEXT PRIMARY KEY,
    position BIGINT NOT NULL
) WITH (fillfactor = 50);
