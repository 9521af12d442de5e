SELECT id, {columns}
FROM crawl_metadata
WHERE url_hash = $1
  AND ($2::integer IS NULL OR job = $2)
ORDER BY job DESC, round DESC
LIMIT 1
