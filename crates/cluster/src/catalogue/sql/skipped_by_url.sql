SELECT id, job, reason, url, detail, source, url_hash, amount
FROM skipped
WHERE url_hash = $1
  AND ($2::integer IS NULL OR job = $2)
ORDER BY job DESC
LIMIT 1
