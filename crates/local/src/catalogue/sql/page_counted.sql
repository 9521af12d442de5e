SELECT seq, status, error, bytes, noindex, duplicate_of IS NOT NULL, redirects IS NOT NULL
FROM pages
WHERE url_key = ?1
  AND job = ?2
  AND round = ?3
