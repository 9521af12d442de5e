-- A page may be refused where one link to it stands and admitted from another: what was attempted was not refused.
-- What is said of a page's links is no refusal of the page.
WITH gone AS (
    DELETE FROM skipped
    WHERE id IN (
        SELECT refused.id
        FROM staged_pages AS staged
        CROSS JOIN LATERAL (
            SELECT id FROM skipped
            WHERE url_hash = staged.url_hash
              AND job = staged.job
              AND reason <> 'too_many_links'
            LIMIT 1
        ) AS refused
    )
    RETURNING job, reason
)
INSERT INTO staged_counts (job, class, word, count)
SELECT job, 'skip', reason, -count(*) FROM gone GROUP BY job, reason
UNION ALL
SELECT job, 'stored', 'skipped', -count(*) FROM gone GROUP BY job;
