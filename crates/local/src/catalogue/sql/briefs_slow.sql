SELECT url, final_url, status, fetch_ms, error, duplicate_of, source
FROM pages
WHERE seq BETWEEN ?2 AND ?3
  AND job = ?1
  AND fetch_ms IS NOT NULL
  AND (status IS NOT NULL OR fetch_ms > 0)
ORDER BY fetch_ms DESC, seq
LIMIT ?4
