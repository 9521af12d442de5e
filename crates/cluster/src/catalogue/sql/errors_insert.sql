INSERT INTO errors ({columns})
SELECT {columns} FROM (
    SELECT DISTINCT ON (url_hash, job, round, attempt) * FROM staged_errors
    ORDER BY url_hash, job, round, attempt, ord DESC
) AS last
ORDER BY ord
ON CONFLICT (url_hash, job, round, attempt) DO UPDATE SET
    kind = excluded.kind,
    message = excluded.message,
    status = excluded.status,
    at = excluded.at,
    dead_letter = excluded.dead_letter;
