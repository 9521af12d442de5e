-- Visits that ended with an error; what is known of the last attempt, where it was an attempt that failed.
SELECT
    page.id, page.job, page.round, page.retry_count, page.domain, page.url,
    coalesce(last.kind, page.error_kind, 'other'),
    coalesce(last.message, page.error_message),
    page.status_code,
    coalesce(last.at, page.crawled_at, page.scheduled_at),
    coalesce(last.dead_letter, false),
    page.url_hash
FROM crawl_metadata AS page
LEFT JOIN errors AS last
    ON last.url_hash = page.url_hash
    AND last.job = page.job
    AND last.round = page.round
    AND last.attempt = page.retry_count
WHERE {wanted}
  AND page.error_message IS NOT NULL
ORDER BY page.id
