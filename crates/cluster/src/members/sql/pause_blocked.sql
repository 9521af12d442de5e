WITH holds AS (
    SELECT b.job, b.shard, b.blocked_until FROM frontier_blocked b JOIN shards s USING (shard)
    WHERE b.epoch = s.epoch AND b.applied = s.applied
        -- Less than owners require before they report it: the report may be a while old.
        AND b.blocked_until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 300000
), first AS (
    SELECT job, to_timestamp(min(blocked_until) / 1000.0) AT TIME ZONE 'UTC' AS at FROM holds GROUP BY job
)
UPDATE jobs
SET state = 'paused',
    message = 'remaining URLs are blocked until ' || to_char(first.at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
FROM first
WHERE jobs.id = first.job AND jobs.state = 'running' AND NOT jobs.kept_open
    AND jobs.id IN (SELECT id FROM settled_jobs)
    AND NOT EXISTS (
        SELECT 1 FROM shards s
        WHERE EXISTS (SELECT 1 FROM urls WHERE urls.job = jobs.id AND urls.shard = s.shard)
            AND NOT EXISTS (SELECT 1 FROM holds WHERE holds.job = jobs.id AND holds.shard = s.shard)
    )
