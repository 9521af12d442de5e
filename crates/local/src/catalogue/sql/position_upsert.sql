INSERT INTO positions (store, file, length) VALUES (?1, ?2, ?3)
ON CONFLICT (store, file) DO UPDATE SET length = excluded.length
