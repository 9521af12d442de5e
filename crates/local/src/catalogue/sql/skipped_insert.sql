INSERT INTO skipped (url_key, job, reason, url, detail, source)
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE ?3 = 'too_many_links'
   OR NOT EXISTS (SELECT 1 FROM pages WHERE url_key = ?1 AND job = ?2)
ON CONFLICT (url_key, job) DO NOTHING
