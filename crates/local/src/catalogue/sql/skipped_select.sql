SELECT id, job, reason, url, detail, source, url_key, amount
FROM skipped
WHERE id > ?1
  AND (?2 IS NULL OR job = ?2)
ORDER BY id
LIMIT ?3
