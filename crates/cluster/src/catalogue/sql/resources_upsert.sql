-- What is stored already is counted once, and taken back where it was broken.
INSERT INTO staged_counts (job, class, word, count)
SELECT staged.job, 'total', counted.word, counted.count
FROM (
    SELECT DISTINCT ON (url_hash, job, round) * FROM staged_resources ORDER BY url_hash, job, round, ord DESC
) AS staged
LEFT JOIN resources AS known USING (url_hash, job, round)
CROSS JOIN LATERAL (
    VALUES
        ('resources', (known.id IS NULL)::int),
        (
            'broken_resources',
            (staged.status IS NULL OR (staged.status >= 300 AND staged.status <> 304))::int
            - (known.id IS NOT NULL AND (known.status IS NULL OR (known.status >= 300 AND known.status <> 304)))::int
        )
) AS counted (word, count)
WHERE counted.count <> 0;

INSERT INTO resources ({columns})
SELECT {columns} FROM (
    SELECT DISTINCT ON (url_hash, job, round) * FROM staged_resources ORDER BY url_hash, job, round, ord DESC
) AS last
ORDER BY ord
ON CONFLICT (url_hash, job, round) DO UPDATE SET
    status = excluded.status,
    fetched_at = excluded.fetched_at,
    fetch_ms = excluded.fetch_ms,
    bytes = excluded.bytes,
    final_url = excluded.final_url,
    error = excluded.error,
    content_type = excluded.content_type,
    archive = excluded.archive;
