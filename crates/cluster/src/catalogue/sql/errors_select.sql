SELECT id, job, round, attempt, host, url, kind, message, status, at, dead_letter, url_hash
FROM errors
WHERE id > $1
  AND job = $3
  AND (dead_letter OR NOT $4)
ORDER BY id
LIMIT $2
