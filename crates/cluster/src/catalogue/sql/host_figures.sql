SELECT
    domain,
    count(status_code) AS pages,
    count(*) - count(status_code) AS failed,
    coalesce(sum(bytes), 0)::bigint AS bytes,
    coalesce(trunc(avg(fetch_ms)), 0)::bigint AS mean_fetch_ms,
    coalesce(max(fetch_ms), 0)::bigint AS max_fetch_ms
FROM crawl_metadata
WHERE job = $1
GROUP BY domain
ORDER BY
    CASE $2::integer
        WHEN 0 THEN count(*)
        WHEN 1 THEN coalesce(trunc(avg(fetch_ms)), 0)::bigint
        ELSE count(*) - count(status_code)
    END DESC,
    domain COLLATE "C"
LIMIT $3
