SELECT job, round, attempt, host, url, kind, message, status, at, dead_letter, url_key
FROM errors
WHERE job = ?1
  AND (dead_letter OR NOT ?2)
ORDER BY id
