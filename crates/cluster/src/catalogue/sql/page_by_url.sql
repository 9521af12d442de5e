SELECT id, {columns}
FROM crawl_metadata
WHERE url_hash = $1
  AND url = $2
  AND ($3::integer IS NULL OR job = $3)
ORDER BY job DESC, round DESC
LIMIT 1
