INSERT INTO resources
    (url_key, job, round, status, fetched_at, fetch_ms, bytes, url, final_url, error, content_type, source, archive)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
ON CONFLICT (url_key, job, round) DO UPDATE SET
    status = excluded.status,
    fetched_at = excluded.fetched_at,
    fetch_ms = excluded.fetch_ms,
    bytes = excluded.bytes,
    final_url = excluded.final_url,
    error = excluded.error,
    content_type = excluded.content_type,
    archive = excluded.archive
