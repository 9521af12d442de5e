INSERT INTO positions (worker, store, file, length)
SELECT DISTINCT ON (worker, store, file) worker, store, file, length
FROM staged_positions
ORDER BY worker, store, file, ord DESC
ON CONFLICT (worker, store, file) DO UPDATE SET length = excluded.length;
