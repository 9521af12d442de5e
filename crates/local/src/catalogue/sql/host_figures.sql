SELECT hosts.host, pages, failed, figures.bytes, mean_fetch_ms, max_fetch_ms
FROM (
    SELECT
        host AS id,
        count(status) AS pages,
        count(*) - count(status) AS failed,
        coalesce(sum(bytes), 0) AS bytes,
        CAST(coalesce(avg(fetch_ms), 0) AS INTEGER) AS mean_fetch_ms,
        coalesce(max(fetch_ms), 0) AS max_fetch_ms
    FROM pages
    WHERE seq BETWEEN ?2 AND ?3
      AND job = ?1
    GROUP BY host
) AS figures
JOIN hosts ON hosts.id = figures.id
ORDER BY
    CASE ?4 WHEN 0 THEN pages WHEN 1 THEN mean_fetch_ms ELSE failed END DESC,
    hosts.host
LIMIT ?5
