-- Those that are new, numbered within their job.
INSERT INTO staged_fresh (ord, job, reason, number)
SELECT ord, job, reason, row_number() OVER (PARTITION BY job ORDER BY ord)
FROM (
    SELECT DISTINCT ON (job, url_hash) ord, job, reason
    FROM staged_skipped AS staged
    WHERE (
        SELECT 1 FROM skipped WHERE url_hash = staged.url_hash AND job = staged.job LIMIT 1
    ) IS NULL
      AND (
        reason = 'too_many_links'
        OR (SELECT 1 FROM crawl_metadata WHERE url_hash = staged.url_hash AND job = staged.job LIMIT 1) IS NULL
    )
    ORDER BY job, url_hash, ord
) AS fresh;

-- As many as there is room for are stored, the rest is counted only.
WITH stored AS (
    INSERT INTO skipped (job, url_hash, reason, url, detail, source)
    SELECT staged.job, staged.url_hash, staged.reason, staged.url, staged.detail, staged.source
    FROM staged_fresh AS fresh
    JOIN staged_skipped AS staged USING (ord)
    WHERE fresh.number <= {limit} - (
        SELECT coalesce(sum(count), 0) FROM (
            SELECT count FROM job_counts AS kept
            WHERE kept.job = fresh.job AND kept.class = 'stored' AND kept.word = 'skipped'
            UNION ALL
            SELECT count FROM staged_counts AS changed
            WHERE changed.job = fresh.job AND changed.class = 'stored' AND changed.word = 'skipped'
        ) AS counts
    )
    ORDER BY ord
    RETURNING job
)
INSERT INTO staged_counts (job, class, word, count)
SELECT job, 'stored', 'skipped', count(*) FROM stored GROUP BY job;

INSERT INTO staged_counts (job, class, word, count)
SELECT job, 'skip', reason, count(*) FROM staged_fresh GROUP BY job, reason;
