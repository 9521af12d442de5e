INSERT INTO skipped (url_key, job, reason, url, detail, source) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (url_key, job) DO NOTHING
