INSERT INTO outputs (job, path, seq, length) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (job, path) DO UPDATE SET seq = excluded.seq, length = excluded.length
