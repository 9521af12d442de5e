INSERT INTO outputs (worker, job, path, seq, length)
SELECT DISTINCT ON (worker, job, path) worker, job, path, seq, length
FROM staged_outputs
ORDER BY worker, job, path, ord DESC
ON CONFLICT (worker, job, path) DO UPDATE SET seq = excluded.seq, length = excluded.length;
