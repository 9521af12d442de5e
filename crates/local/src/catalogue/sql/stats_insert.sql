INSERT OR REPLACE INTO job_stats (
    job, at, pages, failed, skipped, bytes, pending, in_progress, hosts_active, hosts_waiting
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
