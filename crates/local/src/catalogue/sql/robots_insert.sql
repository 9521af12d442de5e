INSERT INTO robots (origin, fetched_at, status, hash) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (origin, fetched_at) DO UPDATE SET status = excluded.status, hash = excluded.hash
