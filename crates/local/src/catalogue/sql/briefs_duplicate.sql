SELECT url, final_url, status, fetch_ms, error, duplicate_of, source
FROM pages
WHERE seq BETWEEN ?2 AND ?3
  AND job = ?1
  AND duplicate_of IS NOT NULL
ORDER BY seq
LIMIT ?4
