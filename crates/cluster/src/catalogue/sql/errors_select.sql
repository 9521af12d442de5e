SELECT id, job, round, attempt, host, url, kind, message, status, at, dead_letter, url_hash
FROM errors
WHERE job = $1
  AND (dead_letter OR NOT $2)
  AND id > $3
ORDER BY id
LIMIT $4
