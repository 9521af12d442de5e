-- ?1 is the key of the row, ?7 that of the URL's identity. A merged URL is one that was not fetched in this spelling; what
-- is said about a page is no refusal of it.
INSERT INTO skipped (url_key, job, reason, url, detail, source, amount)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?8
WHERE CASE ?3
    WHEN 'too_many_links' THEN 1
    WHEN 'body_truncated' THEN 1
    WHEN 'merged' THEN NOT EXISTS (SELECT 1 FROM pages WHERE url_key = ?7 AND job = ?2 AND url = ?4)
    ELSE NOT EXISTS (SELECT 1 FROM pages WHERE url_key = ?7 AND job = ?2)
END
ON CONFLICT (url_key, job) DO NOTHING
