-- A page may be refused where one link to it stands and admitted from another: what was attempted was not refused.
-- What is said of a page's links is no refusal of the page. What was merged is stored under its spelling, and that of the
-- page is the one that was fetched.
WITH gone AS (
    DELETE FROM skipped
    WHERE id IN (
        SELECT refused.id
        FROM staged_pages AS staged
        CROSS JOIN LATERAL (
            SELECT id FROM skipped
            WHERE url_hash IN (
                staged.url_hash,
                encode(substr(sha256(convert_to(staged.url, 'UTF8')), 1, 8), 'hex')
            )
              AND job = staged.job
              AND reason <> 'too_many_links'
            LIMIT 2
        ) AS refused
    )
    RETURNING job, reason
)
INSERT INTO staged_counts (job, class, word, count)
SELECT job, 'skip', reason, -count(*) FROM gone WHERE reason <> 'over_link_limit' GROUP BY job, reason
UNION ALL
SELECT job, 'stored', 'skipped', -count(*) FROM gone GROUP BY job;
