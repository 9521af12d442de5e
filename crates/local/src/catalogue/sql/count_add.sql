INSERT INTO job_counts (job, class, word, count) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (job, class, word) DO UPDATE SET count = count + excluded.count
