SELECT id, job, reason, url, detail, source, url_hash, amount
FROM skipped
WHERE id > $1
  AND ($3::integer IS NULL OR job = $3)
ORDER BY id
LIMIT $2
