DELETE FROM pages
WHERE url_key = ?1
  AND job = ?2
  AND round = ?3
  AND started = ?4
RETURNING status, error, bytes, noindex, duplicate_of IS NOT NULL, redirects IS NOT NULL
