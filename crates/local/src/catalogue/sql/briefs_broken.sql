SELECT url, final_url, status, fetch_ms, error, duplicate_of, source
FROM pages
WHERE seq BETWEEN ?2 AND ?3
  AND job = ?1
  AND (status IS NULL OR (status >= 300 AND status <> 304))
ORDER BY seq
LIMIT ?4
