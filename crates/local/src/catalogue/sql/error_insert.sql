INSERT INTO errors (url_key, job, round, attempt, host, url, kind, message, status, at, dead_letter)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
ON CONFLICT (url_key, job, round, attempt) DO UPDATE SET
    kind = excluded.kind,
    message = excluded.message,
    status = excluded.status,
    at = excluded.at,
    dead_letter = excluded.dead_letter
