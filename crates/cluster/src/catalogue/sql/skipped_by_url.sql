SELECT id, job, reason, url, detail, source
FROM skipped
WHERE url_hash = $1
  AND url = $2
  AND ($3::integer IS NULL OR job = $3)
ORDER BY job DESC
LIMIT 1
