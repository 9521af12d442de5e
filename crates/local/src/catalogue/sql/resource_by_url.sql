SELECT id, job, round, status, fetched_at, fetch_ms, bytes, url, final_url, error, content_type, source, archive,
    url_key
FROM resources
WHERE url_key = ?1
  AND (?2 IS NULL OR job = ?2)
ORDER BY job DESC, round DESC
LIMIT 1
