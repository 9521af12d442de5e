-- A subquery with a limit is looked up row by row, by the index of one partition.
INSERT INTO staged_known (ord, id, job, bytes, status_code, error_kind, noindex, duplicate, redirected)
SELECT staged.ord, stored.*
FROM staged_pages AS staged
CROSS JOIN LATERAL (
    SELECT id, job, bytes, status_code, error_kind, noindex, duplicate_of IS NOT NULL, redirects IS NOT NULL
    FROM crawl_metadata
    WHERE url_hash = staged.url_hash
      AND job = staged.job
      AND round = staged.round
      AND year_month = staged.year_month
    LIMIT 1
) AS stored;

-- The batch has counted them as new: what they had counted before is taken back.
INSERT INTO staged_counts (job, class, word, count)
SELECT known.job, counted.class, counted.word, -counted.count
FROM staged_known AS known
CROSS JOIN LATERAL (
    VALUES
        ('total', 'pages', 1),
        ('total', 'bytes', coalesce(known.bytes, 0)),
        ('total', 'failed', (known.status_code IS NULL)::int),
        ('total', 'noindex', known.noindex::int),
        ('total', 'duplicates', known.duplicate::int),
        ('total', 'redirected', known.redirected::int),
        ('status', (known.status_code::int & 65535)::text, (known.status_code IS NOT NULL)::int),
        ('error', known.error_kind, (known.error_kind IS NOT NULL)::int)
) AS counted (class, word, count)
WHERE counted.count <> 0;
