-- Pages that are queued again go, with what they had counted. Files that list them are written anew; a pipe cannot be.
WITH gone AS (
    DELETE FROM crawl_metadata AS stored
    USING staged_forgotten AS forgotten
    WHERE stored.url_hash = forgotten.url_hash
      AND stored.job = forgotten.job
      AND stored.round = forgotten.round
      AND stored.started = forgotten.started
    RETURNING
        stored.job, stored.bytes, stored.status_code, stored.error_kind, stored.noindex,
        stored.duplicate_of IS NOT NULL AS duplicate, stored.redirects IS NOT NULL AS redirected
)
INSERT INTO staged_counts (job, class, word, count)
SELECT gone.job, counted.class, counted.word, -counted.count
FROM gone
CROSS JOIN LATERAL (
    VALUES
        ('total', 'pages', 1),
        ('total', 'bytes', coalesce(gone.bytes, 0)),
        ('total', 'failed', (gone.status_code IS NULL)::int),
        ('total', 'noindex', gone.noindex::int),
        ('total', 'duplicates', gone.duplicate::int),
        ('total', 'redirected', gone.redirected::int),
        ('status', (gone.status_code::int & 65535)::text, (gone.status_code IS NOT NULL)::int),
        ('error', gone.error_kind, (gone.error_kind IS NOT NULL)::int)
) AS counted (class, word, count)
WHERE counted.count <> 0;

UPDATE outputs SET seq = 0, length = 0 WHERE job IN (SELECT job FROM staged_forgotten) AND path <> '-';
