-- The start is part of what tells a request from others, because robots.txt is asked for again and again.
DELETE FROM staged_fetches
WHERE ord IN (
    SELECT staged.ord
    FROM staged_fetches AS staged
    CROSS JOIN LATERAL (
        SELECT 1 FROM fetches
        WHERE url_hash = staged.url_hash
          AND started = staged.started
          AND attempt = staged.attempt
          AND hop = staged.hop
          AND year_month = staged.year_month
        LIMIT 1
    ) AS stored
);
