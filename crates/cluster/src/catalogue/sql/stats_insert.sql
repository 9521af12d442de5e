INSERT INTO job_stats ({columns})
SELECT DISTINCT ON (job, at) {columns} FROM staged_stats ORDER BY job, at, ord DESC
ON CONFLICT (job, at) DO UPDATE SET ({values}) = ROW({excluded});
