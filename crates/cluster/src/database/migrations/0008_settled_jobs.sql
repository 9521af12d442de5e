-- Jobs that run and of which nothing is on its way to a shard: all that was sent, by inbox or by Kafka, is applied.
CREATE VIEW settled_jobs AS
    SELECT id FROM jobs
    WHERE state = 'running'
        AND NOT EXISTS (
            SELECT 1 FROM inbox JOIN shards USING (shard)
            WHERE inbox.job = jobs.id AND inbox.seq > shards.applied
        )
        AND NOT EXISTS (
            SELECT 1 FROM log_sent JOIN shards USING (shard)
            WHERE log_sent.job = jobs.id AND log_sent.reached > shards.applied
        );
