SELECT id, job, reason, url, detail, source, url_hash, amount
FROM skipped
WHERE id > $1
  AND job = $3
  AND reason IN ('trap', 'too_many_links', 'url_too_long', 'body_truncated')
ORDER BY id
LIMIT $2
