SELECT id, job, reason, url, detail, source
FROM skipped
WHERE id > ?1
  AND (reason <> 'robots_unreachable' OR NOT EXISTS (
      SELECT 1 FROM pages WHERE pages.url_key = skipped.url_key AND pages.job = skipped.job))
  AND (?2 IS NULL OR job = ?2)
ORDER BY id
LIMIT ?3
