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
        reason IN ('too_many_links', 'body_truncated')
        -- A merged URL is one that was not fetched in this spelling.
        OR (
            SELECT 1 FROM crawl_metadata AS page
            WHERE page.url_hash = staged.identity
              AND page.job = staged.job
              AND (staged.reason <> 'merged' OR page.url = staged.url)
            LIMIT 1
        ) IS NULL
    )
    ORDER BY job, url_hash, ord
) AS fresh;

-- As many as there is room for are stored, the rest is counted only.
WITH stored AS (
    INSERT INTO skipped (job, url_hash, reason, url, detail, source, amount)
    SELECT staged.job, staged.url_hash, staged.reason, staged.url, staged.detail, staged.source, staged.amount
    FROM staged_fresh AS fresh
    JOIN staged_skipped AS staged USING (ord)
    WHERE fresh.number <= CASE
        WHEN staged.reason IN ('trap', 'too_many_links', 'url_too_long', 'body_truncated') THEN {limit_of_cuts}
        ELSE {limit}
    END - (
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
SELECT fresh.job, 'skip', fresh.reason, sum(
    CASE fresh.reason
        WHEN 'too_many_links' THEN greatest(staged.amount, 1)
        WHEN 'url_too_long' THEN staged.amount + 1
        ELSE 1
    END
)
FROM staged_fresh AS fresh
JOIN staged_skipped AS staged USING (ord)
WHERE fresh.reason <> 'over_link_limit'
GROUP BY fresh.job, fresh.reason;
